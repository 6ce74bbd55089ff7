"""The rows of a source: features, labels and groups told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import Groups
from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import Dataset, split
from fairalm.exceptions import FairALMWarning
from fairalm.measures import splits_entry


@dataclass(frozen=True)
class Samples:
    """The rows of a source, without those that were dropped for want of a protected value."""

    data: Dataset
    X: pd.DataFrame
    labels: npt.NDArray[Any]  # as in the table
    groups: Groups
    n_train: int | None = None  # with a test file, the rows before it
    with_protected: bool = False
    n_dropped: int = 0
    weight: str | None = None  # column of the weights
    rows_are: str = "people"  # what the rows are, in the plural
    positive_guessed: bool = False  # whether nobody said which label is positive
    warnings: tuple[FairALMWarning, ...] = ()  # of columns that a model should perhaps not see

    @property
    def label(self) -> str:
        """The positive label in words: "income = >50K"."""
        return f"{self.data.target} = {self.data.positive}"

    @property
    def group_names(self) -> npt.NDArray[Any]:
        """The group of each row, of the crossed ones."""
        return np.array(self.groups.names, dtype=object)[self.groups.codes]

    @property
    def training_groups(self) -> dict[str, Any]:
        """The group of each row, as arguments of a classifier: each attribute on its own if they are compared so."""
        if not self.groups.attributes:
            return {"attributes": "crossed", "sensitive_features": self.group_names}
        codes, columns = self.groups.codes, self.groups.attributes
        values = {column.name: np.array(column.labels, dtype=object)[column.of[codes]] for column in columns}
        return {"attributes": "separate", "sensitive_features": values}

    @property
    def weights(self) -> FloatArray | None:
        """How many people each row stands for; None if every row counts the same."""
        return None if self.weight is None else self.data.frame[self.weight].to_numpy(dtype=float)

    @property
    def scaled_weights(self) -> FloatArray | None:
        """The weights scaled to a mean of 1 for training: their unit must not matter."""
        return None if self.weights is None else self.weights / self.weights.mean()

    @property
    def question(self) -> dict[str, Any]:
        """For metrics.json: what the rows are, the label, the protected columns, and whether the model sees them."""
        roles = {name: getattr(self.data, name) for name in ("target", "positive", "protected")}
        return roles | {name: getattr(self, name) for name in ("positive_guessed", "with_protected", "rows_are")}

    def subset(self, rows: IntArray) -> Samples:
        """Some of the rows."""
        data = replace(self.data, frame=self.data.frame.iloc[rows].reset_index(drop=True))
        X = self.X.iloc[rows].reset_index(drop=True)
        return replace(self, data=data, X=X, labels=self.labels[rows], groups=self.groups.take(rows))

    def entry(
        self, rows: IntArray, predicted: Any, scores: Any, constraint: Constraint, *, train: bool, binary: bool = False
    ) -> dict[str, Any]:
        """The figures of predictions for some rows, as metrics.json has them; `binary` ones are 0 and 1."""
        y, target = (self.data.y, 1) if binary else (self.labels, self.data.positive)
        return splits_entry(
            y[rows],
            predicted,
            scores,
            sensitive_features=self.groups.take(rows),
            target=target,
            constraint=constraint,
            sample_weight=None if self.weights is None else self.weights[rows],
            train=train,
        )

    def split(self, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
        """Row numbers to train and to test on; those of the test file if there is one."""
        if self.n_train is not None:
            rows = np.arange(len(self.X))
            return rows[: self.n_train], rows[self.n_train :]
        return split(self.data.y, self.group_names, test_size=test_size, random_state=seed)
