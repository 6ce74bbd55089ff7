"""Algorithm 1 around any Spark ML classifier that takes weights."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

from pyspark.ml import Estimator
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasMaxIter
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame

from fairalm._validation import ATTRIBUTES, Groups
from fairalm.constraints import Constraint, as_constraint
from fairalm.game import Predictor, play
from fairalm.methods import Method, Unconstrained, as_method
from fairalm.spark.checkpoint import Journal
from fairalm.spark.frame import CodedFrame, code_frame, target_of
from fairalm.spark.learner import check_takes_weights, features_of
from fairalm.spark.model import FairALMModel
from fairalm.spark.outage import LOST, advise_after_loss
from fairalm.spark.params import OBJECTS, GroupParams, ObjectReader, ObjectWriter, check_settings
from fairalm.spark.signals import DualSignal, FrameSignal, make_signal

PREDICTORS = ("single", "last")


class FairALMEstimator(Estimator[FairALMModel], GroupParams, HasMaxIter, MLReadable["FairALMEstimator"], MLWritable):
    """A Spark ML estimator whose model meets a fairness constraint, by Algorithm 1.

    Each round fits the classifier to weights that answer the gap of the round before, and measures the new model in one
    aggregation. The protected attribute is needed to fit, never to transform.

    Parameters
    ----------
    estimator : Spark ML classifier, optional
        With a `weightCol`; ``LogisticRegression()`` if left out. Its own names of columns for features and outputs are
        used; its label and weight columns are set by every round.
    constraint : Constraint or str, optional
        The constraint with its tolerance, or its name; ``EqualOpportunity()`` if left out.
    method : Method or str, optional
        How the multipliers move; :class:`fairalm.SecantALM` if left out, which needs no tuning.
    groupCols : list of str
        The protected columns. Several are crossed, or compared one by one (`attributes`).
    labelCol : str
        The label, 0 or 1.
    weightCol : str, optional
        How many rows each row stands for.
    attributes : {"crossed", "separate"}
        Several protected columns: compare the groups of all combinations of their values, or each column on its own.
    maxIter : int
        Rounds at most.
    predictor : {"single", "last"}
        "single": of the models found, the one with the smallest error within the tolerance, else the smallest gap; its
        threshold is moved where that saves error within the tolerance. "last": the last one, as the paper returns.
    dualSignal : {"train", "heldout", "crossfit"}
        Where errors and gaps are measured: on the training rows; on a share held out of the fits; or on out-of-fold
        predictions, which costs `numFolds` + 1 fits a round.
    heldoutSize : float
        The share held out.
    numFolds : int
        Folds of "crossfit".
    bound : float
        B of the certificate.
    earlyStop : bool
        Stop once the model meets the tolerance and the certificate is small; otherwise play `maxIter` rounds.
    seed : int
        Draws held-out rows and folds. Each row is drawn by a hash of its own values, so equal rows stay together.
    checkpointDir : str, optional
        A folder for what each fit gave. A fit that was interrupted and is started again with the same data and
        settings goes on from there.

    Examples
    --------
    >>> from fairalm.spark import FairALMEstimator
    >>> FairALMEstimator(groupCols=["sex"], constraint="demographic-parity").getOrDefault("constraint")
    'demographic-parity'
    """

    method: Param[Any] = Param(Params._dummy(), "method", "how the multipliers move")
    predictor: Param[str] = Param(
        Params._dummy(), "predictor", "which model to return", typeConverter=TypeConverters.toString
    )
    dualSignal: Param[str] = Param(
        Params._dummy(), "dualSignal", "where errors and gaps are measured", typeConverter=TypeConverters.toString
    )
    heldoutSize: Param[float] = Param(
        Params._dummy(), "heldoutSize", "share held out", typeConverter=TypeConverters.toFloat
    )
    numFolds: Param[int] = Param(Params._dummy(), "numFolds", "folds of crossfit", typeConverter=TypeConverters.toInt)
    bound: Param[float] = Param(Params._dummy(), "bound", "B of the certificate", typeConverter=TypeConverters.toFloat)
    earlyStop: Param[bool] = Param(
        Params._dummy(), "earlyStop", "stop once nothing better is found", typeConverter=TypeConverters.toBoolean
    )
    checkpointDir: Param[str] = Param(
        Params._dummy(), "checkpointDir", "folder to go on from", typeConverter=TypeConverters.toString
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: Constraint | str | None = None,
        method: Method | str | None = None,
        groupCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        attributes: str = "crossed",
        maxIter: int = 50,
        predictor: str = "single",
        dualSignal: str = "train",
        heldoutSize: float = 0.25,
        numFolds: int = 3,
        bound: float = 1.0,
        earlyStop: bool = True,
        seed: int = 0,
        checkpointDir: str | None = None,
    ) -> None:
        super().__init__()
        self._set_given(
            estimator=estimator,
            constraint=constraint,
            method=method,
            groupCols=groupCols,
            labelCol=labelCol,
            weightCol=weightCol,
            attributes=attributes,
            maxIter=maxIter,
            predictor=predictor,
            dualSignal=dualSignal,
            heldoutSize=heldoutSize,
            numFolds=numFolds,
            bound=bound,
            earlyStop=earlyStop,
            seed=seed,
            checkpointDir=checkpointDir,
        )

    def _fit(self, dataset: DataFrame) -> FairALMModel:
        constraint, method = as_constraint(self._given("constraint")), as_method(self._given("method"), "spark")
        estimator = self._given("estimator") or LogisticRegression()
        self._check(estimator)
        settings = (
            self._columns(),
            [constraint],
            features_of(estimator),
            self.getOrDefault("attributes"),
            self.getSeed(),
        )
        frame, groups = code_frame(dataset, *settings)
        signal = None
        try:
            target = target_of(constraint)
            kind: DualSignal = self.getOrDefault("dualSignal")
            sizes = self.getOrDefault("heldoutSize"), self.getOrDefault("numFolds")
            signal = make_signal(kind, frame, estimator, target, *sizes)
            folder = self._given("checkpointDir")
            oracle: Any = signal
            if folder is not None:
                oracle = Journal(signal, folder, self._facts(frame, estimator, constraint, method))
            with advise_after_loss(folder):
                return self._play(oracle, signal, constraint, method, groups)
        finally:
            for held in [frame.data] if signal is None else [frame.data, signal.sample]:
                with suppress(*LOST):
                    held.unpersist()

    def _check(self, estimator: Any) -> None:
        check_takes_weights(estimator)
        n_folds, share = self.getOrDefault("numFolds"), self.getOrDefault("heldoutSize")
        kinds = {"predictor": PREDICTORS, "dualSignal": get_args(DualSignal), "attributes": ATTRIBUTES}
        known = {name: (self.getOrDefault(name) in of, f"one of {', '.join(of)}") for name, of in kinds.items()}
        check_settings(
            self,
            {
                **known,
                "maxIter": (self.getMaxIter() >= 1, "at least 1"),
                "heldoutSize": (0 < share <= 0.5, "in (0, 0.5]"),
                "numFolds": (n_folds >= 2, "at least 2"),
                "bound": (self.getOrDefault("bound") > 0, "positive"),
            },
        )

    def _facts(self, frame: CodedFrame, estimator: Any, constraint: Constraint, method: Method) -> dict[str, Any]:
        """What a checkpoint must have in common with this fit."""
        own = {param.name: value for param, value in self.extractParamMap().items() if param.name not in OBJECTS}
        inner = {param.name: repr(value) for param, value in estimator.extractParamMap().items()}
        return {
            "data": [frame.rows.n_rows.tolist(), frame.hashes],
            "settings": {name: value for name, value in own.items() if name != "checkpointDir"},
            "estimator": [type(estimator).__name__, inner],
            "constraint": repr(constraint),
            "method": repr(method),
        }

    def _play(
        self, oracle: Any, signal: FrameSignal, constraint: Constraint, method: Method, groups: Groups
    ) -> FairALMModel:
        rows = signal.measured.rows
        predictor: Predictor = "last" if isinstance(method, Unconstrained) else self.getOrDefault("predictor")
        smallest_cell = int(rows.sizes.min())
        game = play(
            oracle,
            method,
            tol=constraint.tol,
            max_iter=self.getMaxIter(),
            bound=self.getOrDefault("bound"),
            predictor=predictor,
            early_stop=self.getOrDefault("earlyStop"),
            resolution=0.5 / smallest_cell,
            is_linear=rows.cells.is_linear,
            rows=rows,
        )
        result = game.result(predictor)
        if not isinstance(method, Unconstrained):
            result.warn(smallest_cell, groups.compared)
        return FairALMModel.of(result, game.classifiers[0].model.model, groups, signal.name, oracle.n_fits)

    def write(self) -> ObjectWriter:
        """Writes the estimator, the classifier to train included."""
        return ObjectWriter(self)

    @classmethod
    def read(cls) -> ObjectReader:
        """Reads what :meth:`write` wrote."""
        return ObjectReader(cls)
