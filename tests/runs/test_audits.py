"""An audit reads its table batch by batch, and says what the rows in memory would."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fairalm._validation import encode_groups
from fairalm.datasets import Table
from fairalm.exceptions import InputError
from fairalm.files import to_json
from fairalm.measures import MEASURES, Tally, compare_to_reference, holm, measure_all, rate_interval, splits_entry
from fairalm.runs import Decisions, audit, audit_schema
from fairalm.runs.metrics import verdict


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
            "rating": rng.normal(size=n).round(1),
            "w": rng.lognormal(0, 1, n).round(3) * rng.choice([0, 1], n, p=[0.1, 0.9]),
        }
    )


@pytest.fixture(scope="module")
def places(people, tmp_path_factory):
    """The same rows in a file of each kind, and in a folder of five files."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("audits")
    (folder / "parts").mkdir()
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    for number, rows in enumerate(np.array_split(np.arange(len(people)), 5)):
        people.iloc[rows].to_parquet(folder / "parts" / f"{number}.parquet", row_group_size=33)
    return [str(folder / name) for name in ("people.csv", "people.parquet", "parts")]


@settings(max_examples=6, deadline=None)
@given(
    batch=st.integers(20, 500),
    weight=st.sampled_from([None, "w"]),
    chosen=st.fixed_dictionaries(
        {"missing": st.sampled_from(["drop", "group"]), "merge_below": st.sampled_from([None, 30])}
    ),
)
def test_batches_change_nothing(people, places, batch, weight, chosen):
    columns = {"decision": "said", "target": "hired", "score": "rating", "weight": weight}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "BATCH", batch)
        done = [audit(Decisions(data, ["sex", "age"], **columns, **chosen)) for data in places]
    kept = people if weight is None else people[people["w"] > 0]
    if chosen["missing"] == "drop":
        n_dropped = int(kept[["sex", "age"]].isna().any(axis=1).sum())
        kept = kept.dropna(subset=["sex", "age"])
    else:
        n_dropped = 0
    for place, names in enumerate((["sex"], ["age"], ["sex", "age"])):
        groups = encode_groups(kept[names], **chosen)
        weights = None if weight is None else kept["w"]
        expected = splits_entry(
            kept["hired"], kept["said"], sensitive_features=groups, target="yes", sample_weight=weights
        )
        for facts in (each.facts for each in done):
            entry = {
                key: value for key, value in facts["outcomes"][place].items() if key not in ("attribute", "verdicts")
            }
            assert json.dumps(entry) == json.dumps(expected)  # to the last digit
            assert facts["data"]["dropped"] == n_dropped
            assert facts["data"]["rows"] == len(kept) + n_dropped
    for facts in (each.facts for each in done[1:]):
        assert {**facts, "config": 0, "data": 0} == {**done[0].facts, "config": 0, "data": 0}
        assert facts["data"]["fingerprint"] == done[0].facts["data"]["fingerprint"]


def test_the_fingerprint_is_of_the_rows_in_any_order(people, places, tmp_path):
    people[::-1].to_parquet(tmp_path / "turned.parquet")
    people.assign(sex="F").to_parquet(tmp_path / "other.parquet")

    def printed(data):
        done = audit(Decisions(str(data), "age", decision="said", target="hired", score="rating", weight="w"))
        return done.facts["data"]["fingerprint"]

    first = printed(places[0])
    assert first == printed(tmp_path / "turned.parquet") == printed(tmp_path / "other.parquet")  # sex is not read
    people.assign(w=people["w"] * 2).to_parquet(tmp_path / "other.parquet")
    assert printed(tmp_path / "other.parquet") != first


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"target": "hired", "decision": "id", "protected": "sex"}, "must hold the same two labels, or up to 20"),
        (
            {"decision": "id", "protected": "sex"},
            "Column 'id' must hold two values, such as yes and no, or up to 20 labels; it holds 0, 1, 2",
        ),
        ({"decision": "said", "protected": "id"}, "protected columns 'id' have more than 50 combinations of values"),
        ({"score": "rating", "protected": "id"}, "protected columns 'id' have more than 50 combinations of values"),
    ],
)
def test_ids_and_scores_are_refused_before_they_fill_the_memory(places, monkeypatch, columns, message):
    monkeypatch.setattr(Table, "BATCH", 60)
    monkeypatch.setattr(Tally, "MOST", 50)
    with pytest.raises(InputError, match=message):
        audit(Decisions(places[2], **columns))


