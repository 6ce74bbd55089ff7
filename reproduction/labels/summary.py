"""From cells to a table of all labels, and what can be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures import difference_interval
from reproduction.cells import Result
from reproduction.labels.cell import GROUPS, RULES
from reproduction.labels.paper import LEAST_DEO, LEAST_PRECISION, NEAR, PAPER
from reproduction.labels.plan import passes
from reproduction.labels.rates import Counts, deo, error, precision

U, F, DEFAULT = RULES
LEVEL = 0.05  # what chance alone gives less often than this is called a gap
Row = Mapping[str, Any]


def summarise(results: Sequence[Result]) -> pd.DataFrame:
    """One row per protected attribute, label and rule.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them, of nets that were tested.

    Returns
    -------
    pandas.DataFrame
        In percent, with ``_low`` and ``_high``: ``precision``, ``error`` and ``deo`` on the test part, and ``change``,
        the precision less that of the unconstrained net. ``valid_precision``, ``valid_error`` and ``valid_deo``. For
        the unconstrained nets ``p``, of Fisher's exact test that the groups' true positive rates are equal, and ``q``,
        the same adjusted for the number of pairs (Benjamini and Hochberg). ``people``, in the smaller of the cells
        that DEO rests on. ``is_screened`` and ``passes_on_test``: the paper's conditions on the unconstrained net.
        ``note``: why DEO is undefined, or a small cell.
    """
    nets: dict[tuple[str, str, str], Result] = {}
    for result in results:
        config = result["config"]
        for protected in [config["protected"]] if config["protected"] else GROUPS:
            if protected != config["label"]:
                nets[protected, config["label"], config["rule"]] = result
    rows = []
    for (protected, label, rule), net in nets.items():
        own, plain = (_counts(found, protected) for found in (net, nets[protected, label, U]))
        key = {"protected": protected, "label": label, "rule": rule}
        rows.append({**key, **_figures(own, protected, net["why"]), **_against(plain, own, protected, rule)})
    table = pd.DataFrame(rows)
    table["q"] = _adjusted(table["p"])
    for column, names in (("protected", list(GROUPS)), ("rule", list(RULES))):
        table[column] = pd.Categorical(table[column], names, ordered=True)
    return table.sort_values(["protected", "label", "rule"]).reset_index(drop=True)


def _counts(net: Result, protected: str) -> dict[str, Counts]:
    """By part; none if there is no net."""
    return {part: counts[protected] for part, counts in net["counts"].items()}


def _figures(counts: dict[str, Counts], protected: str, why: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for part, prefix in (("valid", "valid_"), ("test", "")):
        for name in ("precision", "error", "deo"):
            found = _measure(name, counts[part], protected) if counts else None
            for end, value in (("", "value"), ("_low", "low"), ("_high", "high"))[: 1 if prefix else 3]:
                number = getattr(found, value, None)
                row[prefix + name + end] = None if number is None else 100 * number
            row["note"] = why or getattr(found, "note", "")  # the last is DEO on the test part
    cells = zip(counts["test"]["fn"], counts["test"]["tp"], strict=True) if counts else ()
    return row | {"people": min(map(sum, cells), default=None)}


def _measure(name: str, counts: Counts, protected: str) -> Any:
    return deo(counts, protected) if name == "deo" else {"precision": precision, "error": error}[name](counts)


def _against(plain: dict[str, Counts], own: dict[str, Counts], protected: str, rule: str) -> dict[str, Any]:
    """What takes the unconstrained net too."""
    row: dict[str, Any] = {
        "is_screened": bool(plain) and passes(plain["valid"], protected),
        "passes_on_test": bool(plain) and passes(plain["test"], protected),
        "p": None,
        "change": None,
        "change_low": None,
        "change_high": None,
    }
    if not plain or not own:
        return row
    if rule == U:
        return row | {"p": _chance(own["test"], protected)}
    (k0, n0), (k1, n1) = ((sum(c["tp"]), sum(c["tp"]) + sum(c["fp"])) for c in (own["test"], plain["test"]))
    if n0 and n1:
        # the faces of the two nets are taken as independent, which makes the interval a little too wide
        low, high = difference_interval(k0, n0, k1, n1)
        row |= {"change": 100 * (k0 / n0 - k1 / n1), "change_low": 100 * float(low), "change_high": 100 * float(high)}
    return row


def _chance(counts: Counts, protected: str) -> float | None:
    from scipy.stats import fisher_exact

    if deo(counts, protected).value is None:
        return None
    return float(fisher_exact(np.array([counts["tp"], counts["fn"]])).pvalue)


def _adjusted(p: pd.Series[Any]) -> pd.Series[Any]:
    from scipy.stats import false_discovery_control

    known = p.dropna().astype(float)
    return pd.Series(false_discovery_control(known), known.index, dtype=float).reindex(p.index)


def rows_of(table: pd.DataFrame, protected: str) -> dict[tuple[str, str], Row]:
    """The rows for one protected attribute, by label and rule."""
    part = table[table["protected"] == protected].to_dict("records")
    return {(str(row["label"]), str(row["rule"])): {str(name): row[name] for name in row} for row in part}


def labels_shown(table: pd.DataFrame, protected: str) -> list[str]:
    """The labels that pass the screen, by falling DEO of the unconstrained net, then those that only the paper has."""
    rows = table[(table["protected"] == protected) & (table["rule"] == U)].sort_values("deo", ascending=False)
    chosen = [str(label) for label in rows.loc[rows["is_screened"], "label"]]
    return chosen + [label for label in rows["label"] if label in PAPER[protected] and label not in chosen]


def findings(table: pd.DataFrame) -> list[str]:
    """The table in sentences."""
    plain = table[table["rule"] == U].set_index(["protected", "label"])
    known, chosen = plain[plain["deo"].notna()], plain["is_screened"]
    by_accuracy = (plain["valid_error"] <= 100 * (1 - LEAST_PRECISION)) & (plain["valid_deo"] >= 100 * LEAST_DEO)
    said = [
        f"{chosen.sum()} of {len(plain)} pairs of a label and a protected attribute pass the screen on the validation"
        f" part ({', '.join(f'{chosen[name].sum()} for {name}' for name in GROUPS)}),"
        f" {plain['passes_on_test'].sum()} would on the test part, {(chosen & plain['passes_on_test']).sum()} do on"
        f" both. With accuracy in the place of precision, {by_accuracy.sum()} pass on the validation part.",
        f"U: DEO is undefined in {len(plain) - len(known)} pairs, where a group has no one with the label in the test"
        f" part. In {known['precision'].isna().sum()} others the net predicts the label for nobody there: a DEO of 0,"
        " and no precision.",
        f"U: the interval of DEO leaves 0 out in {(known['deo_low'] > 0).sum()} of {len(known)} pairs; chance alone"
        f" would do so in about {LEVEL * len(known):.0f}. Adjusted for the number of pairs,"
        f" {(known['q'] < LEVEL).sum()} gaps remain.",
    ]
    for rule, name in ((F, "F"), (DEFAULT, "default")):
        rows = table[(table["rule"] == rule) & table["is_screened"]].set_index(["protected", "label"])
        if not rows.empty:
            said.append(f"{name}, on {len(rows)} screened pairs: {_compared(rows, plain)}")
    return said


def _compared(rows: pd.DataFrame, plain: pd.DataFrame) -> str:
    return (
        f"DEO is lower than U's in {(rows['deo'] < plain['deo'].reindex(rows.index)).sum()}, below"
        f" {100 * LEAST_DEO:.0f} in {(rows['deo'] < 100 * LEAST_DEO).sum()}, and its interval holds 0 in"
        f" {(rows['deo_low'] == 0).sum()}. Precision is within {NEAR:.0f} points of U's in"
        f" {(rows['change'].abs() <= NEAR).sum()}, lower by more in {(rows['change'] < -NEAR).sum()}, and surely so (by"
        f" its whole interval) in {(rows['change_high'] < -NEAR).sum()}."
    )
