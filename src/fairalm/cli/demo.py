"""``fairalm demo``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli import _options as opt
from fairalm.cli import _words
from fairalm.cli._data import Source, read_people
from fairalm.cli._models import make_constraint, make_estimator
from fairalm.cli._output import percent, print_json, print_table, progress, say, say_path, working
from fairalm.cli._page import PAGE, write_report
from fairalm.cli._people import show_people, source_entry
from fairalm.cli._rules import PLAIN, Result, Split, footnotes, marked, rules_of
from fairalm.cli.compare import ALL
from fairalm.datasets import split
from fairalm.io import data_entry, metrics, write_json
from fairalm.measures import Measure
from fairalm.methods import DEFAULT_METHOD

PICTURE, RESULTS = "tradeoff.png", "demo.json"
DEFAULT = DEFAULT_METHOD["sklearn"].name


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")] = Path("fairalm-demo"),
    rows: Annotated[int | None, typer.Option(min=100, hidden=True, help="Use fewer people.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Show every rule at work on shipped data, in a table and a picture.

    Who earns over 50,000 dollars (Adult)? Protected is sex, the model is logistic regression, and the criterion is
    equal opportunity: of those who do, the model should find as large a share of the women as of the men.

    What comes out, in under two minutes: a table of test error and DEO (the gap in true positive rates) with 95 %
    intervals, the gap in training, and the time as a multiple of a plain fit; a picture of the trade-off,
    tradeoff.png; the figures in demo.json; and a page to click through, report.html. A later demo replaces them.

    For example:
      fairalm demo
    """
    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # before the work, in case it cannot be
    with working("reading adult"):
        people = read_people(Source("adult"))
        if rows is not None:
            people = people.rows(split(people.data.y, people.names, test_size=rows / len(people.X), random_state=0)[1])
    constraint = make_constraint("equal-opportunity", 0.01, 1)
    rules = rules_of(ALL, constraint)
    with working("preparing features"):
        bench = Split(people, constraint, make_estimator("logistic", 0), seed=0, test_size=0.3, max_iter=50)
    results = []
    with progress(len(rules)) as step:
        for rule in rules:
            step(rule)
            results.append(bench.result(rule, repeats=3 if rule == PLAIN else 1))  # the others are measured by it
    result = metrics(
        data=data_entry(people.data.name, people.data.frame, people.labels, people.groups),
        config={
            **source_entry(people),
            "constraint": constraint.name,
            "tol": constraint.tol,
            "estimator": "logistic",
            "seed": 0,
            "test_size": 0.3,
        },
        splits={},
        command=_words.typed(context),
        rules=[single.to_dict() for single in results],
        runs=[single.to_run(0) for single in results],
        seconds=time.perf_counter() - start,
    )
    write_json(out / RESULTS, result)
    picture = _draw(results, constraint.tol, out / PICTURE)
    page = write_report(out / RESULTS, out / PAGE)
    if as_json:
        print_json({"out": out, "picture": out / PICTURE if picture is None else None, **result})
        return
    show_people(people)
    say(f"{len(bench.train):,} people to train on, {len(bench.test):,} others to test on.")
    say("The models may use sex, as in the paper.")
    say(f"Criterion {_words.constraint_sentence(constraint, people.label, people.groups.n_groups)}")
    say()
    print_table(["rule", "test error, %", "test DEO, %", "train gap", "time"], [_row(r, results[0]) for r in results])
    say()
    for note in [
        "Brackets: 95 % intervals; a difference smaller than they are wide may be chance.",
        *footnotes(results),
        f"time: as a multiple of the {PLAIN} model's fit, {results[0].seconds:.2f} s (the best of three).",
    ]:
        say(note)
    say_path(picture or f"Picture: {out / PICTURE}")
    say_path(f"Figures: {out / RESULTS}, after {result['seconds']:.0f} s")
    say_path(page)


def _row(result: Result, plain: Result) -> tuple[str, ...]:
    return (
        marked(result.rule, constant=result.constant),
        str(result.error).replace(" %", ""),
        str(result.gap).replace(" %", ""),
        "" if result.train_gap is None else f"{100 * result.train_gap:.2f}",
        f"{result.seconds / plain.seconds:.1f} ×",
    )


def _draw(results: list[Result], tol: float, path: Path) -> str | None:
    """Draw the picture; what to install if that is not possible."""
    try:
        from fairalm.cli._plot import tradeoff
    except ImportError:
        return 'No picture: matplotlib is not installed; pip install "fairalm[report]".'
    before, after = results[0], next(result for result in results if result.rule == DEFAULT)
    title = (
        f"Adult, men and women. From the plain model to our default: DEO {_move(before.gap, after.gap)},"
        f" error {_move(before.error, after.error)}.\n"
        "Further left is fairer, further down more accurate; bars are 95 % intervals on people no model has seen."
    )
    tradeoff(results, tol, title, path)
    return None


def _move(before: Measure, after: Measure) -> str:
    return " → ".join("?" if value is None else percent(value) for value in (before.value, after.value))
