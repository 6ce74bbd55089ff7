"""The measure of a model that was chosen among several by that measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairalm.constraints import Constraint
from fairalm.measures.definitions import Definition, definition_of
from fairalm.measures.gaps import measure_of
from fairalm.measures.measure import Measure
from fairalm.measures.rates import COUNTS, GroupRates
from fairalm.measures.weights import WeightSums


def chosen_measure(
    entry: Mapping[str, Any], which: str | Constraint | Mapping[str, Any], n_models: int, *, level: float = 0.95
) -> Measure:
    """A measure with an interval that allows for the choice of the best of `n_models` on the same rows.

    The smallest of several gaps is partly small by chance, so its usual interval covers too rarely, mostly because the
    gap is larger than its upper end. The end on that side is therefore taken at Šidák's level ``level ** (1 /
    n_models)``; the other end needs no correction, since a model whose gap looks too large is rarely chosen.

    Parameters
    ----------
    entry : mapping
        A split's entry in metrics.json, from :func:`splits_entry`.
    which : str, Constraint, or mapping
        A key of ``MEASURES``, a constraint, or what metrics.json says under ``measure``, from :func:`describe`.
    n_models : int
        How many models the choice was made among, this one included.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> from fairalm.measures import splits_entry
    >>> y_true, y_pred = [1] * 80, [1] * 60 + [0] * 20
    >>> entry = splits_entry(y_true, y_pred, sensitive_features=["F", "M"] * 40)
    >>> print(chosen_measure(entry, "deo", 1), chosen_measure(entry, "deo", 20))
    0.0 % [0.0, 19.0] 0.0 % [0.0, 28.7]
    """
    definition = _described(which) if isinstance(which, Mapping) else definition_of(which)
    return measure_of(definition, rates_in(entry), level=level, n_models=n_models)


def rates_in(entry: Mapping[str, Any]) -> GroupRates:
    """The counts of an entry; its target is not known, so notes call it "1"."""
    groups = [(name, group) for part in _attributes(entry) for name, group in part]
    counts: Any = {key: np.array([group[key] for _, group in groups], dtype=np.int64) for key in COUNTS}
    weights = None
    if any("weights" in group for _, group in groups):
        sums, squares = (
            {key: np.array([group[table][key] for _, group in groups], dtype=float) for key in COUNTS}
            for table in ("weights", "weight_squares")
        )
        weights = WeightSums(sums, squares, unit=1.0)
    blocks = tuple(len(part) for part in _attributes(entry))
    return GroupRates(tuple(name for name, _ in groups), **counts, target=1, blocks=blocks, weights=weights)


def _attributes(entry: Mapping[str, Any]) -> list[list[tuple[str, Mapping[str, Any]]]]:
    """Names and entries of the groups of each attribute."""
    groups = entry["groups"]
    return [[(name, groups[name]) for name in part] for part in entry.get("attributes", [list(groups)])]


def _described(measure: Mapping[str, Any]) -> Definition:
    rates = {name: (tuple(above), tuple(below)) for name, (above, below) in measure["definitions"].items()}
    return Definition(measure["key"], rates, measure["kind"], measure["title"], "", measure["reference"])
