"""Constraint and method by name, and their own parameters as parameters of the classifier."""

import copy
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairalm
import sklearn
from fairalm import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorParity,
    FairALMClassifier,
    FrontierClassifier,
    InputError,
    Lagrangian,
    SecantALM,
)
from fairalm.cells import Event
from fairalm.constraints import CONSTRAINTS, Constraint, as_constraint
from fairalm.measures import make_gap_scorer
from fairalm.methods import METHODS, PIControl, as_method


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=2000)
    y = (rng.random(2000) < 0.25 + 0.35 * group).astype(int)
    return np.stack([1.2 * y + rng.normal(size=2000), group + 0.5 * rng.normal(size=2000)], axis=1), y, group


# By name.


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_by_name(name):
    assert as_constraint(name) == CONSTRAINTS[name]()
    own = CONSTRAINTS[name](tol=0.07)
    assert as_constraint(own) is own


def test_no_constraint_is_equal_opportunity():
    assert as_constraint(None) == EqualOpportunity()


@pytest.mark.parametrize("backend", ["sklearn", "last-layer", "nn"])
@pytest.mark.parametrize("name", METHODS)
def test_methods_by_name(name, backend):
    rounds = "mini-batches" if backend == "nn" else "full fits"
    if METHODS[name].traits.only_for in ("", rounds):
        assert as_method(name, backend) == METHODS[name]()
        own = METHODS[name]()
        assert as_method(own, backend) is own
    else:
        for which in (name, METHODS[name]()):
            message = (
                f"`method` must be a Method for {rounds}, such as .*, or the name of one; got {re.escape(repr(which))}"
            )
            with pytest.raises(InputError, match=message):
                as_method(which, backend)


def test_no_method_is_the_default():
    assert (as_method(None, "sklearn"), as_method(None, "nn")) == (SecantALM(), PIControl())


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (
            "equal-oportunity",
            "There is no constraint 'equal-oportunity', did you mean 'equal-opportunity'? There are: ",
        ),
        ("Equal Opportunity", "There is no constraint 'Equal Opportunity', did you mean 'equal-opportunity'?"),
        ("", "There is no constraint ''; there are: equal-opportunity, predictive-equality"),
        (EqualOpportunity, "`constraint` must be a Constraint or the name of one; got <class"),
        (0.01, "`constraint` must be a Constraint or the name of one; got 0.01"),
    ],
)
def test_no_such_constraint(which, message):
    with pytest.raises(InputError, match=re.escape(message)):
        as_constraint(which)


def test_a_fit_by_names_is_the_fit_by_objects(people):
    X, y, s = people
    fits = [
        FairALMClassifier(constraint=constraint, method=method).fit(X, y, sensitive_features=s)
        for constraint, method in (("error-parity", "secant"), (ErrorParity(), SecantALM()))
    ]
    assert fits[0].history_.equals(fits[1].history_)
    assert fits[0].constraint == "error-parity"  # as given
    plain = FairALMClassifier(method="unconstrained").fit(X, y, sensitive_features=s)  # no warning: it is asked for
    assert plain.gap_ > 0.1


def test_a_model_with_names_is_saved_and_loaded(people, tmp_path):
    X, y, s = people
    model = FairALMClassifier(constraint="error-parity", method="secant").fit(X, y, sensitive_features=s)
    fairalm.save(model, tmp_path / "model.skops")
    again = fairalm.load(tmp_path / "model.skops")
    assert (again.constraint, again.method) == ("error-parity", "secant")
    assert (again.predict(X) == model.predict(X)).all()


# Parameters of constraint and method.


@dataclass(frozen=True, kw_only=True)
class Opportunity(Constraint):
    """Equal error among rows whose label is the target, with a parameter of its own."""

    weight: float = 1.0

    def events(self, y):
        return (Event("y=target", mask=y),)


