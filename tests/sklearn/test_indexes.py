"""Every entry point compares the indexes of pandas objects: their rows belong together by label, not by position."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm import FairALMClassifier, FrontierClassifier
from fairalm.exceptions import InputError
from fairalm.measures import deo, make_gap_scorer, measure_all, paired_changes, splits_entry
from fairalm.sklearn.comparators import DoniniClassifier, HardtClassifier

rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)}, index=range(100, 160))
Y = pd.Series(rng.integers(0, 2, 60), index=X.index)
SEX = pd.Series(rng.choice(["F", "M"], 60), index=X.index)
WEIGHT = pd.Series(1.0, index=X.index)
FITTED = LogisticRegression().fit(X, Y)


def boosted(**given):
    pytest.importorskip("lightgbm")
    from fairalm.boost import FairLGBMClassifier

    return FairLGBMClassifier().fit(**given)


def thresholds(X, y, sensitive_features, sample_weight):
    pytest.importorskip("fairlearn")
    return HardtClassifier().fit(X, y, sensitive_features=sensitive_features)


def net(X, y, sensitive_features, sample_weight):
    pytest.importorskip("torch")
    from fairalm.nn import NetClassifier

    return NetClassifier().fit(X, y, sensitive_features=sensitive_features)


ENTRIES = {
    "FairALMClassifier": lambda **given: FairALMClassifier().fit(**given),
    "FrontierClassifier": lambda **given: FrontierClassifier().fit(**given),
    "boosting": boosted,
    "scorer": lambda X, y, **given: make_gap_scorer("deo")(FITTED, X, y, **given),
    "measure_all": lambda X, y, **given: measure_all(y, pd.Series(FITTED.predict(X), X.index), **given),
    "deo": lambda X, y, **given: deo(y, pd.Series(FITTED.predict(X), X.index), **given),
    "splits_entry": lambda X, y, **given: splits_entry(y, pd.Series(FITTED.predict(X), X.index), **given),
    "paired_changes": lambda X, y, **given: paired_changes(
        y, pd.Series(FITTED.predict(X), X.index), np.zeros(len(y)), **given
    ),
}
UNWEIGHTED = {
    "NetClassifier": net,
    "Donini": lambda X, y, sensitive_features, sample_weight: DoniniClassifier().fit(
        X, y, sensitive_features=sensitive_features
    ),
    "Hardt": thresholds,
}
CASES = [(name, part) for name in ENTRIES for part in ("y", "sensitive_features", "sample_weight")]
CASES += [(name, part) for name in UNWEIGHTED for part in ("y", "sensitive_features")]


@pytest.mark.parametrize(("name", "part"), CASES)
def test_rows_in_another_order_are_refused(name, part):
    given = {"X": X, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT}
    for other in (given[part].iloc[::-1], given[part].set_axis(range(60))):
        with pytest.raises(InputError, match="have different indexes: row 0 is"):
            (ENTRIES | UNWEIGHTED)[name](**given | {part: other})


def test_a_scorer_compares_the_rows_that_it_predicts():
    given = {"sensitive_features": SEX, "sample_weight": WEIGHT}
    with pytest.raises(InputError, match="y and X have different indexes"):
        make_gap_scorer("deo")(FITTED, X.iloc[::-1], Y, **given)
