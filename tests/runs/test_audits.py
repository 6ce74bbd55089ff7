"""An audit reads its table batch by batch, and says what the rows in memory would."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairalm._validation import encode_groups
from fairalm.datasets import Table
from fairalm.exceptions import InputError
from fairalm.measures import Tally, splits_entry
from fairalm.runs import Predictions, audit


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 400
    hired = rng.choice(["no", "yes"], n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "hired": hired,
            "said": np.where(rng.random(n) < 0.7, hired, "no"),
            "sex": rng.choice(["F", "M", None], n, p=[0.5, 0.45, 0.05]),
            "age": rng.choice([20, 30, 40, np.nan], n, p=[0.5, 0.4, 0.05, 0.05]),
            "w": rng.lognormal(0, 1, n).round(3) * rng.choice([0, 1], n, p=[0.1, 0.9]),
        }
    )


@pytest.fixture(scope="module")
def places(people, tmp_path_factory):
    """The same rows in a file of each kind, and in a folder of five files."""
    folder = tmp_path_factory.mktemp("audits")
    (folder / "parts").mkdir()
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    for number, rows in enumerate(np.array_split(np.arange(len(people)), 5)):
        people.iloc[rows].to_parquet(folder / "parts" / f"{number}.parquet", row_group_size=33)
    return [str(folder / name) for name in ("people.csv", "people.parquet", "parts")]


@settings(max_examples=10, deadline=None)
@given(
    batch=st.integers(1, 500),
    weight=st.sampled_from([None, "w"]),
    chosen=st.fixed_dictionaries(
        {
            "missing": st.sampled_from(["drop", "group"]),
            "attributes": st.sampled_from(["crossed", "separate"]),
            "merge_below": st.sampled_from([None, 30]),
        }
    ),
)
def test_batches_change_nothing(people, places, batch, weight, chosen):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "BATCH", batch)
        done = [audit(Predictions(data, "hired", "said", ["sex", "age"], weight=weight, **chosen)) for data in places]
    kept = people if weight is None else people[people["w"] > 0]
    groups = encode_groups(kept[["sex", "age"]], **chosen)
    expected = splits_entry(
        kept["hired"],
        kept["said"],
        sensitive_features=groups,
        target="yes",
        sample_weight=None if weight is None else kept["w"],
    )
    for metrics in (each.metrics for each in done):
        assert json.dumps(metrics["splits"]["audit"]) == json.dumps(expected)  # to the last digit
        assert metrics["data"]["dropped"] == (groups.codes < 0).sum()
        assert metrics["data"]["rows"] == len(kept)
        assert metrics["data"] | {"name": ""} == done[0].metrics["data"] | {"name": ""}
    assert done[0].groups.sizes.tolist() == groups.sizes.tolist()


def test_the_fingerprint_is_of_the_rows_in_any_order(people, places, tmp_path):
    people[::-1].to_parquet(tmp_path / "turned.parquet")
    people.assign(sex="F").to_parquet(tmp_path / "other.parquet")
    prints = [
        audit(Predictions(str(data), "hired", "said", ["age"], missing="group", weight="w")).metrics["data"]
        for data in (places[0], tmp_path / "turned.parquet", tmp_path / "other.parquet")
    ]
    assert prints[0]["fingerprint"] == prints[1]["fingerprint"] == prints[2]["fingerprint"]  # sex is not read
    people.assign(w=people["w"] * 2).to_parquet(tmp_path / "other.parquet")
    other = audit(Predictions(str(tmp_path / "other.parquet"), "hired", "said", ["age"], missing="group", weight="w"))
    assert other.metrics["data"]["fingerprint"] != prints[0]["fingerprint"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ("hired", "id", "sex"),
            "must hold the same two labels; they hold 'no', 'yes', 0, 1, 2, ...: turn scores into labels",
        ),
        (("hired", "said", "id"), "protected columns 'id' have more than 50 combinations of values: is one of them an"),
    ],
)
def test_ids_and_scores_are_refused_before_they_fill_the_memory(places, monkeypatch, columns, message):
    monkeypatch.setattr(Table, "BATCH", 60)
    monkeypatch.setattr(Tally, "MOST", 50)
    target, prediction, protected = columns
    with pytest.raises(InputError, match=message):
        audit(Predictions(places[2], target, prediction, [protected]))
