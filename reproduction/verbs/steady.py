"""How much error and DEO depend on eta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairalm.vision.leak import average, difference
from reproduction.verbs.rules import RULES, SWEPT
from reproduction.verbs.summary import Results, percent

COLUMNS = {"error": "error", "deo": "DEO", "decade": "DEO, decade", "useful": "useful"}
LOSS, SHARE = 0.02, 0.5  # an eta is useful if DEO is at most half the plain head's, for two points of error


def sweeps(results: Results) -> pd.DataFrame:
    """One line per rule, eta and seed: ``rule``, ``eta``, ``seed``, and test ``error`` and ``deo`` as shares."""
    return pd.DataFrame(
        {
            "rule": result["config"]["rule"],
            "seed": result["config"]["seed"],
            **setting,
            **{name: test[name]["value"] for name in ("error", "deo")},
        }
        for result in results
        for setting, test in zip(result["config"]["sweep"], result["sweep"], strict=True)
    )


def ranges(swept: pd.DataFrame, plain: pd.DataFrame) -> pd.DataFrame:
    """Per rule and seed: largest less smallest error and DEO over all etas, and DEO's within the worst decade.

    Parameters
    ----------
    swept : pandas.DataFrame
        From :func:`sweeps`.
    plain : pandas.DataFrame
        ``seed``, ``error``, ``deo`` of the unconstrained head: ``useful`` is the share of etas with at most half its
        DEO, for at most two points of error.
    """
    lines = []
    reference = {seed: (error, gap) for seed, error, gap in plain[["seed", "error", "deo"]].itertuples(index=False)}
    for (rule, seed), part in swept.groupby(["rule", "seed"], sort=False):
        if seed not in reference:
            continue
        error, gap = reference[seed]
        by_eta = part.set_index("eta").sort_index()
        etas = by_eta.index.to_numpy()
        decades = [
            by_eta["deo"][(etas >= eta * 0.99) & (etas <= eta * 10.1)] for eta in etas if eta * 9.9 <= etas.max()
        ]
        is_useful = (by_eta["deo"] <= SHARE * gap) & (by_eta["error"] <= error + LOSS)
        lines.append(
            {
                "rule": rule,
                "seed": seed,
                "error": np.ptp(by_eta["error"]),
                "deo": np.ptp(by_eta["deo"]),
                "decade": max(np.ptp(decade) for decade in decades),
                "useful": is_useful.mean(),
            }
        )
    return pd.DataFrame(lines)


def steadiness(found: pd.DataFrame) -> pd.DataFrame:
    """Means of :func:`ranges` over the seeds in percent; ``_less`` is FairALM's less this rule's, seed by seed."""
    by_rule = {str(rule): part.set_index("seed")[list(COLUMNS)] for rule, part in found.groupby("rule", sort=False)}
    lines = []
    for rule in (rule for rule in SWEPT if rule in by_rule):
        line: dict[str, Any] = {"rule": rule, "seeds": len(by_rule[rule])}
        for name, mean in average(by_rule[rule]).items():
            line |= percent(name, mean)
        ours = by_rule.get("fairalm-heldout" if RULES[rule].is_heldout else "fairalm")
        if RULES[rule].method != "fairalm" and ours is not None and len(ours) > 1 and len(ours) == len(by_rule[rule]):
            for name, mean in difference(ours, by_rule[rule]).items():
                line |= percent(f"{name}_less", mean)
        lines.append(line)
    return pd.DataFrame(lines)
