"""``python -m reproduction looks``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fairalm.datasets.images import load_celeba, load_xray
from fairalm.exceptions import InputError
from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.cells import Result
from reproduction.looks import SETS, Cell, all_cells, run_cell
from reproduction.looks.cell import N_SEEDS, N_SEEDS_OF_SCENES
from reproduction.looks.page import as_run, first_maps
from reproduction.looks.sets import read
from reproduction.looks.summary import HEAD, LEGEND, markdown, notes, summarise, text_rows, title, verdicts
from reproduction.old import (
    Jobs,
    Quick,
    by_comma,
    drawn,
    is_terminal,
    print_json,
    print_table,
    run_all,
    say,
    say_path,
    to_say,
    write_report,
    write_table,
)

LOADERS: dict[str, Callable[..., Any]] = {"xray": load_xray, "faces": load_celeba}
CHOICES = {"scenes": ("scenes", "scenes-independent"), "xray": ("xray",), "faces": ("faces",)}
QUICK_SEEDS = 2
FIGURE = "looks.png"


def looks(
    context: typer.Context,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many runs of each set, one per seed.",
            show_default=f"{N_SEEDS}; {N_SEEDS_OF_SCENES} of scenes",
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help=f"Pictures, by comma: {', '.join(CHOICES)}.", show_default="all whose data are there"
        ),
    ] = None,
    quick: Quick = False,
    jobs: Jobs = -1,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-looks"),
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """Measure the paper's most interesting claim: a fair net looks elsewhere.

    Three nets see the same pictures: one of the protected attribute, an unconstrained one of the label, and FairALM's.
    Maps say where each of them looks. Leak is how much a net looks where the net of the attribute does; focus, how
    much it looks where it should: at the disc of a made-up scene, the lungs of an X-ray, and, since the paper says that
    its fair net does, at the viewer's left half of a face. On scenes whose label and colour are independent, the two
    nets should not differ. Eta is chosen on validation pictures, and all figures are of test pictures.

    What comes out: a table per set with intervals over the seeds, on the terminal and as table.md and table.csv;
    looks.png, the differences; looks-SET.png, the paper's triptychs, of the first seed; report-SET.html, a page with
    every net; and under cells/ all figures. Stop it at any time: the same command goes on where it was. X-rays and
    faces are not shipped: name the folder above xray/ and celeba/ in FAIRALM_DATA or with --data-dir; without it, the
    scenes alone are run.

    For example:
      python -m reproduction looks
      python -m reproduction looks --sets scenes --seeds 3 -o scenes
      python -m reproduction looks --quick -o quick
    """
    start = time.perf_counter()
    names, missing = _find(sets, data_dir)
    if missing and not as_json:
        say(missing)
    seeds = min(seeds or QUICK_SEEDS, QUICK_SEEDS) if quick else seeds
    cells = all_cells([part for name in names for part in CHOICES[name]], seeds, is_small=quick)
    results, n_failed = run_all(cells, out, run_cell, jobs=jobs, data_dir=data_dir, is_quiet=as_json)
    table = summarise(results)
    write_atomic(out / "table.md", markdown(table).encode())
    write_table(out / "table.csv", table)

    def draw_all() -> None:
        from reproduction.looks.figure import draw, draw_triptychs

        draw(table, results, out / FIGURE)
        draw_triptychs(results, cells, out, data_dir)

    no_picture = drawn(draw_all)
    written = _write_pages(results, cells, out, data_dir, old.typed(context))
    if as_json:
        print_json({"out": out, "table": table.to_dict("records"), "failed": n_failed})
        return
    for name in table["set"].unique():
        say(title(table, name))
        print_table(HEAD, text_rows(table, name))
        for note in notes(table, name):
            say(f"  {note}")
        say()
    print_table(["the paper on FairALM's net", *(SETS[name].title for name in table["set"].unique())], verdicts(table))
    say()
    say(LEGEND)
    if no_picture:
        say(no_picture)
    files = f"table.md, .csv; {FIGURE}, looks-SET.png; cells"
    say_path(f"Written to {out} ({files}), after {time.perf_counter() - start:.0f} s")
    for line in to_say(written, out):
        say_path(line)


def _write_pages(
    results: Sequence[Result], cells: Sequence[Cell], out: Path, data_dir: str | None, command: str
) -> list[str]:
    """Write a page per set that has a result, and say so in a line each."""
    lines = []
    for name in dict.fromkeys(result["config"]["set"] for result in results):
        first = next(cell for cell in cells if cell.set == name)
        run = as_run(results, name, read(name, first.plan, first.seed, data_dir), command)
        maps = first_maps(results, name, out / f"looks-{name}.png")
        lines.append(write_report(run, out / f"report-{name}.html", maps=maps))
    return lines


def _find(text: str | None, data_dir: str | None) -> tuple[list[str], str]:
    """The sets to run, whose pictures are read here once, and what to say of those that are not there."""
    found, missing = [], []
    for name in list(CHOICES) if text is None else by_comma(text, "set", CHOICES):
        try:
            if name in LOADERS:
                LOADERS[name](data_dir, size=SETS[name].size, progress=is_terminal())
            found.append(name)
        except InputError as error:
            if text is not None:
                raise
            missing.append(f"Without {name}: {error}")
    return found, " ".join(missing)
