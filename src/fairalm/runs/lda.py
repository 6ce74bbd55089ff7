"""Less discriminatory alternatives: search on some rows, choose on others, judge once on the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from fairalm._validation import check_choice
from fairalm.arrays import IntArray
from fairalm.datasets import preprocess, split
from fairalm.exceptions import InputError
from fairalm.progress import progress_bar
from fairalm.runs.choices import make_estimator
from fairalm.runs.columns import column_types
from fairalm.runs.lda_result import Lda
from fairalm.runs.lda_settings import LdaSettings
from fairalm.runs.lending import LoanChanges, LoanDecisions, LoanRows
from fairalm.runs.samples import Samples
from fairalm.runs.search import INCUMBENT, Rule, Search, Tried
from fairalm.runs.source import Source


def lda(source: Source, settings: LdaSettings, *, progress: bool = False, command: str = "") -> Lda:
    """Search for a model with a better adverse impact ratio at no significant loss, and judge it on rows not searched.

    `progress` shows a bar on stderr, and `command` is recorded in lda.json.

    >>> from fairalm.runs import LdaSource
    >>> done = lda(LdaSource("german"), LdaSettings(reference="yes", acceptance=0.7, estimator="logistic"))
    >>> done.verdict
    'none'
    """
    with progress_bar(None, shown=progress, text=f"reading {source.data}"):
        samples = source.read()
    reference = _check_reference(settings.reference, samples)
    samples, present = _without_incumbent(samples, settings.incumbent)
    loans = LoanRows.of(samples.data.y, samples.groups, reference)
    rows = _parts(loans, settings)
    acceptance = settings.acceptance
    if acceptance is None:
        assert present is not None
        acceptance = float(present[rows["fit"]].mean())
    search = _search(samples, loans, rows, settings, acceptance)
    tried: list[Tried] = []
    if present is not None:
        given = LoanDecisions(present[rows["choose"]])
        tried.append(Tried(INCUMBENT, decisions=given, figures=search.choosing.figures(given)))
    total = len(settings.estimator) * search.steps
    with progress_bar(total, shown=progress, text="searching") as update:
        for place, name in enumerate(settings.estimator):
            steps = iter(range(place * search.steps, total))
            pipeline = make_pipeline(preprocess(search.X), make_estimator(name, settings.seed))
            tried.extend(search.along(name, pipeline, lambda text, steps=steps: update(next(steps), text)))  # type: ignore[misc]
    baseline = tried[0] if present is not None else _best_plain(tried)
    changes, reasons, chosen = _choose(tried, baseline, search.choosing, settings.rule)
    X = samples.X.iloc[rows["judge"]]
    judging, judged = loans.take(rows["judge"]), {}
    for which, model in (("baseline", baseline), ("chosen", chosen)):
        if model is not None:
            kept = None if present is None else present[rows["judge"]]
            judged[which] = _decide(model, X, kept, samples.data.positive)
    config = {**asdict(source), **samples.question, "features": column_types(samples.X), **asdict(settings)}
    config |= {"method": "lda", "estimators": list(settings.estimator), "acceptance": acceptance}
    config |= {"estimator": (chosen or baseline).estimator}
    return Lda(
        samples,
        rows,
        settings,
        config,
        tuple(tried),
        baseline,
        reasons,
        changes,
        chosen,
        {which: judging.figures(decisions) for which, decisions in judged.items()},
        judging.changes(judged["baseline"], judged["chosen"]) if chosen is not None else None,
        _smallest({search.choosing: [one.decisions for one in tried], judging: list(judged.values())}),
        acceptance,
        command,
    )


def _check_reference(reference: str | None, samples: Samples) -> str:
    if reference is None:
        raise InputError(
            f"Name the group that the others are compared with, {{reference}}: {', '.join(samples.groups.names)}.",
            reference=None,
        )
    check_choice("group", reference, samples.groups.names)
    return reference


def _without_incumbent(samples: Samples, column: str | None) -> tuple[Samples, Any]:
    """The samples without the column of present decisions among the features, and which rows these accept."""
    if column is None:
        return samples, None
    check_choice("column", column, samples.data.features)
    values, labels = samples.data.frame[column], set(samples.labels.tolist())
    other = sorted(set(values.tolist()) - labels, key=str)
    if other:
        raise InputError(
            f"Column {column!r} must hold the labels of {samples.data.target!r}, {samples.data.positive!r} where"
            f" accepted; got {other[0]!r}."
        )
    accepted = np.asarray(values == samples.data.positive)
    if accepted.all() or not accepted.any():
        raise InputError(f"Column {column!r} accepts {'every' if accepted.all() else 'no'} row: there is no choice.")
    features = tuple(name for name in samples.data.features if name != column)
    data, X = replace(samples.data, features=features), samples.X.drop(columns=column)
    return replace(samples, data=data, X=X), accepted


def _parts(loans: LoanRows, settings: LdaSettings) -> dict[str, IntArray]:
    """Rows to fit on, to choose on and to judge on, alike in label and group."""
    bad, names = loans.bad, loans.group_names
    others, judge = split(bad, names, test_size=settings.test_size, random_state=settings.seed)
    share = settings.choose_size / (1 - settings.test_size)
    fit, choose = split(bad[others], names[others], test_size=share, random_state=settings.seed)
    parts = {"fit": others[fit], "choose": others[choose], "judge": judge}
    for name, rows in parts.items():
        _check_part(name, loans.take(rows), settings.folds if name == "fit" else 1)
    return parts


def _check_part(part: str, loans: LoanRows, least: int) -> None:
    """Refuse a part of the rows in which a label or a group has fewer rows than `least`."""
    sizes = dict(zip(loans.names, loans.sizes.astype(int), strict=True))
    for what, count in {"bad": loans.bad.sum(), "good": (~loans.bad).sum(), **sizes}.items():
        if count < least:
            raise InputError(
                f"Of the rows to {part} on {count} are {what}, and at least {least} must be: pass more rows, another"
                " split with {choose_size} and {test_size} or, for a small group, {merge_below}.",
                choose_size=None,
                test_size=None,
                merge_below=None,
            )


def _search(
    samples: Samples, loans: LoanRows, rows: Mapping[str, IntArray], settings: LdaSettings, acceptance: float
) -> Search:
    fit, choose = rows["fit"], rows["choose"]
    return Search(
        X=samples.X.iloc[fit].reset_index(drop=True),
        labels=samples.labels[fit],
        fitting=loans.take(fit),
        X_choose=samples.X.iloc[choose],
        choosing=loans.take(choose),
        favourable=samples.data.positive,
        acceptance=acceptance,
        goal=settings.ratio,
        folds=settings.folds,
        seed=settings.seed,
    )


def _best_plain(tried: Sequence[Tried]) -> Tried:
    """The model without a limit that ranks best on the choosing rows: the one a lender would use."""

    def area(one: Tried) -> float:
        return -1.0 if one.figures is None or one.figures.auc is None else one.figures.auc.value or 0.0

    return max((one for one in tried if one.asked is None), key=area)


def _choose(
    tried: Sequence[Tried], baseline: Tried, choosing: LoanRows, rule: Rule
) -> tuple[dict[int, LoanChanges], dict[int, str], Tried | None]:
    """How each model differs from the baseline, why it is not admissible, and the chosen one."""
    assert baseline.decisions is not None
    assert baseline.figures is not None
    changes: dict[int, LoanChanges] = {}
    reasons: dict[int, str] = {}
    for number, one in enumerate(tried):
        if one is baseline:
            continue
        if one.decisions is None:
            reasons[number] = one.note
            continue
        changes[number] = choosing.changes(baseline.decisions, one.decisions)
        reasons[number] = rule.why_not(one, changes[number], baseline.figures.worst, baseline.figures)
    admissible = [tried[number] for number, why in reasons.items() if not why]
    return changes, reasons, rule.choose(admissible)


def _smallest(decided: Mapping[LoanRows, Sequence[LoanDecisions | None]]) -> dict[str, int]:
    """Of each group, the fewest rows that any of these decisions accepts or refuses, unless none."""
    counts = [np.array([rows.sizes for rows in decided])]
    for rows, several in decided.items():
        accepted = np.array([rows.accepted_in(own.accepted) for own in several if own is not None])
        counts += [accepted, rows.sizes - accepted]
    every = np.vstack(counts)
    fewest = np.where(every > 0, every, np.inf).min(axis=0)
    return {name: int(few) for name, few in zip(next(iter(decided)).names, fewest, strict=True) if np.isfinite(few)}


def _decide(tried: Tried, X: pd.DataFrame, present: Any, favourable: Any) -> LoanDecisions:
    """A model's decisions on the judging rows, or those that are there."""
    return LoanDecisions(present) if tried.estimator == INCUMBENT else LoanDecisions.of(tried.model, X, favourable)
