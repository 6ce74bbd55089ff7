"""Mending the probabilities of small heads by rows that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.joint import Joint
from fairalm.frontier.mending import SMALLEST, member_columns, mended, mended_members, target_columns


def label_columns(joint: Joint) -> FloatArray:
    """What held-out rows mend P(target | x) from: its log-odds, and the logarithms of the groups' probabilities.

    With the latter, heads that were fitted where label and group go together are mended by rows where they do not.
    """
    groups = [member_columns(members, joint.target)[:, :-1] for members in joint.members.values()]
    return np.column_stack([target_columns(joint.target), *groups])


def mend(joint: Joint, mend_label: Any, mend_members: Mapping[str, Any]) -> Joint:
    """The same probabilities, mended; those without a model are only kept away from 0 and 1, as those with one are."""
    target = np.clip(joint.target, SMALLEST, 1 - SMALLEST)
    if mend_label is not None:
        columns = label_columns(joint)[:, : mend_label.coef_.shape[1]]
        target = mend_label.predict_proba(columns)[:, 1]
    members = {}
    for population, given in joint.members.items():
        if population in mend_members:
            members[population] = mend_members[population].predict_proba(member_columns(given, target))
        else:
            clipped = np.clip(given, SMALLEST, 1.0)
            members[population] = clipped / clipped.sum(axis=1, keepdims=True)
    return Joint(target, members)


def find_mending(
    joint: Joint, positive: BoolArray, group: IntArray, *, is_heldout: bool = False
) -> tuple[Any, dict[str, Any]]:
    """What mends the probabilities of rows with these labels and groups.

    None, or nothing for a population, where they are right as they are. Out-of-fold rows change how sure the label's
    head is, not what it predicts; held-out rows may have another mix of labels and groups, and change both.
    """
    weight = np.ones(len(positive))
    both = np.column_stack([1 - joint.target, joint.target])
    columns = label_columns(joint) if is_heldout else target_columns(joint.target)
    mend_label = mended(columns, both, positive, weight, intercept=is_heldout)
    target = mend(joint, mend_label, {}).target
    return mend_label, mended_members(joint, target, positive, group, weight)
