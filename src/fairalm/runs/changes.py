"""The entry ``changes`` in metrics.json: a model against the plain one on the test rows."""

from __future__ import annotations

from typing import Any

from fairalm.arrays import IntArray
from fairalm.constraints import Constraint
from fairalm.measures import paired_changes
from fairalm.runs.samples import Samples


def changes_entry(
    samples: Samples, rows: IntArray, plain: Any, fair: Any, constraint: Constraint, *, binary: bool = False
) -> dict[str, Any]:
    """What changes from the plain to the fair predictions for some rows; `binary` ones are 0 and 1."""
    y, target = (samples.data.y, 1) if binary else (samples.labels, samples.data.positive)
    changes = paired_changes(
        y[rows],
        plain,
        fair,
        sensitive_features=samples.groups.take(rows),
        target=target,
        constraint=constraint,
        sample_weight=None if samples.weights is None else samples.weights[rows],
    )
    return changes.to_dict()
