"""The search for less discriminatory alternatives: what is tried, and the rule that chooses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import FloatArray
from fairalm.constraints import DemographicParity
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.measures import Measure
from fairalm.runs.lending import Figures, LoanChanges, LoanDecisions, LoanRows, lowest_ratio
from fairalm.sklearn import FrontierClassifier

PLAIN = 0.01  # ratio asked of a model without a limit: every model in use has more
COARSE = tuple(step / 20 for step in range(10, 21))  # ratios asked of the frontier,
FINE = tuple(step / 100 for step in range(-5, 11))  # and near the goal, as differences from it
INCUMBENT = "incumbent"

Told = Callable[[str], None]  # what is being done, for the progress bar


@dataclass(frozen=True, eq=False)
class Tried:
    """One model that was tried: how it was made, its decisions and its figures on the choosing rows.

    Attributes
    ----------
    estimator : str
        Its name; "incumbent" for given decisions.
    settings : str
        The estimator as Python writes it.
    asked : float or None
        The ratio that was asked of the frontier; None for a model without a limit, and for given decisions.
    model : fitted classifier or None
        None for given decisions, and where what was asked cannot be met.
    figures, decisions
        On the choosing rows; None where what was asked cannot be met.
    searched : Measure or None
        The lowest ratio over all rows that the search may see: the fit rows, out of fold, and the choosing rows.
    bad_rate_bound : float or None
        Under the estimated probabilities, the bad rate that no classifier of these features can be below which accepts
        as many rows and has the ratio asked; among rows with a known group.
    note : str
        Why there are no figures.
    """

    estimator: str
    settings: str = ""
    asked: float | None = None
    model: Any = None
    decisions: LoanDecisions | None = None
    figures: Figures | None = None
    searched: Measure | None = None
    bad_rate_bound: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """In words: "boosting, ratio 0.84 asked"."""
        if self.estimator == INCUMBENT:
            return "present decisions"
        return self.estimator + (", no limit" if self.asked is None else f", ratio {self.asked:.2f} asked")


@dataclass(frozen=True)
class Rule:
    """The rule that chooses, stated before the search.

    A model is admissible if, on the choosing rows, its bad rate among the accepted is surely at most `margin` above the
    baseline's (the upper end of the paired interval), and the impact ratio of the group that the baseline treats worst
    is surely higher than the baseline's (the lower end). Of the admissible ones whose lowest ratio surely reaches
    `ratio` (the lower end, over the fit rows out of fold and the choosing rows), the one with the lowest bad rate is
    chosen; if there is none, of all admissible ones that with the highest ratio.
    """

    margin: float
    ratio: float

    def why_not(self, tried: Tried, changes: LoanChanges, group: str, baseline: Figures) -> str:
        """Why a model is not admissible; "" if it is. `group` is the one that the baseline treats worst."""
        figures, gain, loss = tried.figures, changes.ratios[group], changes.bad_rate
        if figures is None or figures.ratio.value is None or loss.high is None or gain.low is None:
            return "an undefined ratio"
        if gain.low <= 0 or figures.ratio.value <= (baseline.ratio.value or 0.0):
            return "a ratio not surely better"
        return "" if loss.high <= self.margin else "a bad rate not surely within the margin"

    def choose(self, admissible: Sequence[Tried]) -> Tried | None:
        """The model that is chosen among the admissible ones."""
        known = [(tried, tried.figures) for tried in admissible if tried.figures is not None]
        reaching = [(tried, own) for tried, own in known if self._surely_reaches(tried)]
        if reaching:
            return min(reaching, key=lambda pair: pair[1].bad_rate.value or 0.0)[0]
        return max(known, key=lambda pair: pair[1].ratio.value or 0.0)[0] if known else None

    def _surely_reaches(self, tried: Tried) -> bool:
        ratio = tried.searched
        return ratio is not None and ratio.low is not None and ratio.low >= self.ratio


@dataclass(frozen=True, eq=False)
class Search:
    """The rows to fit on, and those to choose on."""

    X: pd.DataFrame
    labels: Any
    fitting: LoanRows
    X_choose: pd.DataFrame
    choosing: LoanRows
    favourable: Any
    acceptance: float
    goal: float
    folds: int
    seed: int

    @property
    def asked(self) -> list[float]:
        """The ratios asked of the frontier, in ascending order."""
        near = (round(self.goal + step, 6) for step in FINE)
        return sorted({*COARSE, *(ratio for ratio in near if PLAIN < ratio <= 1)})

    @property
    def steps(self) -> int:
        """How many steps an estimator takes, at most."""
        return 2 + len(self.asked)

    def along(self, name: str, pipeline: Any, told: Told) -> Iterator[Tried]:
        """Everything that is tried with one estimator: the plain model, then its frontier."""
        told(f"{name}: fitting label and group, out of fold")
        settings, positive = repr(pipeline[-1]), self.favourable
        constraint = DemographicParity(ratio=self.goal, reference=self.choosing.reference, target=positive)
        frontier = FrontierClassifier(
            pipeline, constraint=constraint, n_folds=self.folds, missing="unknown", random_state=self.seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairALMWarning)  # each point's own figures are in the log
            frontier.fit(self.X, self.labels, sensitive_features=self.fitting.group_names)
            good = 1 - frontier.at(ratio=PLAIN, acceptance=1.0).cost_
            told(f"{name}: no limit")
            plain = frontier.at(ratio=PLAIN, acceptance=self.acceptance)
            yield self._measured(Tried(name, settings, None, plain), good)
            gap = plain.figures_["gap"]
            reached = PLAIN if gap is None else 1 - gap  # undefined if nobody is accepted
            for ratio in self.asked:
                told(f"{name}: ratio {ratio:.2f}")
                if ratio <= reached:
                    continue  # the plain model has it
                yield self._tried(frontier, name, settings, ratio, good)

    def _tried(self, frontier: FrontierClassifier, name: str, settings: str, ratio: float, good: float) -> Tried:
        """The point of the frontier for a ratio; where it cannot be met, why."""
        try:
            model = frontier.at(ratio=ratio, acceptance=self.acceptance)
        except InputError as error:
            return Tried(name, settings, ratio, note=str(error))
        return self._measured(Tried(name, settings, ratio, model), good)

    def _measured(self, tried: Tried, good: float) -> Tried:
        """Set to accept its share of the choosing rows, with its figures there; `good` is the estimated share of good.

        The frontier sets the share out of fold, with models of fewer rows: on a small table, some points off.
        """
        point = tried.model
        threshold = threshold_for(point.rule.margins(point.model.joint(self.X_choose)), self.acceptance)
        model = copy(point).set_params(rule=replace(point.rule, threshold=threshold))
        decisions = LoanDecisions.of(model, self.X_choose, self.favourable)
        is_known = (self.fitting.codes >= 0).all()
        share = self.acceptance if is_known else point.figures_["selection"]  # of rows with a known group
        bound = bad_rate_of(point.bound_, share, good)
        return replace(
            tried,
            model=model,
            decisions=decisions,
            figures=self.choosing.figures(decisions),
            searched=self._searched(point, decisions),
            bad_rate_bound=bound,
        )

    def _searched(self, point: Any, decisions: LoanDecisions) -> Measure:
        """The lowest ratio over the fit rows, out of fold, and the choosing rows."""
        shares = np.array([point.figures_[f"selection_{name}"] for name in self.fitting.names])
        k, fitted = self.choosing.accepted_in(decisions.accepted), self.fitting.sizes
        return lowest_ratio(k + shares * fitted, self.choosing.sizes + fitted, self.choosing.place)


def threshold_for(margins: FloatArray, share: float) -> float:
    """The threshold that as near as possible to this share of the margins lies below; equal ones are not parted.

    >>> threshold_for(np.array([0.1, 0.2, 0.3, 0.4]), 0.5)
    0.25
    """
    values, counts = np.unique(margins, return_counts=True)
    best = int(np.argmin(abs(np.append(0, counts.cumsum()) - share * len(margins))))
    edges = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
    return float((edges[best] + edges[best + 1]) / 2)


def bad_rate_of(cost: float, acceptance: float, good: float) -> float:
    """The bad rate among the accepted, from the share of wrong decisions.

    Wrong are the bad that are accepted, b, and the good that are not, ``good - (acceptance - b)``. So
    ``cost = 2 b + good - acceptance``, and at equal acceptance the fewest mistakes are the lowest bad rate.

    >>> round(bad_rate_of(cost=0.2, acceptance=0.8, good=0.9), 6)  # 5 of 80 accepted are bad, 15 of 20 others good
    0.0625
    """
    return float(np.clip((cost + acceptance - good) / 2, 0.0, None) / acceptance) if acceptance else float("nan")
