import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, FairALMClassifier, FairALMLinear, InputError
from fairalm.datasets import load_adult

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'fairalm[spark]'")

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import DecisionTreeClassifier, LinearSVC, LogisticRegression, NaiveBayes
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F

from fairalm.spark import FairALMEstimator, FairALMModel


def rates_of(scored, by="sex"):
    """True positive rate of each group, and the error."""
    is_wrong = (F.col("label") != F.col("prediction")).cast("int")
    rates = scored.where("label = 1").groupBy(by).agg(F.avg("prediction")).collect()
    return {name: rate for name, rate in rates}, scored.agg(F.avg(is_wrong)).first()[0]


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
