"""The HTML pages of an experiment: its models as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairalm.measures import splits_entry
from fairalm.measures.rates import as_groups
from fairalm.report.facts import gather
from fairalm.report.maps import Maps
from fairalm.report.page import write_page
from fairalm.report.runs import FAIRALM_MODEL
from fairalm.runs.metrics import data_entry, metrics

TOL = 0.01  # of the verdict; a model trained with another tolerance has it in its settings


class Model(NamedTuple):
    """A model of a page."""

    name: str  # the seed is added where there are several
    kind: str  # FAIRALM_MODEL, OTHER_MODEL or PLAIN_MODEL of fairalm.report.runs
    entry: Mapping[str, Any] | None  # its test rows, from net_entry or splits_entry; None leaves the model out
    seed: int | None = None
    seconds: float | None = None
    settings: Mapping[str, Any] = {}  # to show; what is None is left out
    history: Mapping[str, Any] = {}  # by epoch: error and gap, or a trainer's columns
    history_of: str = "test"  # "test" or "train" rows


class Page(NamedTuple):
    """A page about the models of one data set."""

    file: str  # in the folder of the experiment, without .html
    name: str  # of the data
    data: Any  # a Dataset or ImageDataset with all rows
    models: Sequence[Model]
    groups: Any = None  # names of the groups, row by row, if the data has only codes
    config: Mapping[str, Any] = {}  # such as constraint, test_size, image_column
    maps: Maps | None = None  # heat maps to show


def net_entry(y: Any, logits: Any, groups: Any) -> dict[str, Any]:
    """The entry of a net's test rows, from labels 0 and 1, logits of label 1, and names of groups.

    >>> entry = net_entry([1, 0, 1], np.array([0.5, -1.0, -2.0]), ["a", "a", "b"])
    >>> entry["groups"]["b"]["fn"], entry["deo"]["value"]
    (1, 1.0)
    """
    scores = logits if np.isfinite(logits).all() else None  # those of a net that diverges are not
    return splits_entry(y, (logits > 0).astype(int), scores, sensitive_features=groups, target=1)


def as_run(page: Page, command: str) -> dict[str, Any] | None:
    """The run that a page shows, this library's models first; None if no model has an entry."""
    tested = sorted((model for model in page.models if model.entry), key=lambda model: model.kind != FAIRALM_MODEL)
    if not tested:
        return None
    data, frame = page.data, page.data.frame
    groups = np.asarray(data.groups if page.groups is None else page.groups).astype(str)
    entry = data_entry(page.name, frame, frame[data.target], as_groups(groups, len(groups)))
    parts: Any = frame["split"].value_counts() if "split" in frame else {}
    entry |= {part: int(parts[part]) for part in ("train", "test") if part in parts}
    seeds = sorted({model.seed for model in tested if model.seed is not None}) or [0]
    config = {name: getattr(data, name) for name in ("target", "positive", "protected")}
    config |= {"constraint": "equal-opportunity", "tol": TOL}
    config |= {"seeds": len(seeds), "first_seed": seeds[0]} if len(seeds) > 1 else {"seed": seeds[0]}
    runs = []
    for model in tested:
        run = {name: getattr(model, name) for name in ("kind", "seed", "seconds", "history", "history_of")}
        run |= {"method": model.name, "splits": {"test": model.entry}}
        runs.append(run | {"settings": {key: value for key, value in model.settings.items() if value is not None}})
    return metrics(data=entry, config=config | dict(page.config), splits={}, command=command, runs=runs)


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
