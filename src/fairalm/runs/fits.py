"""What the fits of a run need, and what they give."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.measures import Measure
from fairalm.runs.metrics import measures_in
from fairalm.runs.settings import Settings
from fairalm.runs.source import Samples


@dataclass(frozen=True)
class Checkpoints:
    """The folder in which the nets of one run keep their checkpoints until the run is saved; None keeps none."""

    folder: Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if self.folder is not None and self.folder.exists() and not self.resume:
            raise InputError(
                f"{self.folder} is left from a run that did not end: pass {{resume}} to go on with it, or delete it.",
                resume=True,
            )

    def of(self, part: str) -> Path | None:
        """The folder of the fair or of the plain net."""
        return None if self.folder is None else self.folder / part

    def delete(self) -> None:
        """Delete the folder: the run is saved."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Training:
    """The rows to train on, and what to train on them."""

    samples: Samples
    rows: IntArray
    constraint: Constraint
    settings: Settings
    checkpoints: Checkpoints
    progress: bool

    @property
    def X(self) -> pd.DataFrame:
        """The features."""
        return self.samples.X.iloc[self.rows]

    @property
    def y(self) -> npt.NDArray[Any]:
        """The labels, as in the table."""
        return self.samples.labels[self.rows]

    @property
    def groups(self) -> npt.NDArray[Any]:
        """The names of the groups."""
        return self.samples.group_names[self.rows]


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
