"""Which epoch's weights a run ends with."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal

import pandas as pd

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.mixtures import choose_single
from fairalm.selection import NVP

Choose = Callable[[pd.DataFrame], int] | Literal["best"]


def check_choice(choose: Choose | None, constraint: Constraint, *, valid_loader: Any, dual_loader: Any) -> None:
    """Check that the history will have what `choose` reads, from data that the multipliers do not see."""
    if choose is not None and dual_loader is not None and dual_loader is valid_loader:
        raise InputError("`dual_loader` is `valid_loader`, by which the epoch is chosen: hold out a part for each.")
    if choose != "best" and not isinstance(choose, NVP):
        return
    name = "'best'" if choose == "best" else "nvp(...)"
    if valid_loader is None:
        text = f"`choose={name}` compares measures on validation data: pass {{valid_loader}}."
        raise InputError(text, valid_loader=None)
    if isinstance(choose, NVP) and choose.gap not in ("error", constraint.measure):
        known = f"the history has error, {constraint.measure}"
        raise InputError(f"`choose={name}` compares {choose.gap}; {known}: pass nvp(gap=...).")


def choose_epoch(choose: Choose, history: pd.DataFrame, constraint: Constraint) -> int:
    """The row of the history whose weights are kept."""
    if not callable(choose):
        names = ("valid_error", f"valid_{constraint.measure}")
        error, gap = (history[name].fillna(1.0).to_numpy(float) for name in names)
        return choose_single(error, gap[:, None], tol=constraint.tol)
    row = choose(history)
    if not hasattr(row, "__index__") or not 0 <= operator.index(row) < len(history):
        raise InputError(f"`choose` must return a row of the history, 0..{len(history) - 1}; got {row!r}.")
    return operator.index(row)
