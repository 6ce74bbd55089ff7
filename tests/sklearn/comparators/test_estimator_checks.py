"""scikit-learn's own checks, on subclasses that derive groups from X, since ours insist on being given them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairalm.sklearn.comparators import DoniniClassifier, ZafarClassifier


class SelfGrouping:
    """Groups that follow from the rows, for checks that pass none: every other row by its sum, within each label."""

    def fit(self, X, y, *, sensitive_features=None):
        return super().fit(
            X, y, sensitive_features=alternate(X, y) if sensitive_features is None else sensitive_features
        )


class SelfGroupingDonini(SelfGrouping, DoniniClassifier):
    pass


class SelfGroupingZafar(SelfGrouping, ZafarClassifier):
    pass


def alternate(X, y):
    try:
        sums = np.nan_to_num(np.asarray(X, dtype=float)).sum(axis=-1)
        labels = np.asarray(y).ravel()
        groups = np.zeros(len(sums), dtype=int)
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            groups[rows[np.argsort(sums[rows], kind="stable")]] = np.arange(len(rows)) % 2
    except (TypeError, ValueError, IndexError, NotImplementedError, RuntimeWarning, np.exceptions.ComplexWarning):
        return np.arange(len(X) if hasattr(X, "__len__") else X.shape[0]) % 2  # what is wrong is for fit to say
    return groups


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # on rows that nobody scaled
@parametrize_with_checks([SelfGroupingDonini(), SelfGroupingZafar()])
def test_scikit_learn_checks(estimator, check):
    if isinstance(estimator, ZafarClassifier):
        pytest.importorskip("clarabel")
    check(estimator)
