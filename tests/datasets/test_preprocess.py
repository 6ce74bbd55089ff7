import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fairalm.datasets import load, preprocess, split
from fairalm.exceptions import InputError


def test_numbers_are_imputed_and_standardised():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": [1, 2, 3, 4]})
    out = preprocess(X).fit_transform(X)
    filled = np.array([1.0, 3.0, 3.0, 8.0])
    np.testing.assert_allclose(out[:, 0], (filled - filled.mean()) / filled.std())
    np.testing.assert_allclose(out[:, 1], (X["b"] - 2.5) / X["b"].std(ddof=0))
    assert out.dtype == np.float64


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["a", None, "b", "a"]),
        pd.Series(["a", None, "b", "a"], dtype=object),
        pd.Series(["a", np.nan, "b", "a"], dtype="category"),
        pd.Series(["a", None, "b", "a"], dtype="string"),
    ],
    ids=["text", "object", "category", "nullable"],
)
def test_missing_is_a_category_of_its_own(values):
    X = pd.DataFrame({"c": values})
    fitted = preprocess(X).fit(X)
    assert fitted.transform(X).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert fitted.get_feature_names_out().tolist() == [
        "category__c_a",
        "category__c_b",
        "category__c_missing",
    ]


@pytest.mark.parametrize("values", [pd.Series([True, False, True]), pd.Series([True, False, True], dtype="boolean")])
def test_booleans_are_categories(values):
    X = pd.DataFrame({"c": values})
    assert preprocess(X).fit_transform(X).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_a_value_not_seen_in_training_is_all_zeros():
    train, test = pd.DataFrame({"c": ["a", "b"]}), pd.DataFrame({"c": ["z", None]})
    assert preprocess(train).fit(train).transform(test).tolist() == [[0, 0], [0, 0]]


def test_rare_values_of_many_share_a_column():
    X = pd.DataFrame({"c": [f"{i:03d}" for i in range(500)] * 2})
    assert preprocess(X).fit_transform(X).shape == (1000, 64)


def test_constant_and_empty_columns_are_harmless():
    X = pd.DataFrame(
        {
            "same": [3, 3, 3],
            "none": [np.nan] * 3,
            "na": pd.Series([None] * 3, dtype="Int64"),
            "void": pd.Series([None] * 3, dtype=object),
            "word": ["x"] * 3,
        }
    )
    out = preprocess(X).fit_transform(X)
    assert out.tolist() == [[0, 0, 0, 1, 1]] * 3


def test_it_is_not_fitted_and_uses_only_the_training_rows():
    X = pd.DataFrame({"a": [0.0, 2.0, 1000.0]})
    transformer = preprocess(X)
    assert not hasattr(transformer, "transformers_")
    assert transformer.fit(X[:2]).transform(X[:2]).ravel().tolist() == [-1.0, 1.0]


def test_only_numbers_or_only_text():
    for X in (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["x", "y"]})):
        assert preprocess(X).fit_transform(X).shape[0] == 2


def test_what_cannot_be_prepared_is_named():
    X = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(InputError, match="'when' has type datetime64"):
        preprocess(X)
    with pytest.raises(InputError, match="pandas DataFrame; got ndarray"):
        preprocess(np.zeros((2, 2)))


@pytest.mark.parametrize(("name", "error"), [("adult", 0.16), ("compas", 0.36), ("german", 0.29)])
def test_a_pipeline_learns_from_each_data_set(name, error):
    data = load(name)
    train, test = split(data.y, data.groups, random_state=0)
    X_train, X_test = data.X.iloc[train], data.X.iloc[test]
    model = clone(make_pipeline(preprocess(X_train), LogisticRegression(max_iter=1000)))
    model.fit(X_train, data.y[train])
    assert isinstance(model[0].transform(X_test), np.ndarray)
    assert 1 - model.score(X_test, data.y[test]) < error < min(data.y.mean(), 1 - data.y.mean())
