"""From a table with numbers and categories to the matrix a linear model needs."""

from __future__ import annotations

import pandas as pd
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype, is_string_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from fairalm._coding import MISSING_LABEL
from fairalm.datasets._checks import check_frame
from fairalm.exceptions import InputError

MOST_CATEGORIES = 64


def preprocess(X: pd.DataFrame) -> ColumnTransformer:
    """A transformer that prepares each column by its type, not fitted; fit it on the training rows, in a pipeline.

    Numbers: missing values become the median, then mean 0 and variance 1. Text, categories and booleans: one
    column of 0 and 1 per value, "missing" being a value; the rarest of more than 64 values share a column,
    and a value not seen in training is all zeros. The output is dense.

    Parameters
    ----------
    X : pandas.DataFrame
        Only its column names and types are used.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from fairalm.datasets import load_german
    >>> data = load_german()
    >>> model = make_pipeline(preprocess(data.X), LogisticRegression(max_iter=1000))
    >>> model.fit(data.X, data.y)[0].transform(data.X).shape
    (1000, 59)
    """
    check_frame(X, "X")
    numbers, categories = [], []
    for column, dtype in X.dtypes.items():
        if is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
            categories.append(column)
        elif is_numeric_dtype(dtype) and not is_complex_dtype(dtype):
            numbers.append(column)
        elif is_string_dtype(dtype):
            categories.append(column)
        else:
            raise InputError(f"Column {column!r} has type {dtype}: turn it into numbers or text, or drop it.")
    number = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    category = make_pipeline(
        FunctionTransformer(as_text, feature_names_out="one-to-one"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=MOST_CATEGORIES),
    )
    return ColumnTransformer([("number", number, numbers), ("category", category, categories)])


def as_text(X: pd.DataFrame) -> pd.DataFrame:
    """Every value as text, so that None, NaN and NA are one category and types may be mixed."""
    return X.astype(object).where(X.notna(), MISSING_LABEL).astype(str)
