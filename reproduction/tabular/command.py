"""``python -m reproduction tabular``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from fairalm.datasets import load, load_law
from fairalm.io import write_atomic
from reproduction import old
from reproduction import old as opt
from reproduction.old import (
    Jobs,
    by_comma,
    check_jobs,
    drawn,
    print_json,
    print_table,
    run_all,
    say,
    say_path,
    to_say,
    working,
    write_report,
    write_table,
)
from reproduction.tabular import ROWS, TABLES, all_cells, run_cell, summarise
from reproduction.tabular.page import as_run
from reproduction.tabular.pages import CHOSEN, LEGEND, TITLES, is_changed_by_constants, latex, markdown
from reproduction.tabular.summary import block, head, text_rows

MAIN = "without-constants"


def tabular(
    context: typer.Context,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How many splits, one per seed.")] = 10,
    first: Annotated[int, typer.Option(metavar="N", min=0, help="The first seed.")] = 0,
    jobs: Jobs = -1,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-tabular"),
    tables: Annotated[
        str, typer.Option(metavar="A,B", help=f"Data sets, by comma: {', '.join(TABLES)}.", show_default="all")
    ] = ",".join(TABLES),
    rows: Annotated[
        str, typer.Option(metavar="A,B", help=f"Methods, by comma: {', '.join(ROWS)}.", show_default="all")
    ] = ",".join(ROWS),
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on the Dask cluster with this scheduler instead.")
    ] = None,
    data_dir: opt.DataDir = None,
    download: opt.Download = False,
    as_json: opt.Json = False,
) -> None:
    """Make the paper's table of standard data sets again, with every method it names.

    Six people in ten train, two choose the setting by NVP (at most five settings a method), two test. Law is not
    shipped: name its folder in FAIRALM_DATA or with --data-dir, or pass --download.

    What comes out: the table, the paper's numbers beside ours, on the terminal and as table.md, table.csv and
    table.tex; per data set a picture of the trade-off, and a page with every model; and under cells/ the configuration
    and all figures of every method, data set and seed. Ten seeds take about half an hour on two cores. Stop it at any
    time: the same command goes on where it was.

    For example:
      python -m reproduction tabular
      python -m reproduction tabular --seeds 3 --tables compas,german -o quick
    """
    start = time.perf_counter()
    check_jobs(jobs)
    names, methods = by_comma(tables, "data set", TABLES), by_comma(rows, "method", ROWS)
    with working("looking for the data"):
        if "law" in names and download:
            load_law(data_dir, download=True)
        for name in names:
            load(name, data_dir=data_dir)
    cells = all_cells(names, methods, seeds=seeds, first=first)
    results, n_failed = run_all(cells, out, run_cell, jobs=jobs, dask=dask, data_dir=data_dir, is_quiet=as_json)
    table = summarise(results)
    write_atomic(out / "table.md", markdown(table).encode())
    write_atomic(out / "table.tex", latex(table).encode())
    write_table(out / "table.csv", table)
    no_picture = drawn(lambda: _draw(table, names, out))
    command = old.typed(context)
    pages = [
        write_report(as_run(results, name, MAIN, command, data_dir), out / f"report-{name}.html") for name in names
    ]
    if as_json:
        print_json({"out": out, "table": table.to_dict("records"), "failed": n_failed})
        return
    _show(table, names)
    if no_picture:
        say(no_picture)
    say_path(f"Written to {out} (table.md, .csv, .tex; cells), after {time.perf_counter() - start:.0f} s")
    for line in to_say(pages, out):
        say_path(line)


def _show(table: pd.DataFrame, names: Sequence[str]) -> None:
    for with_protected, title in TITLES.items():
        for name in names:
            lines = block(table, with_protected=with_protected, choice=MAIN, name=name)
            if lines.empty:
                continue
            say(f"{TABLES[name]}, {title}; {CHOSEN[MAIN]}; {lines['seeds'].max()} seeds")
            print_table(head(name, short=True), text_rows(lines, name, short=True))
            say()
    say(f"{LEGEND} !: predicts one label for everybody, in some seeds at least. paper: its error and DEO.")
    if is_changed_by_constants(table):
        say("NVP as published may choose a constant model; table.md has what it chooses.")


def _draw(table: pd.DataFrame, names: Sequence[str], out: Path) -> None:
    from reproduction.tabular.figure import draw

    for name in names:
        lines = block(table, with_protected=True, choice=MAIN, name=name)
        if lines.empty:
            continue
        title = f"{TABLES[name]}: mean over {lines['seeds'].max()} seeds, bars are standard errors"
        draw(lines, title, out / f"tradeoff-{name}.png")
