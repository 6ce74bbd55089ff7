"""Checks of settings that several image sets share."""

from __future__ import annotations

from typing import Any

from fairalm.exceptions import InputError


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number in this range."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        upper = "" if most is None else f" to {most}"
        raise InputError(f"{name} must be a whole number from {least}{upper}; got {value!r}.")


def check_correlation(correlation: float) -> None:
    """Refuse what is not a share."""
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must lie between 0 (independent) and 1 (the same); got {correlation!r}.")
