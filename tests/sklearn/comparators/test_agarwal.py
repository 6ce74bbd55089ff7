import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fairalm import InputError
from fairalm.sklearn.comparators import AgarwalClassifier


def differences(model, X, y, s):
    """Each group's true positive rate less that of all: what the bound is on."""
    chosen = model.expected_predict(X)
    return [abs(chosen[(y == 1) & (s == group)].mean() - chosen[y == 1].mean()) for group in np.unique(s)]


@pytest.mark.parametrize("tol", [0.01, 0.05])
def test_the_training_gap_is_within_the_bound(compas, tol):
    X, y, s = compas
    model = AgarwalClassifier(tol=tol).fit(X, y, sensitive_features=s)
    assert max(differences(model, X, y, s)) <= tol + 1e-3
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    chosen = plain.predict(X)
    assert abs(chosen[(y == 1) & (s == s[0])].mean() - chosen[y == 1].mean()) > 2 * tol
    assert np.abs(model.expected_predict(X) - y).mean() < (chosen != y).mean() + 0.03


def test_a_loose_bound_allows_the_plain_model(compas):
    X, y, s = compas
    model = AgarwalClassifier(LogisticRegression(max_iter=1000), tol=0.9).fit(X, y, sensitive_features=s)
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    assert (model.predict(X) == plain.predict(X)).mean() > 0.99


def test_other_estimators_and_more_groups(people):
    X, y, s = people(n=1500, n_groups=3)
    model = AgarwalClassifier(DecisionTreeClassifier(max_depth=4, random_state=0), tol=0.03).fit(
        X, y, sensitive_features=s
    )
    assert max(differences(model, X, y, s)) <= 0.04
    assert model.n_oracle_calls_ > 1


def test_an_estimator_without_weights_is_refused(people):
    X, y, s = people()
    with pytest.raises(InputError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        AgarwalClassifier(KNeighborsClassifier()).fit(X, y, sensitive_features=s)