def test_decisions_only(people, places):
    facts = audit(Decisions(places[0], "sex", decision="said")).facts
    (table,) = facts["selection"]
    known = people.dropna(subset=["sex"])
    n, k = known.groupby("sex").size(), (known["said"] == "yes").groupby(known["sex"]).sum()
    assert {name: (own["n"], own["selected"]) for name, own in table["groups"].items()} == {
        name: (n[name], k[name]) for name in "FM"
    }
    low, high = rate_interval(k["F"], n["F"])
    assert table["groups"]["F"]["rate"] == {
        "value": k["F"] / n["F"],
        "low": low,
        "high": high,
        "k": k["F"],
        "n": n["F"],
    }
    place, against = compare_to_reference(k.to_numpy(), n.to_numpy())
    assert table["reference"] == "FM"[place]
    assert [own["against"] for own in table["groups"].values()] == [own and own.to_dict() for own in against]
    unknown = people[people["sex"].isna()]["said"] == "yes"
    assert table["unknown"] == {"n": len(unknown), "selected": unknown.sum(), "rate": unknown.mean()}
    expected = measure_all(known["said"], known["said"], sensitive_features=known["sex"])
    assert table["ratio"]["value"] == expected["dp_ratio"].value
    assert table["difference"]["verdict"] == verdict(expected["ddp"], 0.05)
    assert facts["outcomes"] == facts["scoring"] == facts["thresholds"] == []


@pytest.mark.parametrize(
    ("k", "n", "outcome"),
    [((95, 94), 100, "met"), ((500, 300), 1000, "not met"), ((500, 420), 1000, "cannot tell")],
)
def test_the_ratio_is_judged_against_four_fifths(tmp_path, k, n, outcome):
    rows = [(group, int(place < own)) for group, own in zip("ab", k, strict=True) for place in range(n)]
    pd.DataFrame(rows, columns=["g", "h"]).to_csv(tmp_path / "p.csv", index=False)
    (table,) = audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h")).facts["selection"]
    assert table["ratio"]["value"] == pytest.approx(k[1] / k[0])
    assert (table["ratio"]["verdict"], table["ratio"]["limit"]) == (outcome, 0.8)


def test_scores_only(people, places):
    facts = audit(Decisions(places[1], ["sex", "age"], score="rating")).facts
    median = np.median(people["rating"])
    assert facts["data"]["median"] == median
    above = people["rating"] > median
    assert (people["rating"] == median).any()  # those who equal it are not above it
    women = facts["scoring"][0]["groups"]["F"]["rate"]
    assert (women["k"], women["n"]) == (above[people["sex"] == "F"].sum(), (people["sex"] == "F").sum())
    assert [table["attribute"] for table in facts["scoring"]] == ["sex", "age", "sex × age"]
    for point in facts["thresholds"][0]["points"]:
        quantile = np.quantile(people["rating"], point["decile"] / 10, method="averaged_inverted_cdf")
        assert point["threshold"] == pytest.approx(quantile)
        own = point["groups"]["F"]
        assert own["selection"]["k"] == ((people["rating"] > point["threshold"]) & (people["sex"] == "F")).sum()
        assert list(own) == ["selection"]
    assert facts["selection"] == []


def test_scores_with_outcomes_have_rates_at_thresholds(people, places):
    (table,) = audit(Decisions(places[0], "sex", score="rating", target="hired")).facts["thresholds"]
    point = table["points"][6]
    rows = people[(people["sex"] == "M") & (people["hired"] == "yes")]
    assert point["groups"]["M"]["tpr"]["value"] == (rows["rating"] > point["threshold"]).mean()


def test_weights_count_in_the_median_and_in_the_rates(people, places):
    facts = audit(Decisions(places[0], "sex", score="rating", decision="said", weight="w")).facts
    repeated = people[people["w"] > 0].sort_values("rating")
    half = repeated["w"].cumsum().searchsorted(repeated["w"].sum() / 2)
    assert facts["data"]["median"] == repeated["rating"].iloc[half]
    rows = people[(people["sex"] == "F") & (people["w"] > 0)]
    rate = np.average(rows["said"] == "yes", weights=rows["w"])
    own = facts["selection"][0]["groups"]["F"]
    assert own["rate"]["value"] == pytest.approx(rate)
    assert own["n"] == len(rows)
    tests = {group["against"]["test"] for group in facts["selection"][0]["groups"].values() if group["against"]}
    assert tests == {"z test with effective sizes"}


