"""Measures of a Spark frame are those of the same rows in pandas; only the counts are collected."""

import dataclasses

import numpy as np
import pytest

from fairalm.datasets import load_compas
from fairalm.exceptions import InputError
from fairalm.measures import Tally
from fairalm.measures import measure_all as measure_rows
from fairalm.spark.measures import count_rows, measure_all

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of pyspark about pandas
COLUMNS = {"target": "two_year_recid", "prediction": "said", "protected": ["race", "the sex"]}


@pytest.fixture(scope="module")
def people():
    data = load_compas(all_races=True)
    rng = np.random.default_rng(0)
    table = data.frame[["two_year_recid", "race", "sex", "age"]].rename(columns={"sex": "the sex"})
    return table.assign(said=(data.frame["priors_count"] > 2).astype(int), w=rng.lognormal(0, 1, len(table)).round(3))


@pytest.fixture(scope="module")
def frame(spark, people):
    return spark.createDataFrame(people).repartition(3)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("attributes", ["crossed", "separate"])
def test_the_figures_are_those_of_the_rows(frame, people, weight, attributes):
    ours = measure_all(frame, **COLUMNS, weight=weight, attributes=attributes)
    expected = measure_rows(
        people["two_year_recid"],
        people["said"],
        sensitive_features=people[["race", "the sex"]],
        attributes=attributes,
        sample_weight=None if weight is None else people["w"],
    )
    assert ours.keys() == expected.keys()
    for name, measure in ours.items():
        for field, value in dataclasses.asdict(measure).items():
            theirs = getattr(expected[name], field)
            close = isinstance(value, float) and weight is not None  # the order of Spark's sums is its own
            assert value == (pytest.approx(theirs, rel=1e-9, abs=1e-12) if close else theirs), (name, field)


def test_missing_values_and_small_groups(spark, people):
    holes = people.assign(race=people["race"].where(people.index % 10 > 0))
    frame = spark.createDataFrame(holes.astype({"race": object}).where(holes.notna(), None))
    with pytest.raises(InputError, match=rf"{holes['race'].isna().sum()} of {len(people)} rows have no value"):
        measure_all(frame, **COLUMNS)
    groups = count_rows(frame, **COLUMNS | {"protected": "race"}).groups(missing="drop", merge_below=300)
    sizes = holes["race"].value_counts()
    assert dict(zip(groups.names, groups.sizes, strict=True)) == {
        **sizes[sizes >= 300].to_dict(),
        "other": sizes[sizes < 300].sum(),
    }


def test_what_cannot_be_measured_is_refused(frame, monkeypatch):
    for change, message in {
        ("target", "two_year"): "There is no column 'two_year', did you mean 'two_year_recid'",
        ("weight", "race"): "Column 'race' must hold numbers; its type is string",
        ("prediction", "age"): "Only two labels are supported",
    }.items():
        with pytest.raises(InputError, match=message):
            measure_all(frame, **COLUMNS | dict([change]))
    wrong = frame.selectExpr("*", "IF(w > 3, -1, w) AS below", "IF(w > 3, NULL, w) AS hole", "0 AS nobody")
    n_wrong = frame.where("w > 3").count()
    for weight, message in {
        "below": f"Column 'below' has {n_wrong} missing, infinite or negative values",
        "hole": f"Column 'hole' has {n_wrong} missing",
        "nobody": "Column 'nobody' is zero for every row",
    }.items():
        with pytest.raises(InputError, match=message):
            measure_all(wrong, **COLUMNS, weight=weight)
    monkeypatch.setattr(Tally, "MOST", 100)
    with pytest.raises(InputError, match="more than 100 combinations of values: is one of them an id or a score"):
        measure_all(frame, **COLUMNS | {"protected": ["race", "age"]})
