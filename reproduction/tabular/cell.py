"""One cell of the table: a method on a data set with a seed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from fairalm._validation import FloatArray, IntArray, encode_groups
from fairalm.datasets import load, preprocess, split
from fairalm.exceptions import InputError
from fairalm.measures import splits_entry
from fairalm.measures.chance import chance_gap
from fairalm.selection import nvp
from reproduction.tabular.rows import ROWS, Row, Setting

TABLES = {"adult": "Adult", "compas": "COMPAS", "german": "German", "law": "Law"}
PARTS = (0.6, 0.2, 0.2)  # of the people: to fit, to choose on, to test on
#: How a setting is chosen: NVP as published, and NVP that leaves constant classifiers out.
CHOICES = {"nvp": nvp(), "without-constants": nvp(leave_out_constants=True)}


@dataclass(frozen=True)
class Cell:
    """What to run.

    Parameters
    ----------
    table : str
        Name of the data set.
    row : str
        A key of ``ROWS``.
    seed : int
        Of the split and of all that is random.
    with_protected : bool
        Whether the protected attribute is among the features.
    """

    table: str
    row: str
    seed: int
    with_protected: bool = True

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        return f"{self.table}-{self.row}-{'with' if self.with_protected else 'without'}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        return {
            **asdict(self),
            "parts": list(PARTS),
            "settings": [dict(setting) for setting in ROWS[self.row].settings],
        }


def all_cells(
    tables: Sequence[str] = tuple(TABLES), rows: Sequence[str] = tuple(ROWS), *, seeds: int = 10, first: int = 0
) -> list[Cell]:
    """Every method on every data set with every seed from `first`: first those that may use the protected attribute.

    >>> [cell.name for cell in all_cells(["german"], ["plain"], seeds=1)]
    ['german-plain-with-0', 'german-plain-without-0']
    """
    places = product((True, False), tables, rows, range(first, first + seeds))
    return [Cell(table, row, seed, with_protected) for with_protected, table, row, seed in places]


class _People:
    """A data set, split."""

    def __init__(self, cell: Cell, data_dir: str | None) -> None:
        data = load(cell.table, data_dir=data_dir)
        self.X = data.features_frame(with_protected=cell.with_protected)
        self.y, self.groups = data.y, np.asarray(data.groups)
        self.codes = encode_groups(self.groups, n_rows=len(self.y)).codes
        fitted, chosen, tested = PARTS
        rest, self.test = split(self.y, self.groups, test_size=tested, random_state=cell.seed)
        inside, outside = split(
            self.y[rest], self.groups[rest], test_size=chosen / (fitted + chosen), random_state=cell.seed
        )
        self.fit, self.valid, self.rest = rest[inside], rest[outside], rest

    def trial(self, row: Row, seed: int, fitted: IntArray, measured: IntArray) -> Callable[[Setting], dict[str, Any]]:
        """Prepare the features; what comes back fits a setting on some people and measures it on others."""
        prepared = preprocess(self.X).fit(self.X.iloc[fitted])
        X, unseen = (np.asarray(prepared.transform(self.X.iloc[part])) for part in (fitted, measured))

        def run(setting: Setting) -> dict[str, Any]:
            begin = time.perf_counter()
            model = row.fit(setting, seed, X, self.y[fitted], self.groups[fitted])
            seconds = time.perf_counter() - begin
            chances = row.chances(model, unseen, self.groups[measured])
            found = {**figures(chances, self.y[measured], self.codes[measured]), "seconds": seconds}
            if measured is self.test and np.isin(chances, (0.0, 1.0)).all():  # for the report; of draws none is kept
                groups = self.groups[measured]
                found["entry"] = splits_entry(self.y[measured], chances == 1, sensitive_features=groups, target=1)
            return found

        return run


def figures(chances: FloatArray, y: IntArray, group: IntArray) -> dict[str, Any]:
    """Error, DEO with its sign (first group's false negative rate less the second's), and what they rest on.

    Parameters
    ----------
    chances : array
        The chance that each person is predicted 1; the figures are expectations over it.
    y, group : int arrays
        Labels and groups, 0 or 1 each.
    """
    cells = [(y == 1) & (group == code) for code in (0, 1)]
    signed = float(chances[cells[1]].mean() - chances[cells[0]].mean())
    sizes = [int(cell.sum()) for cell in cells]
    return {
        "error": float(abs(chances - y).mean()),
        "deo": abs(signed),
        "signed": signed,
        "fpr": float(chances[y == 0].mean()),
        "selection": float(chances.mean()),
        "chance": chance_gap(float(chances[y == 1].mean()), *sizes),
        "positives": sizes,
        "people": len(y),
    }


def run_cell(cell: Cell, data_dir: str | None = None) -> dict[str, Any]:
    """Try every setting on the validation people, choose, fit the chosen again on all but the test people, test.

    Returns
    -------
    dict
        `config`, the `runs` on the validation people, and for each way to choose the position `chosen` and the figures
        on the test people.
    """
    row = ROWS[cell.row]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # settings that do not meet the criterion are not chosen, or show in the table
        people = _People(cell, data_dir)
        runs = [*map(people.trial(row, cell.seed, people.fit, people.valid), row.settings)]
        chosen = {name: _choose(name, pd.DataFrame(runs)) for name in CHOICES}
        test = people.trial(row, cell.seed, people.rest, people.test)
        tested = {index: test(row.settings[index]) for index in sorted(set(chosen.values()))}
    choices = {name: {"chosen": index, **tested[index]} for name, index in chosen.items()}
    return {"config": cell.config, "runs": runs, "choices": choices}


def _choose(name: str, runs: pd.DataFrame) -> int:
    """The chosen run; where all are constant, one of these."""
    try:
        return CHOICES[name](runs)
    except InputError:
        return CHOICES["nvp"](runs)
