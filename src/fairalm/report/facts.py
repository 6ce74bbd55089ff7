"""From runs to one plain dict of facts: all that the page, the card and the figures say, and nothing of any row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairalm.constraints import CONSTRAINTS
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.measures import MEASURES, RATES
from fairalm.report import words
from fairalm.report.limits import limits
from fairalm.report.maps import Maps, read_maps
from fairalm.report.models import is_constant, model_facts, verdict_facts
from fairalm.report.runs import OTHER, PLAIN, Model, Run, Source, read_runs
from fairalm.report.suppress import is_small
from fairalm.selection import pareto_front, select_nvp

MIN_CELL = 10
SHOWN = {"error": "error", "selection": "selection", "tpr": "TPR", "fpr": "FPR", "ppv": "PPV"}
MEANINGS = {
    "error": "share of wrong predictions",
    "selection": "share predicted {label}",
    "tpr": "of those with {label}, the share found",
    "fpr": "of the others, the share wrongly predicted {label}",
    "ppv": "of those predicted {label}, the share that has it",
}


def gather(runs: Iterable[Source], *, min_cell: int = MIN_CELL, maps: AnyPath | Maps | None = None) -> dict[str, Any]:
    """Read runs and return what may be said of them.

    Parameters
    ----------
    runs : iterable of path or dict
        Folders of ``fairalm train``, files of ``compare`` and ``demo``, or their content. The criterion is that of the
        first.
    min_cell : int
        Fewest people of whom a count is shown.
    maps : path or Maps, optional
        A folder of ``fairalm cam``, besides those runs that hold its files, or what would be in one.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    if min_cell < 1:
        raise InputError(f"`min_cell` must be 1 or more; got {min_cell!r}.")
    read = read_runs(runs)
    first = read[0]
    config = first.metrics["config"]
    measure, tol = CONSTRAINTS[config["constraint"]].measure, config["tol"]
    named = [(run, number, model) for number, run in enumerate(read) for model in run.models]
    models = [
        {
            "id": position,
            "name": f"{run.name}: {model.name}" if len(read) > 1 else model.name,
            "run": number,
            "kind": model.kind,
            **model_facts(model, measure, tol, min_cell),
        }
        for position, (run, number, model) in enumerate(named)
    ]
    raw = [model for _, _, model in named]
    headline = next((number for number, model in enumerate(raw) if model.kind != PLAIN), 0)
    nvp = _nvp(raw, measure)
    n_groups = len(raw[headline].splits["test"]["groups"])
    return {
        "title": f"{first.metrics['data']['name']}: {config['constraint']}",
        "min_cell": min_cell,
        "label": first.label,
        "task": "image-classification" if config.get("image_column") else "tabular-classification",
        "criterion": {
            "name": config["constraint"],
            "key": measure,
            "sentence": _capital(words.demand(config["constraint"], first.label, tol)),
            "tol": tol,
            "measure": words.MEASURES[measure],
            "rates": list(MEASURES[measure].rates),
        },
        "rates": {
            name: {
                "name": title,
                "meaning": MEANINGS[name].replace("{label}", first.label),
            }
            for name, title in SHOWN.items()
        },
        "definitions": {name: [list(above), list(below)] for name, (above, below) in RATES.items()},
        "headline": headline,
        "verdict": verdict_facts(raw[headline], measure, tol, min_cell),
        "people": _people(first, min_cell),
        "models": models,
        "front": _front(models),
        "nvp": nvp,
        "curves_of": next((model.history_of for model in raw if model.history), "train"),
        "runs": [_run(run) for run in read],
        "maps": read_maps([run.folder for run in read if run.folder is not None], maps),
        "limits": limits(
            read, n_groups=n_groups, is_chosen=nvp is not None, is_other=any(m.kind == OTHER for m in raw)
        ),
    }


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _front(models: Sequence[Mapping[str, Any]]) -> list[int]:
    """The models that no other beats on the test people, as far as these are shown."""
    if len(models) < 2:
        return []
    errors, gaps = (np.array([model[name]["value"] for model in models], dtype=float) for name in ("error", "gap"))
    return [int(position) for position in pareto_front(errors, gaps)]


def _nvp(models: Sequence[Model], measure: str) -> int | None:
    """NVP's choice by the training figures: the test people must not choose."""
    if len(models) < 2 or not all("train" in model.splits for model in models):
        return None
    trained = [model.splits["train"] for model in models]
    errors, gaps = ([entry[name]["value"] for entry in trained] for name in ("error", measure))
    try:
        return select_nvp(errors, gaps, constant=[is_constant(entry) for entry in trained])
    except InputError:  # all are constant, or none has a gap
        return None


def _people(run: Run, min_cell: int) -> dict[str, Any]:
    """Group × label counts of all the data; where one is hidden, so are the sums it would follow from."""
    data, positive = run.metrics["data"], str(run.metrics["config"]["positive"])
    labels = list(dict.fromkeys(label for counts in data["groups"].values() for label in counts))
    labels.sort(key=lambda label: label != positive)
    tested = run.models[0].splits["test"]["groups"]
    groups, has_hidden = [], False
    for name, counts in data["groups"].items():
        cells = [counts.get(label, 0) for label in labels]
        test = tested.get(name, dict.fromkeys(("tp", "fn", "fp", "tn"), 0))
        rest = [cells[0] - test["tp"] - test["fn"], sum(cells[1:]) - test["fp"] - test["tn"]]  # the training people
        small = [is_small(count, min_cell) for count in cells]
        small = [is_hidden or is_small(left, min_cell) for is_hidden, left in zip(small, rest, strict=False)]
        is_hidden = any(small)
        has_hidden |= is_hidden
        total = sum(cells)
        groups.append(
            {
                "name": name,
                "counts": [None if hide else count for hide, count in zip(small, cells, strict=True)],
                "total": None if is_hidden else total,
                "base_rate": None if is_hidden or not total else cells[0] / total,
            }
        )
    sizes = {part: data[part] for part in ("rows", "train", "test", "dropped") if data.get(part)}
    if has_hidden:
        sizes = {part: float(f"{number:.1e}") for part, number in sizes.items()}
    return {
        "name": data["name"],
        "labels": labels,
        "groups": groups,
        "sizes": {part: f"{'about ' * has_hidden}{number:,.0f}" for part, number in sizes.items()},
        "has_hidden": has_hidden,
    }


def _run(run: Run) -> dict[str, Any]:
    """How it came about."""
    metrics, config = run.metrics, run.metrics["config"]
    test, seeds, first = "the test part of the data", config.get("seeds"), config.get("first_seed", 0)
    if config.get("test"):
        test = f"the file {config['test']}"
    elif "test_size" in config:
        test = f"{100 * config['test_size']:.3g} % of the people"
    split = f"tested on {test}, seed{f's {first} to {first + seeds - 1}' if seeds else ' ' + str(config['seed'])}"
    seconds = [model.seconds for model in run.models if model.seconds is not None]
    return {
        "name": run.name,
        "command": metrics.get("command", ""),
        "data": metrics["data"]["name"],
        "fingerprint": metrics["data"]["fingerprint"],
        "protected": list(config["protected"]),
        "split": split,
        "seconds": metrics.get("seconds", sum(seconds) if seconds else None),
        "versions": metrics["versions"],
    }
