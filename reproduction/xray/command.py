"""``python -m reproduction xray``."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm.datasets.images import load_xray
from fairalm.exceptions import InputError
from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.old import (
    PAGE,
    Jobs,
    Quick,
    drawn,
    print_json,
    print_table,
    run_all,
    say,
    say_path,
    working,
    write_report,
    write_table,
)
from reproduction.xray import summary
from reproduction.xray.page import as_run
from reproduction.xray.pages import markdown
from reproduction.xray.settings import EPOCHS, ETA, SIZE

QUICK_SEEDS, QUICK_EPOCHS = 3, 3
NETS, BOXES, PROFILES = "nets", "xray.png", "profiles.png"


def xray(
    context: typer.Context,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How many splits and nets, one per seed.")] = 10,
    first: Annotated[int, typer.Option(metavar="N", min=0, help="The first seed.")] = 0,
    eta: Annotated[str, typer.Option(metavar="A,B", help="FairALM's eta, one or several by comma.")] = f"{ETA:g}",
    pi_control: Annotated[bool, typer.Option("--pi-control", help="Train by this library's default rule too.")] = False,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the pictures.")] = EPOCHS,
    size: Annotated[int, typer.Option(metavar="PIXELS", min=32, help="Pixels on a side.")] = SIZE,
    quick: Quick = False,
    jobs: Jobs = -1,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-xray"),
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """Make the paper's experiment on X-rays of two hospitals again, seed by seed.

    A ResNet-18 learns tuberculosis from the pooled Shenzhen and Montgomery sets at 64 pixels, without a constraint
    and by the paper's Algorithm 2, with equal opportunity between the hospitals. A seed sets aside a quarter of the
    pictures for testing, and sets the first weights; the rules share it, so that they are compared seed by seed.
    The pictures are not shipped: name the folder above xray/ in FAIRALM_DATA or with --data-dir.

    What comes out: test error and DEO with intervals over the seeds, the paper's claims one by one, and epochs to 20 %
    error, on the terminal and as table.md and table.csv; xray.png, the paper's figure; profiles.png, error and DEO by
    epoch; report.html, a page with every net; under cells/ all figures of every net; and under nets/ those of the first
    seed, with one of the hospital, for fairalm cam. Stop it at any time: the same command goes on where it was.

    For example:
      python -m reproduction xray
      python -m reproduction xray --quick -o quick
      python -m reproduction xray --size 32 --first 100 --eta 0.1,1 -o tried
    """
    start = time.perf_counter()
    etas = _numbers(eta)
    with working("looking for the data"):
        from reproduction.xray.cell import all_cells, run_cell

        load_xray(data_dir, size=size)
    cells = all_cells(
        seeds=min(seeds, QUICK_SEEDS) if quick else seeds,
        first=first,
        etas=etas,
        pi_control=pi_control,
        epochs=min(epochs, QUICK_EPOCHS) if quick else epochs,
        size=size,
    )
    run = partial(run_cell, nets=out / NETS, kept=first)
    results, n_failed = run_all(cells, out, run, jobs=jobs, data_dir=data_dir, is_quiet=as_json)
    nets = summary.runs(results)
    if nets.empty:
        raise InputError("No net of tuberculosis came to an end: see the warnings above.")
    write_atomic(out / "table.md", markdown(nets, results).encode())
    write_table(out / "table.csv", nets)
    no_picture = drawn(lambda: _draw(nets, results, out))
    page = write_report(as_run(results, old.typed(context), data_dir), out / PAGE)
    if as_json:
        tables = {"table": summary.summarise(nets), "claims": summary.claims(nets)}
        print_json({"out": out, **{k: table.to_dict("records") for k, table in tables.items()}, "failed": n_failed})
        return
    _show(nets, results)
    if no_picture:
        say(no_picture)
    files = f"table.md, .csv; {BOXES}, {PROFILES}; cells, nets"
    say_path(f"Written to {out} ({files}), after {time.perf_counter() - start:.0f} s")
    say_path(page)


def _numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or not all(0 < value < math.inf for value in found):
        raise InputError(f"--eta must be positive numbers, by comma; got {text!r}.")
    return list(dict.fromkeys(found))


def _show(nets: pd.DataFrame, results: list[dict[str, Any]]) -> None:
    say(f"Tuberculosis from X-rays; {nets['seed'].nunique()} seeds, {nets['epochs'].max()} epochs")
    print_table(summary.HEAD, summary.rows(summary.summarise(nets)))
    say()
    say(f"{summary.LEGEND} {summary.small_print(nets, results)}")
    held = summary.claims(nets)
    if not held.empty:
        say()
        print_table(summary.CLAIMS_HEAD, summary.claim_rows(held), left=2)
        say()
        say(summary.CLAIMS_LEGEND)


def _draw(nets: pd.DataFrame, results: list[dict[str, Any]], out: Path) -> None:
    from reproduction.xray.figure import draw, draw_profiles

    draw(nets, out / BOXES)
    draw_profiles(results, out / PROFILES)
