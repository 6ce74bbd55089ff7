"""``fairalm compare``."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from fairalm.cli import _fairlearn, _words
from fairalm.cli import _options as opt
from fairalm.cli._data import Source, read_people
from fairalm.cli._models import check_choice, make_constraint, make_estimator
from fairalm.cli._output import print_json, print_table, progress, say, say_error, say_path, working
from fairalm.cli._page import write_report
from fairalm.cli._people import protected_sentence, show_people, source_entry
from fairalm.cli._rules import PLAIN, Result, Split, footnotes, marked, rules_of
from fairalm.cli._tables import check_out, write_table
from fairalm.exceptions import InputError
from fairalm.io import data_entry, metrics, write_json
from fairalm.methods import METHODS

ALL = tuple(  # unconstrained is the plain model
    name for name, method in METHODS.items() if name != "unconstrained" and method.traits.only_for != "mini-batches"
)
PAGE = Path("fairalm-compare.html")


def compare(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.Target = None,
    protected: opt.Protected = None,
    positive: opt.Positive = None,
    drop: opt.Drop = None,
    test_size: opt.TestSize = 0.3,
    with_protected: opt.WithProtected = None,
    missing: opt.MissingOption = "error",
    merge_below: opt.MergeBelow = None,
    data_dir: opt.DataDir = None,
    download: opt.Download = False,
    constraint: opt.ConstraintOption = "equal-opportunity",
    tol: opt.Tol = 0.01,
    estimator: opt.EstimatorOption = "logistic",
    methods: Annotated[
        str,
        typer.Option(metavar="A,B,C", help=f"Rules, by comma: {', '.join(ALL)}.", show_default="all"),
    ] = ",".join(ALL),
    max_iter: opt.MaxIter = 50,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How many splits, seeds 0, 1, ...")] = 5,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Compare rules on one table over several splits.

    Beside them stand the plain model and, where installed, fairlearn's two algorithms, on the same estimator.

    What comes out: per rule the mean ± standard deviation over the splits of the test error and of the criterion's
    measure, the mean gap in training, and how many fits that took. With -o, a .csv of this table, or a .json with
    every split too, and what fairalm report reads. And a page of all models, FILE with .html at its end; without -o,
    fairalm-compare.html, which a later one replaces.

    For example:
      fairalm compare compas
      fairalm compare people.csv --target hired --protected sex --seeds 10
    """
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    for name in chosen:
        check_choice("method", name, (*ALL, "unconstrained"))
    if len(set(chosen)) < len(chosen):
        raise InputError("--methods names a rule twice.")
    criterion = make_constraint(constraint, tol, 1)
    make_estimator(estimator, 0)
    check_out(out, (".csv", ".json"), overwrite)
    source = Source(
        data,
        target,
        protected or (),
        positive,
        drop or (),
        with_protected=with_protected,
        missing=missing,
        merge_below=merge_below,
        data_dir=data_dir,
        download=download,
    )
    with working(f"reading {data}"):
        people = read_people(source)
    rules = rules_of(chosen, criterion)
    results: list[tuple[int, Result]] = []
    refused: dict[str, str] = {}
    with progress(seeds * len(rules)) as step:
        for seed in range(seeds):
            split = Split(
                people, criterion, make_estimator(estimator, seed), seed=seed, test_size=test_size, max_iter=max_iter
            )
            for rule in rules:
                step(f"{rule}, seed {seed}")
                try:
                    results.append((seed, split.result(rule)))
                except _fairlearn.RefusedError as error:
                    refused[rule] = str(error)
    rules = [rule for rule in rules if rule not in refused]
    rows = [
        _summary(rule, [result for _, result in results if result.rule == rule], criterion.measure) for rule in rules
    ]
    for message in refused.values():
        say_error(f"Warning: left out: {message}")
    result = metrics(
        data=data_entry(people.data.name, people.data.frame, people.labels, people.groups),
        config={
            **source_entry(people),
            "constraint": constraint,
            "tol": tol,
            "estimator": estimator,
            "seeds": seeds,
            "test_size": test_size,
        },
        splits={},
        command=_words.typed(context),
        rules=rows,
        runs=[single.to_run(seed) for seed, single in results],
    )
    if out is not None and out.suffix.lower() == ".csv":
        write_table(out, pd.DataFrame(rows))
    elif out is not None:
        write_json(out, result)
    page = PAGE if out is None else out.with_suffix(".html")
    if as_json:
        if out is not None:
            write_report(result, page)
        print_json(result)
        return
    said = write_report(result, page)
    show_people(people)
    say(protected_sentence(people))
    say(f"Criterion {_words.constraint_sentence(criterion, people.label, people.groups.n_groups)}")
    say()
    print_table(
        [
            f"{estimator}, {seeds} split{'s' * (seeds > 1)}, %",
            "test error",
            f"test {_words.MEASURES[criterion.measure]}",
            "train gap",
            "fits",
            "time",
        ],
        [_row(row, rows[0]["seconds_mean"], criterion.measure) for row in rows],
    )
    say()
    for note in [*footnotes([single for _, single in results]), f"time: as a multiple of the {PLAIN} model's fit."]:
        say(note)
    if out is not None:
        say_path(f"Written to {out}")
    say_path(said)


def _summary(rule: str, results: Sequence[Result], measure: str) -> dict[str, Any]:
    """Mean and standard deviation over the seeds; undefined measures are left out."""
    errors = [result.error.value for result in results]
    gaps = [result.gap.value for result in results]
    return {
        "rule": rule,
        **_mean_and_sd("error", errors),
        **_mean_and_sd(measure, gaps),
        "train_gap_mean": _mean_and_sd("", [result.train_gap for result in results])["_mean"],
        "fits_mean": statistics.fmean(result.fits for result in results),
        "seconds_mean": statistics.fmean(result.seconds for result in results),
        "constant": sum(result.constant for result in results),
    }


def _mean_and_sd(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    defined = [value for value in values if value is not None]
    return {
        f"{name}_mean": statistics.fmean(defined) if defined else None,
        f"{name}_sd": statistics.stdev(defined) if len(defined) > 1 else None,
    }


def _row(row: dict[str, Any], plain_seconds: float, measure: str) -> tuple[str, ...]:
    def percent(name: str) -> str:
        mean, sd = row[f"{name}_mean"], row.get(f"{name}_sd")
        if mean is None:
            return "undefined"
        return f"{100 * mean:.1f}" + (f" ± {100 * sd:.1f}" if sd is not None else "")

    return (
        marked(row["rule"], constant=bool(row["constant"])),
        percent("error"),
        percent(measure),
        percent("train_gap"),
        f"{row['fits_mean']:.3g}",
        f"{row['seconds_mean'] / plain_seconds:.1f} ×",
    )