def test_equal_weights_change_nothing(people, places, tmp_path):
    people.assign(w=0.1).to_csv(tmp_path / "p.csv", index=False)
    with_weights, without = (
        audit(Decisions(str(data), "sex", score="rating", weight=weight)).facts
        for data, weight in ((tmp_path / "p.csv", "w"), (places[0], None))
    )
    assert with_weights["data"]["median"] == without["data"]["median"]
    assert with_weights["thresholds"] == without["thresholds"]


def test_reference_groups(places):
    given = {"data": places[0], "protected": ["sex", "age"], "decision": "said", "merge_below": 30}
    tables = audit(Decisions(**given, reference=["F", "20.0"])).facts["selection"]
    assert [table["reference"] for table in tables] == ["F", "20.0", "F × 20.0"]
    assert {table["reference_is"] for table in tables} == {"given"}
    one, _, crossed = audit(Decisions(**given, reference="F")).facts["selection"]
    assert (one["reference"], crossed["reference_is"]) == ("F", "highest rate")
    ratios = [group["against"]["ratio"] for group in one["groups"].values() if group["against"]]
    assert one["ratio"]["value"] == min(*ratios, 1.0)
    with pytest.raises(InputError, match="There is no group 'W'"):
        audit(Decisions(**given, reference="W"))
    with pytest.raises(InputError, match="reference names two groups of one attribute, F and M: name one"):
        audit(Decisions(**given, reference=["F", "M"]))


def test_groups_under_two_percent_are_shown_and_not_judged(tmp_path):
    sizes = {"a": (980, 490), "b": (960, 384), "c": (39, 39)}  # 39 of 1,979 are under 2 %
    rows = [(name, int(place < k)) for name, (n, k) in sizes.items() for place in range(n)]
    pd.DataFrame(rows, columns=["g", "h"]).to_csv(tmp_path / "p.csv", index=False)
    (table,) = audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h")).facts["selection"]
    assert (table["judged"], table["reference"]) == (["a", "b"], "a")
    assert table["ratio"]["value"] == pytest.approx(0.4 / 0.5)
    assert table["groups"]["c"]["against"]["ratio"] == pytest.approx(2.0)
    p = [group["against"]["p"] for group in table["groups"].values() if group["against"]]
    corrected = [group["against"]["p_holm"] for group in table["groups"].values() if group["against"]]
    assert corrected == holm(p, 3).tolist()  # three pairs: the reference was chosen by its rate


@pytest.mark.parametrize(("attributes", "n_tables"), [("both", 3), ("separate", 2), ("crossed", 1)])
def test_attributes(places, attributes, n_tables):
    facts = audit(Decisions(places[0], ["sex", "age"], decision="said", attributes=attributes)).facts
    assert len(facts["selection"]) == n_tables


def test_many_groups(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": rng.choice([f"group {i:02}" for i in range(13)], 4000), "h": rng.integers(0, 2, 4000)})
    table.to_csv(tmp_path / "p.csv", index=False)
    (own,) = audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h")).facts["selection"]
    assert len(own["groups"]) == 13
    assert min(group["against"]["p_holm"] for group in own["groups"].values() if group["against"]) > 0.05


def test_crossing_too_many_groups_says_how_not_to(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, 20, 1000) for name in "ab"}).assign(h=rng.integers(0, 2, 1000))
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match=r"is it an id.* Or pass attributes='separate' to look at each column"):
        audit(Decisions(str(tmp_path / "p.csv"), ["a", "b"], decision="h"))
    assert audit(Decisions(str(tmp_path / "p.csv"), ["a", "b"], decision="h", attributes="separate"))


