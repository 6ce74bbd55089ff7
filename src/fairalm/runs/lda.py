"""Less discriminatory alternatives: search on some rows, choose on others, judge once on the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from fairalm._validation import ATTRIBUTES, check_choice, check_parameter, encode_groups
from fairalm.arrays import IntArray
from fairalm.datasets import preprocess, split
from fairalm.exceptions import InputError
from fairalm.files import LDA, AnyPath, new_folder, write_csv, write_json
from fairalm.measures import Measure
from fairalm.models_io import save
from fairalm.progress import progress_bar
from fairalm.runs.choices import WITH_PROBABILITIES, make_estimator
from fairalm.runs.lending import Changes, Decisions, Figures, LoanRows
from fairalm.runs.metrics import data_entry, metrics, verdict
from fairalm.runs.run import MODEL
from fairalm.runs.search import INCUMBENT, Rule, Search, Tried
from fairalm.runs.source import Samples, Source, column_types

SCHEMA = 1
MissingOrUnknown = Literal["error", "drop", "group", "unknown"]
Verdict = Literal["found", "not confirmed", "none"]


@dataclass(frozen=True)
class LdaSource(Source):
    """Which data to search on; `positive` is the favourable label, and rows may lack their group.

    >>> samples = LdaSource("german").read()
    >>> samples.label, samples.with_protected
    ('credit = good', False)
    """

    with_protected: bool | None = False  # a lender may not decide by the protected columns
    missing: MissingOrUnknown = "error"  # type: ignore[assignment]  # "unknown": they count, but for the ratios

    def __post_init__(self) -> None:
        check_parameter("missing", self.missing, get_args(MissingOrUnknown))
        check_parameter("attributes", self.attributes, ATTRIBUTES)
        for name in ("weight", "test", "image_column"):
            if getattr(self, name) is not None:
                raise InputError(f"{{{name}}} is not for a search for alternatives: leave it out.", **{name: None})
        if self.attributes != "crossed":
            raise InputError(
                "{attributes} is not for a search for alternatives, which has one reference group: leave it out.",
                attributes=self.attributes,
            )

    def read(self) -> Samples:
        """Read the table; with ``missing="unknown"``, the code of a row without a group is -1."""
        given = {name: getattr(self, name) for name in Source.__dataclass_fields__}
        if self.missing != "unknown":
            return Source(**given).read()
        samples = Source(**given | {"missing": "group", "merge_below": None}).read()
        columns = samples.data.frame[list(samples.data.protected)]
        return replace(samples, groups=encode_groups(columns, missing="drop", merge_below=self.merge_below))


@dataclass(frozen=True)
class LdaSettings:
    """What to search for, stated before the search.

    >>> LdaSettings(reference="white", acceptance=1.2)
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: acceptance must lie between 0 and 1; got 1.2.
    """

    reference: str | None = None  # group that the others are compared with
    acceptance: float | None = None  # share of all rows that every model accepts; by default the incumbent's
    estimator: Sequence[str] = ("logistic", "boosting")  # those to search with
    ratio: float = 0.8  # the lowest adverse impact ratio to reach
    margin: float = 0.005  # by which the bad rate among the accepted may rise
    incumbent: str | None = None  # column with the present decisions, as labels; not a feature
    choose_size: float = 0.25  # share of the rows that the model is chosen on
    test_size: float = 0.25  # share of the rows that it is judged on, once
    folds: int = 5  # folds of the out-of-fold probabilities
    seed: int = 0  # of the split, the folds and the estimators

    def __post_init__(self) -> None:
        several = (self.estimator,) if isinstance(self.estimator, str) else tuple(dict.fromkeys(self.estimator))
        object.__setattr__(self, "estimator", several)
        if not several:
            raise InputError("{estimator} is empty: name at least one.", estimator=None)
        for name in several:
            check_choice("estimator with probabilities", name, WITH_PROBABILITIES)
        between = {name: getattr(self, name) for name in ("acceptance", "choose_size", "test_size")}
        for name, share in between.items():
            if share is not None and not 0 < share < 1:
                raise InputError(f"{{{name}}} must lie between 0 and 1; got {share}.", **{name: None})
        if not 0 < self.ratio <= 1:
            raise InputError(f"{{ratio}} must be above 0 and at most 1; got {self.ratio}.", ratio=None)
        if not 0 <= self.margin < 1:
            raise InputError(f"{{margin}} must be 0 or more, and below 1; got {self.margin}.", margin=None)
        if self.choose_size + self.test_size >= 1:
            raise InputError(
                f"{{choose_size}} and {{test_size}} leave no row to fit on: together they are"
                f" {self.choose_size + self.test_size:g} of all rows.",
                choose_size=self.choose_size,
                test_size=self.test_size,
            )
        if self.folds < 2:
            raise InputError(f"{{folds}} must be 2 or more; got {self.folds}.", folds=None)
        if self.acceptance is None and self.incumbent is None:
            raise InputError(
                "Say which share of the rows to accept, with {acceptance}, or name a column of present decisions, with"
                " {incumbent}: models are compared at equal acceptance.",
                acceptance=None,
                incumbent=None,
            )

    @property
    def rule(self) -> Rule:
        """The rule that chooses."""
        return Rule(self.margin, self.ratio)


@dataclass(frozen=True, eq=False)
class Lda:
    """A search for less discriminatory alternatives, and what came of it.

    `tried` is everything that was tried, with its figures on the choosing rows; `judged` has the figures of the
    baseline and of the chosen model on the judging rows, and `judged_changes` their differences. `chosen` is None if no
    model was admissible.
    """

    samples: Samples
    rows: Mapping[str, IntArray]  # fit, choose, judge
    settings: LdaSettings
    config: dict[str, Any]
    tried: tuple[Tried, ...]
    baseline: Tried
    reasons: Mapping[int, str]  # of each tried model but the baseline: why it is not admissible, "" if it is
    changes: Mapping[int, Changes]  # of each tried model, on the choosing rows
    chosen: Tried | None
    judged: Mapping[str, Figures]
    judged_changes: Changes | None
    smallest: Mapping[str, int]  # of each group, the fewest rows that a model accepts or refuses, unless none
    acceptance: float
    command: str = ""

    @cached_property
    def group(self) -> str:
        """The group that the baseline treats worst on the choosing rows."""
        assert self.baseline.figures is not None
        return self.baseline.figures.worst

    @property
    def verdict(self) -> Verdict:
        """Whether an alternative was found, and whether the judging rows confirm it."""
        if self.chosen is None or self.judged_changes is None:
            return "none"
        loss, gain = self.judged_changes.bad_rate, self.judged_changes.ratios[self.group]
        is_within = loss.high is not None and loss.high <= self.settings.margin
        return "found" if is_within and gain.low is not None and gain.low > 0 else "not confirmed"

    @property
    def goal(self) -> str:
        """Whether the lowest ratio on the judging rows reaches the goal: "met", "not met" or "cannot tell"."""
        which = "baseline" if self.chosen is None else "chosen"
        ratio = self.judged[which].ratio
        if ratio.value is None or ratio.low is None or ratio.high is None:
            return "undefined"
        short = Measure("shortfall", 1 - ratio.value, 1 - ratio.high, 1 - ratio.low, ratio.n, ratio.n_min)
        return verdict(short, 1 - self.settings.ratio)

    @property
    def log(self) -> pd.DataFrame:
        """One row for each model that was tried, with its figures on the choosing rows."""
        return pd.DataFrame([self._logged(number, tried) for number, tried in enumerate(self.tried)])

    def _logged(self, number: int, tried: Tried) -> dict[str, Any]:
        role = "baseline" if tried is self.baseline else "chosen" if tried is self.chosen else ""
        row: dict[str, Any] = {"model": number, "role": role, "estimator": tried.estimator, "settings": tried.settings}
        row |= {"ratio asked": tried.asked, "bad rate bound": tried.bad_rate_bound}
        row["why not"] = self.reasons.get(number, "")
        named = {} if tried.figures is None else tried.figures.named
        if tried.searched is not None:
            named = named | {"ratio, all rows searched": tried.searched}
        if number in self.changes:
            named = named | {f"change of {name}": change for name, change in self.changes[number].named.items()}
        for name, measure in named.items():
            row |= {name: measure.value, f"{name} low": measure.low, f"{name} high": measure.high}
        return row

    @property
    def table(self) -> pd.DataFrame:
        """The figures of the baseline and the chosen model, and their differences, on the judging rows."""
        parts: dict[str, Mapping[str, Measure]] = {name: own.named for name, own in self.judged.items()}
        if self.judged_changes is not None:
            parts["change"] = self.judged_changes.named
        return pd.DataFrame(
            {"model": model, "measure": name, "value": own.value, "low": own.low, "high": own.high, "rows": own.n}
            for model, measures in parts.items()
            for name, own in measures.items()
        )

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """Per estimator, what its probabilities prove: the bad rate without a limit, and at least, at the ratio asked.

        ``within`` is the highest ratio asked whose bound is at most the margin above the first.
        """
        proved = []
        for name in self.settings.estimator:
            own = [tried for tried in self.tried if tried.estimator == name and tried.bad_rate_bound is not None]
            bounds = {tried.asked: tried.bad_rate_bound for tried in own if tried.bad_rate_bound is not None}
            least = bounds[None]
            within = [r for r, bound in bounds.items() if r is not None and bound <= least + self.settings.margin]
            at = bounds.get(self.settings.ratio, least)  # not asked where the model without a limit has it
            proved.append({"estimator": name, "no_limit": least, "at_ratio": at, "within": max(within, default=None)})
        return proved

    def to_dict(self) -> dict[str, Any]:
        """The content of lda.json."""
        samples = self.samples
        data = data_entry(samples.data.name, samples.data.frame, samples.labels, samples.groups)
        sizes = {name: len(rows) for name, rows in self.rows.items()}
        unknown = int((samples.groups.codes < 0).sum())
        content = metrics(
            command=self.command,
            data=data | sizes | {"dropped": samples.n_dropped, "unknown": unknown},
            config=self.config,
            verdict=self.verdict,
            goal=self.goal,
            acceptance=self.acceptance,
            group=self.group,
            baseline=self.baseline.name,
            chosen=None if self.chosen is None else self.chosen.name,
            splits={
                "choose": self.log.to_dict("records"),
                "judge": {model: _listed(own.named) for model, own in self.judged.items()},
            },
            changes=None if self.judged_changes is None else _listed(self.judged_changes.named),
            bounds=self.bounds,
            smallest=self.smallest,
        )
        return content | {"schema": SCHEMA}

    def save(self, folder: AnyPath, *, overwrite: bool = False) -> None:
        """Write a folder, whole or not at all: lda.json, log.csv, table.csv, config.json, and model.skops if found."""
        with new_folder(folder, overwrite=overwrite) as part:
            if self.chosen is not None and self.verdict == "found":
                save(self.chosen.model, part / MODEL)
            write_json(part / "config.json", self.config)
            write_csv(part / "log.csv", self.log)
            write_csv(part / "table.csv", self.table)
            write_json(part / LDA, self.to_dict())


def _listed(named: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: measure.to_dict() for name, measure in named.items()}


def lda(source: Source, settings: LdaSettings, *, progress: bool = False, command: str = "") -> Lda:
    """Search for a model with a better adverse impact ratio at no significant loss, and judge it on rows not searched.

    `progress` shows a bar on stderr, and `command` is recorded in lda.json.

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
        given = Decisions(present[rows["choose"]])
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
    features = tuple(name for name in samples.data.features if name != column)
    data, X = replace(samples.data, features=features), samples.X.drop(columns=column)
    return replace(samples, data=data, X=X), np.asarray(values == samples.data.positive)


