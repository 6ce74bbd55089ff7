"""The table of all labels, from the results of the jobs, and what it says in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, fisher_exact

from fairalm.measures import Measure, difference_interval
from fairalm.selection import nvp
from reproduction.experiment import Result, Results
from reproduction.labels.job import GROUPS, METHODS, Counts, measures
from reproduction.seeds import columns

#: The paper's "Identifying Unfair Labels in CelebA dataset": a label and its DEO of U and of F in percent, where Male
#: is protected, and another where Young is
PRINTED = (
    ("Attractive", (28, 3), "Attractive", (8, 1)),
    ("Bangs", (4, 2), "Heavy_Makeup", (11, 1)),
    ("High_Cheekbones", (18, 0), "High_Cheekbones", (7, 0)),
    ("Mouth_Slightly_Open", (11, 3), "Male", (6, 0)),
    ("Smiling", (10, 0), "Wearing_Lipstick", (12, 4)),
)
PAPER = {"Male": {line[0]: line[1] for line in PRINTED}, "Young": {line[2]: line[3] for line in PRINTED}}
LEAST_PRECISION, LEAST_DEO = 0.70, 0.04  # of the unconstrained net, for a label to be in the table
NEAR = 5.0  # the paper: FairALM's precision differs by at most so many points
U, F, DEFAULT = METHODS
FAIR = {F: "F", DEFAULT: "default"}
NO_MEASURES = {name: Measure(name, None, None, None, 0, 0) for name in ("precision", "error", "deo")}
LEVEL = 0.05  # a gap is called one if chance alone gives it less often than this
#: The paper names no step sizes: both are chosen once for all labels, on these pairs of protected attribute and label
TRIED = (("Male", "Attractive"), ("Male", "Smiling"), ("Young", "Wearing_Lipstick"))


def tried(results: Results, setting: str) -> pd.DataFrame:
    """Means on the validation part over the pairs tried, one row per value of "lr" (of U) or "eta" (of F)."""
    rows = [
        {setting: result["config"][setting]}
        | {name: measure.value for name, measure in measures(counts, protected).items()}
        for result in results
        if not result["config"]["is_tested"] and result["config"]["method"] == {"lr": U, "eta": F}[setting]
        for protected, counts in result["counts"]["valid"].items()
        if (protected, result["config"]["label"]) in TRIED
    ]
    return pd.DataFrame(rows).astype(float).groupby(setting, as_index=False).mean()


def chosen(results: Results, setting: str) -> float:
    """The step size of the net, "lr", with the smallest error, or FairALM's "eta" by NVP, as in the paper."""
    runs = tried(results, setting)
    return float(runs[setting].iloc[int(runs["error"].argmin()) if setting == "lr" else nvp()(runs)])


def passes(counts: Counts, protected: str) -> bool:
    """Whether the counts of an unconstrained net meet the paper's two conditions."""
    found = measures(counts, protected)
    gap, precision = found["deo"].value, found["precision"].value
    return gap is not None and precision is not None and gap >= LEAST_DEO and precision >= LEAST_PRECISION


def pairs_in_table(results: Results) -> list[tuple[str, str]]:
    """The pairs of protected attribute and label that pass on the validation part, or are in the paper's table."""
    plain = {result["config"]["label"]: result["counts"].get("valid", {}) for result in results}
    return [
        (protected, label)
        for protected in GROUPS
        for label, counts in plain.items()
        if label in PAPER[protected] or (protected in counts and passes(counts[protected], protected))
    ]


def tested(results: Results) -> list[Result]:
    """Without the nets that were trained to choose a setting."""
    return [result for result in results if result["config"]["is_tested"]]


def summarise(results: Results) -> pd.DataFrame:
    """One row per protected attribute, label and method.

    In percent, with ``_low`` and ``_high``: ``precision``, ``error`` and ``deo`` on the test part, and ``change``, the
    precision less that of the unconstrained net; ``valid_...`` are of the validation part. Of the unconstrained nets
    ``p``, by Fisher's exact test of equal true positive rates, and ``q``, adjusted for the number of pairs (Benjamini
    and Hochberg). ``people`` are those in the smaller of the two cells of DEO. ``is_screened`` and ``passes_on_test``:
    the paper's conditions on the unconstrained net. ``note``: why DEO is undefined, or a small cell.
    """
    nets: dict[tuple[str, str, str], Result] = {}
    for result in tested(results):
        config = result["config"]
        for protected in [config["protected"]] if config["protected"] else GROUPS:
            if protected != config["label"]:
                nets[protected, config["label"], config["method"]] = result
    rows = []
    for (protected, label, method), net in nets.items():
        own, plain = (
            {part: counts[protected] for part, counts in each["counts"].items()}  # none if there is no net
            for each in (net, nets[protected, label, U])
        )
        key = {"protected": protected, "label": label, "method": method}
        rows.append({**key, **_figures(own, protected, net["why"]), **_against(plain, own, protected, method)})
    table = pd.DataFrame(rows)
    known = table["p"].dropna().astype(float)
    table["q"] = pd.Series(false_discovery_control(known), known.index, dtype=float).reindex(table.index)
    for column, names in (("protected", list(GROUPS)), ("method", list(METHODS))):
        table[column] = pd.Categorical(table[column], names, ordered=True)
    return table.sort_values(["protected", "label", "method"]).reset_index(drop=True)


