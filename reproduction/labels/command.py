"""``python -m reproduction labels``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm.datasets.images import ImageDataset
from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.cells import Result
from reproduction.labels import pages, plan
from reproduction.labels.cell import GROUPS, Cell, load_faces, run_cell
from reproduction.labels.page import as_runs, screened
from reproduction.labels.summary import findings, summarise
from reproduction.old import (
    Jobs,
    Quick,
    drawn,
    print_json,
    print_table,
    run_all,
    say,
    say_path,
    working,
    write_reports,
    write_table,
)

FEW = 3000  # faces of each part, with --quick
PAGES = "pages"


def labels(
    context: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path(
        "fairalm-celeba-labels"
    ),
    seed: opt.Seed = 0,
    quick: Quick = False,
    jobs: Jobs = -1,
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """Make the paper's table of unfair labels again: CelebA's 40 labels, protected Male and Young.

    A net of three layers sees faces of 28 × 28 pixels for five epochs, first without a constraint (U). Labels with a
    precision of at least 70 % and a DEO of at least 4 % on the validation part are trained again under FairALM (F) and
    under this library's default rule. Step sizes are chosen on the validation part too, for all labels alike. Figures
    are of the test part.

    What comes out: the tables, the paper's numbers beside ours, on the terminal and as table.md and table.csv (all
    labels); the picture labels.png; under pages/ a page for each label and protected attribute found unfair; and under
    cells/ the counts and the history of every net. It takes about ten minutes on two free cores. Stop it at any time:
    the same command goes on where it was.

    For example:
      python -m reproduction labels
      python -m reproduction labels --quick -o quick
      python -m reproduction labels --seed 1 -o another-seed
    """
    start = time.perf_counter()
    limit = FEW if quick else None
    with working("reading the faces"):
        names = plan.label_names(load_faces(data_dir, limit))
    n_failed = 0
    given: dict[str, Any] = {"seed": seed, "limit": limit}

    def run(cells: list[Cell]) -> list[Result]:
        nonlocal n_failed
        results, failed = run_all(cells, out, run_cell, jobs=jobs, data_dir=data_dir, is_quiet=as_json)
        n_failed += failed
        return results

    rates = plan.tried(run(plan.rate_cells(**given)), "lr")
    lr = plan.choose_rate(rates)
    etas = plan.tried(run(plan.eta_cells(lr, **given)), "eta")
    eta = plan.choose_eta(etas)
    results = run(plan.plain_cells(names, lr, **given))
    results += run(plan.fair_cells(plan.in_table(results), lr, eta, **given))
    table = summarise(results)
    chosen = pages.settings(rates, etas, lr, eta)
    write_atomic(out / "table.md", pages.markdown(table, rates, etas, chosen).encode())
    write_table(out / "table.csv", table)
    no_picture = drawn(lambda: _draw(table, out))
    written = _write_pages(table, results, load_faces(data_dir, limit), out, old.typed(context))
    if as_json:
        print_json({"out": out, "lr": lr, "eta": eta, "table": table.to_dict("records"), "failed": n_failed})
        return
    _show(table, chosen)
    if no_picture:
        say(no_picture)
    say_path(f"Written to {out} (table.md, table.csv, labels.png; cells), after {time.perf_counter() - start:.0f} s")
    say_path(written)


def _write_pages(table: pd.DataFrame, results: list[Result], faces: ImageDataset, out: Path, command: str) -> str:
    """Write the pages of the pairs found unfair, and say so in a line."""
    pairs = screened(table)
    if not pairs:
        return "No page: no label is found unfair"
    return write_reports(as_runs(results, pairs, faces, command), out / PAGES)


def _show(table: pd.DataFrame, chosen: str) -> None:
    for protected in GROUPS:
        say(f"DEO, protected: {protected}")
        print_table(pages.DEO_HEAD, pages.deo_rows(table, protected))
        say()
    for protected in GROUPS:
        say(f"Precision, protected: {protected}")
        print_table(pages.PRECISION_HEAD, pages.precision_rows(table, protected))
        say()
    for text in (pages.LEGEND, chosen, *findings(table)):
        say(text)


def _draw(table: pd.DataFrame, out: Path) -> None:
    from reproduction.labels.figure import draw

    draw(table, "CelebA: labels that a small net predicts unfairly, with 95 % intervals", out / "labels.png")
