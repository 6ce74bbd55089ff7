"""Mending the probabilities of small heads by rows that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.joint import Joint
from fairalm.frontier.mending import SMALLEST, member_columns, mended, target_columns


def label_columns(joint: Joint) -> FloatArray:
    """What P(target | x) is mended from: its own logarithms, and those of the groups' probabilities.

    With the latter it is right in every group, not on the whole only; and heads that were fitted where label and group
    go together can be mended by held-out rows where they do not.
    """
    groups = [np.log(np.clip(members, SMALLEST, 1.0)) for members in joint.members.values()]
    centred = [logs - logs.mean(axis=1, keepdims=True) for logs in groups]
    return np.column_stack([target_columns(joint.target), *centred])


def mend(joint: Joint, mend_label: Any, mend_members: Mapping[str, Any]) -> Joint:
    """The same probabilities, mended."""
    target = joint.target if mend_label is None else mend_label.predict_proba(label_columns(joint))[:, 1]
    members = dict(joint.members)
    for population, model in mend_members.items():
        members[population] = model.predict_proba(member_columns(members[population], target))
    return Joint(target, members)


def find_mending(joint: Joint, positive: BoolArray, group: IntArray) -> tuple[Any, dict[str, Any]]:
    """What mends the probabilities of rows with these labels and groups.

    None, or nothing for a population, where they are right as they are.
    """
    weight = np.ones(len(positive))
    both = np.column_stack([1 - joint.target, joint.target])
    mend_label = mended(label_columns(joint), both, positive, weight)
    target = mend(joint, mend_label, {}).target
    mend_members: dict[str, Any] = {}
    for population, members in joint.members.items():
        own = inside(population, positive)
        given = members[own]
        found = mended(member_columns(given, target[own]), given, group[own], weight[own])
        if found is not None:
            mend_members[population] = found
    return mend_label, mend_members


def inside(population: str, positive: BoolArray) -> BoolArray:
    """Which rows belong to a population."""
    return {"target": positive, "other": ~positive, "everyone": np.ones_like(positive)}[population]
