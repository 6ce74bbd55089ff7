import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, FairALMClassifier, FairALMLinear, InputError
from fairalm.datasets import load_adult

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'fairalm[spark]'")

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import DecisionTreeClassifier, LinearSVC, LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F

from fairalm.spark import FairALMEstimator, FairALMModel


def test_adult_is_as_on_a_single_machine(as_frame):
    """The same objective, without regularisation, on standardised columns: the same multipliers, round by round."""
    data = load_adult()
    X = data.features_frame(with_protected=True).select_dtypes("number")
    X = (X - X.mean()) / X.std()
    X["sex"] = (data.groups == "Male").to_numpy() * 1.0
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    plain = SklearnLogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    one = FairALMClassifier(plain, dual_signal="train", max_iter=8)
    one.fit(X, data.y, sensitive_features=data.groups.to_numpy(), sample_weight=weight)
    table = X.assign(label=np.asarray(data.y) == np.unique(data.y)[1], group=data.groups.to_numpy(), weight=weight)
    many = FairALMEstimator(
        LogisticRegression(regParam=0.0, tol=1e-8, maxIter=200), groupCols=["group"], weightCol="weight", maxIter=8
    ).fit(as_frame(table, X.columns))
    assert many.groups == tuple(one.groups_)
    np.testing.assert_allclose(many.history["lambda"], one.history_["lambda"], atol=1e-3)
    np.testing.assert_allclose(many.history["gap"], one.history_["gap"], atol=1e-3)
    assert many.dual == pytest.approx(one.dual_, abs=1e-3)
    assert many.error == pytest.approx(one.error_, abs=1e-3)


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")  # of few rounds
@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        (LogisticRegression, {"dualSignal": "heldout"}),
        (LinearSVC, {"predictor": "last"}),
        (DecisionTreeClassifier, {"dualSignal": "crossfit", "numFolds": 2}),
    ],
)
def test_classifiers_and_signals(frame, estimator, settings):
    quick = estimator(maxDepth=3) if estimator is DecisionTreeClassifier else estimator(maxIter=5)
    model = FairALMEstimator(quick, groupCols=["sex"], maxIter=2, earlyStop=False, **settings).fit(frame)
    plain, fair = model.rates["tpr_plain"], model.rates["tpr"]
    assert abs(fair[0] - fair[1]) == pytest.approx(model.gap)
    assert model.gap < abs(plain[0] - plain[1])
    assert model.dualSignal == settings.get("dualSignal", "train")
    assert model.numFits == (6 if model.dualSignal == "crossfit" else 2)
    assert {"prediction", "rawPrediction"} <= set(model.transform(frame).columns)


@pytest.fixture(scope="module")
def model(frame):
    constraint = DemographicParity(tol=0.02, target=0)
    return FairALMEstimator(LogisticRegression(maxIter=10), constraint=constraint, groupCols=["sex"]).fit(frame)


def test_figures_are_those_of_the_predictions(model, frame):
    scored = model.transform(frame).cache()
    selected = [row[1] for row in scored.groupBy("sex").agg(F.avg(1 - F.col("prediction"))).orderBy("sex").collect()]
    np.testing.assert_allclose(selected, model.rates["selection"])
    assert abs(selected[0] - selected[1]) == pytest.approx(model.gap)
    assert model.gap <= 0.02
    is_wrong = (F.col("label") != F.col("prediction")).cast("int")
    assert scored.agg(F.avg(is_wrong)).first()[0] == pytest.approx(model.error)


@pytest.mark.parametrize("shift", [0.5, np.inf, -np.inf])
def test_a_moved_threshold_moves_all_columns(model, frame, shift):
    moved = FairALMModel(model.estimatorModel, shift=shift, target=0.0).transform(frame)
    of = {name: np.array([row[0] for row in moved.select(name).collect()]) for name in ("prediction", "probability")}
    raw = np.array([row[0] for row in moved.select("rawPrediction").collect()])
    kept = np.array([row[0] for row in model.estimatorModel.transform(frame).select("rawPrediction").collect()])
    is_target = kept[:, 0] > shift
    np.testing.assert_array_equal(of["prediction"] == 0, is_target)
    np.testing.assert_array_equal(of["probability"][:, 0] > 0.5, is_target)
    np.testing.assert_array_equal(raw[:, 0] > 0, is_target)


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")  # of two rounds
def test_save_and_load_in_a_pipeline(frame, tmp_path):
    data = frame.drop("features")
    assembler = VectorAssembler(inputCols=["x0", "x1", "x2"], outputCol="features")
    own = FairALMEstimator(
        LogisticRegression(maxIter=20),
        constraint=EqualizedOdds(tol=0.05),
        method=FairALMLinear(eta=0.5),
        groupCols=["sex"],
        maxIter=2,
    )
    Pipeline(stages=[assembler, own]).write().overwrite().save(str(tmp_path / "pipeline"))
    pipeline = Pipeline.load(str(tmp_path / "pipeline"))
    again = pipeline.getStages()[1]
    for name in ("constraint", "method", "groupCols", "maxIter"):
        assert again.getOrDefault(name) == own.getOrDefault(name)
    assert again.getOrDefault("estimator").getMaxIter() == 20
    fitted = pipeline.fit(data)
    fitted.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    first, second = (part.transform(data).select("prediction", "probability").collect() for part in (fitted, loaded))
    assert first == second
    one, other = fitted.stages[1], loaded.stages[1]
    pd.testing.assert_frame_equal(one.history, other.history)
    assert (one.gap, one.error, one.groups, one.uid) == (other.gap, other.error, other.groups, other.uid)
    np.testing.assert_array_equal(one.dual, other.dual)


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"groupCols": ["sexx"]}, {}, "no column 'sexx', did you mean 'sex'"),
        ({"groupCols": []}, {}, "Name the protected columns"),
        ({}, {"sex": "if(x0 > 0, sex, null)"}, "rows have no value in the protected column .sex."),
        ({}, {"sex": "x0"}, "more than the 200 groups"),
        ({}, {"sex": "'f'"}, "at least 2 are needed"),
        ({}, {"label": "label + 1"}, "must hold 0 and 1 and nothing else; it has 1, 2"),
        ({}, {"label": "if(label = 1, 'yes', 'no')"}, "nothing else; it has no, yes. Text is turned into"),
        ({"weightCol": "x1"}, {}, "rows of the weight column 'x1' are negative"),
        ({"constraint": EqualOpportunity(target="yes")}, {}, "is 0 or 1; got 'yes'"),
        ({"dualSignal": "test"}, {}, "must be one of train, heldout, crossfit. Got 'test'"),
        ({"method": "pi-control"}, {}, "must be a Method for full fits"),
        ({"estimator": VectorAssembler}, {}, "must be a Spark ML classifier"),
        ({"estimator": Pipeline}, {}, "Pipeline has no featuresCol"),
        ({"estimator": lambda: LogisticRegression(featuresCol="x")}, {}, "no column 'x'"),
    ],
)
def test_what_cannot_be_used_is_refused(frame, settings, change, message):
    settings = {"groupCols": ["sex"]} | {
        name: value() if callable(value) else value for name, value in settings.items()
    }
    for name, expression in change.items():
        frame = frame.withColumn(name, F.expr(expression))
    with pytest.raises(InputError, match=message):
        FairALMEstimator(**settings).fit(frame)


def test_an_empty_cell_is_refused(frame):
    with pytest.raises(InputError, match="Group 'm' has no rows with y=1"):
        FairALMEstimator(groupCols=["sex"]).fit(frame.where("sex = 'f' or label = 0"))
