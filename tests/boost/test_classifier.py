"""One test per promise, for both libraries."""

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import fairalm
from fairalm import EqualOpportunity, InputError, Method
from fairalm.boost import FairLGBMClassifier, FairXGBClassifier
from fairalm.constraints import CONSTRAINTS

ESTIMATORS = {
    FairLGBMClassifier: ("LGBMClassifier", {"n_estimators": 40, "num_leaves": 7, "verbose": -1, "n_jobs": 1}),
    FairXGBClassifier: (
        "XGBClassifier",
        {"n_estimators": 40, "max_depth": 3, "learning_rate": 0.1, "n_jobs": 1, "enable_categorical": True},
    ),
}


def if_installed(kind):
    absent = find_spec(kind.library) is None
    return pytest.param(kind, marks=pytest.mark.skipif(absent, reason=f"{kind.library} is not installed"))


both = pytest.mark.parametrize("kind", [if_installed(kind) for kind in ESTIMATORS])


def make(kind, estimator=None, **settings):
    name, defaults = ESTIMATORS[kind]
    model = getattr(import_module(kind.library), name)(**defaults | (estimator or {}))
    return kind(model, random_state=0, **settings)


@pytest.fixture(scope="module")
def people():
    """4,000 rows with categories and missing values; fewer of the second group have the label."""
    rng = np.random.RandomState(0)
    group = np.where(rng.rand(4000) < 0.4, "b", "a")
    merit = rng.normal(size=4000) - 0.8 * (group == "b")
    skill = merit + 0.7 * rng.normal(size=4000)
    X = pd.DataFrame({"skill": skill, "place": pd.Categorical(rng.choice(["x", "y"], 4000)), "group": group})
    X["group"] = X["group"].astype("category")
    X.loc[rng.rand(4000) < 0.1, "skill"] = np.nan
    return X, np.where(merit > 0.3, "yes", "no"), group


def gap(model, X, y, group):
    chosen = np.asarray(model.predict(X)) == "yes"
    return np.ptp([chosen[(y == "yes") & (group == name)].mean() for name in ("a", "b")])


@both
def test_the_gap_closes_and_the_error_stays(kind, people):
    X, y, group = people
    plain = make(kind, method="unconstrained").fit(X, y, sensitive_features=group)
    fair = make(kind).fit(X, y, sensitive_features=group)
    assert gap(plain, X, y, group) > 0.1
    assert gap(fair, X, y, group) < 0.05
    assert np.mean(fair.predict(X) != y) < np.mean(plain.predict(X) != y) + 0.03
    assert fair.dual_signal_ == "heldout"
    assert fair.history_["t"].iloc[-1] == 28  # 7/10 of the rounds are measured, then the held-out rows join
    assert fair.rates_["group"].tolist() == ["a", "b"]
    assert np.ptp(fair.rates_["tpr"]) == pytest.approx(fair.gap_)
    assert list(fair.groups_) == ["a", "b"]


def loaded(kind, model, folder, X):
    """The probabilities of code that knows nothing of fairalm."""
    library = import_module(kind.library)
    if kind is FairLGBMClassifier:
        model.booster_.save_model(folder / "model.txt")
        return library.Booster(model_file=folder / "model.txt").predict(X)
    model.booster_.save_model(folder / "model.ubj")
    return library.Booster(model_file=folder / "model.ubj").predict(library.DMatrix(X, enable_categorical=True))


