"""Runs as they may be shown: unchanged, or if a count is small, with every figure computed from rounded counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fairalm.measures import Measure
from fairalm.measures.chosen import chosen_measure, rates_in
from fairalm.report.rounding import EXACT, ROWS, has_small, rounded_counts, rounding_moves, unit_for
from fairalm.report.runs import ModelRecord, RunRecord
from fairalm.report.slack import is_loose

Entry = Mapping[str, Any]
LEFT_OUT = "left out"
WITHHELD = {"value": None, "low": None, "high": None, "n": 0, "n_min": 0, "note": LEFT_OUT}


class Release(NamedTuple):
    """Runs to be shown, and what their counts are rounded to."""

    runs: list[RunRecord]
    unit: int = EXACT
    left_out: str = ""  # why every figure about a group is left out, if they are

    @property
    def is_rounded(self) -> bool:
        """Whether counts are rounded."""
        return self.unit != EXACT


def release(runs: Sequence[RunRecord], measure: Entry, min_cell: int) -> Release:
    """The runs as they are if no count about them is small; else with rounded counts and all that follows from them.

    `measure` is from :func:`fairalm.measures.describe`. What cannot be computed from the counts is left out: changes
    with their intervals, scores, training curves, certificates, warnings, and the fingerprint of the data.
    """
    if not any(has_small(counts, min_cell) for run in runs for counts in _all_counts(run)):
        return Release(list(runs))
    unit, why = unit_for(min_cell), ""
    entries = [entry for run in runs for model in run.models for entry in model.splits.values()]
    if any("weights" in group for entry in entries for group in entry["groups"].values()):
        why = "rows have weights"
    elif not all(is_loose(run, unit, min_cell) for run in runs):
        why = "sums over the groups of another attribute would reveal it"
    is_alone = len(runs) == 1 and not why
    return Release([_released(run, measure, unit, why, is_alone=is_alone) for run in runs], unit, why)


def sizes_to_train_on(run: RunRecord) -> dict[str, dict[str, int]]:
    """Each group's people of the target and others who are not tested, in place of confusion counts without errors."""
    positive, tested = str(run.metrics["config"]["positive"]), run.models[0].splits["test"]["groups"]
    found = {}
    for name, labels in run.metrics["data"]["groups"].items():
        test = tested.get(name, dict.fromkeys(("tp", "fn", "fp", "tn"), 0))
        own = labels.get(positive, 0)
        sizes = {"tp": own - test["tp"] - test["fn"], "tn": sum(labels.values()) - own - test["fp"] - test["tn"]}
        found[name] = {**{part: max(size, 0) for part, size in sizes.items()}, "fn": 0, "fp": 0}
    return found


def curve_counts(run: RunRecord) -> list[dict[str, dict[str, int]]]:
    """The confusion counts of each group at each point of a curve, in the order of `curve_points`."""
    train = run.models[0].splits.get("train", {}).get("groups", {})
    return [{name: counts_at(own, train[name]) for name, own in point["groups"].items()} for point in curve_points(run)]


def curve_points(run: RunRecord) -> list[dict[str, Any]]:
    """The points of a run's curve, the chosen one and the models beside it; none if it has no curve."""
    kept = run.metrics.get("frontier")
    return [] if kept is None else [*kept["points"], kept["chosen"], *kept["baselines"]]


def counts_at(rates: Entry, sizes: Mapping[str, int]) -> dict[str, int]:
    """The confusion counts of a group's training rows that give these rates; with weights, about."""
    positive, others = sizes["tp"] + sizes["fn"], sizes["fp"] + sizes["tn"]
    tp, fp = round((rates["tpr"] or 0.0) * positive), round((rates["fpr"] or 0.0) * others)
    return {"tp": tp, "fn": positive - tp, "fp": fp, "tn": others - fp}


def _all_counts(run: RunRecord) -> Iterator[Mapping[str, int]]:
    """The confusion counts of every group, model, split and point of a curve, and the people trained on and in all."""
    for model in run.models:
        for entry in model.splits.values():
            yield from entry["groups"].values()
    yield from sizes_to_train_on(run).values()
    for groups in curve_counts(run):
        yield from groups.values()


def _released(run: RunRecord, measure: Entry, unit: int, why: str, *, is_alone: bool) -> RunRecord:
    def split(entry: Entry, name: str) -> dict[str, Any]:
        counts = {group: rounded_counts(own, unit) for group, own in entry["groups"].items()}
        return _entry(counts, entry, measure, unit, why, is_train=name == "train")

    models = [
        replace(
            model,
            splits={name: split(entry, name) for name, entry in model.splits.items()},
            history={},
            changes=None,
            warnings=_warnings(model),
        )
        for model in run.models
    ]
    metrics = {**run.metrics, "data": _data(run, models[0], unit), "training": {}}
    metrics.pop("frontier", None)
    if is_alone and curve_points(run):
        metrics["frontier"] = _curve(run, measure, unit)
    return replace(run, metrics=metrics, models=models)


