"""scikit-learn's own checks, on a subclass that derives groups from X, since ours insist on being given them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairalm import FairALMClassifier, FrontierClassifier


class SelfGrouping(FairALMClassifier):
    """Groups by a digit of the row's sum, which is the same wherever the row stands."""

    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        if sensitive_features is None:
            sensitive_features = derive_groups(X, y)
        return super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)


class SelfGroupingFrontier(FrontierClassifier):
    """The same."""

    def fit(self, X, y, *, sensitive_features=None, group_probabilities=None, sample_weight=None):
        if sensitive_features is None:
            sensitive_features = derive_groups(X, y)
        return super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)


def derive_groups(X, y):
    """A digit of the row's sum; on tiny data, where that may leave a cell empty, alternate within each label."""
    try:
        sums = np.nan_to_num(np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)).sum(axis=-1)
        y = np.asarray(y).ravel()
        groups = (np.round(np.ravel(sums) * 1e4) % 2).astype(int)
        if any(len(np.unique(groups[y == label])) < 2 for label in np.unique(y)):
            for label in np.unique(y):
                groups[y == label] = np.arange((y == label).sum()) % 2
    except (TypeError, ValueError, IndexError, RuntimeWarning, np.exceptions.ComplexWarning):
        return np.arange(len(X)) % 2  # what is wrong with X is for the estimator to say
    return groups


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@parametrize_with_checks([SelfGrouping(), SelfGroupingFrontier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
