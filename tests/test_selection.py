"""NVP against Donini's procedure written out over fractions, in a grid search and on plain tables; the Pareto front."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, zero_one_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklearn
from fairalm import EqualOpportunity, FairALMClassifier, InputError, nvp, pareto_front, select_nvp
from fairalm.datasets import load_compas, load_german, preprocess, split
from fairalm.measures import deo, error, make_gap_scorer

ROWS = 20  # few, so that accuracies meet the bound exactly and gaps tie
RUNS = st.lists(
    st.tuples(
        st.sampled_from([*range(7), 12, ROWS, None]),  # wrong predictions; None: NaN
        st.sampled_from([0, 1, 1, 2, None]),  # gap, in twelfths
        st.booleans(),  # constant
    ),
    min_size=1,
    max_size=12,
)


def floats(runs):
    errors = [np.nan if wrong is None else wrong / ROWS for wrong, _, _ in runs]
    gaps = [np.nan if gap is None else gap / 12 for _, gap, _ in runs]
    return errors, gaps, [constant for *_, constant in runs]


def donini(runs, keep, leave_out_constants):
    """Step by step: the best accuracy; the list of those close to it; of these the fairest."""
    tried = []
    for i, (wrong, gap, constant) in enumerate(runs):
        if wrong is None or gap is None or (leave_out_constants and constant):
            continue
        tried.append((i, 1 - Fraction(wrong, ROWS), gap))
    if not tried:
        return None
    best = max(accuracy for _, accuracy, _ in tried)
    shortlist = [run for run in tried if run[1] >= keep * best]
    fairest = min(gap for *_, gap in shortlist)
    tied = [run for run in shortlist if run[2] == fairest]
    most_accurate = max(accuracy for _, accuracy, _ in tied)
    return next(i for i, accuracy, _ in tied if accuracy == most_accurate)


@settings(deadline=None, max_examples=300)
@given(RUNS, st.sampled_from([Fraction(9, 10), Fraction(19, 20), Fraction(1, 2), Fraction(1)]), st.booleans())
def test_agrees_with_the_procedure_written_out(runs, keep, leave_out_constants):
    wanted = donini(runs, keep, leave_out_constants)
    errors, gaps, constant = floats(runs)
    marks = constant if leave_out_constants else None
    frame = pd.DataFrame(
        {"error": errors, "deo": gaps, "selection": np.where(constant, 1.0, 0.5)}, index=[7] * len(runs)
    )
    choose = nvp(float(keep), leave_out_constants=leave_out_constants)
    if wanted is None:
        for call in (lambda: select_nvp(errors, gaps, keep=float(keep), constant=marks), lambda: choose(frame)):
            with pytest.raises(InputError, match="no run to choose from"):
                call()
        return
    assert select_nvp(errors, gaps, keep=float(keep), constant=marks) == wanted
    assert choose(frame) == wanted


def test_the_last_bits_do_not_matter():
    assert 1 - 0.28 < 0.9 * 0.8  # so says the machine
    assert select_nvp([0.2, 0.28], [0.1, 0.0]) == 1
    assert 0.1 + 0.2 > 0.3
    assert select_nvp([0.10, 0.09], [0.3, 0.1 + 0.2]) == 1


@settings(deadline=None, max_examples=300)
@given(RUNS)
def test_front_against_brute_force(runs):
    errors, gaps, _ = floats(runs)
    known = [i for i, (wrong, gap, _) in enumerate(runs) if wrong is not None and gap is not None]
    wanted = set()
    for i in known:
        mine = runs[i][:2]
        beaten = any(runs[j][0] <= mine[0] and runs[j][1] <= mine[1] and runs[j][:2] != mine for j in known)
        if not beaten and not any(runs[j][:2] == mine for j in known if j < i):
            wanted.add(i)
    front = pareto_front(errors, gaps)
    assert set(front.tolist()) == wanted
    assert len(front) == len(wanted)
    assert (np.diff(np.array(errors)[front]) > 0).all()
    assert (np.diff(np.array(gaps)[front]) < 0).all()


def test_front_of_nothing():
    assert pareto_front([], []).tolist() == []
    assert pareto_front([np.nan], [0.1]).tolist() == []


def compas(**settings):
    data = load_compas()
    X = data.features_frame(with_protected=True)
    train, test = split(data.y, data.groups, random_state=0)
    pipeline = make_pipeline(preprocess(X), LogisticRegression(max_iter=1000))
    model = FairALMClassifier(pipeline, constraint=EqualOpportunity(tol=0.02), random_state=0, **settings)
    return X.iloc[train], data.y[train], data.groups.iloc[train], model


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
def test_grid_search_on_compas():
    """Groups go to the fits and the scorers; NVP chooses by its scores; one of the settings is a constant."""
    X, y, groups, model = compas(dual_signal="heldout")
    choose = nvp(leave_out_constants=True)
    folds = [split(y, groups, test_size=0.25, random_state=seed) for seed in (0, 1)]
    steps = [DummyClassifier(), *(LogisticRegression(C=C, max_iter=1000) for C in (0.003, 0.1))]
    grid = {"estimator__logisticregression": steps}
    with sklearn.config_context(enable_metadata_routing=True):
        model = model.set_fit_request(sensitive_features=True)
        search = GridSearchCV(model, grid, scoring=choose.scoring(), refit=choose, cv=folds)
        search.fit(X, y, sensitive_features=groups)
    results = search.cv_results_
    assert results["mean_test_selection"][0] == 0.0
    assert results["mean_test_deo"][0] == 0.0
    rest = -results["mean_test_deo"][1:]
    assert search.best_index_ == 1 + int(rest.argmin())
    assert search.best_params_ == results["params"][search.best_index_]
    assert nvp(0.5)(results) == 0  # the constant, once it is on the list
    assert nvp(0.5, leave_out_constants=True)(pd.DataFrame(results)) == search.best_index_

    fit, valid = folds[0]
    again = clone(model).set_params(**results["params"][2])
    again.fit(X.iloc[fit], y[fit], sensitive_features=groups.iloc[fit])
    predicted = again.predict(X.iloc[valid])
    assert -results["split0_test_error"][2] == error(y[valid], predicted).value
    assert -results["split0_test_deo"][2] == deo(y[valid], predicted, sensitive_features=groups.iloc[valid]).value
    assert results["split0_test_selection"][2] == predicted.mean()


def test_a_constant_wins_on_german_unless_left_out():
    data = load_german()
    train, valid = split(data.y, data.groups, random_state=0)
    X = preprocess(data.X).fit(data.X.iloc[train]).transform(data.X)
    runs = {"error": [], "deo": [], "selection": []}
    for model in (LogisticRegression(C=0.1), DummyClassifier()):
        predicted = model.fit(X[train], data.y[train]).predict(X[valid])
        runs["error"].append(error(data.y[valid], predicted).value)
        runs["deo"].append(deo(data.y[valid], predicted, sensitive_features=data.groups.iloc[valid]).value)
        runs["selection"].append(predicted.mean())
    assert runs["deo"][0] > runs["deo"][1] == 0
    assert nvp()(runs) == 1
    assert nvp(leave_out_constants=True)(runs) == 0


def search_results(scoring, refit, strategies=("stratified", "most_frequent")):
    rng = np.random.default_rng(0)
    y, sex = np.where(rng.random(400) < 0.8, "yes", "no"), rng.choice(["F", "M"], 400)
    grid = {"strategy": list(strategies)}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(DummyClassifier(random_state=0), grid, scoring=scoring, refit=refit, cv=2)
        return search.fit(np.zeros((400, 1)), y, sensitive_features=sex)


def test_scorers_of_either_sign():
    """Minus an error or plus an accuracy, minus a gap or plus a ratio: the same choice."""
    minus_error = make_scorer(zero_one_loss, greater_is_better=False)
    for loss in ({"error": minus_error}, {"error": make_gap_scorer("error")}, {"accuracy": "accuracy"}):
        for gap in ("deo", "deo_ratio"):
            search = search_results({**loss, gap: make_gap_scorer(gap)}, nvp(gap=gap))
            assert search.best_index_ == 1
            assert abs(search.cv_results_[f"mean_test_{gap}"][0] - search.cv_results_[f"mean_test_{gap}"][1]) > 0.01


def test_a_scorer_of_the_wrong_sign_is_refused():
    with pytest.raises(
        InputError, match=r"mean_test_error goes up to 0\.\d+, where a scorer must give minus the error"
    ):
        search_results({"error": make_scorer(zero_one_loss), "deo": make_gap_scorer("deo")}, nvp())
    with pytest.raises(InputError, match=r"mean_test_deo goes up to 0\.2"):
        nvp()({"mean_test_error": [-0.1, -0.1], "mean_test_deo": [0.2, 0.0]})


def test_scoring_takes_a_target():
    y, sex = np.array(["no", "no", "yes", "yes"] * 2), np.array(["F", "M"] * 4)
    X = np.arange(8.0)[:, None]
    model = DummyClassifier(strategy="uniform", random_state=3).fit(X, y)
    wanted = deo(y, model.predict(X), sensitive_features=sex, target="no").value
    assert wanted != deo(y, model.predict(X), sensitive_features=sex).value
    assert nvp().scoring(target="no")["deo"](model, X, y, sensitive_features=sex) == -wanted


def test_a_run_of_a_search_is_constant_if_it_is_in_every_fold():
    results = {
        "mean_test_error": [-0.2, -0.2, -0.2],
        "mean_test_deo": [-0.0, -0.1, -0.2],
        "mean_test_selection": [0.5, 0.75, 0.5],
        "split0_test_selection": [0.0, 1.0, 0.5],
        "split1_test_selection": [1.0, 0.5, 0.5],  # the first: one constant, then the other
    }
    assert nvp()(results) == 0
    assert nvp(leave_out_constants=True)(results) == 1
    means = {name: column for name, column in results.items() if name.startswith("mean")}
    assert nvp(leave_out_constants=True)(means) == 0


def test_columns_are_taken_from_one_place():
    """Validation figures, not those of training or test beside them."""
    runs = {"error": [0.1, 0.2], "deo": [0.0, 0.1], "valid_error": [0.2, 0.2], "valid_deo": [0.1, 0.0]}
    assert nvp()(runs) == 1
    with pytest.raises(InputError, match="The runs have no valid_error"):
        nvp()({"error": [0.1], "valid_deo": [0.1]})


def test_nvp_is_copied_by_clone_and_pickle():
    choose = nvp(0.8, gap="ddp", leave_out_constants=True)
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, scoring=choose.scoring(), refit=choose)
    assert clone(search).refit == choose
    assert pickle.loads(pickle.dumps(search)).refit == choose


@pytest.mark.parametrize("keep", [0, -0.1, 1.1, np.nan, "0.9", None, [0.9]])
def test_keep_must_be_a_share(keep):
    for call in (lambda: nvp(keep), lambda: select_nvp([0.1], [0.1], keep=keep)):
        with pytest.raises(InputError, match=r"`keep` must lie in \(0, 1\], such as 0.9; got"):
            call()


@pytest.mark.parametrize("function", [select_nvp, pareto_front])
@pytest.mark.parametrize(
    ("errors", "gaps", "message"),
    [
        ([0.1, 0.2], [0.1], "There are 2 errors and 1 gaps"),
        ([15.8], [0.1], "Errors must lie between 0 and 1, not in percent; got 15.8 to 15.8"),
        ([-0.1, np.nan], [0.1, 0.1], "Errors must lie between 0 and 1"),
        ([0.1], [-0.1], "Gaps must be 0 or more, without sign; got -0.1"),
        ([0.1], [np.inf], "Gaps must be 0 or more"),
        (["a"], [0.1], "errors must be numbers, one per run"),
        ([0.1], [object()], "gaps must be numbers, one per run"),
        ([[0.1]], [[0.1]], r"errors must be one column, one number per run; got shape \(1, 1\)"),
        (0.1, 0.1, "errors must be one column"),
    ],
)
def test_garbage_is_refused(function, errors, gaps, message):
    with pytest.raises(InputError, match=message):
        function(errors, gaps)


def test_an_empty_shortlist_says_why():
    with pytest.raises(InputError, match="of 0 runs"):
        select_nvp([], [])
    with pytest.raises(InputError, match="of 3 runs, 1 have a NaN and 2 others are constant"):
        select_nvp([np.nan, 0.1, 0.2], [0.1, 0.1, 0.1], constant=[True, True, True])


@pytest.mark.parametrize("constant", [[True], [0.5, 1], "no", [[True, False]], [[True], [True, False]], [None, True]])
def test_marks_must_be_one_per_run(constant):
    with pytest.raises(InputError, match="`constant` must be"):
        select_nvp([0.1, 0.2], [0.1, 0.2], constant=constant)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([0.1, 0.2], "`runs` must be a table with named columns; got a list"),
        ({"mean_test_score": [0.9]}, "The runs have no mean_test_deo or valid_deo or deo: name the measure"),
        ({"deo": [0.1]}, "The runs have no error"),
        ({"deo": [0.1], "error": [0.1]}, "The runs have no selection"),
        ({"mean_test_deo": [-0.1], "mean_test_error": [-0.1]}, "The runs have no mean_test_selection"),
        ({"deo": ["x"], "error": [0.1], "selection": [0.5]}, "deo must be numbers"),
        ({"deo": [0.1], "error": [0.1], "selection": ["x"]}, "selection must be numbers"),
    ],
)
def test_tables_refused(runs, message):
    with pytest.raises(InputError, match=message):
        nvp(leave_out_constants=True)(runs)


def test_settings_refused():
    with pytest.raises(InputError, match="`gap` must be the name of a measure, such as 'deo'; got 3"):
        nvp(gap=3)
    with pytest.raises(InputError, match="`leave_out_constants` must be True or False; got 'yes'"):
        nvp(leave_out_constants="yes")
    with pytest.raises(InputError, match="no measure 'unfairness'"):
        nvp(gap="unfairness").scoring()
