"""What holds for all four."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fairalm import InputError
from fairalm.datasets import load_compas, preprocess
from fairalm.exceptions import SmallCellWarning
from fairalm.measures import ddp, deo
from fairalm.sklearn.comparators import AgarwalClassifier, DoniniClassifier, HardtClassifier, ZafarClassifier

ALL = [
    AgarwalClassifier(max_iter=8, random_state=0),
    DoniniClassifier(),
    HardtClassifier(random_state=0),
    ZafarClassifier(among="positives"),
]
each = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)


def predict(model, X, s):
    return model.predict(X, sensitive_features=s) if model.needs_group_to_predict else model.predict(X)


@each
def test_closes_the_gap_of_compas(model, compas):
    X, y, s = compas
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    model = clone(model).fit(X, y, sensitive_features=s)
    gap = deo(y, predict(model, X, s), sensitive_features=s, train=True).value
    before = deo(y, plain.predict(X), sensitive_features=s, train=True).value
    assert gap < 0.5 * before
    assert (predict(model, X, s) != y).mean() < (plain.predict(X) != y).mean() + 0.05


@each
def test_labels_and_groups_of_any_kind(model, people):
    X, y, s = people()
    numbers = clone(model).fit(X, y, sensitive_features=s)
    words = clone(model).fit(pd.DataFrame(X), np.array(["no", "yes"])[y], sensitive_features=["ab"[g] for g in s])
    expected = np.array(["no", "yes"])[predict(numbers, X, s)]
    assert (predict(words, pd.DataFrame(X), ["ab"[g] for g in s]) == expected).all()
    assert words.groups_ == ("a", "b")


@each
def test_rows_in_another_order_and_ids_are_refused(model, people):
    X, y, s = people()
    X, s = pd.DataFrame(X, index=range(400, 0, -1)), pd.Series(s)
    for wrong in ({"y": pd.Series(y), "sensitive_features": s.to_numpy()}, {"y": y, "sensitive_features": s}):
        with pytest.raises(InputError, match="and X have different indexes: row 0 is 0 in"):
            clone(model).fit(X, **wrong)
    with pytest.raises(InputError, match="has 400 groups in 400 rows, "):
        clone(model).fit(X, y, sensitive_features=np.arange(400))


def test_a_threshold_needs_the_group_of_the_same_row(people):
    X, y, s = people()
    X, model = pd.DataFrame(X, index=range(400, 0, -1)), HardtClassifier(random_state=0)
    model.fit(X, y, sensitive_features=s)
    with pytest.raises(InputError, match="sensitive_features and X have different indexes"):
        model.predict(X, sensitive_features=pd.Series(s))
    assert (model.predict(X, sensitive_features=pd.Series(s, X.index)) == model.predict(X, sensitive_features=s)).all()


@each
def test_the_order_of_rows_and_groups_does_not_matter(model, people):
    X, y, s = people()
    here = predict(clone(model).fit(X, y, sensitive_features=s), X, s)
    there = predict(clone(model).fit(X[::-1], y[::-1], sensitive_features=1 - s[::-1]), X, 1 - s)
    assert (here != there).mean() < 0.01


@each
def test_in_a_pipeline_over_a_frame(model):
    data = load_compas()
    X = data.features_frame()
    pipeline = make_pipeline(preprocess(X), clone(model))
    name = pipeline.steps[-1][0]
    pipeline.fit(X, data.y, **{f"{name}__sensitive_features": data.groups})
    extra = {"sensitive_features": data.groups} if model.needs_group_to_predict else {}
    assert set(pipeline.predict(X, **extra)) == {0, 1}


@pytest.mark.parametrize("model", [ALL[0], ALL[2]], ids=lambda model: type(model).__name__)
def test_draws_follow_the_expectation_and_the_seed(model, compas):
    X, y, s = compas
    fitted = clone(model).fit(X, y, sensitive_features=s)
    labels = predict(fitted, X, s)
    assert (labels == predict(fitted, X, s)).all()
    extra = {"sensitive_features": s} if model.needs_group_to_predict else {}
    chance = fitted.expected_predict(X, **extra)
    assert labels.mean() == pytest.approx(chance.mean(), abs=0.01)
    assert (labels[chance == 1] == 1).all()
    assert (labels[chance == 0] == 0).all()
    if model.needs_group_to_predict:
        return  # thresholds may draw for too few rows to tell seeds apart
    other = clone(model).set_params(random_state=1).fit(X, y, sensitive_features=s)
    assert (predict(other, X, s) != labels).any()


def test_settings_can_be_searched(people):
    pytest.importorskip("clarabel")
    X, y, s = people(n=4000)
    search = GridSearchCV(ZafarClassifier(among="positives"), {"share": [0.0, 1.0]}, cv=2)
    assert search.fit(X, y, sensitive_features=s).best_params_["share"] == 1.0


@each
def test_only_hardt_needs_the_group_to_predict(model):
    assert model.needs_group_to_predict == isinstance(model, HardtClassifier)


@each
def test_before_fit_they_say_so(model, people):
    X, _, s = people()
    with pytest.raises(NotFittedError):
        predict(clone(model), X, s)


GARBAGE = {
    "no groups": (lambda X, y, s: (X, y, None), "`sensitive_features` is missing"),
    "short groups": (lambda X, y, s: (X, y, s[:-1]), "399 rows, the data has 400"),
    "one group": (lambda X, y, s: (X, y, 0 * s), "1 group"),
    "missing group": (lambda X, y, s: (X, y, [None, *s[1:]]), "no value in the protected column"),
    "short labels": (lambda X, y, s: (X, y[:-1], s), "inconsistent numbers of samples"),
    "one label": (lambda X, y, s: (X, 0 * y, s), "one class only"),
    "three labels": (lambda X, y, s: (X, np.arange(len(y)) % 3, s), "Only binary"),
    "nobody positive": (lambda X, y, s: (X, y * (s == 0), s), "has no rows with"),
    "NaN": (lambda X, y, s: (X * np.nan, y, s), "NaN"),
    "text": (lambda X, y, s: (X.astype(str).astype(object) + "x", y, s), "could not convert"),
}


@pytest.mark.filterwarnings("ignore::fairalm.exceptions.SmallCellWarning")
@pytest.mark.parametrize("garbage", GARBAGE)
@each
def test_garbage_is_refused_in_a_sentence(model, garbage, people):
    spoil, message = GARBAGE[garbage]
    X, y, s = spoil(*people())
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HardtClassifier(tol=-1), "'tol' parameter of HardtClassifier must be in"),
        (AgarwalClassifier(tol=-1), "'tol' parameter of AgarwalClassifier must be in"),
        (
            HardtClassifier(constraint="error-parity"),
            "must be one of equal-opportunity, .*demographic-parity. Got",
        ),
        (AgarwalClassifier(constraint="predictive-parity"), "must be one of .*error-parity. Got"),
        (AgarwalClassifier(max_iter=0), "must be at least 1"),
        (DoniniClassifier(C=0), "must be positive"),
        (DoniniClassifier(max_iter=0), "must be at least 1"),
        (ZafarClassifier(share=-0.1), "must be at least 0"),
        (ZafarClassifier(among="women"), "must be one of everyone, positives. Got 'women'"),
        (ZafarClassifier(C=0), "must be positive"),
        (ZafarClassifier(max_iter=0), "must be at least 1"),
    ],
    ids=repr,
)
def test_settings_are_checked(model, message, people):
    X, y, s = people()
    with pytest.raises(InputError, match=message):
        model.fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("model", [DoniniClassifier(), ZafarClassifier()], ids=lambda model: type(model).__name__)
def test_two_groups_only(model, people):
    X, y, s = people(n_groups=3)
    with pytest.raises(InputError, match=r"defined for two groups; .* has 3 \(0, 1, 2\)"):
        model.fit(X, y, sensitive_features=s)


def test_small_cells_are_named(people):
    X, y, s = people(n=40)
    with pytest.warns(SmallCellWarning, match="Fewer than"):
        DoniniClassifier().fit(X, y, sensitive_features=s)


def test_importing_them_needs_no_extra():
    code = (
        "import sys, fairalm.sklearn.comparators; sys.exit(bool({'fairlearn', 'clarabel', 'cvxpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_package_gives_the_command():
    code = """
import sys
from fairalm.sklearn.comparators import AgarwalClassifier, HardtClassifier, ZafarClassifier

sys.modules["fairlearn"] = sys.modules["clarabel"] = None
for model in (AgarwalClassifier(), HardtClassifier(), ZafarClassifier()):
    try:
        model.fit([[0], [1]] * 20, [0, 1] * 20, sensitive_features=[0, 0, 1, 1] * 10)
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.count('pip install "fairalm[compare]"') == 3


@pytest.mark.parametrize("model", [AgarwalClassifier, HardtClassifier])
def test_other_constraints(model, people):
    X, y, s = people(n=1500)
    fair = model(constraint="demographic-parity", random_state=0).fit(X, y, sensitive_features=s)
    assert ddp(y, predict(fair, X, s), sensitive_features=s, train=True).value < 0.06
