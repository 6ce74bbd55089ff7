"""``fairalm demo``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import print_json, reserved_files, show_samples, write_report
from fairalm.cli._plot import tradeoff
from fairalm.cli.compare import DEFAULT, footnotes, marked
from fairalm.console import is_terminal, print_table, say, say_path
from fairalm.datasets import split
from fairalm.files import new_files, write_json
from fairalm.measures import Measure
from fairalm.measures.text import percent
from fairalm.runs import Source
from fairalm.runs import compare as compare_methods
from fairalm.runs.comparison import PLAIN, Comparison, Result

FIGURE, RESULTS, PAGE = "tradeoff.png", "demo.json", "report.html"


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-demo"),
    rows: Annotated[int | None, typer.Option(min=100, hidden=True, help="Use fewer rows.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Show every method at work on shipped data, in a table and a figure.

    Who earns over 50,000 dollars (Adult)? The protected attribute is sex, the model is logistic regression, and the
    constraint is equal opportunity: of the people who do, the model should find as large a share of the women as of the
    men.

    What you get, in under two minutes: a table of test error and DEO (the gap in true positive rates) with 95 %
    intervals, the gap in training, and the time as a multiple of a plain fit; a figure of the trade-off,
    tradeoff.png; all figures in demo.json; and a page to click through, report.html. A later demo replaces them.

    For example:
      fairalm demo
    """
    start = time.perf_counter()
    files = [out / name for name in (RESULTS, FIGURE, PAGE)]
    with reserved_files(files, overwrite=True), new_files(*files) as (results, figure, page):
        samples = Source("adult").read()
        if rows is not None:
            share = rows / len(samples.X)
            samples = samples.subset(split(samples.data.y, samples.group_names, test_size=share, random_state=0)[1])
        done = compare_methods(samples, seeds=[0], plain_fits=3, progress=is_terminal())  # times: multiples of its own
        singles = [result.to_dict() for result in done.results]
        seconds = time.perf_counter() - start
        result = done.metrics(singles, {"seed": 0}, command=opt.typed(context), seconds=seconds)
        write_json(results, result)
        no_figure = _draw(done, figure)
        no_page = write_report(result, page)
    if as_json:
        print_json({"out": out, "figure": None if no_figure else out / FIGURE, **result})
        return
    _show(done)
    say_path(no_figure or f"Figure: {out / FIGURE}")
    say_path(f"Results: {out / RESULTS}, after {seconds:.0f} s")
    say_path(no_page or f"Page: {out / PAGE}")


def _show(done: Comparison) -> None:
    sizes = [done.results[0].fit.splits[part]["error"]["n"] for part in ("train", "test")]
    show_samples(
        done.samples,
        done.constraint,
        f"{sizes[0]:,} people to train on, {sizes[1]:,} others to test on.",
        "The models may use sex, as in the paper.",
    )
    say()
    plain = done.results[0]
    print_table(
        ["method", "test error, %", "test DEO, %", "train gap", "time"],
        [_row(result, plain) for result in done.results],
    )
    say()
    for note in [
        "Brackets: 95 % intervals; a difference smaller than they are wide may be chance.",
        *footnotes(done),
        f"time: as a multiple of the {PLAIN} model's fit, {plain.fit.seconds:.2f} s (the best of three).",
    ]:
        say(note)


def _row(result: Result, plain: Result) -> tuple[str, ...]:
    return (
        marked(result.method, constant=result.is_constant),
        str(result.error).replace(" %", ""),
        str(result.gap).replace(" %", ""),
        "" if result.train_gap is None else f"{100 * result.train_gap:.2f}",
        f"{result.fit.seconds / plain.fit.seconds:.1f} ×",
    )


def _draw(done: Comparison, path: Path) -> str:
    """Draw the figure; what to install if that is not possible."""
    before, after = done.results[0], next(result for result in done.results if result.method == DEFAULT)
    title = [
        f"Adult, men and women. From the plain model to our default: DEO {_move(before.gap, after.gap)},"
        f" error {_move(before.error, after.error)}.",
        "Further left is fairer, further down more accurate; bars are 95 % intervals on people no model has seen.",
    ]
    try:
        tradeoff(done.results, done.constraint.tol, title, path)
    except ImportError as error:
        return f"No figure. {error}."
    return ""


def _move(before: Measure, after: Measure) -> str:
    return " → ".join("?" if value is None else percent(value) for value in (before.value, after.value))
