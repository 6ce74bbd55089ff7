"""``fairalm audit``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from fairalm._validation import Groups, encode_groups, no_such
from fairalm.cli import _options as opt
from fairalm.cli import _words
from fairalm.cli._data import MISSING, find_label, read_data
from fairalm.cli._models import check_choice
from fairalm.cli._output import print_json, print_table, say, say_path, working
from fairalm.cli._tables import check_out
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.files import write_json
from fairalm.measures import MEASURES, GroupRates, group_rates, measures_of, rate_interval, splits_entry
from fairalm.runs.metrics import data_entry, metrics

RATES = {"error": "error", "selection": "selected", "tpr": "TPR", "fpr": "FPR", "ppv": "PPV"}
SMALL = 30  # people with a label in a group; fewer are marked


def audit(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A .csv or .parquet file.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of the label, two values.")],
    prediction: Annotated[str, typer.Option(metavar="COL", help="Column of the predicted label, no scores.")],
    protected: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Protected column. Given twice or more, the columns are crossed.",
        ),
    ],
    positive: opt.Positive = None,
    missing: opt.MissingOption = "error",
    merge_below: opt.MergeBelow = None,
    tol: Annotated[float, typer.Option(metavar="X", help="Tolerance that gaps are held against.")] = 0.01,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Measure given predictions by group.

    Of any model or person; but not on the people a model was trained on, whose figures flatter it.

    What comes out: how many people there are per group and label, each group's rates and all gaps between groups, with
    95 % intervals, and whether each gap is within --tol: met, not met, or cannot tell. With -o, a .json file too.

    For example:
      fairalm audit loans.csv --target repaid --prediction granted --protected sex
    """
    EqualOpportunity(tol=tol)  # refuses what is no tolerance
    check_choice("choice of --missing", missing, MISSING)
    check_out(out, (".json",), overwrite)
    with working(f"reading {data}"):
        frame, _ = read_data(data)
        for column in (target, prediction, *protected):
            if column not in frame.columns:
                raise no_such("column", column, frame.columns)
        groups = encode_groups(
            frame[list(dict.fromkeys(protected))],
            missing=missing,  # type: ignore[arg-type]  # checked above
            merge_below=merge_below,
        )
        found = _labels(frame, target, prediction, positive)
        rates = group_rates(frame[target], frame[prediction], sensitive_features=groups, target=found)
        judged = {name: _words.verdict(measure, tol) for name, measure in measures_of(rates).items()}
        gaps = {name: outcome for name, outcome in judged.items() if MEASURES[name].kind == "difference"}
        used = frame[[*dict.fromkeys((target, prediction, *protected))]]
        result = metrics(
            command=_words.typed(context),
            data=data_entry(data, used, frame[target], groups) | {"dropped": int((groups.codes < 0).sum())},
            config={"target": target, "prediction": prediction, "protected": protected, "positive": found, "tol": tol},
            splits={"audit": splits_entry(frame[target], frame[prediction], sensitive_features=groups, target=found)},
            criterion={"tol": tol, "verdicts": gaps},
        )
    if out is not None:
        write_json(out, result)
    if as_json:
        print_json(result)
        return
    _show(rates, groups, f"{target} = {found}", tol)
    if out is not None:
        say_path(f"Written to {out}")


def _labels(frame: pd.DataFrame, target: str, prediction: str, positive: str | None) -> Any:
    """Return the positive label, after checking that both columns hold the same two."""
    for column in (target, prediction):
        absent = int(frame[column].isna().sum())
        if absent:
            raise InputError(f"Column {column!r} has {absent} missing values: drop or fill those rows first.")
    labels = list(dict.fromkeys([*frame[target].tolist(), *frame[prediction].tolist()]))
    if len({str(label) for label in labels}) > 2 or len({type(label) is str for label in labels}) > 1:
        shown = ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
        raise InputError(
            f"Columns {target!r} and {prediction!r} must hold the same two labels; they hold {shown}:"
            " turn scores into labels first."
        )
    if positive is not None:
        return find_label(labels, positive)
    if len(labels) < 2:
        raise InputError(f"Only the label {labels[0]!r} occurs: say with --positive which label counts as positive.")
    return max(labels)


def _show(rates: GroupRates, groups: Groups, label: str, tol: float) -> None:
    n_dropped = int((groups.codes < 0).sum())
    say(f"{int(groups.sizes.sum()):,} people in {groups.n_groups} groups.")
    if n_dropped:
        say(f"Left out: {n_dropped:,} people without a protected value.")
    say()
    with_label, without = rates.tp + rates.fn, rates.fp + rates.tn
    print_table(
        ["people", label, "others", "all"],
        [
            (name, _people(a), _people(b), f"{a + b:,}")
            for name, a, b in zip(rates.names, with_label, without, strict=True)
        ],
    )
    if (np.minimum(with_label, without) < SMALL).any():
        say(f"! under {SMALL} people: their rates are rough, as the intervals say.", indent=2)
    say()
    columns = [_rates(rates, rate) for rate in RATES]
    print_table(
        ["rates, %", *(RATES[rate] for rate in RATES)],
        [(name, *cells) for name, *cells in zip(rates.names, *columns, strict=True)],
    )
    say()
    print_table(
        ["between groups", "95 % interval", f"within {100 * tol:.3g} %?"],
        [
            (
                _words.MEASURES[name],
                measure,
                _words.verdict(measure, tol) if MEASURES[name].kind == "difference" else "",
            )
            for name, measure in measures_of(rates).items()
            if name != "error"
        ],
    )


def _people(count: int) -> str:
    return f"{'! ' if count < SMALL else ''}{count:,}"


def _rates(rates: GroupRates, rate: str) -> list[str]:
    k, n = rates.counts(rate)
    low, high = rate_interval(k, n)
    return [
        f"{100 * p:.0f} [{100 * a:.0f},{100 * b:.0f}]" if people else "0 people"
        for p, a, b, people in zip(rates.value(rate), low, high, n, strict=True)
    ]