def test_everybody_or_nobody_is_selected(tmp_path):
    pd.DataFrame({"g": list("aabb"), "h": 0}).to_csv(tmp_path / "p.csv", index=False)
    (table,) = audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h", positive="0")).facts["selection"]
    assert table["ratio"]["value"] == 1.0
    with pytest.raises(InputError, match="Only the label 0 occurs: say with positive which one is positive"):
        audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h"))
    pd.DataFrame({"g": list("aabb"), "h": 0, "y": [0, 1, 0, 1]}).to_csv(tmp_path / "q.csv", index=False)
    (none,) = audit(Decisions(str(tmp_path / "q.csv"), "g", decision="h", target="y")).facts["selection"]
    assert (none["ratio"]["value"], none["ratio"]["verdict"]) == (None, "undefined")


def test_one_decision_of_several_counts_against_the_others(tmp_path):
    table = pd.DataFrame({"g": list("aabb"), "h": ["hired", "rejected", "withdrew", "hired"]})
    table.to_csv(tmp_path / "p.csv", index=False)
    (own,) = audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h", positive="hired")).facts["selection"]
    assert [group["selected"] for group in own["groups"].values()] == [1, 1]
    table.assign(y=[1, 0, 1, 0]).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match="Columns 'h' and 'y' must hold the same two labels"):  # no outcome is "hired"
        audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h", target="y", positive="hired"))


def test_the_tables_as_one(places):
    done = audit(Decisions(places[0], ["sex", "age"], decision="said", target="hired", score="rating", merge_below=30))
    lines = done.tables()
    assert lines.columns[:9].tolist() == [
        "table",
        "attribute",
        "group",
        "threshold",
        "n",
        "count",
        "rate",
        "low",
        "high",
    ]
    own = lines.query("table == 'selection' and attribute == 'sex'").set_index("group")
    assert own.index.tolist() == ["F", "M", "(unknown)"]
    assert own["rate"].to_numpy() == pytest.approx(own["count"] / own["n"])
    assert own["ratio"].max() == 1.0
    assert np.isnan(own.loc["(unknown)", "ratio"])
    errors = lines.query("table == 'error'")
    assert errors["rate"].to_numpy() == pytest.approx(errors["count"] / errors["n"])
    assert lines.query("table == 'tpr above threshold' and attribute == 'sex'")["threshold"].nunique() == 9


@pytest.mark.parametrize("place", range(6))
def test_the_schema(places, place):
    given = [
        {"decision": "said"},
        {"score": "rating"},
        {"decision": "said", "target": "hired", "score": "rating"},
        {"decision": "said", "target": "hired", "weight": "w", "merge_below": 30},
        {"decision": "said", "reference": "F", "missing": "drop"},
        {"score": "rating", "target": "hired", "missing": "group", "attributes": "crossed"},
    ][place]
    Draft202012Validator.check_schema(audit_schema())
    facts = json.loads(to_json(audit(Decisions(places[0], ["sex", "age"], **given)).facts))
    Draft202012Validator(audit_schema()).validate(facts)
    del facts["data"]["rows"]
    assert not Draft202012Validator(audit_schema()).is_valid(facts)


def test_every_gap_has_its_verdict(places):
    (entry,) = audit(Decisions(places[0], "sex", decision="said", target="hired", tol=0.2)).facts["outcomes"]
    assert set(entry["verdicts"]) == {name for name, kind in MEASURES.items() if kind.kind == "difference"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "There is nothing to audit: name the column of the decisions with decision, or that of the scores"),
        ({"decision": "said", "tol": 7}, "must lie in"),
        ({"decision": "said", "missing": "keep"}, "missing must be one of unknown, error, drop, group; got 'keep'"),
        ({"decision": "said", "rows_are": " "}, "rows_are must be a word in the plural"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        Decisions("p.csv", "sex", **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protected": ()}, "Name the protected columns with protected"),
        ({"decision": "sade"}, "There is no column 'sade'"),
        (
            {"score": "sex", "decision": None, "protected": ["age"]},
            "Column 'sex' must hold numbers, as scores are; it has '[FM]': name a",
        ),
        ({"score": "age", "decision": None}, "Column 'age' has .* missing values: drop or fill those rows first"),
        ({"protected": ["sex", "said"]}, "Column 'said' is named twice: a protected column must be one of its own"),
        ({"missing": "error"}, "rows have no value in the protected column"),
    ],
)
def test_columns_are_checked(places, settings, message):
    with pytest.raises(InputError, match=message):
        audit(Decisions(**{"data": places[0], "protected": ["sex"], "decision": "said", **settings}))
