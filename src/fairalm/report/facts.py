"""From runs to one dict of facts: everything that the page, the card and the figures say, and no row of the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairalm.constraints import CONSTRAINTS
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.measures import RATES, describe
from fairalm.measures.rates import Share
from fairalm.report.answers import verdict_facts
from fairalm.report.changes import change_facts, changed_rates, plain_of
from fairalm.report.frontier import frontier_facts
from fairalm.report.limits import limits
from fairalm.report.maps import Maps, read_maps
from fairalm.report.models import model_facts
from fairalm.report.people import people_facts
from fairalm.report.question import groups_in_words, question
from fairalm.report.release import Release, release
from fairalm.report.runs import PLAIN_MODEL, ModelRecord, RunRecord, RunSource, read_runs
from fairalm.report.tradeoff import tradeoff_facts
from fairalm.report.words import about_rows, is_constant, rate_words
from fairalm.selection import pareto_front, select_nvp

Facts = dict[str, Any]
MIN_CELL = 10
COUNTS = {"tp": "true positives", "fp": "false positives", "tn": "true negatives", "fn": "false negatives"}


def gather(runs: Iterable[RunSource], *, min_cell: int = MIN_CELL, maps: AnyPath | Maps | None = None) -> Facts:
    """Read runs and return what may be said about them: plain values, ready for JSON.

    Parameters
    ----------
    runs : iterable of path or dict
        Folders of ``fairalm train``, files of ``compare`` and ``demo``, or their content. They must have the same
        constraint, label and groups, and are judged by the tolerance of the first.
    min_cell : int
        Fewest people of whom a count is shown as it is. If a count of the runs is smaller, all counts are rounded, and
        every figure is computed from the rounded ones.
    maps : path or Maps, optional
        A folder of ``fairalm cam``, or its content, in addition to the runs that have such files.
    """
    if min_cell < 1:
        raise InputError(f"`min_cell` must be 1 or more; got {min_cell!r}.")
    records = read_runs(runs)
    constraint = _constraint(records[0])
    _check_comparable(records, constraint)
    shown = release(records, constraint, min_cell)
    records, unit = shown.runs, shown.unit
    first, config = records[0], records[0].metrics["config"]
    rows, groups = first.rows_are, groups_in_words(config, first.attributes)
    own_rates = {name: share for name, share in constraint.pop("definitions").items() if name not in RATES}
    definitions, rates = {**RATES, **own_rates}, _shown_rates(first, own_rates)
    models = _models(records, constraint, {rate: definitions[rate] for rate in rates}, unit, min_cell)
    recorded = [model for run in records for model in run.models]
    headline = next((number for number, model in enumerate(recorded) if model.kind != PLAIN_MODEL), 0)
    front = _front(models)
    nvp = None if shown.is_rounded else _nvp(recorded, constraint["key"])
    words = {"rows": rows, "label": first.label, "groups": groups, "constraint": constraint["name"]}
    facts = {
        "title": question(first.metrics["data"]["name"], constraint["rates"], **words),
        "min_cell": min_cell,
        "rounded_to": unit if shown.is_rounded else None,
        "privacy": privacy_sentences(shown, min_cell, rows),
        "rows_are": rows,
        "label": first.label,
        "groups": groups,
        "task": "image-classification" if config.get("image_column") else "tabular-classification",
        "constraint": constraint,
        "rates": rates,
        "changed": changed_rates(constraint["rates"]),
        "definitions": definitions,
        "headline": headline,
        "people": people_facts(first, is_rounded=shown.is_rounded, is_left_out=bool(shown.left_out)),
        "models": models,
        "front": front,
        "tradeoff": tradeoff_facts(models, headline, front),
        "nvp": nvp,
        "curves_of": next((model.history_of for model in recorded if model.history), "train"),
        "runs": [_run_facts(run) for run in records],
        "frontier": frontier_facts(records, constraint, unit),
        "maps": read_maps([run.folder for run in records if run.folder is not None], maps),
        "limits": limits(records, has_nvp=nvp is not None),
    }
    return {**facts, "verdict": verdict_facts(facts, recorded[headline].splits["test"], config)}


def privacy_sentences(shown: Release, min_cell: int, rows: str) -> list[str]:
    """What was done so that no small count can be computed from what is shown."""
    if not shown.is_rounded:
        return [f"This page contains no row of the data, and no count of 1 to {min_cell - 1} {rows}."]
    return [
        f"Some counts of these {rows} are under {min_cell}. So that they cannot be computed from this page, the number"
        f" of {rows} of each group and label, and of wrong predictions among them, is rounded to the nearest"
        f" {shown.unit}, and every figure here is computed from the rounded numbers. A 0 may stand for up to"
        f" {shown.unit // 2 - 1}. Intervals allow for the rounding.",
        "Left out: the intervals of changes, thresholds, training curves, certificates, warnings and the fingerprint of"
        " the data, because they are computed from the exact numbers. metrics.json has them: keep it to yourself.",
        *(
            [f"Left out too: every figure about a group, and gap and error, because {shown.left_out}."]
            if shown.left_out
            else []
        ),
    ]


def _check_comparable(records: Sequence[RunRecord], constraint: Facts) -> None:
    """Refuse runs whose figures do not belong on one axis."""
    first = records[0]
    for run in records[1:]:
        own = _constraint(run)
        for what, here, there in (
            ("constraint", own["key"], constraint["key"]),
            ("label", run.label, first.label),
            ("groups", *(", ".join(sorted(each.models[0].splits["test"]["groups"])) for each in (run, first))),
        ):
            if here != there:
                raise InputError(
                    f"{run.name} has the {what} {here}, {first.name} has {there}: their figures do not belong on one"
                    " axis. Write a report for each."
                )


def _models(
    records: Sequence[RunRecord], constraint: Facts, rates: Mapping[str, Share], unit: int, min_cell: int
) -> list[Facts]:
    """The models of all runs, numbered, each with the number of the plain model beside it."""
    models: list[Facts] = []
    for number, run in enumerate(records):
        n_before = len(models)
        for model in run.models:
            plain = plain_of(model, run.models)
            facts = {
                "id": len(models),
                "name": f"{run.name}: {model.name}" if len(records) > 1 else model.name,
                "run": number,
                "kind": model.kind,
                "plain": None if plain is None else n_before + plain,
                "warnings": list(model.warnings),
                **model_facts(model, constraint, rates, unit=unit, min_cell=min_cell),
            }
            models.append(facts)
    recorded = [model.changes for run in records for model in run.models]
    for facts, changes in zip(models, recorded, strict=True):
        plain = facts["plain"]
        facts["change"] = None if plain is None else change_facts(changes, constraint["key"], models[plain], facts)
    return models


def _constraint(run: RunRecord) -> Facts:
    """What the run records about its constraint, or the same about a built-in one; and the tolerance."""
    config = run.metrics["config"]
    name, tol = config["constraint"], run.metrics.get("constraint", config)["tol"]
    described = run.metrics.get("measure")
    if described is None:
        if name not in CONSTRAINTS:
            raise InputError(f"{run.name} does not say what {name!r} measures: train it again with this fairalm.")
        described = describe(CONSTRAINTS[name](tol=tol), run.label)
    return {**described, "tol": tol, "sentence": about_rows(described["sentence"], run.label, run.rows_are)}


def _shown_rates(run: RunRecord, own: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Name and meaning of the rates in tables: the usual ones, and those that only this constraint compares."""
    rates = rate_words(run.label, run.rows_are)
    for rate, (above, below) in own.items():
        part, whole = (" and ".join(COUNTS[count] for count in counts) for counts in (above, below))
        whole = f"all {run.rows_are}" if len(below) == len(COUNTS) else whole
        rates[rate] = {"name": rate, "meaning": f"{part}, as a share of {whole}"}
    return rates


