import json

import numpy as np
import pandas as pd
import pytest

from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, RATES, measure_all, rate_interval, splits_entry


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    sex = rng.choice(["Female", "Male"], 400)
    y = rng.integers(0, 2, 400)
    scores = np.clip(0.3 * y + 0.7 * rng.random(400), 0, 1)
    return y, (scores > 0.5).astype(int), scores, sex


def test_scores_in_another_order(people):
    y, h, scores, sex = (pd.Series(column, index=range(1, 401)) for column in people)
    splits_entry(y, h, scores, sensitive_features=sex)
    with pytest.raises(InputError, match="scores and y_true have different indexes"):
        splits_entry(y, h, scores[::-1], sensitive_features=sex)


def test_entry_is_json_and_holds_everything(people):
    y, h, scores, sex = people
    entry = json.loads(json.dumps(splits_entry(y, h, scores, sensitive_features=sex, target=1), allow_nan=False))
    assert entry.keys() == {*MEASURES, "groups", "scores"}
    deo = measure_all(y, h, sensitive_features=sex)["deo"]
    assert entry["deo"] == deo.to_dict()
    female = entry["groups"]["Female"]
    assert female["tp"] == int(((sex == "Female") & (y == 1) & (h == 1)).sum())
    assert sum(female[count] for count in ("tp", "fp", "tn", "fn")) == int((sex == "Female").sum())
    assert female["rates"].keys() == RATES.keys()
    tpr = female["rates"]["tpr"]
    assert tpr["n"] == female["tp"] + female["fn"]
    assert tpr["value"] == female["tp"] / tpr["n"]
    assert (tpr["low"], tpr["high"]) == pytest.approx(rate_interval(female["tp"], tpr["n"]))
    assert entry["scores"]["counts"]["Female"].keys() == {"other", "target"}
    assert sum(entry["scores"]["counts"]["Female"]["target"]) == tpr["n"]


def test_training_entry_has_no_interval_anywhere(people):
    y, h, _, sex = people
    entry = splits_entry(y, h, sensitive_features=sex, target=1, train=True)
    assert "scores" not in entry
    assert entry["deo"]["split"] == "train"
    ends = [entry[name][end] for name in MEASURES for end in ("low", "high")]
    ends += [
        rate[end] for group in entry["groups"].values() for rate in group["rates"].values() for end in ("low", "high")
    ]
    assert set(ends) == {None}


def test_empty_cells_become_null():
    entry = splits_entry([1] * 24, [1, 0] * 12, np.tile([0.8, 0.2], 12), sensitive_features=["a", "a", "b"] * 8)
    json.dumps(entry, allow_nan=False)
    assert entry["groups"]["a"]["rates"]["fpr"] == {"value": None, "low": None, "high": None, "n": 0}
    assert entry["fpr_gap"]["value"] is None
    assert entry["scores"]["counts"]["b"]["target"] is None
    assert sum(entry["scores"]["counts"]["a"]["target"]) == 16
    assert sum(entry["scores"]["counts"]["a"]["other"]) == 0
