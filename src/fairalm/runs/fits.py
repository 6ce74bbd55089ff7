"""A fitted model with its time, warnings and figures."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.exceptions import FairALMWarning
from fairalm.measures import Measure
from fairalm.runs.metrics import measures_in


@dataclass(frozen=True)
class Fit:
    """A fitted model, the seconds it took, the warnings of fairalm, and its figures on the train and the test rows."""

    model: Any
    seconds: float
    warnings: tuple[Warning, ...] = ()
    splits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures on the test rows."""
        return measures_in(self.splits["test"])

    @property
    def n_fits(self) -> int:
        """How often the estimator was fitted."""
        return int(getattr(self.model, "n_oracle_calls_", 1))

    @property
    def history(self) -> dict[str, Any]:
        """The columns of the history; none for a plain model."""
        return {str(name): column.tolist() for name, column in getattr(self.model, "history_", {}).items()}


def timed(fit: Callable[[], Any]) -> Fit:
    """Fit a model, and keep the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FairALMWarning)
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
    return Fit(model, seconds, tuple(w.message for w in caught if isinstance(w.message, Warning)))


def scores_of(model: Any, X: Any, positive: Any) -> FloatArray | None:
    """Scores of the positive label: probabilities, else decision values, else None."""
    is_last = model.classes_[-1] == positive
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1 if is_last else 0], dtype=float)
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=float)
        return values if is_last else -values
    return None