OF_CONSTRAINT = {
    "constraint__tol": 0.01,
    "constraint__target": None,
    "constraint__ratio": None,
    "constraint__reference": None,
    "constraint__one_sided": False,
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, OF_CONSTRAINT),
        (
            {"constraint": "error-parity", "method": "lagrangian"},
            OF_CONSTRAINT | {"method__eta": Lagrangian().eta},
        ),
        (
            {"constraint": Opportunity(tol=0.2, weight=3.0), "method": Lagrangian(eta=7.0)},
            OF_CONSTRAINT | {"constraint__tol": 0.2, "constraint__weight": 3.0, "method__eta": 7.0},
        ),
        ({"constraint": "nonsense", "method": 3}, {}),  # fit says what is wrong
    ],
)
def test_parameters_are_listed(given, expected):
    model = FairALMClassifier(**given)
    deep, own = model.get_params(), model.get_params(deep=False)
    assert own.keys() == FairALMClassifier().get_params(deep=False).keys()
    assert deep == own | expected
    assert model.set_params(**deep).get_params() == deep  # None and names stay


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (None, OF_CONSTRAINT),
        ("demographic-parity", OF_CONSTRAINT),
        (
            EqualOpportunity(ratio=0.8, reference="b"),
            OF_CONSTRAINT | {"constraint__ratio": 0.8, "constraint__reference": "b"},
        ),
        (["equal-opportunity", "error-parity"], {}),  # a list has no parameters
    ],
)
def test_parameters_of_a_frontier_are_listed(constraint, expected):
    model = FrontierClassifier(LogisticRegression(), constraint=constraint)
    deep = model.get_params()
    own = {name: value for name, value in deep.items() if not name.startswith("estimator__")}
    assert own == model.get_params(deep=False) | expected
    assert model.set_params(**deep).get_params() == deep
    assert model.constraint is constraint


def test_parameters_of_a_frontier_are_set():
    model = FrontierClassifier(LogisticRegression(), constraint="demographic-parity")
    model.set_params(constraint__ratio=0.8, constraint__reference="b", estimator__C=3.0)
    assert model.constraint == DemographicParity(ratio=0.8, reference="b")
    assert model.estimator.C == 3.0
    assert model.set_params(constraint__ratio=None).constraint == DemographicParity(reference="b")
    assert clone(model).get_params()["constraint__reference"] == "b"
    with pytest.raises(ValueError, match="Invalid parameter 'method'"):
        model.set_params(method__eta=0.1)
    with pytest.raises(InputError, match="no parameter of DemographicParity called 'ratoi', did you mean 'ratio'"):
        model.set_params(constraint__ratoi=0.1)


def test_what_a_classifier_cannot_bound_can_be_set_and_taken_back(people):
    X, y, s = people
    model = FairALMClassifier().set_params(constraint__ratio=0.8)
    with pytest.raises(InputError, match=r"only fairalm\.FrontierClassifier .*can bound"):
        model.fit(X, y, sensitive_features=s)
    assert model.set_params(constraint__ratio=None).constraint == EqualOpportunity()


def test_setting_leaves_shared_objects_as_they_are():
    shared, method = EqualOpportunity(target=1), Lagrangian(eta=0.5)
    first, second = (FairALMClassifier(constraint=shared, method=method) for _ in range(2))
    assert first.set_params(constraint__tol=0.1, method__eta=2.0) is first
    assert (first.constraint, first.method) == (EqualOpportunity(tol=0.1, target=1), Lagrangian(eta=2.0))
    assert second.constraint is shared
    assert second.method is method
    assert shared == EqualOpportunity(target=1)


def test_none_and_names_become_objects_when_they_are_set():
    model = FairALMClassifier(method="lagrangian").set_params(constraint__tol=0.1, method__eta=2.0)
    assert (model.constraint, model.method) == (EqualOpportunity(tol=0.1), Lagrangian(eta=2.0))
    net = FairALMClassifier().set_params(constraint__target="yes", max_iter=3)
    assert (net.constraint, net.method, net.max_iter) == (EqualOpportunity(target="yes"), None, 3)


