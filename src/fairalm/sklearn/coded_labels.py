"""Labels as the frontier takes them: one is the target, or each of several is compared against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm._validation import check_binary
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.frontier.joint import Population, populations_of
from fairalm.frontier.multiclass.asked import check_compares_predictions, label_populations, target_codes


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """The labels of rows.

    Parameters
    ----------
    code : bool or int array of shape (n,)
        Whether the label is the target or, with several labels, its place among them.
    target : label, or array of labels
        The target, or all of several labels.
    populations : sequence
        Whose groups must be known.
    compared : dict
        For each code that is compared with the rest: what the rest is called, and the label.
    """

    code: BoolArray | IntArray
    target: Any
    populations: Sequence[Population]
    compared: dict[Any, tuple[Any, Any]]

    @classmethod
    def of(cls, y: Any, classes: Any, constraints: Sequence[Constraint]) -> CodedLabels:
        """The labels: several if there are more than two, or if the constraints name their targets in a list."""
        if len(classes) == 2 and not isinstance(constraints[0].target, tuple):
            positive, both = check_binary(y, target=constraints[0].target)
            return cls(positive, both[1], populations_of(constraints), {True: both})
        for constraint in constraints:
            check_compares_predictions(constraint)
        targets = target_codes(constraints, classes.tolist())
        populations = label_populations(constraints, targets, len(classes))
        compared = {k: ("the rest", classes.tolist()[k]) for k in targets}
        return cls(np.searchsorted(classes, y), classes, populations, compared)

    @property
    def is_several(self) -> bool:
        """Whether each label is compared against the rest."""
        return isinstance(self.target, np.ndarray)

    def plain(self, chances: FloatArray, classes: Any) -> BoolArray | IntArray:
        """What the plain model predicts, given the probability of the target, or those of several labels."""
        if self.is_several:
            return np.asarray(chances.argmax(axis=1))
        return np.asarray(chances > 0.5 if classes[1] == self.target else chances >= 0.5)