def _figures(counts: dict[str, Counts], protected: str, why: str) -> dict[str, Any]:
    """The columns of one net; without counts, which `why` explains, they are empty."""
    valid, test = (measures(counts[part], protected) if counts else NO_MEASURES for part in ("valid", "test"))
    own = columns(valid, scale=100)
    row: dict[str, Any] = {"valid_precision": own["precision"], "note": why or test["deo"].note}
    row |= {"valid_error": own["error"], "valid_deo": own["deo"], **columns(test, scale=100)}
    cells = zip(counts["test"]["fn"], counts["test"]["tp"], strict=True) if counts else ()
    return row | {"people": min(map(sum, cells), default=None)}


def _against(plain: dict[str, Counts], own: dict[str, Counts], protected: str, method: str) -> dict[str, Any]:
    """The columns that need the unconstrained net too."""
    row: dict[str, Any] = {
        "is_screened": bool(plain) and passes(plain["valid"], protected),
        "passes_on_test": bool(plain) and passes(plain["test"], protected),
        **dict.fromkeys(("p", "change", "change_low", "change_high")),
    }
    if not plain or not own:
        return row
    if method == U:
        if measures(own["test"], protected)["deo"].value is not None:
            row["p"] = float(fisher_exact(np.array([own["test"]["tp"], own["test"]["fn"]])).pvalue)
        return row
    (k0, n0), (k1, n1) = ((sum(c["tp"]), sum(c["tp"]) + sum(c["fp"])) for c in (own["test"], plain["test"]))
    if n0 and n1:
        # the faces of the two nets are taken as independent, which makes the interval a little too wide
        low, high = difference_interval(k0, n0, k1, n1)
        row |= {"change": 100 * (k0 / n0 - k1 / n1), "change_low": 100 * float(low), "change_high": 100 * float(high)}
    return row


def sentences(table: pd.DataFrame) -> list[str]:
    """The table in sentences."""
    plain = table[table["method"] == U].set_index(["protected", "label"])
    known, chosen = plain[plain["deo"].notna()], plain["is_screened"]
    by_accuracy = (plain["valid_error"] <= 100 * (1 - LEAST_PRECISION)) & (plain["valid_deo"] >= 100 * LEAST_DEO)
    texts = [
        f"{chosen.sum()} of {len(plain)} pairs of a label and a protected attribute pass the screen on the validation"
        f" part ({', '.join(f'{chosen[name].sum()} for {name}' for name in GROUPS)}),"
        f" {plain['passes_on_test'].sum()} would on the test part, {(chosen & plain['passes_on_test']).sum()} do on"
        f" both. With accuracy instead of precision, {by_accuracy.sum()} pass on the validation part.",
        f"U: DEO is undefined in {len(plain) - len(known)} pairs, where a group has no rows with the label in the test"
        f" part. In {known['precision'].isna().sum()} others the net predicts the label for nobody there: a DEO of 0,"
        " and no precision.",
        f"U: the interval of DEO leaves 0 out in {(known['deo_low'] > 0).sum()} of {len(known)} pairs; chance alone"
        f" would do so in about {LEVEL * len(known):.0f}. Adjusted for the number of pairs,"
        f" {(known['q'] < LEVEL).sum()} gaps remain.",
    ]
    for method, name in FAIR.items():
        rows = table[(table["method"] == method) & table["is_screened"]].set_index(["protected", "label"])
        if not rows.empty:
            texts.append(
                f"{name}, on {len(rows)} screened pairs: DEO is lower than U's in"
                f" {(rows['deo'] < plain['deo'].reindex(rows.index)).sum()}, below {100 * LEAST_DEO:.0f} in"
                f" {(rows['deo'] < 100 * LEAST_DEO).sum()}, and its interval holds 0 in {(rows['deo_low'] == 0).sum()}."
                f" Precision is within {NEAR:.0f} points of U's in {(rows['change'].abs() <= NEAR).sum()}, lower by"
                f" more in {(rows['change'] < -NEAR).sum()}, and surely so (by its whole interval) in"
                f" {(rows['change_high'] < -NEAR).sum()}."
            )
    return texts
