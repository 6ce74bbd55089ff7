"""Tables of people as runs and audits see them, and what is published about them.

A world is a table with one row per person. It can be changed in one count at a time, and published: everything that the
page and the card of a run, or the page of an audit, are made from. Two worlds with the same publication cannot be told
apart by anybody who has only that, whatever he computes from it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm import EqualOpportunity
from fairalm._validation import Groups, encode_groups
from fairalm.exceptions import InputError
from fairalm.measures import describe, paired_changes, splits_entry
from fairalm.report.audit_facts import audit_facts, noscript
from fairalm.report.audit_page import audit_page
from fairalm.report.card import model_card
from fairalm.report.facts import gather
from fairalm.report.page import page
from fairalm.runs import Decisions, audit
from fairalm.runs.metrics import data_entry, metrics

Cell = Mapping[str, Any]  # column -> value, or a tuple of some of which each has one: the people who have them all
RATES = ("tpr", "fpr", "selection")


@dataclass(frozen=True)
class World:
    """People with attributes, and decisions about them in the columns `models`."""

    frame: pd.DataFrame
    columns: tuple[str, ...]  # the attributes
    models: tuple[str, ...]
    min_cell: int = 10

    def count(self, cell: Cell) -> int:
        """How many people are in a cell."""
        return int(self.mask(cell).sum())

    def mask(self, cell: Cell) -> Any:
        """Who is in a cell."""
        kept = np.ones(len(self.frame), dtype=bool)
        for column, value in cell.items():
            kept &= self.frame[column].isin(values_of(value)).to_numpy()
        return kept

    def groups(self) -> Iterator[Cell]:
        """The groups that the page speaks of."""
        raise NotImplementedError

    def parts(self) -> Iterator[Cell]:
        """The parts of a group whose size the page must not give away if it is small."""
        raise NotImplementedError

    def publish(self) -> str:
        """All figures and words that are published."""
        raise NotImplementedError

    def page(self) -> str:
        """The page itself."""
        raise NotImplementedError

    def small(self) -> list[Cell]:
        """The cells with 1 to `min_cell` - 1 people."""
        cells = ({**group, **part} for group in self.groups() for part in self.parts())
        return [cell for cell in cells if 0 < self.count(cell) < self.min_cell]

    def with_count(self, cell: Cell, number: int, order: int = 0) -> Iterator[World]:
        """Worlds in which `number` people are in the cell, and that differ from this one in nothing that needs not.

        People join or leave the cell because a model decides otherwise about them, because they are there or not, or
        because they have another group or label; `order` says which of them.
        """
        own, here = self.mask(cell), [column for column in self.columns if column in cell]
        more, rng = number - int(own.sum()), np.random.default_rng(order)
        for model in (name for name in self.models if name in cell):
            yield from self._turned(cell, model, more, rng)
        rows = rows_of(own, rng)
        if more > 0 and len(rows):
            again = self.frame.iloc[np.resize(rows, more)]
            yield replace(self, frame=pd.concat([self.frame, again], ignore_index=True))
        elif more < 0:
            yield replace(self, frame=self.frame.drop(index=rows[:-more]).reset_index(drop=True))
        for column in here:
            values = [value for value in self.frame[column].dropna().unique() if value != cell[column]]
            others = [self.mask({**cell, column: value}) for value in values]
            if more > 0:  # from one other group, or from several
                for rows in (*others, np.logical_or.reduce(others)):
                    yield from self._moved(rows_of(rows, rng), more, {column: cell[column]})
            else:
                for value in (*values, rng.choice(values, -more)):
                    yield from self._moved(rows_of(own, rng), -more, {column: value})
        if "y" in cell:
            yield from self._turned(cell, "y", more, rng)

    def _turned(self, cell: Cell, column: str, more: int, rng: np.random.Generator) -> Iterator[World]:
        """Worlds in which people have another value of a column that is no attribute."""
        here = values_of(cell[column])
        for other in (value for value in self.frame[column].unique() if value not in here):
            for value in here:
                rows = self.mask({**cell, column: other} if more > 0 else {**cell, column: value})
                yield from self._moved(rows_of(rows, rng), abs(more), {column: value if more > 0 else other})

    def _moved(self, rows: Any, n: int, values: Mapping[str, Any]) -> Iterator[World]:
        """The same world with other values for the first `n` of the rows."""
        if len(rows) < n:
            return
        frame = self.frame.copy()
        for column, value in values.items():
            frame.iloc[rows[:n], frame.columns.get_loc(column)] = value
        yield replace(self, frame=frame)


@dataclass(frozen=True)
class RunWorld(World):
    """A run: labels ``y``, a plain and a fair model, ``split`` train or test, and a score."""

    constraint: Any = EqualOpportunity(tol=0.05)  # noqa: RUF009 - it is frozen
    is_separate: bool = False
    has_curve: bool = False

    def groups(self) -> Iterator[Cell]:
        """Combinations of values, or the values of each column on its own."""
        parts = [[column] for column in self.columns] if self.is_separate else [list(self.columns)]
        for columns in parts:
            for _, row in self.frame[columns].drop_duplicates().iterrows():
                yield row.to_dict()

    def parts(self) -> Iterator[Cell]:
        """People of a label, in all and in each split, and those about whom a model is right or wrong."""
        for y in (True, False):
            yield {"y": y}
            for split in ("train", "test"):
                yield {"y": y, "split": split}
                if split == "test" or self.has_curve:
                    yield from ({"y": y, "split": split, name: says} for name in self.models for says in (True, False))

    def publish(self) -> str:
        """The facts of the page, all of which it contains, and the card."""
        facts = gather([self.metrics()], min_cell=self.min_cell)
        return json.dumps(facts, sort_keys=True) + model_card(facts)

    def page(self) -> str:
        """The page of the run."""
        return page(gather([self.metrics()], min_cell=self.min_cell))

    def metrics(self) -> dict[str, Any]:
        """What the run keeps, with figures of the training that are computed from its people too."""
        attributes = "separate" if self.is_separate else "crossed"
        groups = encode_groups(self.frame[list(self.columns)], min_groups=1, attributes=attributes)
        parts = {name: np.flatnonzero(self.frame["split"] == name) for name in ("train", "test")}
        entries = {
            model: {name: self._entry(rows, groups, model, name) for name, rows in parts.items()}
            for model in self.models
        }
        y = self.frame["y"].map({True: "yes", False: "no"})
        sizes = {name: len(rows) for name, rows in parts.items()}
        described = describe(self.constraint, "hired = yes")
        train, key = entries["fair"]["train"], described["key"]
        gap, error = (train[name]["value"] for name in (key, "error"))
        fewest = min(group["tp"] + group["fn"] for group in train["groups"].values())
        config = {"target": "hired", "positive": "yes", "protected": list(self.columns), "seed": 0, "method": "secant"}
        config |= {"constraint": self.constraint.name, "tol": self.constraint.tol, "test_size": 0.3}
        config |= {"with_protected": False, "attributes": attributes}
        test, fair = parts["test"], [self.frame[name].to_numpy()[parts["test"]] for name in ("y", "plain", "fair")]
        own: dict[str, Any] = {
            "command": "fairalm train made-up",
            "measure": described,
            "constraint": {"measure": key, "tol": self.constraint.tol},
            "plain": {"splits": entries["plain"], "seconds": 1.0},
            "changes": paired_changes(
                *fair, sensitive_features=groups.take(test), target=True, constraint=self.constraint
            ).to_dict(),
            "training": {
                **{"gap": gap, "error": error, "optimality_gap": gap, "seconds": 1.0},
                "warnings": [f"Fewer than 10 rows in the smallest cell ({fewest}).", f"The error is {error}."],
            },
            "history": {"train_error": [error, error], "gap": [gap, gap], "lambda_0": [0.0, gap]},
        }
        if self.has_curve:
            points = {name: _point(own_entries["train"], key, groups) for name, own_entries in entries.items()}
            own["frontier"] = {
                "varied": "tol",
                "points": [{"tol": tol, **points[name]} for tol, name in ((0.2, "plain"), (0.1, "fair"))],
                "chosen": {"tol": self.constraint.tol, **points["fair"]},
                "baselines": [{"model": "plain", **points["plain"]}],
            }
        data = {**data_entry("made-up", self.frame, y.to_numpy(), groups), **sizes, "dropped": 0}
        return metrics(data=data, config=config, splits=entries["fair"], **own)

    def _entry(self, rows: Any, groups: Groups, model: str, split: str) -> dict[str, Any]:
        y, predicted, score = (self.frame[name].to_numpy()[rows] for name in ("y", model, "score"))
        is_train, given = split == "train", {"sensitive_features": groups.take(rows), "target": True}
        return splits_entry(
            y, predicted, None if is_train else score, constraint=self.constraint, train=is_train, **given
        )


def values_of(value: Any) -> tuple[Any, ...]:
    """The values that a cell allows in a column."""
    return value if isinstance(value, tuple) else (value,)


def rows_of(mask: Any, rng: np.random.Generator) -> Any:
    """The places of a mask in random order."""
    return rng.permutation(np.flatnonzero(mask))


def _point(entry: Mapping[str, Any], key: str, groups: Groups) -> dict[str, Any]:
    """A point of a curve, as the figures of the training people have it."""
    ends = {f"{name}{end}": entry[own]["value"] for name, own in (("error", "error"), ("gap", key)) for end in ENDS}
    all_counts = [entry["groups"][name] for name in groups.compared]
    n, k = (
        sum(sum(own[part] for part in parts) for own in all_counts)
        for parts in (("tp", "fp", "tn", "fn"), ("tp", "fp"))
    )
    shares = {name: {rate: own["rates"][rate]["value"] for rate in RATES} for name, own in entry["groups"].items()}
    return {**ends, "selection": k / n, "groups": shares}


ENDS = ("", "_low", "_high")


@dataclass(frozen=True)
class AuditWorld(World):
    """Given decisions; outcomes in ``y`` and scores in ``score`` where the table has them."""

    attributes: str = "both"
    positive: str | None = "yes"

    def groups(self) -> Iterator[Cell]:
        """The values of each column, and their combinations."""
        crossed = [list(self.columns)] if self.attributes != "separate" and len(self.columns) > 1 else []
        alone = [[column] for column in self.columns] if self.attributes != "crossed" or not crossed else []
        for columns in [*alone, *crossed]:
            for _, row in self.frame[columns].dropna().drop_duplicates().iterrows():
                yield row.to_dict()

    def parts(self) -> Iterator[Cell]:
        """All people, and those selected or not; with outcomes, of each outcome too."""
        for y in ({}, *({"y": y} for y in (True, False) if "y" in self.frame)):
            yield y
            yield from ({**y, "chosen": chosen} for chosen in (True, False))

    def publish(self) -> str:
        """The facts of the page, all of which it contains."""
        facts = audit_facts(self.content(), self.min_cell)
        return json.dumps(facts, sort_keys=True) + noscript(facts)

    def page(self) -> str:
        """The page of the audit."""
        return audit_page(self.content(), min_cell=self.min_cell)

    def content(self) -> dict[str, Any]:
        """The content of audit.json."""
        text = {
            name: self.frame[name].replace({True: "yes", False: "no"}) for name in ("y", "chosen") if name in self.frame
        }
        given: dict[str, Any] = {"decision": "chosen", "target": "y" if "y" in text else None}
        given |= {"positive": self.positive}
        given |= {"score": "score" if "score" in self.frame else None, "attributes": self.attributes}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.csv"
            self.frame.assign(**text).to_csv(path, index=False)
            facts = audit(Decisions(str(path), list(self.columns), **given)).facts
        facts["data"]["name"] = "people.csv"
        return facts


@dataclass(frozen=True)
class LabelWorld(AuditWorld):
    """Decisions and outcomes of several labels."""

    positive: str | None = None

    def parts(self) -> Iterator[Cell]:
        """All people, those with each label, and where outcomes are known those who should have it, right and wrong."""
        labels = sorted(self.frame["chosen"].unique())
        yield {}
        yield from ({"chosen": label} for label in labels)
        for y in labels if "y" in self.frame else ():
            yield {"y": y}
            others = tuple(label for label in labels if label != y)
            yield from ({"y": y, "chosen": chosen} for chosen in (*labels, others))
            yield {"y": others, "chosen": y}


def same_publication(world: World, text: str) -> bool:
    """Whether a world is published in these words; one that fairalm refuses is published in none."""
    try:
        return world.publish() == text
    except InputError:
        return False
