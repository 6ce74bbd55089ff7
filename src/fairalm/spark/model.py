"""The model that Algorithm 1 returns on Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml import Model
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame

from fairalm._validation import Groups
from fairalm.arrays import FloatArray
from fairalm.result import GameResult
from fairalm.spark.fitted import Fitted


class FairALMModel(Model, MLReadable["FairALMModel"], MLWritable):
    """A classifier that meets a fairness constraint; made by :class:`fairalm.spark.FairALMEstimator`.

    It adds the columns of the classifier inside: prediction, probability and raw prediction. Where the threshold is
    moved, all three are moved with it. Probabilities come from reweighted rows and are not calibrated.

    Attributes
    ----------
    estimatorModel : Spark ML model
        The classifier inside, as it was fitted.
    shift : float
        How far its threshold is moved, in log-odds (raw predictions, for a model without probabilities); ±inf for a
        constant.
    target : float
        The label, 0 or 1, that the constraint and the shift speak of.
    error, gap : float
        Error, and largest difference between two groups, on the rows of `dualSignal`.
    dual : array of shape (events, rows of C)
        The multipliers it was fitted with.
    history : DataFrame
        One row per round: t, lambda, error, gap, Lagrangian, saddle gap; a pandas frame.
    rates : DataFrame
        One row per group: true positive rate and selection rate of the plain model and of this one.
    groups : tuple of str
        The groups that are compared.
    optimalityGap, saddleGap : float
        The certificate, as in :class:`fairalm.FairALMClassifier`.
    dualSignal : str
        Where errors and gaps were measured.
    numFits : int
        Fits of the classifier.
    """

    def __init__(self, estimatorModel: Any = None, **figures: Any) -> None:
        super().__init__()
        self.estimatorModel = estimatorModel
        self._figures = figures

    @classmethod
    def of(cls, result: GameResult, plain: Any, groups: Groups, signal: str, n_fits: int) -> FairALMModel:
        """The single model of a game; `plain` adds the columns of a constant."""
        (fitted,), (moved,) = result.models, result.shifts
        assert result.change is not None
        return cls(
            fitted.model or plain,
            shift=float(fitted.by + moved),
            target=fitted.target,
            error=result.error,
            gap=result.gap,
            dual=result.dual.tolist(),
            history=result.history.to_dict("list"),
            rates=result.change.table(groups.compared).to_dict("list"),
            groups=list(groups.compared),
            optimalityGap=result.optimality_gap,
            saddleGap=result.saddle_gap,
            dualSignal=signal,
            numFits=n_fits,
        )

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("_figures", {})
        if name not in figures:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return figures[name]

    @property
    def dual(self) -> FloatArray:
        """The multipliers, shape (events, rows of C)."""
        return np.array(self._figures["dual"])

    @property
    def history(self) -> pd.DataFrame:
        """One row per round."""
        return pd.DataFrame(self._figures["history"])

    @property
    def rates(self) -> pd.DataFrame:
        """One row per group."""
        return pd.DataFrame(self._figures["rates"])

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are compared."""
        return tuple(self._figures["groups"])

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return Fitted(self.estimatorModel, self.target, self.shift).transform(dataset)

    def write(self) -> MLWriter:
        """Writes the model."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[FairALMModel]:
        """Reads what :meth:`write` wrote."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, instance: FairALMModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        extra = {"figures": self.instance._figures}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, extra)
        self.instance.estimatorModel.save(f"{path}/model")


class _Reader(MLReader[FairALMModel]):
    def load(self, path: str) -> FairALMModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        inner: Any = DefaultParamsReader.loadParamsInstance(f"{path}/model", self.sparkSession)
        model = FairALMModel(inner, **metadata["figures"])
        model._resetUid(metadata["uid"])
        return model
