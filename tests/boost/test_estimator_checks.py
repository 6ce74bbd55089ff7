"""scikit-learn's own checks, on subclasses that make up groups, since ours insist on being given them."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairalm.boost import FairLGBMClassifier, FairXGBClassifier


def alternate(y):
    """Two groups that take turns within each label; what is wrong with the labels is for the estimator to say."""
    labels = np.ravel(np.asarray(y, dtype=object))
    groups = np.arange(len(labels)) % 2
    for label in {str(label) for label in labels}:
        own = labels.astype(str) == label
        groups[own] = np.arange(own.sum()) % 2
    return groups


class SelfGroupingLGBM(FairLGBMClassifier):
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, heldout=None):
        groups = alternate(y) if sensitive_features is None else sensitive_features
        return super().fit(X, y, sensitive_features=groups, sample_weight=sample_weight, heldout=heldout)


class SelfGroupingXGB(FairXGBClassifier):
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, heldout=None):
        groups = alternate(y) if sensitive_features is None else sensitive_features
        return super().fit(X, y, sensitive_features=groups, sample_weight=sample_weight, heldout=heldout)


def installed():
    """One of each library that is there."""
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        small = LGBMClassifier(n_estimators=5, min_child_samples=2, n_jobs=1, verbose=-1)
        yield SelfGroupingLGBM(small, random_state=0)
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        yield SelfGroupingXGB(XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1), random_state=0)


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")  # of LightGBM 4.6, of any array
@parametrize_with_checks(list(installed()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