def _warnings(model: ModelRecord) -> list[str]:
    n = len(model.warnings)
    return [f"{n} warning{'s' * (n > 1)} not shown, because a warning may quote a small count."] if n else []


def _entry(
    counts: Mapping[str, dict[str, int]], like: Entry, measure: Entry, unit: int, why: str, *, is_train: bool
) -> dict[str, Any]:
    """The entry of a split from rounded counts: the error, the gap, and for each group its counts."""
    entry: dict[str, Any] = {"groups": counts}
    if "attributes" in like:
        entry["attributes"] = like["attributes"]
    for name, which in (("error", "error"), (measure["key"], measure)):
        if why:
            entry[name] = WITHHELD
            continue
        own = chosen_measure(entry, which, 1)
        low, high = (None, None) if is_train else _widened(own, counts, measure if name != "error" else None, unit)
        entry[name] = replace(own, low=low, high=high).to_dict()
    return entry


def _widened(
    own: Measure, counts: Mapping[str, dict[str, int]], measure: Entry | None, unit: int
) -> tuple[float | None, float | None]:
    """The interval of a measure of rounded counts, wider by what rounding can change; without `measure` the error's."""
    if own.low is None or own.high is None:
        return None, None
    if measure is None:  # roundings of many rows nearly cancel: two standard deviations of their sum
        change = 2 * unit / math.sqrt(12) * math.sqrt(len(ROWS) * len(counts)) / max(own.n, 1)
    else:
        shares: Any = [(tuple(above), tuple(below)) for above, below in measure["definitions"].values()]
        change = max(rounding_moves(list(counts.values()), share, unit, measure["kind"]) for share in shares)
    return max(own.low - change, 0.0), min(own.high + change, 1.0)


def _data(run: RunRecord, shown: ModelRecord, unit: int) -> dict[str, Any]:
    """People by group and label, and in all: the sums of the rounded numbers of those tested and trained on."""
    data, positive = run.metrics["data"], str(run.metrics["config"]["positive"])
    others = list(dict.fromkeys(label for labels in data["groups"].values() for label in labels if label != positive))
    other = others[0] if len(others) == 1 else "others"
    tested = shown.splits["test"]["groups"]
    groups = {}
    for name, train in sizes_to_train_on(run).items():
        parts = [rounded_counts(train, unit), tested.get(name, dict.fromkeys(train, 0))]
        sizes = [sum(part[right] + part[wrong] for part in parts) for right, wrong in ROWS]
        groups[name] = dict(zip((positive, other), sizes, strict=True))
    first = shown.splits["test"].get("attributes", [list(groups)])[0]
    rows = sum(sum(groups[name].values()) for name in first if name in groups)
    test = sum(sum(tested[name][part] for row in ROWS for part in row) for name in first if name in tested)
    dropped = (data.get("dropped") or 0) // unit * unit
    sizes_of = {"rows": rows, "train": rows - test, "test": test, "dropped": dropped}
    kept = {name: own for name, own in data.items() if name not in ("weights", *sizes_of)}
    return {**kept, **sizes_of, "groups": groups, "fingerprint": LEFT_OUT}


def _curve(run: RunRecord, measure: Entry, unit: int) -> dict[str, Any]:
    """A curve whose every figure is computed from rounded counts."""
    like = run.models[0].splits["train"]
    points = []
    for point, exact in zip(curve_points(run), curve_counts(run), strict=True):
        counts = {name: rounded_counts(own, unit) for name, own in exact.items()}
        entry = _entry(counts, like, measure, unit, "", is_train=False)
        rates = rates_in(entry)
        figures: dict[str, Any] = {}
        for part, own in (("error", entry["error"]), ("gap", entry[measure["key"]])):
            figures |= {
                f"{part}{suffix}": own[end] for suffix, end in (("", "value"), ("_low", "low"), ("_high", "high"))
            }
        shares = {rate: dict(zip(rates.names, rates.value(rate).tolist(), strict=True)) for rate in CURVE_RATES}
        groups = {
            name: {rate: None if math.isnan(own[name]) else own[name] for rate, own in shares.items()}
            for name in counts
        }
        points.append({**point, **figures, "selection": float(rates.pooled.value("selection")[0]), "groups": groups})
    kept, n_points = run.metrics["frontier"], len(run.metrics["frontier"]["points"])
    return {**kept, "points": points[:n_points], "chosen": points[n_points], "baselines": points[n_points + 1 :]}


CURVE_RATES = ("tpr", "fpr", "selection")
