"""The cells of an experiment as a run that :mod:`fairalm.report` reads: what all experiments do alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import pandas as pd

from fairalm.io import data_entry, metrics
from fairalm.report.runs import FAIRALM_MODEL as OURS
from fairalm.report.runs import OTHER_MODEL as OTHER
from fairalm.report.runs import PLAIN_MODEL as PLAIN
from reproduction.page import coded

__all__ = ["OTHER", "OURS", "PLAIN", "as_run", "model"]

TOL = 0.01  # to judge by; some are trained with another, which their settings say


class Data(Protocol):
    """A table or pictures."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per person; ``split`` if the data come in parts."""
        ...

    @property
    def target(self) -> str:
        """Column of the label."""
        ...

    @property
    def positive(self) -> Any:
        """The label that counts as 1."""
        ...

    @property
    def protected(self) -> tuple[str, ...]:
        """Columns by which fairness is judged."""
        ...

    @property
    def groups(self) -> Any:
        """The protected column or columns."""
        ...


def model(
    rule: str,
    kind: str,
    entry: Mapping[str, Any] | None,
    *,
    seed: int | None = None,
    seconds: float | None = None,
    settings: Mapping[str, Any] | None = None,
    history: Mapping[str, Any] | None = None,
    history_of: str = "test",
) -> dict[str, Any]:
    """One tested model.

    Parameters
    ----------
    rule : str
        Its name on the page, to which the seed is added where there are several.
    kind : str
        "fairalm", "other" or "plain".
    entry : mapping, optional
        Its test people, from :func:`fairalm.measures.splits_entry`; None of a cell that an older version kept.
    seed : int, optional
        None if there is one model only.
    seconds : float, optional
        Of fitting.
    settings : mapping, optional
        To show; what is None is left out.
    history : mapping, optional
        Curves by epoch: ``error``, ``gap``, or columns of a trainer's history.
    history_of : str
        Of whom: "test" or "train".
    """
    return {
        "method": rule,
        "kind": kind,
        "seed": seed,
        "seconds": seconds,
        "settings": {name: value for name, value in (settings or {}).items() if value is not None},
        "history": dict(history or {}),
        "history_of": history_of,
        "splits": {"test": entry} if entry else {},
    }


def as_run(
    name: str,
    data: Data,
    models: Iterable[dict[str, Any]],
    command: str,
    *,
    constraint: str = "equal-opportunity",
    groups: Any = None,
    **config: Any,
) -> dict[str, Any] | None:
    """A run of the models that keep their test people, this library's first; None if there is none.

    Parameters
    ----------
    name : str
        Of the data.
    data : Data
        All of it.
    models : iterable of dicts
        From :func:`model`.
    command : str
        As typed.
    constraint : str
        Name of the criterion.
    groups : array-like, optional
        Names of the groups, row by row, if the data have only codes.
    **config
        What else there is to say: ``test_size`` where the data do not come in parts, ``with_protected``.
    """
    kept = sorted((model for model in models if model["splits"]), key=lambda model: model["kind"] != OURS)
    if not kept:
        return None
    frame = data.frame
    found = coded(data.groups if groups is None else groups)
    parts: Any = frame["split"].value_counts() if "split" in frame else {}
    seeds = sorted({model["seed"] for model in kept} - {None}) or [0]
    return metrics(
        data=data_entry(name, frame, frame[data.target], found)
        | {part: int(parts[part]) for part in ("train", "test") if part in parts},
        config={
            "target": data.target,
            "positive": data.positive,
            "protected": data.protected,
            "constraint": constraint,
            "tol": TOL,
            **({"seeds": len(seeds), "first_seed": seeds[0]} if len(seeds) > 1 else {"seed": seeds[0]}),
            **config,
        },
        splits={},
        command=command,
        runs=kept,
    )
