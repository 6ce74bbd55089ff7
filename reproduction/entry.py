"""What a cell keeps of a net's test pictures, for the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm.measures import splits_entry


def net_entry(y: Any, logits: npt.NDArray[np.floating[Any]], groups: Any) -> dict[str, Any]:
    """Counts per group and binned scores.

    Parameters
    ----------
    y : array of int
        Labels, 0 and 1.
    logits : array
        Of label 1; of a net about to diverge, which has some without a number, the scores are not kept.
    groups : array
        The group of each picture, in words.

    Examples
    --------
    >>> entry = net_entry([1, 0, 1], np.array([0.5, -1.0, -2.0]), ["a", "a", "b"])
    >>> entry["groups"]["b"]["fn"], entry["deo"]["value"]
    (1, 1.0)
    """
    scores = logits if np.isfinite(logits).all() else None
    return splits_entry(y, (logits > 0).astype(int), scores, sensitive_features=groups, target=1)
