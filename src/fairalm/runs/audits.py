"""Measuring given decisions and scores by group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.arrays import BoolArray
from fairalm.exceptions import InputError
from fairalm.files import AUDIT, AnyPath, write_csv, write_json
from fairalm.folders import new_folder
from fairalm.json_reader import read_schema
from fairalm.manifest import versions, write_manifest
from fairalm.measures import RATES
from fairalm.runs import audit_tables as tables
from fairalm.runs.audit_labels import label_tables
from fairalm.runs.decisions import CountedDecisions, Decisions
from fairalm.runs.metrics import fingerprint
from fairalm.runs.source import is_guess

SCHEMA = 1  # of audit.json: schemas/audit.schema.json
TABLES = "tables.csv"
AGAINST = (
    *(f"{what}{end}" for what in ("ratio", "difference") for end in ("", "_low", "_high")),
    *("z", "p", "p_holm", "test"),
)
OUTCOME_RATES = ("error", "tpr", "fpr", "ppv")


def audit_schema() -> dict[str, Any]:
    """The JSON schema of audit.json, for a validator such as that of the package jsonschema.

    >>> audit_schema()["title"]
    'audit.json of fairalm, schema 1'
    """
    return read_schema("audit")


@dataclass(frozen=True)
class Audit:
    """An audit; `facts` is the content of audit.json.

    >>> from fairalm.runs import Decisions, audit
    >>> done = audit(Decisions("german", "foreign_worker", decision="credit"))
    >>> groups = done.facts["selection"][0]["groups"]
    >>> [(name, group["n"], group["selected"]) for name, group in groups.items()]
    [('no', 37, 33), ('yes', 963, 667)]
    """

    given: Decisions
    facts: dict[str, Any]

    def tables(self) -> pd.DataFrame:
        """Every rate of every group, one per line, as tables.csv has them."""
        return pd.DataFrame(_lines(self.facts))

    def save(self, folder: AnyPath, *, overwrite: bool = False, raw: bool = False) -> None:
        """Write audit.json and tables.csv into a new folder; `raw` as for ``fairalm audit --raw``."""
        with self.saving(folder, overwrite=overwrite, raw=raw):
            pass

    @contextmanager
    def saving(self, folder: AnyPath, *, overwrite: bool = False, raw: bool = False) -> Iterator[Path]:
        """:meth:`save`, with a block that may write more files into the folder before it is complete."""
        with new_folder(folder, overwrite=overwrite) as part:
            write_json(part / AUDIT, self.facts)
            write_csv(part / TABLES, self.tables(), raw=raw)
            yield part
            write_manifest(part, data=self.facts["data"]["fingerprint"], settings=self.facts["config"])


def audit(given: Decisions, *, command: str = "") -> Audit:
    """Measure decisions, scores or both by group. The table is read batch by batch: it need not fit in memory.

    ``facts["selection"]`` has a table for each attribute with the share of each group that is selected, its ratio to
    that of the reference group, tests and verdicts; ``facts["scoring"]`` the same for the share with a score above the
    median, and ``facts["thresholds"]`` the rates at each decile of the scores. With outcomes, ``facts["outcomes"]`` has
    every measure. Decisions of several labels have a table for each attribute and label, and ``facts["labels"]`` the
    worst over the labels.
    """
    if not given.protected:
        raise InputError("Name the protected columns with {protected}: there is nothing to compare.", protected=None)
    counted = given.count()
    each = {columns: counted.groups(columns) for columns in given.attribute_columns}
    alone = {column: counted.groups([column]) for column in given.protected} if given.reference else {}
    tables.check_references(given.reference, [*each.values(), *alone.values()])

    parts = {columns: [alone[column] for column in columns if column in alone] for columns in each}
    references = {
        columns: tables.find_reference(given.reference, groups, parts[columns]) for columns, groups in each.items()
    }

    def compared(chosen: BoolArray | None) -> list[Any]:
        if chosen is None:
            return []
        return [tables.comparison(counted, *table, chosen, references[table[0]]) for table in each.items()]

    several = [label_tables(counted, *table, references[table[0]]) for table in each.items() if counted.labels.several]
    has_outcomes = counted.selected is not None and counted.outcome is not None
    facts = {
        "schema": SCHEMA,
        "command": command,
        "data": _data(counted),
        "config": {**asdict(given), "positive": counted.labels.positive, "positive_is": _positive_is(given, counted)},
        "selection": [*compared(counted.selected), *(own for each_label in several for own in each_label.selection)],
        "scoring": compared(counted.above_median),
        "outcomes": [
            *(tables.outcomes(counted, *table) for table in each.items() if has_outcomes),
            *(own for each_label in several for own in each_label.outcomes),
        ],
        "labels": [each_label.worst for each_label in several],
        "thresholds": [tables.thresholds(counted, *table) for table in each.items() if counted.deciles is not None],
        "versions": versions(),
    }
    return Audit(given, facts)


def _data(counted: CountedDecisions) -> dict[str, Any]:
    counts, given = counted.counts, counted.given
    absent = counts.table[list(counts.protected)].isna().any(axis=1).to_numpy()
    return {
        "name": given.data,
        "fingerprint": fingerprint(counts.sorted_table()),
        "rows": counts.n_rows,
        "dropped": int(counts.rows[absent].sum()) if given.missing == "drop" else 0,
        "median": None if counted.deciles is None else float(counted.deciles[4]),
    }


def _positive_is(given: Decisions, counted: CountedDecisions) -> str | None:
    if counted.labels.positive is None:
        return None
    return "guessed" if given.positive is None and is_guess(counted.labels.positive) else "given"


def _lines(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for what in ("selection", "scoring"):
        for table in facts[what]:
            yield from _comparison_lines(what, table)
    for table in facts["labels"]:
        for name, rate in table.get("errors", {}).items():
            yield _line("error", table, name, rate)
    for table in facts["outcomes"]:
        for name, group in table["groups"].items():
            for rate in OUTCOME_RATES["label" in table :]:  # the error is about all labels together
                count = sum(group[part] for part in RATES[rate][0])
                yield _line(rate, table, name, {**group["rates"][rate], "k": count})
    for table in facts["thresholds"]:
        for point in table["points"]:
            for name, group in point["groups"].items():
                for rate, own in group.items():
                    what = f"{rate} above threshold"
                    yield {**_line(what, table, name, own), "threshold": point["threshold"]}


def _comparison_lines(what: str, table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, group in table["groups"].items():
        against = group["against"] or {}
        compared = {column: against.get(column) for column in AGAINST}
        if name == table["reference"]:
            compared["ratio"], compared["difference"] = 1.0, 0.0
        yield {**_line(what, table, name, group["rate"]), "reference": table["reference"], **compared}
    unknown = table["unknown"]
    if unknown["n"]:
        rate = {"value": unknown["rate"], "low": None, "high": None, "k": unknown["selected"], "n": unknown["n"]}
        yield _line(what, table, "(unknown)", rate)


def _line(what: str, table: dict[str, Any], group: str, rate: dict[str, Any]) -> dict[str, Any]:
    return {
        "table": what,
        "attribute": table["attribute"],
        **({"label": table["label"]} if "label" in table else {}),
        "group": group,
        "threshold": None,
        "n": rate["n"],
        "count": rate["k"],
        "rate": rate["value"],
        "low": rate["low"],
        "high": rate["high"],
    }
