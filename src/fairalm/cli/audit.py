"""``fairalm audit``."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import check_out, groups_sentence, print_json, working
from fairalm.console import print_table, say, say_path
from fairalm.files import write_json
from fairalm.measures import MEASURES, GroupRates, rate_interval
from fairalm.report.words import weight_sentence
from fairalm.runs import Audit, Predictions
from fairalm.runs import audit as measure
from fairalm.runs.metrics import measures_in

RATES = {"error": "error", "selection": "selected", "tpr": "TPR", "fpr": "FPR", "ppv": "PPV"}
SMALL = 30  # people with a label in a group; fewer are marked


OPTIONS = {
    "data": Annotated[
        str, typer.Argument(metavar="DATA", help="A .csv or .parquet file, or a folder of .parquet files.")
    ],
    "target": Annotated[str, typer.Option(metavar="COL", help="Column of the label, with two values.")],
    "prediction": Annotated[str, typer.Option(metavar="COL", help="Column of the predicted label, not of scores.")],
    "protected": Annotated[list[str], opt.Protected],
    "attributes": opt.TRAIN_SOURCE["attributes"],
    "weight": opt.TRAIN_SOURCE["weight"],
    "positive": opt.SOURCE["positive"],
    "missing": opt.SOURCE["missing"],
    "merge_below": opt.SOURCE["merge_below"],
    "tol": Annotated[float, typer.Option(metavar="X", help="Tolerance of the verdicts.")],
}


@opt.takes(given=(Predictions, OPTIONS))
def audit(
    context: typer.Context,
    given: Predictions,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Measure given predictions by group.

    They may come from any model or person, but not for the rows a model was trained on: there it looks better than it
    is.

    What you get: how many people there are per group and label, each group's rates and all gaps between groups, with
    95 % intervals, and whether each gap is within --tol: met, not met, or cannot tell. With -o, a .json file too.

    For example:
      fairalm audit loans.csv --target repaid --prediction granted --protected sex
    """
    check_out(out, (".json",), overwrite)
    with working(f"reading {given.data}"):
        done = measure(given, command=opt.typed(context))
    if out is not None:
        write_json(out, done.metrics)
    if as_json:
        print_json(done.metrics)
        return
    _show(done)
    if out is not None:
        say_path(f"Written to {out}")


def _show(done: Audit) -> None:
    rates, given = done.rates, done.given
    say(f"{int(done.groups.sizes.sum()):,} people in {groups_sentence(done.groups)}.")
    if n_dropped := done.metrics["data"]["dropped"]:
        say(f"Left out: {n_dropped:,} people without a protected value.")
    if given.weight is not None:
        say(weight_sentence(given.weight))
    say()
    with_label, without = rates.tp + rates.fn, rates.fp + rates.tn
    print_table(
        ["people", f"{given.target} = {done.metrics['config']['positive']}", "others", "all"],
        [
            (name, _marked(a), _marked(b), f"{a + b:,}")
            for name, a, b in zip(rates.names, with_label, without, strict=True)
        ],
    )
    if (np.minimum(with_label, without) < SMALL).any():
        say(f"! under {SMALL} people: their rates are rough, as the intervals say.", indent=2)
    say()
    columns = [_rates(rates, rate) for rate in RATES]
    print_table(["rates, %", *RATES.values()], [*zip(rates.names, *columns, strict=True)])
    say()
    print_table(
        ["between groups", "95 % interval", f"within {100 * given.tol:.3g} %?"],
        [
            (MEASURES[name].title, measured, done.metrics["verdicts"].get(name, ""))
            for name, measured in measures_in(done.metrics["splits"]["audit"]).items()
            if name != "error"
        ],
    )


def _marked(number: int) -> str:
    return f"{'! ' if number < SMALL else ''}{number:,}"


def _rates(rates: GroupRates, rate: str) -> list[str]:
    low, high = rate_interval(*rates.effective(rate))
    return [
        f"{100 * p:.0f} [{100 * a:.0f},{100 * b:.0f}]" if people else "0 people"
        for p, a, b, people in zip(rates.value(rate), low, high, rates.counts(rate)[1], strict=True)
    ]
