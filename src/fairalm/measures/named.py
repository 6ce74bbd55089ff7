"""Each registered measure as a function of labels and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.exceptions import InputError
from fairalm.measures.gaps import MEASURES, measure_of
from fairalm.measures.measure import Measure
from fairalm.measures.rates import group_rates


@dataclass(frozen=True)
class MeasureFunction:
    """A measure by name, to be called with labels and predictions.

    Parameters
    ----------
    name : str
        A key of ``MEASURES``.

    Examples
    --------
    >>> y_true, y_pred = [1] * 80, [1] * 60 + [0] * 20
    >>> print(deo(y_true, y_pred, sensitive_features=["F"] * 40 + ["M"] * 40))
    50.0 % [32.6, 65.0]
    >>> print(error(y_true, y_pred))
    25.0 % [16.5, 35.5]
    """

    name: str

    @property
    def description(self) -> str:
        """What it measures, in one line."""
        return MEASURES[self.name].description

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        target: Any = None,
        level: float = 0.95,
        train: bool = False,
    ) -> Measure:
        """Measure predictions.

        Parameters
        ----------
        y_true, y_pred, sensitive_features, target
            As in :func:`group_rates`; the overall error needs no `sensitive_features`.
        level, train
            As in :func:`measure_of`.
        """
        if sensitive_features is None:
            if MEASURES[self.name].kind != "overall":
                raise InputError(f"`sensitive_features` is missing: {self.name} compares groups, one value per row.")
            sensitive_features = np.zeros(len(y_true), dtype=np.int64)
        rates = group_rates(y_true, y_pred, sensitive_features=sensitive_features, target=target)
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
