"""``python -m reproduction verbs``."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm.datasets.images import VERB_PAIRS, imsitu_counts
from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.old import (
    Jobs,
    Quick,
    by_comma,
    drawn,
    print_json,
    print_table,
    progress,
    run_all,
    say,
    say_path,
    to_say,
    working,
    write_report,
    write_table,
)
from reproduction.verbs import pages, steady
from reproduction.verbs.page import as_run
from reproduction.verbs.summary import against, runs, summarise
from reproduction.verbs.zero import zeros

QUICK_SEEDS = 2
KINDS = ("waterbirds", "scenes")


def verbs(
    context: typer.Context,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How many heads and sets of scenes.")] = 5,
    sets: Annotated[str, typer.Option(metavar="A,B", help="Pictures, by comma: waterbirds, scenes.")] = ",".join(KINDS),
    imsitu: Annotated[
        str | None, typer.Option(metavar="DIR", help="imSitu's folder, pictures and all: adds the real pairs.")
    ] = None,
    quick: Quick = False,
    jobs: Jobs = -1,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-verbs"),
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """Make the paper's table of verb pairs again: seven methods, error and DEO with intervals.

    imSitu's pictures are not to be had everywhere, so the methods run on Waterbirds (bird, protected: background) and
    on drawn scenes with imSitu's real numbers of men and women in the four pairs; with --imsitu also on imSitu. Each
    trains a linear head on what EfficientNet-Lite0 sees; half of the validation part or all of it chooses eta by NVP,
    and the test part is looked at once. On Waterbirds, the other half moves the multipliers of three more rows. The
    data are not shipped: name the folder above waterbirds/ and imsitu/ in FAIRALM_DATA or with --data-dir.

    What comes out: the tables, the paper's numbers beside ours, what a DEO of 0 can mean on a dozen people, and how
    much each rule depends on eta, on the terminal and as table.md and table.csv; tradeoff.png, profiles.png (error
    and DEO by epoch) and steadiness.png; per data set a page with every head; and under cells/ all figures of every
    head. Stop it at any time: the same command goes on where it was.

    For example:
      python -m reproduction verbs
      python -m reproduction verbs --quick -o quick
      python -m reproduction verbs --imsitu path/to/imsitu
    """
    start = time.perf_counter()
    seeds = min(seeds, QUICK_SEEDS) if quick else seeds
    kinds = by_comma(sets, "set of pictures", KINDS)
    with working("loading"):
        from reproduction.verbs.cell import all_cells, run_cell
        from reproduction.verbs.data import datasets, find_pictures

    data = datasets([*kinds, *["imsitu"] * (imsitu is not None)])
    cells = all_cells(data, seeds=seeds, is_small=quick)
    sizes = {cell.data: cell.size for cell in cells}
    _keep_features(sizes, seeds, out, data_dir, imsitu)
    run = partial(run_cell, folder=out / "features")
    results, n_failed = run_all(cells, out, run, jobs=jobs, is_quiet=as_json)
    heads, swept = runs(results), steady.sweeps(results)
    table, compared = summarise(heads), against(heads, "waterbirds")
    plain = heads[(heads["data"] == "waterbirds") & (heads["rule"] == "unconstrained")]
    steadied = steady.steadiness(steady.ranges(swept, plain)) if len(swept) and len(plain) else pd.DataFrame()
    zeroed = zeros(_counts(data, data_dir, imsitu))
    write_atomic(out / "table.md", pages.markdown(table, compared, steadied, zeroed, seeds).encode())
    write_table(out / "table.csv", table)
    no_picture = drawn(lambda: _draw(results, table, swept, out))
    written = [
        write_report(
            as_run(results, name, find_pictures(name, 0, sizes[name], data_dir, imsitu), old.typed(context)),
            out / f"report-{name}.html",
        )
        for name in table["data"].unique()
    ]
    if as_json:
        tables = {"table": table, "differences": compared, "steadiness": steadied, "zero": zeroed}
        print_json({"out": out, **{k: found.to_dict("records") for k, found in tables.items()}, "failed": n_failed})
        return
    _show(table, compared, steadied, zeroed, seeds)
    if no_picture:
        say(no_picture)
    say_path(f"Written to {out} (table.md, table.csv, pictures, cells), after {time.perf_counter() - start:.0f} s")
    for line in to_say(written, out):
        say_path(line)


def _keep_features(data: dict[str, int], seeds: int, out: Path, data_dir: str | None, imsitu: str | None) -> None:
    """Run the net over all pictures, once it is known that they are all there."""
    from reproduction.verbs.data import find_pictures, keep_features

    with working("reading the pictures"):
        for name, size in data.items():
            find_pictures(name, 0, size, data_dir, imsitu)
    drawn = [name for name in data if name.startswith("scenes")]
    to_see = [(name, 0, size) for name, size in data.items() if name not in drawn]
    to_see += [("scenes-fresh", 0, data[name]) for name in drawn[:1]]
    to_see += [(name, seed, data[name]) for name in drawn for seed in range(seeds)]
    with progress(len(to_see)) as step:
        for name, seed, size in to_see:
            step(f"{name}: what the net sees")
            keep_features(name, seed, size, out / "features", data_dir=data_dir, imsitu=imsitu)


def _counts(data: list[str], data_dir: str | None, imsitu: str | None) -> dict[str, dict[tuple[str, int, str], int]]:
    """Count imSitu's people, of the pairs that are asked for."""
    pairs = [pair for pair in VERB_PAIRS if any(name.endswith(f"-{pair[0]}") for name in data)]
    return {pair[0]: imsitu_counts(imsitu or data_dir, pair=pair) for pair in pairs}


def _show(
    table: pd.DataFrame, compared: pd.DataFrame, steadied: pd.DataFrame, zeroed: pd.DataFrame, seeds: int
) -> None:
    for name in table["data"].unique():
        say(f"{pages.name_of(name)}; {seeds} seeds")
        print_table(*pages.block(table, name))
        say()
    say(pages.LEGEND)
    if not compared.empty:
        say()
        say("Waterbirds: FairALM with a held-out dual less the others, seed by seed, in points")
        print_table(*pages.differences(compared))
    if not steadied.empty:
        say()
        say(f"Waterbirds, steadiness. {pages.STEADY_LEGEND}")
        print_table(*pages.steady(steadied, ("error", "deo")))
    if not zeroed.empty:
        say()
        say(pages.ZERO_LEGEND)
        print_table(*pages.zero(zeroed))


def _draw(results: Any, table: pd.DataFrame, swept: pd.DataFrame, out: Path) -> None:
    from reproduction.verbs import figure

    figure.profiles(results, out / "profiles.png")
    if "waterbirds" in set(table["data"]):
        figure.tradeoff(table, out / "tradeoff.png")
    if len(swept):
        figure.steadiness(swept, out / "steadiness.png")
