import json
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

import fairalm.io
from fairalm import AugmentedLagrangian, EqualOpportunity, FairALMClassifier, InputError
from fairalm._validation import Groups
from fairalm.cli._models import ESTIMATORS
from fairalm.datasets import load_german, preprocess, read_table
from fairalm.io import data_entry, load, new_folder, save, to_json, write_atomic, write_json
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
    model, X = fitted(ESTIMATORS[name][1](0), predictor=predictor, method=AugmentedLagrangian(eta=Decay(0.3)))
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
    with pytest.raises(InputError, match=r"holds .*Mine, which is not trusted .* pass trusted=\['.*Mine'\]") as error:
        load(tmp_path / "model.skops")
    name = str(error.value).split("holds ")[1].split(",")[0]
    assert isinstance(load(tmp_path / "model.skops", trusted=[name]), Mine)


@pytest.mark.parametrize(
    "function", [os.system, pd.read_pickle, np.load, write_atomic, fairalm.io.importlib.import_module]
)
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


def test_json_for_the_rest(tmp_path):
    save({"a": np.float64(np.nan), "b": [np.int64(2), float("inf")], 3: (True, None)}, tmp_path / "x.json")
    assert load(tmp_path / "x.json") == {"a": None, "b": [2, None], "3": [True, None]}
    with pytest.raises(InputError, match="cannot be written as JSON"):
        to_json(object())
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        load(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (LogisticRegression(), "model.json", "saved in a .skops file"),
        ({}, "data.skops", "saved in a .json file"),
        (LogisticRegression(), "model.pkl", "must end in .skops"),
    ],
)
def test_the_suffix_must_fit(tmp_path, value, name, message):
    with pytest.raises(InputError, match=message):
        save(value, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        load(tmp_path / "model.skops")


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, 1)
    with pytest.raises(InputError):
        write_json(path, {"bad": object()})
    with pytest.raises(OSError, match=r"x\.json"):
        write_atomic(path / "below", b"a file is no folder")
    assert json.loads(path.read_text()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def interrupted(path):
    path.write_text("x")
    raise KeyboardInterrupt


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "runs" / "deep" / "one"
    with pytest.raises(KeyboardInterrupt), new_folder(target) as folder:
        interrupted(folder / "half")
    assert list(tmp_path.iterdir()) == []
    with new_folder(target) as folder:
        (folder / "metrics.json").write_text("1")
        assert not target.exists()
    assert (target / "metrics.json").read_text() == "1"
    with pytest.raises(InputError, match="exists"), new_folder(target):
        pass
    with pytest.raises(ZeroDivisionError), new_folder(target, overwrite=True) as folder:
        1 / 0  # noqa: B018
    assert (target / "metrics.json").read_text() == "1"
    with new_folder(target, overwrite=True) as folder:
        (folder / "metrics.json").write_text("2")
    assert (target / "metrics.json").read_text() == "2"
    assert [p.name for p in target.parent.iterdir()] == ["one"]


def test_only_runs_are_overwritten(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "wedding.jpg").write_text("x")
    with pytest.raises(InputError, match="not a run"), new_folder(tmp_path / "photos", overwrite=True):
        pass
    assert (tmp_path / "photos" / "wedding.jpg").exists()


def test_the_fingerprint_is_of_the_content(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "s": ["x", "y", None], "label": [0, 1, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    groups = Groups(np.array([0, 1, -1]), ("F", "M"))
    one, two = (data_entry("t", read_table(tmp_path / name), [0, 1, 1], groups) for name in ("t.csv", "t.parquet"))
    assert one == two
    assert one["rows"] == 3
    assert one["groups"] == {"F": {"0": 1, "1": 0}, "M": {"0": 0, "1": 1}}
    other = data_entry("t", frame.assign(a=[1, 2, 4]), [0, 1, 1], groups)
    assert other["fingerprint"] != one["fingerprint"]
