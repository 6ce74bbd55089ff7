"""Rows with known groups and labels, of which there are several, and what models that have not seen them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairalm._validation import Groups
from fairalm.arrays import FloatArray, IntArray
from fairalm.frontier.joint import Joint
from fairalm.frontier.sample import Sample


@dataclass(frozen=True, eq=False)
class LabelSample:
    """Rows with known labels and groups, and what models that have not seen them say of them.

    Parameters
    ----------
    joint : Joint
        Out-of-fold probabilities of all labels.
    plain, label : int arrays of shape (n,)
        Codes of the labels: as the plain model predicts them, out of fold, and as they are.
    labels : sequence of labels
        What the codes stand for.
    group, groups, weight
        As in :class:`fairalm.frontier.sample.Sample`.
    """

    joint: Joint
    plain: IntArray
    label: IntArray
    labels: Sequence[Any]
    group: IntArray | FloatArray
    groups: Groups
    weight: FloatArray

    @cached_property
    def against_rest(self) -> list[Sample]:
        """The rows with each label as the target; without the groups' probabilities."""
        return [
            Sample(
                Joint(self.joint.target[:, k], {}),
                self.plain == k,
                self.label == k,
                self.group,
                self.groups,
                self.weight,
            )
            for k in range(len(self.labels))
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the rest."""
        return {name: value for name, value in vars(self).items() if name != "against_rest"}
