import copy

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

from fairalm import EqualizedOdds, EqualOpportunity, FrontierClassifier, InputError

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'fairalm[spark]'")

from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.sql import functions as F

from fairalm.frontier.joint import Joint
from fairalm.spark import FrontierEstimator, FrontierModel
from fairalm.spark.mending import Mending


@pytest.fixture(scope="module")
def fitted(frame):
    three = frame.withColumn("sex", F.when(F.expr("hash(x1) % 4 = 0"), "x").otherwise(F.col("sex")))
    settings = {"constraint": [EqualizedOdds(tol=0.05, target=0)], "groupCols": ["sex"], "numFolds": 2}
    return FrontierEstimator(LogisticRegression(), **settings).fit(three)


def column(frame, name):
    return np.array([row[0] for row in frame.select(name).collect()], dtype=float)


@pytest.mark.parametrize("mending", [Mending(), Mending(0.6, {"other": np.linspace(-1, 1, 15).reshape(3, 5) ** 3})])
def test_the_columns_follow_the_rule(fitted, frame, mending):
    """Against the rule in numpy, on the mended probabilities of the models inside."""
    fitted = copy.copy(fitted)
    fitted.mending = mending
    share = column(fitted.stages.label.transform(frame), "probability")[:, 0]
    members = {name: column(model.transform(frame), "probability") for name, model in fitted.stages.members.items()}
    expected = fitted.rule.predict(mending.joint(Joint(share, members)))
    scored = fitted.transform(frame)
    assert fitted.rule.weights.any()
    np.testing.assert_array_equal(column(scored, "prediction") == 0, expected)
    np.testing.assert_array_equal(column(scored, "rawPrediction")[:, 0] > 0, expected)
    np.testing.assert_allclose(column(scored, "probability")[:, 0], share)
    assert not [name for name in scored.columns if name.startswith("fairalm")]


def test_points_and_saving(fitted, frame, tmp_path):
    loose = fitted.at(tol=0.3)
    assert fitted.groups == ("f", "m", "x")
    assert fitted.gap < loose.gap
    assert fitted.error >= loose.error == pytest.approx(loose.baselines["error"][0], abs=0.01)
    fitted.write().overwrite().save(str(tmp_path / "model"))
    loaded = FrontierModel.load(str(tmp_path / "model"))
    for one, other in ((fitted, loaded), (loose, loaded.at(tol=0.3))):
        np.testing.assert_array_equal(*(column(part.transform(frame), "prediction") for part in (one, other)))
        assert (one.error, one.gap, one.groups) == (other.error, other.gap, other.groups)


def test_it_is_near_the_single_machine(people, frame):
    """The folds are others and the driver sees a part of the rows, so the curves agree up to the noise of so few."""
    single = FrontierClassifier(SklearnLogisticRegression(C=np.inf), n_folds=2, random_state=0)
    single.fit(people[["x0", "x1", "x2"]], people["label"], sensitive_features=people["sex"])
    model = FrontierEstimator(LogisticRegression(maxIter=10), groupCols=["sex"], numFolds=2, maxRows=1200).fit(frame)
    assert 900 < len(model._table) < 1500
    assert model._table[:, 1].sum() == pytest.approx(3000, rel=0.05)
    assert abs(model.frontier["error"] - single.frontier_["error"]).max() < 0.04


def test_what_cannot_be_used_is_refused(frame):
    with pytest.raises(InputError, match="LinearSVC has no probabilityCol"):
        FrontierEstimator(LinearSVC(), groupCols=["sex"]).fit(frame)
    with pytest.raises(InputError, match="no group 'w'"):
        FrontierEstimator(constraint=EqualOpportunity(reference="w"), groupCols=["sex"]).fit(frame)
    with pytest.raises(InputError, match="'maxRows' parameter of FrontierEstimator must be at least 1000"):
        FrontierEstimator(maxRows=10, groupCols=["sex"]).fit(frame)