def _front(models: Sequence[Mapping[str, Any]]) -> list[int]:
    """The models that no other beats on the test people, by the figures shown; none if there are only two models."""
    errors, gaps = (np.array([model[name]["value"] for model in models], dtype=float) for name in ("error", "gap"))
    return [int(position) for position in pareto_front(errors, gaps)] if len(models) > 2 else []


def _nvp(models: Sequence[ModelRecord], measure: str) -> int | None:
    """NVP's choice by the training figures: the test people must not choose."""
    if len(models) < 3 or not all("train" in model.splits for model in models):
        return None
    trained = [model.splits["train"] for model in models]
    errors, gaps = ([entry[name]["value"] for entry in trained] for name in ("error", measure))
    try:
        return select_nvp(errors, gaps, constant=[is_constant(entry) for entry in trained])
    except InputError:  # all are constant, or none has a gap
        return None


def _run_facts(run: RunRecord) -> Facts:
    """How a run was made."""
    metrics, config = run.metrics, run.metrics["config"]
    test, seeds, first = "the test part of the data", config.get("seeds"), config.get("first_seed", 0)
    if config.get("test"):
        test = f"the file {config['test']}"
    elif "test_size" in config:
        test = f"{100 * config['test_size']:.3g} % of the {run.rows_are}"
    split = f"tested on {test}, seed{f's {first} to {first + seeds - 1}' if seeds else ' ' + str(config['seed'])}"
    seconds = [model.seconds for model in run.models if model.seconds is not None]
    protected = list(config["protected"])
    return {
        "name": run.name,
        "command": metrics.get("command", ""),
        "data": metrics["data"]["name"],
        "fingerprint": metrics["data"]["fingerprint"],
        "protected": [", ".join(protected)] if config.get("attributes") == "separate" else protected,
        "split": split,
        "seconds": metrics.get("seconds", sum(seconds) if seconds else None),
        "versions": metrics["versions"],
    }
