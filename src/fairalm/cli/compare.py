"""``fairalm compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm import console
from fairalm.cli import _options as opt
from fairalm.cli import _output as output
from fairalm.files import new_files, write_csv, write_json
from fairalm.measures.text import plus_minus
from fairalm.methods import DEFAULT_METHOD
from fairalm.runs import Comparison, Settings, Source
from fairalm.runs import compare as compare_methods
from fairalm.runs.choices import FRONTIER
from fairalm.runs.comparison import COMPARED, GRADIENT, PLAIN, THRESHOLD, has_fairlearn

PAGE = Path("fairalm-compare.html")
DEFAULT = DEFAULT_METHOD["sklearn"].name
OWN = {FRONTIER: "one point of the curve of fairalm frontier; its time is that of the whole curve"}
FAIRLEARN = {
    GRADIENT: "fairlearn's ExponentiatedGradient, a random mixture of models",
    THRESHOLD: "fairlearn's ThresholdOptimizer",
}


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
    names = [name.strip() for name in methods.split(",") if name.strip()]
    page = PAGE if out is None else out.parent / f"{out.stem}.html"
    with output.reserved_file(out, (".csv", ".json"), overwrite), output.reserved_files([page] * bool(out), overwrite):
        done = compare_methods(source, settings, names, seeds=range(seeds), progress=console.is_terminal())
        rows = done.summary()
        result = done.metrics(rows, {"seeds": seeds}, command=opt.typed(context))
        no_page = ""
        if out is not None:
            no_page = _write(out, page, rows, result)
        elif not as_json:
            no_page = _write_default(result)
    for method, reason in done.refused.items():
        console.say_error(f"Warning: left out: {method} ({reason})")
    if as_json:
        output.print_json(result)
        return
    _show(done, rows, seeds)
    if out is not None:
        console.say_path(f"Written to {out}")
    console.say_path(no_page or f"Page: {page}")


def _write(out: Path, page: Path, rows: list[dict[str, Any]], result: dict[str, Any]) -> str:
    """Write the file and its page, both or neither; the line that says why there is no page, if there is none."""
    with new_files(out, page) as (table_part, page_part):
        if out.suffix.lower() == ".csv":
            write_csv(table_part, pd.DataFrame(rows))
        else:
            write_json(table_part, result)
        return output.write_report(result, page_part)


def _write_default(result: dict[str, Any]) -> str:
    """Write the page that was not asked for; where that is not possible the result is printed all the same."""
    try:
        return output.write_report(result, PAGE)
    except OSError as error:
        return f"No page. {error.filename}: {error.strerror}. Name another place with -o."


def _show(done: Comparison, rows: list[dict[str, Any]], seeds: int) -> None:
    constraint, estimator = done.constraint, done.settings.estimator
    output.show_samples(done.samples, constraint, output.protected_sentence(done.samples))
    console.say()
    head = [f"{estimator}, {output.count(seeds, 'split')}, %", "test error", f"test {constraint.title}", "train gap"]
    names = ("error", constraint.measure, "train_gap")
    console.print_table(
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
    console.say()
    for note in [*footnotes(done), *chosen_note(done, rows), f"time: as a multiple of the {PLAIN} model's fit."]:
        console.say(note)


def _percent(row: dict[str, Any], name: str) -> str:
    mean, sd = row[f"{name}_mean"], row.get(f"{name}_sd")
    return "undefined" if mean is None else plus_minus(100 * mean, None if sd is None else 100 * sd)


def marked(method: str, *, constant: bool) -> str:
    """Name of a method with its footnote marks."""
    return method + "*" * (method == THRESHOLD) + "!" * constant


def chosen_note(done: Comparison, rows: list[dict[str, Any]]) -> list[str]:
    """The method with the smallest mean gap, with the interval of a gap that was chosen; none if all are undefined."""
    key = f"{done.constraint.measure}_mean"
    useful = [row for row in rows if row[key] is not None and not row["constant"]]
    if len(useful) < 2:
        return []
    best = min(useful, key=lambda row: row[key])["method"]
    result = next(result for result in done.results if result.method == best and result.gap.value is not None)
    return [
        f"smallest gap: {best}. Small gaps are partly chance: on the test rows of seed {result.seed} it is"
        f" {done.if_chosen(result)}, an interval that allows for the choice among {done.n_models} methods."
    ]


def footnotes(done: Comparison) -> list[str]:
    """The default method, fairlearn's algorithms, and what the marks mean."""
    methods = {result.method for result in done.results}
    notes = [f"{DEFAULT}: the default of fairalm, untuned."] if DEFAULT in methods else []
    notes += [f"{method}: {words}." for method, words in (OWN | FAIRLEARN).items() if method in methods]
    if THRESHOLD in methods:
        columns = ", ".join(done.samples.data.protected)
        others = f"so do the others here, which use {columns}" if done.samples.with_protected else "the others do not"
        notes.append(f"* has a threshold per group and needs the protected attribute to predict; {others}.")
    if any(result.is_constant for result in done.results):
        notes.append("! predicts (nearly) the same label for everyone: such a model has no gap, and no use.")
    if not has_fairlearn():
        notes.append('fairlearn is not installed: pip install "fairalm[compare]" adds its two algorithms.')
    return notes
