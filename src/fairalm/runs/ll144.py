"""The tables of New York City's Local Law 144 of 2021, by the arithmetic of its rule, 6 RCNY 5-300 to 5-304."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm._coding import group_name
from fairalm._validation import Groups
from fairalm.exceptions import InputError
from fairalm.files import LL144, AnyPath, write_csv, write_json
from fairalm.folders import new_folder
from fairalm.manifest import versions, write_manifest
from fairalm.runs.decisions import CountedDecisions, Decisions
from fairalm.runs.metrics import fingerprint

SCHEMA = 1  # of ll144.json
LAW = "New York City Local Law 144 of 2021, rule 6 RCNY 5-300 to 5-304"
MOST = 0.02  # share of the data up to which the rule lets a category be left out of the impact ratios
CSV = "ll144.csv"
ASKED = ("sex", "race", "leave_out_below", "reason", "rate", "column", "positive")  # of the facts
NOTES = (
    "These are the calculations of the rule. The law also asks for an independent auditor, for publishing a summary,"
    " and for notices to candidates; this document does not show that it is complied with.",
    "The law sets no threshold for the impact ratio, and no verdict is given here.",
)
TAKEN = (
    "data",
    "decision",
    "score",
    "positive",
    "unknown",
    "encoding",
    "sep",
    "decimal",
)  # of Decisions; the others are refused
Entry = dict[str, Any]


@dataclass(frozen=True)
class LocalLaw144:
    """What the rule asks for beside the decisions: which columns are sex and race/ethnicity, and the facts as given."""

    sex: str | None = None  # column
    race: str | None = None  # column of race/ethnicity
    leave_out_below: float | None = None  # categories with a smaller share of the rows have no impact ratio
    reason: str | None = None  # why they are left out, which the rule asks for
    tool: str | None = None  # name of the automated employment decision tool
    audit_date: str | None = None
    distribution_date: str | None = None  # of the tool
    data_source: str | None = None  # source and explanation of the data

    def __post_init__(self) -> None:
        if self.leave_out_below is not None and not 0 < self.leave_out_below <= MOST:
            raise InputError(
                f"{{leave_out_below}} must be above 0 and at most {MOST}: the rule lets categories be left out only if"
                f" they are less than 2 % of the data. Got {self.leave_out_below}.",
                leave_out_below=None,
            )
        if (self.leave_out_below is None) != (self.reason is None):
            raise InputError(
                "{leave_out_below} and {reason} go together: the rule asks for the auditor's reason.",
                leave_out_below=None,
                reason=None,
            )
        for name in ("audit_date", "distribution_date"):
            _check_date(name, getattr(self, name))


@dataclass(frozen=True)
class BiasAudit:
    """The three tables; `facts` is the content of ll144.json."""

    facts: Entry

    def tables(self) -> pd.DataFrame:
        """Every category of every table, one per line, as ll144.csv has them."""
        return pd.DataFrame(_lines(self.facts))

    def save(self, folder: AnyPath, *, overwrite: bool = False, raw: bool = False) -> None:
        """Write ll144.json and ll144.csv into a new folder; `raw` as for ``fairalm audit --raw``."""
        with self.saving(folder, overwrite=overwrite, raw=raw):
            pass

    @contextmanager
    def saving(self, folder: AnyPath, *, overwrite: bool = False, raw: bool = False) -> Iterator[Path]:
        """:meth:`save`, with a block that may write more files into the folder before it is complete."""
        with new_folder(folder, overwrite=overwrite) as part:
            write_json(part / LL144, self.facts)
            write_csv(part / CSV, self.tables(), raw=raw)
            yield part
            write_manifest(
                part, data=self.facts["data"]["fingerprint"], settings={name: self.facts[name] for name in ASKED}
            )


def ll144(given: Decisions, law: LocalLaw144, *, command: str = "") -> BiasAudit:
    """Compute the tables of sex, of race/ethnicity and of their intersection.

    A rate is the share selected or, of scores, the share above the median score of the whole sample; the impact ratio
    is the rate over the highest rate of the table. Rows without a category are counted as unknown, and are in no rate.

    >>> law = LocalLaw144(sex="sex", race="race")
    >>> done = ll144(Decisions("adult", decision="income"), law)
    >>> done.tables()[["sex", "applicants", "impact_ratio"]].head(2).round(3).values.tolist()
    [['Female', 16192, 0.36], ['Male', 32650, 1.0]]
    """
    _check_given(given)
    if law.sex is None or law.race is None or law.sex == law.race:
        raise InputError(
            "The tables need two columns: name that of the sex with {sex}, that of race/ethnicity with {race}.",
            sex=None,
            race=None,
        )
    counted = replace(given, protected=(law.sex, law.race)).count(most_labels=2)
    is_scoring = given.score is not None
    chosen = counted.above_median if is_scoring else counted.selected
    alone = [counted.groups([column]) for column in counted.given.protected]
    crossed = _crossed(alone)
    tables = zip(("sex", "race", "intersection"), [*alone, crossed], strict=True)
    facts = {
        "schema": SCHEMA,
        "law": LAW,
        "command": command,
        **asdict(law),
        "data": {
            "name": given.data,
            "fingerprint": fingerprint(counted.counts.sorted_table()),
            "rows": counted.counts.n_rows,
        },
        "rate": "scoring" if is_scoring else "selection",
        "column": given.score if is_scoring else given.decision,
        "positive": counted.labels.positive,
        "median": None if counted.deciles is None else float(counted.deciles[4]),
        "tables": [{"table": name, **_table(counted, groups, chosen, law)} for name, groups in tables],
        "notes": list(NOTES),
        "versions": versions(),
    }
    return BiasAudit(facts)


def _table(counted: CountedDecisions, groups: Groups, chosen: Any, law: LocalLaw144) -> Entry:
    rows, known = counted.counts.rows, groups.codes >= 0

    def sizes(lines: Any) -> Any:
        return np.bincount(groups.codes[lines], rows[lines], groups.n_groups).astype(np.int64)

    n, k = sizes(known), sizes(known & chosen)
    rate = k / np.where(n > 0, n, np.nan)
    total = int(n.sum())
    least = Fraction(str(law.leave_out_below or 0)) * total  # exactly 2 % is not less than 2 %
    left_out = np.array([0 < size < least for size in n.tolist()])
    highest = max((rate[code] for code in np.flatnonzero((n > 0) & ~left_out)), default=0.0)
    return {
        "rows": total,
        "unknown": counted.counts.n_rows - total,
        "highest": _plain(highest) if highest else None,
        "categories": [
            {
                "category": group_name(label),
                "labels": [str(part) for part in (label if isinstance(label, tuple) else (label,))],
                "applicants": int(n[code]),
                "selected": int(k[code]),
                "rate": _plain(rate[code]),
                "impact_ratio": _plain(rate[code] / highest) if highest and not left_out[code] else None,
                "left_out": bool(left_out[code]),
            }
            for code, label in enumerate(groups.labels)
        ],
    }


def _crossed(alone: Sequence[Groups]) -> Groups:
    """Every combination of sex and race/ethnicity, also those that no row has."""
    sex, race = alone
    known = (sex.codes >= 0) & (race.codes >= 0)
    codes = np.where(known, sex.codes * race.n_groups + race.codes, -1)
    return Groups(codes, tuple(product(sex.labels, race.labels)), rows=sex.rows)


def _lines(facts: Entry) -> Iterator[Entry]:
    for table in facts["tables"]:
        name = table["table"]
        for own in table["categories"]:
            labels = {"sex": [*own["labels"], ""], "race": ["", *own["labels"]], "intersection": own["labels"]}[name]
            yield {
                "table": name,
                "sex": labels[0],
                "race_ethnicity": labels[1],
                "applicants": own["applicants"],
                "above_median" if facts["rate"] == "scoring" else "selected": own["selected"],
                f"{facts['rate']}_rate": own["rate"],
                "impact_ratio": own["impact_ratio"],
                "left_out": own["left_out"],
            }
        yield {"table": f"{name}, unknown", "applicants": table["unknown"]}


def _check_given(given: Decisions) -> None:
    """Refuse settings that the rule has no place for."""
    for field in fields(given):
        if field.name not in TAKEN and getattr(given, field.name) != field.default:
            why = "{sex} and {race} name the columns" if field.name == "protected" else "the rule has no place for it"
            raise InputError(
                f"{{{field.name}}} is not for the tables of Local Law 144: {why}; leave it out.",
                **{field.name: None, "sex": None, "race": None},
            )
    if given.decision is not None and given.score is not None:
        raise InputError(
            "Local Law 144 asks for the rates of selections or for those of scores: pass {decision} or {score}, not"
            " both.",
            decision=None,
            score=None,
        )


def _check_date(name: str, text: str | None) -> None:
    try:
        if text is not None:
            date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{{{name}}} must be a date such as 2026-03-31; got {text!r}.", **{name: None}) from None


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
