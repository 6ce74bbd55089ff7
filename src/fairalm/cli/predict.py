"""``fairalm predict``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import print_json, reserved_file, working, write_table
from fairalm.console import say_path
from fairalm.json_reader import read_json
from fairalm.measures.text import percent
from fairalm.runs import Choice, predict_batches

POINT = opt.POINT | {
    "tol": opt.number(float | None, "Runs of the frontier only: bound a difference by this."),
    "ratio": opt.number(float | None, "Runs of the frontier only: bound a ratio by this."),
}


@opt.takes(choice=(Choice, POINT))
def predict(
    run: opt.RunFolder,
    data: opt.Data,
    choice: Choice,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="A .csv or .parquet file to write.")],
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE", help="Accept a type of your own in the model, such as my_module.MyConstraint; repeatable."
        ),
    ] = None,
    encoding: opt.Encoding = None,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    raw: opt.Raw = False,
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Predict the labels of a table with a trained model.

    What you get: OUT, with the table's columns and after them prediction (a label, as in the training table) and,
    where the model has one, score (of the positive label; it orders people, and is no calibrated probability). The
    protected column is needed only if the model was trained with it. A .csv file is read as the training table was,
    unless --encoding, --sep or --decimal say otherwise; OUT is UTF-8 with commas.

    In a .csv OUT, text and column names that a spreadsheet would run as a formula, those that begin with =, +, -, @, a
    tab or a line break, get an apostrophe before them; numbers do not. --raw leaves them as they are, for a program
    that reads OUT again. A .parquet OUT is never changed.

    A run of fairalm frontier holds every point of its curve: --tol, --ratio, --acceptance, --cost-fp, --cost-fn and
    --floor choose another one than the run's own, without training. What you leave out stays as the run has it.

    For example:
      fairalm predict runs/hired new_people.csv -o predicted.csv
      fairalm predict runs/curve new_people.csv --tol 0.02 -o predicted.csv
      fairalm predict runs/curve new_people.csv --acceptance 0.3 -o accepted.csv
    """
    given = {"encoding": encoding, "sep": sep, "decimal": decimal}
    csv = {name: value for name, value in given.items() if value is not None}
    with reserved_file(out, (".csv", ".parquet"), overwrite), working(f"predicting {data}"):
        count = _Count(predict_batches(run, data, choice, trusted=trusted or (), **csv))
        write_table(out, count, raw=raw)
    config = read_json(run / "config.json", "config")
    n_rows = sum(count.labels.values())
    share = count.labels[config["positive"]] / n_rows
    if as_json:
        print_json({"out": out, "rows": n_rows, "positive": config["positive"], "share": share})
        return
    label = f"{config['target']} = {config['positive']}"
    say_path(f"{n_rows:,} {config['rows_are']}, {percent(share)} predicted {label}.")
    say_path(f"Written to {out}: the columns of {data}, prediction{', score' if count.has_score else ''}")


class _Count:
    """Parts of a table, whose predictions are counted as they pass."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts, self.has_score = parts, False
        self.labels: Counter[Any] = Counter()

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            self.labels.update(np.asarray(part["prediction"]).tolist())
            self.has_score = "score" in (part.columns if hasattr(part, "assign") else part.column_names)
            yield part
