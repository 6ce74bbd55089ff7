"""The frontier as a run: fit once, keep the curve, choose a point of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from fairalm._validation import check_choice
from fairalm.constraints import Constraint
from fairalm.exceptions import FairALMWarning, InputError, LevellingDownWarning, NoBetterThanConstantWarning
from fairalm.frontier.limits import PLAIN, Asked, check_comparable
from fairalm.frontier.trade_off import RATIOS, TOLERANCES
from fairalm.methods import Method
from fairalm.runs.choices import FRONTIER
from fairalm.runs.fits import Fit, timed
from fairalm.runs.samples import Samples
from fairalm.runs.settings import Settings
from fairalm.sklearn import FrontierClassifier

Floor = str | float | None
ASKED = ("acceptance", "cost_fp", "cost_fn", "floor")  # of a point, besides the constraint
RATES = ("tpr", "fpr", "selection")  # of each group at a point, in metrics.json
FIGURES = ("error", "error_low", "error_high", "gap", "gap_low", "gap_high", "selection")  # of a point, in metrics.json


@dataclass(frozen=True)
class Choice:
    """A point of the frontier of a run, as parameters of ``FrontierClassifier.at``; None is what the run has."""

    tol: float | None = None  # tolerance
    ratio: float | None = None  # in place of a tolerance
    acceptance: float | None = None  # share of all rows predicted positive
    cost_fp: float | None = None  # what a false positive costs
    cost_fn: float | None = None  # what a false negative costs
    floor: Floor = None  # "plain" or a rate below which no group's may fall

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", as_floor(self.floor))

    def parameters(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters for a run with this config, what is chosen in place of its own; {} if nothing is chosen."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if not given:
            return {}
        if config["method"] != FRONTIER:
            name, value = next(iter(given.items()))
            raise InputError(
                f"{{{name}}} is for runs of fairalm frontier; this one was trained by {config['method']!r} for one"
                " tolerance: leave it out.",
                **{name: value},
            )
        return {name: config[name] for name in ASKED} | given


@dataclass(frozen=True)
class FrontierSettings(Settings):
    """What to train for ``method="frontier"``, and which point to choose.

    >>> FrontierSettings(folds=1)
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: folds must be 2 or more; got 1.
    """

    method: str | type[Method] | None = FRONTIER
    ratio: float | None = None  # bound a ratio of rates in place of a difference: 0.8 is the four-fifths rule
    reference: str | None = None  # group that the others are compared with; by default each with each
    folds: int = 5  # folds of the out-of-fold probabilities
    acceptance: float | None = None  # share of all rows predicted positive
    cost_fp: float = 1.0  # what a false positive costs
    cost_fn: float = 1.0  # what a false negative costs
    floor: Floor = None  # "plain" or a rate below which no group's may fall

    @classmethod
    def of(cls, settings: Settings) -> FrontierSettings:
        """Settings whose method is the frontier, with the defaults of its own."""
        return settings if isinstance(settings, cls) else cls(**vars(settings))

    def __post_init__(self) -> None:
        """Refuse what is unknown, does not go together or cannot be asked of the constraint."""
        object.__setattr__(self, "floor", as_floor(self.floor))
        super().__post_init__()
        if self.folds < 2:
            raise InputError(f"{{folds}} must be 2 or more; got {self.folds}.", folds=None)
        constraint = self.make_constraint()
        Asked(constraints=(constraint,), **self.asked)
        check_comparable(replace(constraint, reference=None), ())  # whether the reference is a group, the data will say

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked of the point besides the constraint."""
        return {name: getattr(self, name) for name in ASKED}

    @property
    def varied(self) -> str:
        """What varies along the curve: "tol" or "ratio"."""
        return "tol" if self.ratio is None else "ratio"

    def to_dict(self) -> dict[str, Any]:
        """The settings for metrics.json; a ratio is in place of the tolerance."""
        return super().to_dict() | ({} if self.ratio is None else {"tol": None})

    def make_constraint(self, target: Any = None) -> Constraint:
        """The constraint, for this positive label."""
        return replace(super().make_constraint(target), ratio=self.ratio, reference=self.reference)


@dataclass(frozen=True)
class Curve:
    """The curve of a run, out of fold: a row per tolerance or ratio, the models to compare with, and the chosen point.

    `varied` is the first column of `table`, "tol" or "ratio"; `baselines` has the plain model and both constants.
    """

    varied: str
    table: pd.DataFrame
    baselines: pd.DataFrame
    chosen: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """What metrics.json keeps: errors, gaps, shares predicted positive, and the rates of each group."""
        return {
            "varied": self.varied,
            "points": [self._kept(row, self.varied) for row in self.table.to_dict("records")],
            "baselines": [self._kept(row, "model") for row in self.baselines.to_dict("records")],
            "chosen": self._kept(self.chosen, self.varied),
        }

    def _kept(self, row: Mapping[Any, Any], name: str) -> dict[str, Any]:
        names = [column.removeprefix("tpr_") for column in row if str(column).startswith("tpr_")]
        groups = {group: {rate: row[f"{rate}_{group}"] for rate in RATES} for group in names}
        return {key: row[key] for key in (name, *FIGURES)} | {"groups": groups}


def fit_frontier(pipeline: Any, samples: Samples, constraint: Constraint, settings: FrontierSettings) -> Fit:
    """Fit the frontier, and let it predict with the chosen point."""
    if settings.reference is not None:
        check_choice("group", settings.reference, samples.groups.compared)
    groups = samples.training_groups
    classifier = FrontierClassifier(
        pipeline,
        constraint=constraint,
        n_folds=settings.folds,
        attributes=groups["attributes"],
        random_state=settings.seed,
    )
    rows: Any = {"sensitive_features": groups["sensitive_features"], "sample_weight": samples.scaled_weights}

    def fit() -> FrontierClassifier:
        with warnings.catch_warnings():  # what is said of the constraint's own point; the chosen one speaks for itself
            for kind in (LevellingDownWarning, NoBetterThanConstantWarning):
                warnings.simplefilter("ignore", kind)
            classifier.fit(samples.X, samples.labels, **rows)
        return classifier.use(**settings.asked)

    return timed(fit)


def curve_of(classifier: FrontierClassifier, settings: FrontierSettings) -> Curve:
    """The curve of a fitted frontier under what is asked; tolerances that cannot be met then have no row."""
    name, own = settings.varied, {field.name: field.default for field in fields(FrontierSettings)}
    table = classifier.frontier_
    if any(value != own[asked] for asked, value in settings.asked.items()):
        rows = []
        for value in (each / 100 for each in (TOLERANCES if name == "tol" else RATIOS)):
            given: dict[str, Any] = {name: value, **settings.asked}
            with suppress(InputError), warnings.catch_warnings():
                warnings.simplefilter("ignore", FairALMWarning)  # those of the chosen point have been told
                rows.append({name: value, **classifier.at(**given).figures_})
        table = pd.DataFrame(rows)
    chosen = {name: getattr(settings, name), **classifier.model_.figures_}
    return Curve(name, table, classifier.baselines_, chosen)


def as_floor(floor: Floor) -> Floor:
    """A floor that may be typed: "plain", or text that is a number."""
    if not isinstance(floor, str) or floor == PLAIN:
        return floor
    try:
        return float(floor)
    except ValueError:
        raise InputError(f"{{floor}} must be 'plain' or a rate; got {floor!r}.", floor=None) from None