@pytest.mark.parametrize("constraint", ["equalized-odds", EqualizedOdds(target=1)])
def test_a_constraint_is_set_before_its_parameters(constraint):
    model = FairALMClassifier(LogisticRegression())
    model.set_params(constraint__tol=0.1, constraint=constraint, estimator__C=3.0)
    assert model.constraint == EqualizedOdds(tol=0.1, target=as_constraint(constraint).target)
    assert model.estimator.C == 3.0


@pytest.mark.parametrize(
    ("given", "params", "message"),
    [
        (
            {},
            {"constraint__tl": 0.1},
            "no parameter of EqualOpportunity called 'tl', did you mean 'tol'? There are: tol,",
        ),
        ({}, {"constraint__tol__low": 0.1}, "no parameter of EqualOpportunity called 'tol__low'"),
        ({}, {"method__eta": 0.1}, "There is no parameter of SecantALM called 'eta'; there are none."),
        ({"constraint": "nonsense"}, {"constraint__tol": 0.1}, "There is no constraint 'nonsense'"),
        ({}, {"constraint__tol": 7}, "The 'tol' of EqualOpportunity must lie in [0, 1]"),
        ({"method": "lagrangian"}, {"method__eta": -1.0}, "must be positive"),
    ],
)
def test_parameters_that_cannot_be_set(given, params, message):
    model = FairALMClassifier(**given)
    with pytest.raises(InputError, match=re.escape(message)):
        model.set_params(**params)
    assert model.get_params(deep=False) == FairALMClassifier(**given).get_params(deep=False)


def test_scikit_learn_refuses_other_parameters():
    with pytest.raises(ValueError, match="Invalid parameter 'constraints'"):
        FairALMClassifier().set_params(constraints__tol=0.1)


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies(copied):
    model = FairALMClassifier(method="lagrangian").set_params(constraint__tol=0.1)
    again = copied(model)
    assert again.get_params() == model.get_params()
    again.set_params(constraint__tol=0.3, method__eta=9.0)
    assert (model.constraint, model.method) == (EqualOpportunity(tol=0.1), "lagrangian")


def test_a_search_over_the_tolerance(people):
    X, y, s = people
    shared = EqualOpportunity(target=1)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FairALMClassifier(constraint=shared).set_fit_request(sensitive_features=True),
            {"constraint__tol": [0.01, 0.3]},
            scoring={"accuracy": "accuracy", "deo": make_gap_scorer("deo")},
            refit="deo",
            cv=3,
        ).fit(X, y, sensitive_features=s)
    assert search.best_params_ == {"constraint__tol": 0.01}
    assert search.best_estimator_.constraint == EqualOpportunity(tol=0.01, target=1)
    assert search.best_estimator_.gap_ <= 0.01
    loose, tight = (search.cv_results_["mean_test_deo"][i] for i in (1, 0))
    assert -loose > -tight + 0.1
    assert shared == EqualOpportunity(target=1)


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")  # three rounds are few
def test_a_search_inside_a_pipeline_over_constraints_methods_and_steps(people):
    X, y, s = people
    grid = {
        "fairalmclassifier__constraint": ["equal-opportunity", "error-parity"],
        "fairalmclassifier__constraint__tol": [0.05],
        "fairalmclassifier__method": ["lagrangian"],
        "fairalmclassifier__method__eta": [0.3, 0.6],
        "fairalmclassifier__estimator__C": [0.5],
    }
    model = FairALMClassifier(LogisticRegression(), max_iter=3)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model.set_fit_request(sensitive_features=True))
        search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y, sensitive_features=s)
    assert len(search.cv_results_["params"]) == 4
    best, chosen = search.best_estimator_[-1], search.best_params_
    name = chosen["fairalmclassifier__constraint"]
    assert best.constraint == CONSTRAINTS[name](tol=0.05)
    assert best.method == Lagrangian(eta=chosen["fairalmclassifier__method__eta"])
    assert best.estimator_.C == 0.5
