"""``fairalm compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm.cli import _options as opt
from fairalm.cli._methods import footnotes, marked
from fairalm.cli._output import (
    check_out,
    count,
    is_terminal,
    print_json,
    print_table,
    protected_sentence,
    say,
    say_error,
    say_path,
    show_samples,
    write_report,
    write_table,
)
from fairalm.files import write_json
from fairalm.measures.text import plus_minus
from fairalm.runs import Comparison, Settings, Source
from fairalm.runs import compare as compare_methods
from fairalm.runs.comparison import COMPARED, PLAIN

PAGE = Path("fairalm-compare.html")


@opt.takes(source=(Source, opt.SOURCE), settings=(Settings, opt.SETTINGS))
def compare(
    context: typer.Context,
    source: Source,
    settings: Settings,
    methods: Annotated[
        str,
        typer.Option(metavar="A,B,C", help=f"Methods: {', '.join(COMPARED)}; {opt.OWN}.", show_default="all"),
    ] = ",".join(COMPARED),
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How many splits, seeds 0, 1, ...")] = 5,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Compare methods on one table over several splits.

    The plain model and, where installed, fairlearn's two algorithms are trained on the same splits.

    What you get: for each method mean ± standard deviation over the splits of the test error and of the constraint's
    gap, the mean gap in training, and how many fits that took. With -o, a .csv of this table, or a .json with every
    split too, which fairalm report reads. And a page of all models: FILE with .html at its end or, without -o,
    fairalm-compare.html, which a later comparison replaces.

    For example:
      fairalm compare compas
      fairalm compare people.csv --target hired --protected sex --seeds 10
    """
    check_out(out, (".csv", ".json"), overwrite)
    names = [name.strip() for name in methods.split(",") if name.strip()]
    done = compare_methods(source, settings, names, seeds=range(seeds), progress=is_terminal())
    rows = done.summary()
    for method, reason in done.refused.items():
        say_error(f"Warning: left out: {method} ({reason})")
    result = done.metrics(rows, {"seeds": seeds}, command=opt.typed(context))
    if out is not None and out.suffix.lower() == ".csv":
        write_table(out, pd.DataFrame(rows))
    elif out is not None:
        write_json(out, result)
    page = ""
    if out is not None or not as_json:
        page = write_report(result, PAGE if out is None else out.with_suffix(".html"))
    if as_json:
        print_json(result)
        return
    _show(done, rows, seeds)
    if out is not None:
        say_path(f"Written to {out}")
    say_path(page)


def _show(done: Comparison, rows: list[dict[str, Any]], seeds: int) -> None:
    constraint, estimator = done.constraint, done.settings.estimator
    show_samples(done.samples, constraint, protected_sentence(done.samples))
    say()
    head = [f"{estimator}, {count(seeds, 'split')}, %", "test error", f"test {constraint.title}", "train gap"]
    names = ("error", constraint.measure, "train_gap")
    print_table(
        [*head, "fits", "time"],
        [
            (
                marked(row["method"], constant=bool(row["constant"])),
                *(_percent(row, name) for name in names),
                f"{row['fits_mean']:.3g}",
                f"{row['seconds_mean'] / rows[0]['seconds_mean']:.1f} ×",
            )
            for row in rows
        ],
    )
    say()
    for note in [*footnotes(done), f"time: as a multiple of the {PLAIN} model's fit."]:
        say(note)


def _percent(row: dict[str, Any], name: str) -> str:
    mean, sd = row[f"{name}_mean"], row.get(f"{name}_sd")
    return "undefined" if mean is None else plus_minus(100 * mean, None if sd is None else 100 * sd)
