import importlib
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from fairalm import AugmentedLagrangian, EqualOpportunity, FairALMClassifier, InputError
from fairalm.datasets import load_german, preprocess
from fairalm.files import write_atomic
from fairalm.models_io import load, save
from fairalm.runs.choices import ESTIMATORS
from fairalm.schedules import Decay


def fitted(estimator, **settings):
    data = load_german()
    X, y = data.features_frame(with_protected=True), data.frame["credit"].to_numpy()
    clf = FairALMClassifier(
        make_pipeline(preprocess(X), estimator),
        constraint=EqualOpportunity(tol=0.02, target="good"),
        max_iter=2,
        random_state=0,
        **settings,
    )
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return clf.fit(X, y, sensitive_features=data.groups), X


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, BaseEstimator):
        assert vars(one).keys() == vars(other).keys()
        for name in vars(one):
            assert_same(vars(one)[name], vars(other)[name])
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif type(one).__module__.startswith(("fairalm", "builtins")) and not isinstance(one, dict):
        assert one == other or (one != one and other != other)  # NaN


@pytest.mark.parametrize(
    ("name", "predictor"),
    [*((name, "single") for name in ESTIMATORS), ("logistic", "mixture"), ("logistic", "average")],
)
def test_model_comes_back_the_same(tmp_path, name, predictor):
    model, X = fitted(ESTIMATORS[name][0](0), predictor=predictor, method=AugmentedLagrangian(eta=Decay(0.3)))
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_same(model, again)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert again.method == AugmentedLagrangian(eta=Decay(0.3))


def test_saving_leaves_the_model_alone_and_finds_the_history_of_a_nested_one(tmp_path):
    model, _ = fitted(LogisticRegression(max_iter=1000))
    outer = make_pipeline(FunctionTransformer(), model)
    history = model.history_
    save(outer, tmp_path / "model.skops")
    assert model.history_ is history
    pd.testing.assert_frame_equal(load(tmp_path / "model.skops")[-1].history_, history)


class Mine(LogisticRegression):
    pass


def test_an_unknown_type_is_named_and_can_be_allowed(tmp_path):
    save(Mine().fit([[0], [1]], [0, 1]), tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"holds .*Mine, which fairalm does not know.*trusted=\['.*Mine'\]") as error:
        load(tmp_path / "model.skops")
    name = str(error.value).split("holds ")[1].split(",")[0]
    assert isinstance(load(tmp_path / "model.skops", trusted=[name]), Mine)


@pytest.mark.parametrize("function", [os.system, pd.read_pickle, np.load, write_atomic, importlib.import_module])
def test_a_file_cannot_bring_functions(tmp_path, function):
    save(FunctionTransformer(function), tmp_path / "model.skops")
    with pytest.raises(InputError, match=function.__name__):
        load(tmp_path / "model.skops")


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["FAIRALM_BOMB"],))


def test_a_pickle_is_refused_unopened(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRALM_BOMB", str(tmp_path / "went off"))
    (tmp_path / "model.skops").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="not a model"):
        load(tmp_path / "model.skops")
    assert not (tmp_path / "went off").exists()


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (LogisticRegression(), "model.json", "'model.json' must end in .skops"),
        (LogisticRegression(), "model.pkl", "'model.pkl' must end in .skops"),
        ({}, "data.skops", "Only scikit-learn models can be saved; got a dict"),
    ],
)
def test_the_suffix_must_fit(tmp_path, value, name, message):
    with pytest.raises(InputError, match=message):
        save(value, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        load(tmp_path / "model.skops")