def _parts(loans: LoanRows, settings: LdaSettings) -> dict[str, IntArray]:
    """Rows to fit on, to choose on and to judge on, alike in label and group."""
    bad, names = loans.bad, loans.group_names
    others, judge = split(bad, names, test_size=settings.test_size, random_state=settings.seed)
    share = settings.choose_size / (1 - settings.test_size)
    fit, choose = split(bad[others], names[others], test_size=share, random_state=settings.seed)
    return {"fit": others[fit], "choose": others[choose], "judge": judge}


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
) -> tuple[dict[int, Changes], dict[int, str], Tried | None]:
    """How each model differs from the baseline, why it is not admissible, and the chosen one."""
    assert baseline.decisions is not None
    assert baseline.figures is not None
    changes: dict[int, Changes] = {}
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


def _smallest(decided: Mapping[LoanRows, Sequence[Decisions | None]]) -> dict[str, int]:
    """Of each group, the fewest rows that any of these decisions accepts or refuses, unless none."""
    counts = [np.array([rows.sizes for rows in decided])]
    for rows, several in decided.items():
        accepted = np.array([rows.accepted_in(own.accepted) for own in several if own is not None])
        counts += [accepted, rows.sizes - accepted]
    every = np.vstack(counts)
    fewest = np.where(every > 0, every, np.inf).min(axis=0)
    return {name: int(few) for name, few in zip(next(iter(decided)).names, fewest, strict=True) if np.isfinite(few)}


def _decide(tried: Tried, X: pd.DataFrame, present: Any, favourable: Any) -> Decisions:
    """A model's decisions on the judging rows, or those that are there."""
    return Decisions(present) if tried.estimator == INCUMBENT else Decisions.of(tried.model, X, favourable)
