import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

import sklearn
from fairalm.exceptions import InputError
from fairalm.measures import deo, make_gap_scorer


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 600)
    X = rng.standard_normal((600, 3)) + (sex == "M")[:, None] * [1, 0, 0]
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(600) > 0.5, "yes", "no")
    return X, y, sex


def test_plain_call_is_minus_the_gap_and_plus_a_ratio(data):
    X, y, sex = data
    model = LogisticRegression().fit(X, y)
    gap = deo(y, model.predict(X), sensitive_features=sex).value
    assert gap > 0
    assert make_gap_scorer("deo")(model, X, y, sensitive_features=sex) == -gap
    assert 0 < make_gap_scorer("dp_ratio")(model, X, y, sensitive_features=sex) < 1
    swapped = deo(y, model.predict(X), sensitive_features=sex, target="no").value
    assert make_gap_scorer("deo", target="no")(model, X, y, sensitive_features=sex) == -swapped


def test_grid_search_picks_the_smallest_gap(data):
    X, y, sex = data
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_gap_scorer("deo").set_score_request(sensitive_features=True)
        search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3, 8]}, scoring=scorer, cv=3)
        search.fit(X, y, sensitive_features=sex)
    scores = search.cv_results_["mean_test_score"]
    assert (scores <= 0).all()
    assert len(set(scores)) > 1
    assert search.best_params_ == {"max_depth": [1, 3, 8][int(np.argmax(scores))]}
    train, test = next(StratifiedKFold(3).split(X, y))
    model = clone(search.estimator).set_params(max_depth=3).fit(X[train], y[train])
    gap = deo(y[test], model.predict(X[test]), sensitive_features=sex[test]).value
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(-gap)


def test_the_scorer_asks_for_groups_by_default_and_beside_others(data):
    X, y, sex = data
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            LogisticRegression(),
            X,
            y,
            scoring={"accuracy": "accuracy", "deo": make_gap_scorer("deo")},
            params={"sensitive_features": sex},
        )
    assert (scores["test_deo"] <= 0).all()
    assert (scores["test_accuracy"] > 0.5).all()


def test_an_undefined_measure_scores_nan_even_with_one_class_in_the_fold(data):
    X, y, sex = data
    model = LogisticRegression().fit(X, y)
    negatives = y == "no"
    assert np.isnan(make_gap_scorer("deo")(model, X[negatives], y[negatives], sensitive_features=sex[negatives]))


def test_missing_groups_and_unknown_measures_are_refused(data):
    X, y, _ = data
    model = LogisticRegression().fit(X, y)
    with pytest.raises(InputError, match="`sensitive_features` is missing"):
        make_gap_scorer("deo")(model, X, y)
    with pytest.raises(InputError, match="no measure 'gap'"):
        make_gap_scorer("gap")


def test_scorer_clones_and_shows_its_parameters():
    assert repr(clone(make_gap_scorer("deo", target="yes"))) == "GapScorer(measure='deo', target='yes')"