@both
@pytest.mark.parametrize("settings", [{}, {"early_stopping_rounds": 5}, {"dual_signal": "train"}])
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
def test_the_file_is_the_librarys_own(kind, settings, people, tmp_path):
    X, y, group = people
    model = make(kind, **settings).fit(X, y, sensitive_features=group)
    probability = loaded(kind, model, tmp_path, X)
    np.testing.assert_array_equal(probability, model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(np.where(probability > 0.5, "yes", "no"), model.predict(X))


@both
def test_save_and_load(kind, people, tmp_path):
    """The library's types must be trusted by name; the message lists them."""
    X, y, group = people
    model = make(kind).fit(X, y, sensitive_features=group)
    fairalm.save(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match="trusted=") as refused:
        fairalm.load(tmp_path / "model.skops")
    again = fairalm.load(tmp_path / "model.skops", trusted=refused.value.parameters["trusted"])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@both
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("method", ["augmented", "lagrangian", "fairalm"])
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
def test_every_constraint_with_three_groups(kind, constraint, method, people):
    X, y, group = people
    three = np.where(np.arange(len(y)) % 3 == 0, "c", group)
    model = make(kind, {"n_estimators": 10}, constraint=constraint, method=method).fit(X, y, sensitive_features=three)
    assert model.dual_.shape == ((2 if constraint == "equalized-odds" else 1), 3)
    assert 0 <= model.gap_ <= 1


@both
@pytest.mark.parametrize("target", ["no", "yes"])
@pytest.mark.filterwarnings("ignore::fairalm.NoBetterThanConstantWarning")
def test_a_negative_weight_counts_for_the_other_label(kind, target, people):
    """A method that gives the rows of one cell the weight -1 trains the model on their flipped labels."""
    X, y, group = people
    constraint = EqualOpportunity(target=target, tol=1.0)
    flipped = make(kind, {"n_estimators": 30}, constraint=constraint, method=FlipFirst())
    flipped.fit(X, y, sensitive_features=group)
    own = (y == target) & (group == "a")
    wrong = np.asarray(flipped.predict(X)) != y
    assert wrong[own].mean() > 0.8
    assert wrong[group == "b"].mean() < 0.3


@dataclass(frozen=True)
class FlipFirst(Method):
    """Weight -1 for the first group's rows in the event."""

    def weights(self, moments, dual):
        return np.array([[-2.0, 0.0]]) * moments.counts / moments.total


@both
def test_a_sample_weight_counts_rows(kind, people):
    """Rows of weight 0 do not matter, however wrong they are."""
    X, y, group = people
    weight = np.arange(len(y)) % 4 != 0
    noise = np.where(weight, y, np.roll(y, 7))
    one, other = (
        make(kind, {"min_child_samples": 1} if kind is FairLGBMClassifier else {}, dual_signal="train")
        .fit(X, labels, sensitive_features=group, sample_weight=1.0 * weight)
        .predict_proba(X)
        for labels in (y, noise)
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


@both
def test_rows_of_my_own_are_measured(kind, people):
    X, y, group = people
    mine = np.arange(len(y)) % 5 == 0
    model = make(kind, early_stopping_rounds=10).fit(X, y, sensitive_features=group, heldout=mine)
    chosen = np.asarray(model.predict(X[mine])) != y[mine]
    assert model.error_ == pytest.approx(chosen.mean(), abs=0.02)
    assert gap(model, X[mine], y[mine], group[mine]) == pytest.approx(model.gap_)
    assert model.n_iter_ <= 40


@both
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
def test_search_and_clone(kind, people):
    X, y, group = people
    search = GridSearchCV(
        make(kind, {"n_estimators": 10}),
        {"constraint__tol": [0.01, 0.2], "method__eta": [0.1], "estimator__n_estimators": [5]},
        cv=2,
    )
    search.fit(X, y, sensitive_features=group)
    assert search.best_estimator_.n_iter_ == 5
    assert clone(search.best_estimator_).get_params()["constraint__tol"] in (0.01, 0.2)


@both
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "secant"}, "mini-batches"),
        ({"dual_signal": "crossfit"}, "dual_signal"),
        ({"heldout_size": 0.9}, "heldout_size"),
        ({"estimator": {"objective": "regression"}}, "objective"),
        ({"estimator": {"boosting_type": "dart", "booster": "dart"}}, "gbdt|gbtree"),
        ({"constraint": EqualOpportunity(target="maybe")}, "maybe"),
        ({"constraint": EqualOpportunity(ratio=0.8)}, "FrontierClassifier"),
    ],
)
def test_refused_before_any_work(kind, settings, message, people):
    X, y, group = people
    with pytest.raises(InputError, match=message):
        make(kind, **settings).fit(X, y, sensitive_features=group)


@both
def test_what_is_wrong_with_the_data(kind, people):
    X, y, group = people
    with pytest.raises(InputError, match="sensitive_features"):
        make(kind).fit(X, y)
    with pytest.raises(InputError, match="heldout"):
        make(kind).fit(X, y, sensitive_features=group, heldout=np.arange(10))
    with pytest.raises(InputError, match="must be an"):
        kind("a text").fit(X, y, sensitive_features=group)
    few = np.flatnonzero((group == "a") | (y == "no") | (np.arange(len(y)) < 250))
    with pytest.raises(InputError, match="fewer than 10 rows"):
        make(kind, dual_signal="heldout").fit(X.iloc[few], y[few], sensitive_features=group[few])
    assert make(kind).fit(X.iloc[few], y[few], sensitive_features=group[few]).dual_signal_ == "train"


def test_the_error_says_what_to_install(people, monkeypatch):
    X, y, group = people
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.delitem(sys.modules, "fairalm.boost.lightgbm", raising=False)
    with pytest.raises(InputError, match=r'pip install "fairalm\[lightgbm\]"'):
        FairLGBMClassifier().fit(X, y, sensitive_features=group)
