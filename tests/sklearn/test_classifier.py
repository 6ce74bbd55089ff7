import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

import fairalm
import sklearn
from fairalm import (
    ConstantModelWarning,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorParity,
    FairALM,
    FairALMClassifier,
    InputError,
    PredictiveEquality,
    PredictiveParity,
    SmallCellWarning,
    ToleranceWarning,
    Unconstrained,
)
from fairalm.datasets import load_compas, preprocess
from fairalm.measures import deo, make_gap_scorer
from fairalm.methods import METHODS
from fairalm.sklearn.shifted import ShiftedClassifier


def people(n=4000, n_groups=2, seed=0):
    """A label that the groups have at different rates, a feature that leaks the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    y = (rng.random(n) < 0.25 + 0.35 * group / max(1, n_groups - 1)).astype(int)
    X = np.stack([1.2 * y + rng.normal(size=n), group + 0.5 * rng.normal(size=n), rng.normal(size=n)], axis=1)
    return X, y, group


@pytest.fixture(scope="module")
def compas():
    data = load_compas()
    X = data.features_frame(with_protected=True)
    return preprocess(X).fit_transform(X), data.y, data.groups


@pytest.mark.parametrize(
    "constraint",
    [
        EqualOpportunity(),
        PredictiveEquality(),
        DemographicParity(),
        PredictiveParity(),
        EqualOpportunity(tol=0.05),
        EqualOpportunity(target=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:The gap closed at the expense")  # it does, under predictive parity
def test_one_model_meets_the_tolerance(compas, constraint):
    X, y, s = compas
    model = FairALMClassifier(constraint=constraint).fit(X, y, sensitive_features=s)
    cells = constraint.rows(y == model.classes_[1 if constraint.target is None else constraint.target], *codes(s))
    gap = cells.moments(model.predict(X) != y).max_gap
    assert gap == pytest.approx(model.gap_)
    assert gap <= constraint.tol
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    assert cells.moments(plain.predict(X) != y).max_gap > 2 * constraint.tol
    assert (model.predict(X) != y).mean() == pytest.approx(model.error_)
    assert model.n_oracle_calls_ <= 10
    assert len(model.estimators_) == 1


def codes(s):
    group, labels = pd.factorize(s, sort=True)
    return group, len(labels)


@pytest.mark.parametrize("name", [name for name, rule in METHODS.items() if rule.traits.only_for != "mini-batches"])
def test_every_rule_plays(compas, name):
    X, y, s = compas
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairalm.FairALMWarning)
        model = FairALMClassifier(method=METHODS[name](), max_iter=15).fit(X, y, sensitive_features=s)
    assert model.history_["error"].between(0, 1).all()
    plain = deo(y, LogisticRegression(max_iter=1000).fit(X, y).predict(X), sensitive_features=s, train=True).value
    ours = deo(y, model.predict(X), sensitive_features=s, train=True).value
    assert ours == pytest.approx(model.gap_)
    if name == "unconstrained":
        assert ours == plain
    elif name != "reweight":
        assert ours < plain


def test_history_is_the_play(compas):
    X, y, s = compas
    model = FairALMClassifier(max_iter=20).fit(X, y, sensitive_features=s)
    table = model.history_
    assert list(table.columns) == ["t", "lambda", "error", "gap", "lagrangian", "saddle_gap"]
    assert table["lambda"].iloc[0] == 0
    assert len(table) == model.n_iter_
    np.testing.assert_allclose(table["lagrangian"], table["error"] + table["lambda"] * table["gap"])
    assert abs(table["gap"]).iloc[0] > 0.2
    assert 0 <= model.optimality_gap_ < 0.01
    assert model.dual_.shape == (1, 1)


def test_random_predictors(compas):
    X, y, s = compas
    mixed = FairALMClassifier(predictor="mixture", random_state=0).fit(X, y, sensitive_features=s)
    assert len(mixed.estimators_) == 2
    assert mixed.weights_.sum() == pytest.approx(1)
    first = mixed.predict(X)
    np.testing.assert_array_equal(first, mixed.predict(X))
    members = np.stack([m.predict(X) for m in mixed.estimators_])
    assert ((first == members[0]) | (first == members[1])).all()
    expected = mixed.weights_ @ members
    cells = EqualOpportunity().rows(y == 1, *codes(s))
    assert cells.moments(abs(expected - y)).max_gap == pytest.approx(mixed.gap_)
    assert mixed.gap_ <= 0.01 + 1e-9
    drawn = abs(expected - y)[y == 1].mean() - (first != y)[y == 1].mean()
    assert abs(drawn) < 4 * 0.5 / np.sqrt((y == 1).sum())
    probabilities = sum(w * m.predict_proba(X) for w, m in zip(mixed.weights_, mixed.estimators_, strict=True))
    np.testing.assert_allclose(mixed.predict_proba(X), probabilities)
    assert not hasattr(mixed, "decision_function")
    assert mixed.optimality_gap_ == pytest.approx(0, abs=1e-9)

    single = FairALMClassifier(random_state=0).fit(X, y, sensitive_features=s)
    assert mixed.error_ <= single.error_ + 1e-9
    with pytest.warns(ToleranceWarning):
        average = FairALMClassifier(predictor="average", random_state=0).fit(X, y, sensitive_features=s)
    assert average.weights_.sum() == pytest.approx(1)
    assert average.optimality_gap_ == pytest.approx(average.saddle_gap_)


def test_last_is_the_papers_output(compas):
    X, y, s = compas
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairalm.FairALMWarning)
        model = FairALMClassifier(predictor="last", method=fairalm.FairALMLinear(eta=0.1), max_iter=10).fit(
            X, y, sensitive_features=s
        )
    assert (model.predict(X) != y).mean() == pytest.approx(model.history_["error"].iloc[-1])


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=6, random_state=0),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_estimator(estimator):
    X, y, s = people()
    params = str(estimator.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairalm.FairALMWarning)  # a tree may jump over the tolerance
        model = FairALMClassifier(estimator, constraint=DemographicParity(tol=0.03), dual_signal="train")
        model.fit(X, y, sensitive_features=s)
    ours = [model.predict(X)[s == g].mean() for g in (0, 1)]
    assert abs(ours[0] - ours[1]) == pytest.approx(model.gap_)
    assert (model.predict(X) != y).mean() == pytest.approx(model.error_)
    plain = clone(estimator).fit(X, y)
    rate = [plain.predict(X)[s == g].mean() for g in (0, 1)]
    assert model.gap_ < 0.5 * abs(rate[0] - rate[1])
    assert str(estimator.get_params()) == params
    kept = model.estimator_.estimator if isinstance(model.estimator_, ShiftedClassifier) else model.estimator_
    assert type(kept) is type(estimator)


def test_text_pipeline():
    rng = np.random.default_rng(0)
    y, s = rng.integers(2, size=400), rng.integers(2, size=400)
    texts = [
        f"{'good' if a ^ (rng.random() < 0.2) else 'bad'} {'north' if b else 'south'}"
        for a, b in zip(y, s, strict=True)
    ]
    model = FairALMClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), constraint=ErrorParity(tol=0.1))
    assert model.fit(texts, y, sensitive_features=s).predict(texts[:3]).shape == (3,)


@pytest.mark.parametrize("n_groups", [3, 5])
def test_more_groups(n_groups):
    X, y, s = people(n=8000, n_groups=n_groups)
    model = FairALMClassifier(constraint=EqualOpportunity(tol=0.03)).fit(X, y, sensitive_features=s)
    rates = [(model.predict(X) != y)[(s == g) & (y == 1)].mean() for g in range(n_groups)]
    assert max(rates) - min(rates) == pytest.approx(model.gap_)
    assert model.gap_ <= 0.03
    assert model.dual_.shape == (1, n_groups)
    assert [f"lambda_{g}" in model.history_ for g in range(n_groups)] == [True] * n_groups


def test_crossed_columns_and_merging():
    X, y, s = people()
    other = np.where(np.arange(len(y)) % 50 == 0, "rare", np.where(np.arange(len(y)) % 2, "a", "b"))
    frame = pd.DataFrame({"sex": s, "race": other})
    model = FairALMClassifier(constraint=EqualOpportunity(tol=0.05), merge_below=100)
    model.fit(X, y, sensitive_features=frame)
    assert set(model.groups_) == {(0, "a"), (0, "b"), (1, "a"), (1, "b"), "other"}


def test_group_names_and_order_do_not_matter():
    X, y, s = people()
    models = [
        FairALMClassifier().fit(X, y, sensitive_features=groups)
        for groups in (s, 1 - s, np.where(s, "M", "F"), pl.Series(s), pd.Series(s).astype("category"))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.estimator_.coef_, models[0].estimator_.coef_, rtol=1e-6)


def test_labels_may_be_text():
    X, y, s = people()
    numbers = FairALMClassifier().fit(X, y, sensitive_features=s)
    text = FairALMClassifier().fit(X, np.where(y, "yes", "no"), sensitive_features=s)
    assert text.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(text.predict(X) == "yes", numbers.predict(X) == 1)
    flipped = FairALMClassifier(constraint=EqualOpportunity(target="no")).fit(
        X, np.where(y, "yes", "no"), sensitive_features=s
    )
    assert (flipped.predict(X) != text.predict(X)).any()


@pytest.mark.filterwarnings("ignore::fairalm.LevellingDownWarning")  # what the model is like does not matter here
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(kind):
    X, y, s = people()
    columns = {name: X[:, i] for i, name in enumerate("abc")}
    frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
    for signal in ("train", "heldout"):
        model = FairALMClassifier(dual_signal=signal, constraint=EqualOpportunity(tol=0.05), random_state=0)
        model.fit(frame, y, sensitive_features=s)
        assert model.predict(frame).shape == y.shape
    if hasattr(model, "feature_names_in_"):  # scikit-learn reads polars' names from 1.8 on
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a", "c"]])
    else:
        assert kind == "polars"


def test_weights_count_people():
    X, y, s = people(n=600)
    weights = np.random.default_rng(1).integers(1, 4, size=600)
    estimator = LogisticRegression(tol=1e-8, max_iter=1000)
    weighted = FairALMClassifier(estimator).fit(X, y, sensitive_features=s, sample_weight=weights)
    repeated = FairALMClassifier(estimator).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights), sensitive_features=np.repeat(s, weights)
    )
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-4)
    assert weighted.gap_ == pytest.approx(repeated.gap_)


class TestSignals:
    """A forest fits its training rows perfectly: its training gap is 0, the gap on new people is not."""

    def forest(self, signal):
        X, y, s = people(n=1500, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairalm.FairALMWarning)
            return FairALMClassifier(
                RandomForestClassifier(30, random_state=0),
                dual_signal=signal,
                max_iter=12,
                random_state=0,
            ).fit(X, y, sensitive_features=s)

    def gap_on_new_people(self, model):
        X, y, s = people(n=20_000, seed=2)
        return deo(y, model.predict(X), sensitive_features=s).value

    def test_train_sees_no_gap(self):
        model = self.forest("train")
        assert model.gap_ <= 0.01
        assert model.n_oracle_calls_ == 1
        assert self.gap_on_new_people(model) > 0.15

    @pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.8"), reason="its forests draw unweighted")
    @pytest.mark.parametrize("signal", ["heldout", "crossfit"])
    def test_others_close_it(self, signal):
        model = self.forest(signal)
        assert model.history_["gap"].abs().iloc[0] > 0.1
        assert self.gap_on_new_people(model) < 0.1

    def test_crossfit_counts_its_fits(self):
        X, y, s = people(n=1000)
        model = FairALMClassifier(
            dual_signal="crossfit", n_folds=4, random_state=0, constraint=EqualOpportunity(tol=0.05)
        )
        model.fit(X, y, sensitive_features=s)
        assert model.n_oracle_calls_ % 5 == 0

    def test_predictive_parity_is_linearised_on_the_fitted_rows(self):
        X, y, s = people(n=6000)
        model = FairALMClassifier(
            dual_signal="heldout", constraint=PredictiveParity(tol=0.03), random_state=0, max_iter=30
        ).fit(X, y, sensitive_features=s)
        assert model.gap_ <= 0.03
        assert np.isnan(model.optimality_gap_)


class TestEcosystem:
    def test_pickle_and_clone(self):
        X, y, s = people()
        model = FairALMClassifier(predictor="mixture", random_state=3).fit(X, y, sensitive_features=s)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        fresh = clone(model)
        assert fresh.get_params()["predictor"] == "mixture"
        assert not hasattr(fresh, "estimator_")

    def test_grid_search_with_routing(self):
        X, y, s = people(n=2000)
        with sklearn.config_context(enable_metadata_routing=True):
            model = FairALMClassifier().set_fit_request(sensitive_features=True)
            search = GridSearchCV(
                model,
                {"constraint": [EqualOpportunity(tol=0.01), EqualOpportunity(tol=0.3)]},
                scoring={"accuracy": "accuracy", "deo": make_gap_scorer("deo")},
                refit="deo",
                cv=3,
            ).fit(X, y, sensitive_features=s)
        assert search.best_params_["constraint"].tol == 0.01
        assert search.predict(X).shape == y.shape

    def test_inside_a_pipeline_with_routing(self):
        X, y, s = people(n=2000)
        with sklearn.config_context(enable_metadata_routing=True):
            model = FairALMClassifier().set_fit_request(sensitive_features=True)
            outer = make_pipeline(StandardScaler(), model).fit(X, y, sensitive_features=s)
        assert outer[-1].gap_ <= 0.01

    def test_same_seed_same_model(self):
        X, y, s = people()
        settings = {"dual_signal": "heldout", "predictor": "mixture", "random_state": 7}
        first, second = (
            FairALMClassifier(constraint=EqualOpportunity(tol=0.03), **settings).fit(X, y, sensitive_features=s)
            for _ in range(2)
        )
        np.testing.assert_array_equal(first.predict(X), second.predict(X))

    def test_prediction_needs_no_protected_attribute(self):
        X, y, s = people()
        X_train, X_test, y_train, _, s_train, _ = train_test_split(X, y, s, random_state=0)
        model = FairALMClassifier().fit(X_train, y_train, sensitive_features=s_train)
        assert model.predict(X_test).shape == (len(X_test),)
        assert model.decision_function(X_test).shape == (len(X_test),)


class TestBadInput:
    def refused(self, match, *, X=None, y=None, s=None, **settings):
        good = people(n=200)
        X, y, s = (g if v is None else v for g, v in zip(good, (X, y, s), strict=True))
        with pytest.raises(InputError, match=match) as caught:
            FairALMClassifier(**settings).fit(X, y, sensitive_features=s)
        assert "\n" not in str(caught.value)

    def test_data(self):
        X, y, s = people(n=200)
        self.refused("has 90 rows, the data has 200: pass one group per row", s=s[:90])
        self.refused("y has 90 rows, X has 200", y=y[:90])
        self.refused(r"1 group \('0'\)", s=np.zeros(200, int))
        self.refused("one class only", y=np.zeros(200, int))
        self.refused(r"3 labels \(0, 1, 2\)", y=np.arange(200) % 3)
        self.refused("Group '1' has no rows with y=1", y=np.where(s == 1, 0, y))
        self.refused("1 of 200 rows have no value", s=np.where(np.arange(200) == 3, np.nan, s.astype(float)))
        self.refused("is not a label of y", constraint=EqualOpportunity(target="yes"))
        with pytest.raises(InputError, match="`sensitive_features` is missing"):
            FairALMClassifier().fit(X, y)

    @pytest.mark.parametrize("name", ["y", "sensitive_features", "sample_weight"])
    def test_rows_in_another_order(self, name):
        X, y, s = people(n=200)
        rows = pd.DataFrame(X, index=np.random.default_rng(0).permutation(200))
        given = {"y": y, "sensitive_features": s, "sample_weight": np.ones(200)}
        given = {key: pd.Series(value, index=rows.index) for key, value in given.items()}
        fitted = FairALMClassifier().fit(rows, **given)
        given[name] = given[name].sort_index()
        with pytest.raises(InputError, match=rf"{name} and X have different indexes: row 0 is 0 in {name}"):
            FairALMClassifier().fit(rows, **given)
        given[name] = given[name].loc[rows.index]
        assert FairALMClassifier().fit(rows, **given).gap_ == fitted.gap_
        given[name] = given[name].reset_index(drop=True)
        with pytest.raises(InputError, match="have different indexes"):
            FairALMClassifier().fit(rows, **given)
        given[name] = given[name].to_numpy()
        assert FairALMClassifier().fit(rows, **given).gap_ == fitted.gap_

    def test_an_id_is_no_protected_attribute(self):
        self.refused("has 200 groups in 200 rows, 1.0 rows per group: is it an id?", s=np.arange(200))

    def test_settings(self):
        self.refused("The 'max_iter' parameter of FairALMClassifier must be at least 1. Got 0 instead", max_iter=0)
        self.refused("'predictor'", predictor="best")
        self.refused("'dual_signal'", dual_signal="test")
        self.refused("'heldout_size'", heldout_size=0.9)
        self.refused("There is no constraint 'equal-oportunity', did you mean", constraint="equal-oportunity")
        self.refused("`constraint` must be a Constraint or the name of one; got <class", constraint=EqualOpportunity)
        self.refused(
            "There is no method 'secnt', did you mean 'secant'[?] There are: secant, pi-control", method="secnt"
        )
        self.refused(
            r"`method` must be a Method for full fits, such as SecantALM\(\), or the name of one; got 3", method=3
        )
        self.refused("must be a Method for full fits, .* got 'pi-control'", method="pi-control")
        self.refused("takes no sample_weight", estimator=sklearn.neighbors.KNeighborsClassifier())
        self.refused("no best mixture", constraint=PredictiveParity(), predictor="mixture")

    def test_missing_protected_values(self):
        X, y, s = people()
        holes = s.astype(object)
        holes[::10] = None
        dropped = FairALMClassifier(missing="drop").fit(X, y, sensitive_features=holes)
        known = np.arange(len(y)) % 10 != 0
        direct = FairALMClassifier().fit(X[known], y[known], sensitive_features=s[known])
        np.testing.assert_allclose(dropped.estimator_.coef_, direct.estimator_.coef_)
        grouped = FairALMClassifier(missing="group", constraint=EqualOpportunity(tol=0.03))
        assert "missing" in grouped.fit(X, y, sensitive_features=holes).groups_


class TestWarnings:
    def test_tolerance_not_reached(self):
        X, y, s = people()
        with pytest.warns(ToleranceWarning, match=r"after 1 round, above the tolerance of 1\."):
            FairALMClassifier(max_iter=1).fit(X, y, sensitive_features=s)

    def test_one_person_is_said(self):
        X, y, s = people(n=120)
        with pytest.warns(ToleranceWarning, match="One row in the smallest cell is"):
            FairALMClassifier(constraint=EqualOpportunity(tol=0.0)).fit(X, y, sensitive_features=s)

    @pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")  # the others are true as well
    def test_small_cells(self):
        X, y, s = people(n=400)
        groups = s.astype(object)
        groups[np.flatnonzero(y == 1)[:3]] = "few"
        with pytest.warns(SmallCellWarning, match=r"Fewer than 5 rows with y=target in 'few' \(3\)"):
            FairALMClassifier(max_iter=2).fit(X, y, sensitive_features=groups)

    @pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")  # the others are true as well
    def test_constant_model(self):
        X, y, s = people()
        with pytest.warns(ConstantModelWarning, match="the plain one for"):
            FairALMClassifier(method=FairALM(eta=50.0), predictor="last").fit(X, y, sensitive_features=s)

    def test_plain_is_asked_for(self):
        X, y, s = people()
        model = FairALMClassifier(method=Unconstrained()).fit(X, y, sensitive_features=s)  # and no warning
        assert model.gap_ > 0.1


def test_equalized_odds_by_mixture():
    X, y, s = people()
    model = FairALMClassifier(constraint=EqualizedOdds(tol=0.01), predictor="mixture", random_state=0)
    model.fit(X, y, sensitive_features=s)
    assert model.gap_ <= 0.01 + 1e-9
    assert model.history_.filter(like="lambda_").shape[1] == 2
