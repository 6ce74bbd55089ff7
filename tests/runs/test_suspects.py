"""Which columns are named before training, and which are not."""

import numpy as np
import pandas as pd
import pytest

from fairalm import InputError
from fairalm.datasets import load
from fairalm.exceptions import ColumnWarning
from fairalm.runs import Source
from fairalm.runs.suspects import REVEALED, revealed, suspects

N = 1000
RNG = np.random.default_rng(0)
NOBODY = pd.DataFrame(index=range(N))
GROUPS = RNG.integers(0, 3, N)


@pytest.mark.parametrize("name", ["adult", "compas", "german"])
def test_no_column_of_the_shipped_data_is_a_suspect(name):
    data = load(name)
    assert suspects(data.X, data.frame[list(data.protected)]) == ()
    codes, groups = pd.factorize(data.groups)
    assert max(revealed(data.frame[column], codes, len(groups)) for column in data.features) < 0.4


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=N),
        np.sort(RNG.normal(size=N)),
        RNG.permutation(10**6)[:N],
        np.arange(N) // 2,
        np.r_[np.arange(N - 1.0), np.nan],
        np.full(N, 7),
    ],
    ids=["floats", "sorted floats", "whole numbers in no order", "in pairs", "one missing", "constant"],
)
def test_numbers_that_are_no_row_numbers(values):
    assert suspects(pd.DataFrame({"income": values}), NOBODY) == ()


@pytest.mark.parametrize("values", [np.arange(N), -np.arange(N), np.arange(N) * 3.0, RNG.permutation(N) + 5])
def test_row_numbers(values):
    (warning,) = suspects(pd.DataFrame({"nr": values}), NOBODY)
    assert isinstance(warning, ColumnWarning)
    assert "column 'nr' looks like a row number" in str(warning)


@pytest.mark.parametrize(("n_texts", "refused"), [(N, True), (N - 50, True), (40, False)])
def test_texts_that_differ(n_texts, refused):
    X = pd.DataFrame({"name": [f"n{i % n_texts}" for i in range(N)]})
    if not refused:
        assert suspects(X, NOBODY) == ()
        return
    with pytest.raises(InputError, match=f"'name' .{n_texts:,} different texts in 1,000 rows. with drop="):
        suspects(X, NOBODY)


def test_texts_that_a_saved_model_would_hold():
    X = pd.DataFrame({"mail": [f"p{i % 400}@example.org" for i in range(N)], "town": ["a", "b"] * (N // 2)})
    (warning,) = suspects(X, NOBODY)
    assert "column 'mail' has 400 different texts" in str(warning)
    assert "its file holds all of them: if they can name a person, leave the column out with" in str(warning)


def by_definition(column, groups):
    """Leave each row out, and guess its group from the others of the same value; ties count as wrong."""
    right, base = 0.0, np.bincount(groups).max()
    for row in range(len(column)):
        others = np.flatnonzero((column == column[row]) & (np.arange(len(column)) != row))
        if not len(others):
            right += base / len(column)
            continue
        counts = np.bincount(groups[others], minlength=groups.max() + 1)
        right += counts[groups[row]] > np.delete(counts, groups[row]).max()
    return max(0.0, (right - base) / (len(column) - base))


@pytest.mark.parametrize(
    "column",
    [
        GROUPS,
        np.where(RNG.random(N) < 0.9, GROUPS, 0),
        2 * GROUPS + RNG.integers(0, 2, N),
        RNG.integers(0, 500, N),
        RNG.normal(size=N),
        np.zeros(N),
    ],
    ids=["itself", "nearly", "crossed", "pairs", "all different", "constant"],
)
def test_what_is_revealed(column):
    assert revealed(pd.Series(column), GROUPS, 3) == pytest.approx(by_definition(column, GROUPS), abs=1e-12)


def test_a_rare_group_is_not_revealed_by_being_rare():
    groups = (np.arange(N) < 5).astype(int)
    assert revealed(pd.Series(np.zeros(N)), groups, 2) == 0
    assert revealed(pd.Series(groups), groups, 2) >= REVEALED


@pytest.mark.parametrize(
    ("name", "is_named_after"),
    [("race-sex", True), ("sexMale", True), ("Sex_2", True), ("sextant", False), ("essex", False), ("unisex", False)],
)
def test_names(name, is_named_after):
    X = pd.DataFrame({name: RNG.integers(0, 9, N)})
    assert bool(suspects(X, pd.DataFrame({"sex": GROUPS}))) is is_named_after


def test_a_source_warns(tmp_path):
    table = pd.DataFrame(
        {"skill": RNG.normal(size=N), "sex": GROUPS % 2, "gender": GROUPS % 2, "y": RNG.integers(0, 2, N)}
    )
    table.to_csv(tmp_path / "people.csv", index=False)
    source = Source(str(tmp_path / "people.csv"), "y", "sex")
    with pytest.warns(ColumnWarning, match="'gender' may reveal 'sex'") as caught:
        samples = source.read()
    assert samples.warnings == (caught[0].message,)
