"""Every measure, computed from the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm._validation import Attributes
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.measures.compared import ComparedCells
from fairalm.measures.definitions import MEASURES, Definition, definition_of
from fairalm.measures.intervals import range_interval, rate_interval, ratio_interval
from fairalm.measures.labels import LabelRates, rates_of_labels
from fairalm.measures.measure import Measure
from fairalm.measures.rates import GroupRates


def measure_of(
    which: str | Constraint | type[Constraint] | Definition,
    rates: GroupRates | LabelRates,
    *,
    level: float = 0.95,
    train: bool = False,
    n_models: int = 1,
) -> Measure:
    """Compute one measure from counts.

    Parameters
    ----------
    which : str or Constraint
        A key of ``MEASURES``, or a constraint, built in or your own: the largest difference of its rates.
    rates : GroupRates or LabelRates
        The counts, from :func:`group_rates`; of several labels, from :func:`label_rates`. Then an error is a wrong
        label, and of all other measures the worst over the labels counts, each against the rest.
    level : float
        Nominal coverage of the interval.
    train : bool
        The model was fitted on these rows: no interval, and the measure says so.
    n_models : int
        The model is the best of so many by this measure on these rows, and its interval allows for the choice, as
        :func:`chosen_measure` explains.

    Examples
    --------
    >>> from fairalm.measures import group_rates
    >>> rates = group_rates([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "a", "b"])
    >>> print(measure_of("deo", rates))
    undefined (0 rows in b, y=1)
    """
    if n_models < 1:
        raise InputError(f"`n_models` must be 1 or more; got {n_models!r}.")
    definition = which if isinstance(which, Definition) else definition_of(which)
    cells = _cells_of(definition, rates)
    undefined = cells.why_undefined()
    value = low = high = signed = None
    if not undefined:
        value, signed = value_of(cells)
        if not train:
            low, high = _chosen_interval(cells, level, n_models)
    note = undefined or cells.note()
    n_rows = cells.n_rows
    if isinstance(rates, LabelRates):  # of all rows, the cells of each label may have each
        n_rows = min(n_rows, int(rates.right.pooled.counts("error")[1][0]))
    return Measure(
        definition.name, value, low, high, n_rows, cells.n_min, signed, note, "train" if train else "heldout"
    )


def _cells_of(definition: Definition, rates: GroupRates | LabelRates) -> ComparedCells:
    if isinstance(rates, GroupRates):
        return ComparedCells.of(definition, rates)
    if set(definition.rates) == {"error"}:  # of any label
        return ComparedCells.of(definition, rates.right)
    return ComparedCells.joined([ComparedCells.of(definition, own) for own in rates.each.values()])


def measures_of(
    rates: GroupRates | LabelRates, *, level: float = 0.95, train: bool = False, constraint: Constraint | None = None
) -> dict[str, Measure]:
    """Compute every registered measure from counts, and that of your own `constraint`; see :func:`measure_of`."""
    measures = {name: measure_of(name, rates, level=level, train=train) for name in MEASURES}
    if constraint is not None and definition_of(constraint).name not in MEASURES:
        measures[definition_of(constraint).name] = measure_of(constraint, rates, level=level, train=train)
    return measures


def measure_all(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    constraint: Constraint | None = None,
    attributes: Attributes = "crossed",
    sample_weight: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> dict[str, Measure]:
    """Compute every registered measure, and that of your own `constraint`, from labels and predictions.

    `level` and `train` are those of :func:`measure_of`, the other parameters those of :func:`group_rates`. With more
    than two labels, gaps and ratios are the worst over the labels, or over those that `target` names; each is
    compared against the rest.

    Examples
    --------
    >>> y_true, y_pred = [1] * 40 + [0] * 40, [1] * 30 + [0] * 10 + [0] * 40
    >>> sex = ["F", "M"] * 40
    >>> print(measure_all(y_true, y_pred, sensitive_features=sex)["error"])
    12.5 % [6.6, 21.5]

    Several protected columns, each compared on its own:

    >>> columns = {"sex": sex, "age": ["old"] * 20 + ["young"] * 60}
    >>> print(measure_all(y_true, y_pred, sensitive_features=columns, attributes="separate")["deo"])
    50.0 % [19.3, 70.7]

    Three labels; the gap of selection rates is the worst of the three:

    >>> grade = ["low", "mid", "high", "mid"] * 20
    >>> print(measure_all(grade, grade, sensitive_features=sex)["ddp"])
    100.0 % [82.4, 100.0]
    """
    rates = rates_of_labels(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        target=target,
        attributes=attributes,
        sample_weight=sample_weight,
    )
    return measures_of(rates, level=level, train=train, constraint=constraint)


@dataclass(frozen=True)
class MeasureFunction:
    """The measure ``MEASURES[name]`` as a function of labels and predictions.

    Examples
    --------
    >>> y_true, y_pred = [1] * 80, [1] * 60 + [0] * 20
    >>> print(deo(y_true, y_pred, sensitive_features=["F"] * 40 + ["M"] * 40))
    50.0 % [32.6, 65.0]
    >>> print(error(y_true, y_pred))
    25.0 % [16.5, 35.5]
    """

    name: str

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        target: Any = None,
        sample_weight: Any = None,
        level: float = 0.95,
        train: bool = False,
    ) -> Measure:
        """Measure predictions; parameters as in :func:`measure_all`, but the error needs no `sensitive_features`."""
        if sensitive_features is None:
            if MEASURES[self.name].kind != "overall":
                raise InputError(f"`sensitive_features` is missing: {self.name} compares groups, one value per row.")
            sensitive_features = np.zeros(len(y_true), dtype=np.int64)
        rates = rates_of_labels(
            y_true, y_pred, sensitive_features=sensitive_features, target=target, sample_weight=sample_weight
        )
        return measure_of(self.name, rates, level=level, train=train)


error = MeasureFunction("error")
deo = MeasureFunction("deo")
fpr_gap = MeasureFunction("fpr_gap")
equalized_odds = MeasureFunction("equalized_odds")
ddp = MeasureFunction("ddp")
error_parity = MeasureFunction("error_parity")
predictive_parity = MeasureFunction("predictive_parity")
dp_ratio = MeasureFunction("dp_ratio")
deo_ratio = MeasureFunction("deo_ratio")
equalized_odds_ratio = MeasureFunction("equalized_odds_ratio")


def _chosen_interval(cells: ComparedCells, level: float, n_models: int) -> tuple[float, float]:
    """The interval, with the end on the side of a worse model at the level for `n_models`."""
    (low, high), (lowest, highest) = _interval(cells, level), _interval(cells, level ** (1 / n_models))
    ends = (lowest, high) if cells.kind == "ratio" else (low, highest)
    return float(np.squeeze(ends[0])), float(np.squeeze(ends[1]))


def _interval(cells: ComparedCells, level: float) -> tuple[Any, Any]:
    if cells.kind == "overall":
        return rate_interval(cells.k, cells.n, level)
    if cells.kind == "difference":
        return range_interval(cells.k, cells.n, level, pairs=cells.pairs)
    low, high = ratio_interval(cells.k, cells.n, level, pairs=cells.pairs)
    return (low, high) if cells.kind == "ratio" else (1.0 - high, 1.0 - low)


def value_of(cells: ComparedCells) -> tuple[float, float | None]:
    """Return the worst line's value and, for a difference between two groups, mu0 - mu1."""
    p = cells.rates
    if cells.kind == "overall":
        return float(p.item()), None
    if cells.kind == "shortfall" or cells.reference is not None:
        return _worst_pair(cells), None
    largest, smallest = np.nanmax(p, axis=1), np.nanmin(p, axis=1)
    if cells.kind == "ratio":
        return float(np.min(smallest / largest)), None
    worst = int(np.argmax(largest - smallest))
    signed = float(p[worst, 0] - p[worst, 1]) if p.shape[1] == 2 and cells.n_attributes == 1 else None
    return float(largest[worst] - smallest[worst]), signed


def _worst_pair(cells: ComparedCells) -> float:
    """The largest difference, or one minus the smallest ratio, over the pairs that are compared; 0 at least."""
    first, second = cells.rates[:, :, None], cells.rates[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing falls short of a rate of 0
        far = first - second if cells.kind == "difference" else np.where(second == 0, 0.0, 1.0 - first / second)
    return float(max(np.nanmax(np.where(cells.pairs, far, np.nan)), 0.0))
