"""What a DEO of 0 can mean where a cell holds a dozen people, and which pictures the paper's figures can be of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import pandas as pd
from scipy.stats import binom

from fairalm.measures import deo
from fairalm.measures.chance import chance_gap
from reproduction.verbs.paper import PAPER

RATE = 0.9  # a true positive rate to reckon with
PARTS = ("valid", "test")


def zeros(counts: Mapping[str, Mapping[tuple[str, int, str], int]]) -> pd.DataFrame:
    """One line per pair of verbs and part of imSitu.

    Parameters
    ----------
    counts : mapping
        From a target verb to what :func:`fairalm.datasets.images.imsitu_counts` gives.

    Returns
    -------
    pandas.DataFrame
        ``verb``, ``part``; ``men`` and ``women`` of the target verb; ``rates``, at how many rates both can be hit alike
        (2: nobody or everybody); in percent: ``high``, the upper end of the interval of a DEO of 0 when everybody is
        hit; ``chance``, the mean DEO of a model that hits both at a rate of 90 % in truth, and ``exact``, how often it
        shows a DEO of exactly 0; ``pictures`` of both verbs, and ``off``, how far the errors that the paper prints are
        from shares of so many pictures, at most, in points.
    """
    lines = []
    for part in PARTS:
        for verb, found in counts.items():
            n = sum(many for (where, _, _), many in found.items() if where == part)
            line = _line(found[part, 1, "man"], found[part, 1, "woman"])
            off = farthest([entries[verb].error for entries in PAPER.values()], n)
            lines.append({"verb": verb, "part": part, **line, "pictures": n, "off": off})
    return pd.DataFrame(lines)


def farthest(printed: Sequence[float], n: int) -> float:
    """How far numbers in percent are from shares of n, at most.

    >>> round(farthest([33.3, 50.0], 6), 3)
    0.033
    """
    return max(abs(number - 100 * round(number * n / 100) / n) for number in printed)


def _line(men: int, women: int) -> dict[str, Any]:
    if not men or not women:
        return {"men": men, "women": women}
    hit, steps = [1] * (men + women), gcd(men, women)
    exact = sum(
        binom.pmf(men * step // steps, men, RATE) * binom.pmf(women * step // steps, women, RATE)
        for step in range(steps + 1)
    )
    return {
        "men": men,
        "women": women,
        "rates": steps + 1,
        "high": 100 * (deo(hit, hit, sensitive_features=[0] * men + [1] * women, target=1).high or 0.0),
        "chance": 100 * chance_gap(RATE, men, women),
        "exact": 100 * float(exact),
    }
