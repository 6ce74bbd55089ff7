"""The HTML pages of an experiment: its models as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairalm._validation import encode_groups
from fairalm.io import data_entry, metrics
from fairalm.measures import splits_entry
from fairalm.report.facts import gather
from fairalm.report.maps import Maps
from fairalm.report.page import write_page
from fairalm.report.runs import OTHER, OURS, PLAIN

__all__ = ["OTHER", "OURS", "PLAIN", "Page", "as_run", "model", "net_entry", "write_pages"]

TOL = 0.01  # the tolerance of the verdict; a model trained with another one says so in its settings


@dataclass(frozen=True)
class Page:
    """A page about the models of one data set.

    Parameters
    ----------
    file : str
        Its file in the folder of the experiment, without ``.html``.
    name : str
        Name of the data.
    data : Dataset or ImageDataset
        All rows.
    models : sequence of dicts
        From :func:`model`; those without an entry of the test rows are left out.
    groups : array-like, optional
        Names of the groups, row by row, if the data has only codes.
    config : mapping
        More to say about the run: ``constraint``, ``test_size`` where the data has no parts, ``image_column``.
    maps : Maps, optional
        Heat maps to show.
    """

    file: str
    name: str
    data: Any
    models: Sequence[Mapping[str, Any]]
    groups: Any = None
    config: Mapping[str, Any] = field(default_factory=dict)
    maps: Maps | None = None


def model(
    name: str,
    kind: str,
    entry: Mapping[str, Any] | None,
    *,
    seed: int | None = None,
    seconds: float | None = None,
    settings: Mapping[str, Any] | None = None,
    history: Mapping[str, Any] | None = None,
    history_of: str = "test",
) -> dict[str, Any]:
    """A model of a page.

    Parameters
    ----------
    name : str
        Its name on the page, to which the seed is added where there are several.
    kind : str
        ``OURS``, ``OTHER`` or ``PLAIN``.
    entry : mapping or None
        Its test rows, from :func:`net_entry` or :func:`fairalm.measures.splits_entry`; None if it was not tested.
    seed, seconds : optional
        None if there is one model only; None if the fit was not timed.
    settings : mapping, optional
        To show; what is None is left out.
    history, history_of : optional
        Curves by epoch, ``error`` and ``gap`` or columns of a trainer's history, on "test" or "train" rows.
    """
    return {
        "rule": name,
        "kind": kind,
        "seed": seed,
        "seconds": seconds,
        "settings": {key: value for key, value in (settings or {}).items() if value is not None},
        "history": dict(history or {}),
        "history_of": history_of,
        "splits": {"test": entry} if entry else {},
    }


def net_entry(y: Any, logits: Any, groups: Any) -> dict[str, Any]:
    """The entry of a net's test rows, from labels 0 and 1, logits of label 1, and names of groups.

    >>> entry = net_entry([1, 0, 1], np.array([0.5, -1.0, -2.0]), ["a", "a", "b"])
    >>> entry["groups"]["b"]["fn"], entry["deo"]["value"]
    (1, 1.0)
    """
    scores = logits if np.isfinite(logits).all() else None  # a net that diverges has some without a number
    return splits_entry(y, (logits > 0).astype(int), scores, sensitive_features=groups, target=1)


def as_run(page: Page, command: str) -> dict[str, Any] | None:
    """The run that the page shows, this library's models first; None if no model was tested."""
    tested = sorted((model for model in page.models if model["splits"]), key=lambda model: model["kind"] != OURS)
    if not tested:
        return None
    data, frame = page.data, page.data.frame
    groups = encode_groups(data.groups if page.groups is None else page.groups, n_rows=len(frame))
    parts: Any = frame["split"].value_counts() if "split" in frame else {}
    seeds = sorted({model["seed"] for model in tested} - {None}) or [0]
    return metrics(
        data=data_entry(page.name, frame, frame[data.target], groups)
        | {part: int(parts[part]) for part in ("train", "test") if part in parts},
        config={
            "target": data.target,
            "positive": data.positive,
            "protected": data.protected,
            "constraint": "equal-opportunity",
            "tol": TOL,
            **({"seeds": len(seeds), "first_seed": seeds[0]} if len(seeds) > 1 else {"seed": seeds[0]}),
            **page.config,
        },
        splits={},
        command=command,
        runs=tested,
    )


def write_pages(pages: Iterable[Page], out: Path, command: str) -> list[str]:
    """Write the pages, and return the lines that say where they are: one per page, or per folder of pages."""
    written: Counter[Path] = Counter()
    for page in pages:
        run, path = as_run(page, command), out / f"{page.file}.html"
        if run is None:
            continue
        try:
            write_page(path, gather([run], maps=page.maps))
        except ImportError as error:
            return [f"No page. {error}."]
        written[path if path.parent == out else path.parent] += 1
    return [f"Page: {path}" if path.suffix else f"Pages: {n} in {path}" for path, n in written.items()]
