"""What comes out of a game: figures of the groups, and warnings that are true."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import fairalm
from fairalm import (
    EqualizedOdds,
    EqualOpportunity,
    FairALMClassifier,
    LevellingDownWarning,
    NoBetterThanConstantWarning,
    OptimalityWarning,
    ToleranceWarning,
)
from fairalm.cells import Cells, Compared, Rows
from fairalm.datasets import load_adult, load_compas, preprocess
from fairalm.exceptions import ConstantModelWarning
from fairalm.game import Game
from fairalm.moments import Moments
from fairalm.outcome import Outcome
from fairalm.result import GameResult, GroupChange, history_table


def change(tpr, selection, overall=(0.4, 0.35)):
    return GroupChange(np.array(tpr), np.array(selection), np.array(overall))


FINE = GameResult(
    weights=np.ones(1),
    models=["model"],
    shifts=np.zeros(1),
    error=0.2,
    gap=0.005,
    constant_error=0.4,
    dual=np.zeros((1, 1)),
    optimality_gap=0.005,
    saddle_gap=0.01,
    history=pd.DataFrame({"t": [1, 2, 3]}),
    tol=0.01,
    change=change([[0.6, 0.4], [0.5, 0.5]], [[0.5, 0.3], [0.4, 0.35]]),
)
DOWN = change([[0.67, 0.41], [0.17, 0.165]], [[0.5, 0.26], [0.14, 0.12]])


def said(result, *, mixture=True, names=("A", "B"), smallest_cell=1000):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result.warn(smallest_cell, names, mixture=mixture)
    return {warning.category: str(warning.message) for warning in caught}


def test_nothing_is_said_of_a_model_that_is_fine():
    assert said(FINE) == {}
    assert said(replace(FINE, change=None, constant_error=np.nan, optimality_gap=np.nan)) == {}


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"gap": 0.03}, ToleranceWarning, "The gap is 3 points after 3 rounds, above the tolerance of 1."),
        (
            {"error": 0.4},
            NoBetterThanConstantWarning,
            "wrong for 40.0 % of the rows; to predict the same for every row",
        ),
        ({"error": 0.45}, NoBetterThanConstantWarning, "is wrong for 40.0 %."),
        ({"change": DOWN}, LevellingDownWarning, "at the expense of every group"),
        ({"optimality_gap": 0.0101}, OptimalityWarning, "at 1.0 points less error than this model"),
        (
            {"change": change([[0.6, 0.4], [0.1, 0.5]], [[0.5, 0.3], [0.1, 0.35]], (0.4, 0.039))},
            ConstantModelWarning,
            "predicts the target for 3.9 % of the rows, the plain one for 40.0 %",
        ),
    ],
)
def test_one_fact_is_one_warning(changes, kind, words):
    found = said(replace(FINE, **changes))
    assert list(found) == [kind]
    assert words in found[kind]
    assert issubclass(kind, fairalm.FairALMWarning)


@pytest.mark.parametrize(
    "changes",
    [
        {"error": 0.399},
        {"optimality_gap": 0.0099},
        {"gap": 0.01},
        {"change": change([[0.6, 0.4], [0.5, 0.395]], [[0.5, 0.3], [0.4, 0.2]])},  # one rate of one group: half a point
        {"change": change([[0.6, 0.4], [0.5, 0.3]], [[0.5, 0.3], [0.4, 0.31]])},  # one group is selected more often
        {"change": change([[0.6, 0.4], [0.5, 0.5]], [[0.5, 0.3], [0.1, 0.3]], (0.4, 0.041))},
        {"change": change([[0.6, 0.4], [0.5, 0.5]], [[0.5, 0.3], [0.1, 0.3]], (0.4, 0.959))},
    ],
)
def test_just_before_there_is_none(changes):
    assert said(replace(FINE, **changes)) == {}


def test_the_rates_of_the_groups_are_named():
    message = said(replace(FINE, change=DOWN), names=("African-American", "Caucasian"))[LevellingDownWarning]
    assert "African-American 67 → 17 %, Caucasian 41 → 16 %)" in message
    many = change([[0.6] * 6, [0.4] * 6], [[0.6] * 6, [0.4] * 6])
    message = said(replace(FINE, change=many), names=tuple("abcdef"))[LevellingDownWarning]
    assert "a 60 → 40 %, b 60 → 40 %, c 60 → 40 %, d 60 → 40 %, ...)" in message
    assert "0 67 → 17 %, 1 41 → 16 %)" in said(replace(FINE, change=DOWN), names=())[LevellingDownWarning]


@pytest.mark.parametrize("changes", [{"error": 0.5}, {"change": DOWN}])
def test_the_ways_out_are_said(changes):
    (message,) = said(replace(FINE, **changes)).values()
    assert "let the model see the protected attribute, another estimator, a larger tol" in message
    assert "predictor='mixture', or the frontier" in message
    (without,) = said(replace(FINE, **changes), mixture=False).values()
    assert "mixture" not in without.split("Ways out")[1]


def test_a_better_mixture_is_told_only_where_one_can_be_had():
    better = replace(FINE, optimality_gap=0.05)
    assert "predictor='mixture', or the frontier" in said(better)[OptimalityWarning]
    assert said(better, mixture=False) == {}


def test_a_gap_above_the_tolerance_is_not_called_far_from_optimal_too():
    """The certificate has the cost of the gap in it."""
    assert list(said(replace(FINE, gap=0.05, optimality_gap=0.05))) == [ToleranceWarning]


def test_a_gap_of_one_row_is_said():
    assert (
        "One row in the smallest cell is 5.0 points."
        in said(replace(FINE, gap=0.04), smallest_cell=20)[ToleranceWarning]
    )
    assert "More rounds (max_iter) may reach it." in said(replace(FINE, gap=0.06), smallest_cell=20)[ToleranceWarning]


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_of_the_groups(weighted):
    rng = np.random.default_rng(0)
    positive, group = rng.random(500) < 0.4, rng.integers(0, 3, 500)
    weight = rng.uniform(0.5, 2, 500) if weighted else np.ones(500)
    rows = EqualOpportunity().rows(positive, group, 3, weight)
    predicted = [rng.random(500) < 0.5, rng.random(500) < 0.3]
    found = GroupChange.of(rows, np.stack([rows.sums(weight * (p != positive)) for p in predicted]))
    table = found.table(("a", "b", "c"))
    assert table["group"].tolist() == ["a", "b", "c"]
    for name, p in zip(("_plain", ""), predicted, strict=True):
        for g in range(3):
            own, having = group == g, (group == g) & positive
            assert table[f"tpr{name}"][g] == pytest.approx(np.average(p[having], weights=weight[having]))
            assert table[f"selection{name}"][g] == pytest.approx(np.average(p[own], weights=weight[own]))
    assert found.overall == pytest.approx([np.average(p, weights=weight) for p in predicted])


def test_rates_of_attributes_compared_each_on_its_own():
    rng = np.random.default_rng(0)
    positive, group = rng.random(500) < 0.4, rng.integers(0, 4, 500)
    membership = np.array([[g // 2 == 0, g // 2 == 1, g % 2 == 0, g % 2 == 1] for g in range(4)], dtype=float)
    rows = Rows(Cells.of(EqualizedOdds(), 4, Compared(membership, (2, 2))), positive, group)
    predicted = rng.random(500) < 0.3
    wrong = rows.sums(1.0 * (predicted != positive))
    found = GroupChange.of(rows, np.stack([wrong, wrong]))
    inside = [group // 2 == 0, group // 2 == 1, group % 2 == 0, group % 2 == 1]
    assert found.selection[0] == pytest.approx([predicted[own].mean() for own in inside])
    assert found.tpr[0] == pytest.approx([predicted[own & positive].mean() for own in inside])
    assert found.overall == pytest.approx([predicted.mean()] * 2)


def test_history_of_one_gap_is_signed_and_of_several_the_largest_difference():
    one = history_table(
        np.array([0.1, 0.2]), np.array([[-0.3], [0.1]]), np.array([0.3, 0.1]), np.array([[0.0], [0.5]]), 0.0
    )
    assert one["gap"].tolist() == [-0.3, 0.1]
    assert one["lagrangian"].tolist() == pytest.approx([0.1, 0.2 + 0.05])
    gaps, lam = np.array([[0.1, -0.2, 0.05]]), np.array([[0.3, 0.1, 0.2]])
    several = history_table(np.array([0.1]), gaps, np.array([0.3]), lam, 0.0)
    assert several["gap"].tolist() == [0.3]
    assert several["lagrangian"][0] == pytest.approx(0.1 + 0.03 - 0.02 + 0.01)
    assert [several[f"lambda_{i}"][0] for i in range(3)] == [0.3, 0.1, 0.2]


# From real games


def test_a_mixture_that_is_a_point_better_is_told():
    """The plain model and a fair one far from it: 4.3 points are lost by not mixing them."""

    def outcome(error, gap):
        return Outcome(error, Moments(np.array([[0.3 + gap, 0.3]]), np.ones((1, 2)), 2.0))

    game = Game(outcome(0.1, 0.35), tol=0.05)
    game.record(0, np.zeros(1))
    game.record(game.add(outcome(0.4, 0.0), np.array([6 / 7])), np.array([6 / 7]))  # both answer that multiplier
    result = game.result("single")
    lost = result.error - game.mixture().value
    assert lost == pytest.approx(0.3 * 0.05 / 0.35)
    assert result.optimality_gap == pytest.approx(lost)
    assert f"{100 * lost:.1f} points less error" in said(result)[OptimalityWarning]
    assert said(game.result("mixture")) == {}


def fit(load, estimator, *, with_protected, **settings):
    data = load()
    X = data.features_frame(with_protected=with_protected)
    X = preprocess(X).fit_transform(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = FairALMClassifier(estimator, random_state=0, **settings).fit(X, data.y, sensitive_features=data.groups)
    return model, {warning.category: str(warning.message) for warning in caught}, X, data


def test_compas_without_race_is_levelled_down():
    """A model that does not see race closes the gap by selecting fewer people of both."""
    exact = LogisticRegression(tol=1e-8, max_iter=1000)
    model, found, X, data = fit(load_compas, exact, with_protected=False)
    assert model.gap_ <= 0.01
    message = found[LevellingDownWarning]
    plain = clone(exact).fit(X, data.y)
    for name in ("African-American", "Caucasian"):
        own = ((data.groups == name) & (data.y == 1)).to_numpy()
        before, after = (100 * each.predict(X)[own].mean() for each in (plain, model))
        assert after < before - 10
        assert f"{name} {before:.0f} → {after:.0f} %" in message
        row = model.rates_.set_index("group").loc[name]
        assert row["tpr_plain"] == pytest.approx(before / 100)
        assert row["tpr"] == pytest.approx(after / 100)
        everyone = (data.groups == name).to_numpy()
        assert row["selection"] == pytest.approx(model.predict(X)[everyone].mean())


@pytest.mark.parametrize("predictor", ["single", "mixture"])
def test_adult_by_sex_gives_no_cause_to_warn(predictor):
    model, found, _, _ = fit(load_adult, LogisticRegression(max_iter=1000), with_protected=True, predictor=predictor)
    assert found == {}
    assert model.gap_ <= 0.01 + 1e-9
    assert model.rates_["tpr"][0] > model.rates_["tpr_plain"][0]


def test_an_estimator_worse_than_a_constant_is_told():
    class Contrary(LogisticRegression):
        def predict(self, X):
            return self.classes_[1 - self.classes_.searchsorted(super().predict(X))]

    model, found, _, data = fit(load_compas, Contrary(max_iter=1000), with_protected=True)
    constant = min(data.y.mean(), 1 - data.y.mean())
    assert model.error_ > constant
    assert f"wrong for {100 * constant:.1f} %" in found[NoBetterThanConstantWarning]
