"""Facts about the data sets, measured once and pinned."""

from importlib.resources import files

import pandas as pd
import pytest

from fairalm.datasets import (
    _adult,
    _compas,
    _german,
    load,
    load_adult,
    load_compas,
    load_german,
    load_law,
    names,
)
from fairalm.datasets._files import read_shipped
from fairalm.exceptions import InputError

# group: (negative, positive)
COUNTS = {
    "adult": {"Female": (14_423, 1_769), "Male": (22_732, 9_918)},
    "compas": {"African-American": (1_514, 1_661), "Caucasian": (1_281, 822)},
    "german": {"no": (4, 33), "yes": (296, 667)},
    "law": {"black": (306, 1_062), "white": (641, 18_644)},
}
SHIPPED = {"adult": _adult, "compas": _compas, "german": _german}


def counts(data):
    table = pd.crosstab(data.groups, data.y)
    return {group: tuple(row) for group, row in table.iterrows()}


def assert_same(one, other):
    pd.testing.assert_frame_equal(one.frame, other.frame)
    for attribute in ("name", "target", "positive", "protected", "features", "description"):
        assert getattr(one, attribute) == getattr(other, attribute)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_counts_by_group_and_label(name):
    assert counts(load(name)) == COUNTS[name]


@pytest.mark.parametrize("name", COUNTS)
def test_official_counts_by_group_and_label(name, raw_dir):
    assert counts(load(name, raw_dir)) == COUNTS[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_and_official_files_give_the_same(name, raw_dir):
    assert_same(load(name), load(name, raw_dir))
    assert_same(load(name), load(name, str(raw_dir / "tabular")))
    pd.testing.assert_frame_equal(read_shipped(name), SHIPPED[name].read_raw(raw_dir))


def test_compas_options_are_the_same_both_ways(raw_dir):
    options = {"all_races": True, "with_scores": True}
    assert_same(load_compas(**options), load_compas(raw_dir, **options))


@pytest.mark.parametrize("name", COUNTS)
def test_roles_do_not_overlap(name, raw_dir):
    data = load(name, raw_dir)
    assert not {data.target, *data.protected} & set(data.features)
    assert {data.target, *data.protected, *data.features} <= set(data.frame.columns)
    assert list(data.X.columns) == list(data.features)


def test_shipped_files_are_small():
    sizes = [len(files("fairalm.datasets").joinpath("data", f"{name}.csv.gz").read_bytes()) for name in SHIPPED]
    assert sum(sizes) < 500_000


def test_adult_columns():
    data = load_adult()
    assert len(data.features) == 11
    assert not {"fnlwgt", "education", "sex", "income", "official_test"} & set(data.features)
    missing = data.frame.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 2_799, "occupation": 2_809, "native-country": 857}
    assert set(data.frame["income"]) == {"<=50K", ">50K"}
    numbers = data.X.select_dtypes("number").columns
    assert set(numbers) == {"age", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def test_adult_keeps_the_official_split():
    data = load_adult()
    test = data.frame["official_test"]
    assert test.dtype == bool
    assert not test[:32_561].any()
    assert test[32_561:].all()
    assert test.sum() == 16_281
    assert data.y[test].mean() == pytest.approx(3_846 / 16_281)


def test_compas_options():
    assert len(load_compas().frame) == 5_278
    everyone = load_compas(all_races=True)
    assert everyone.groups.value_counts().to_dict() == {
        "African-American": 3_175,
        "Caucasian": 2_103,
        "Hispanic": 509,
        "Other": 343,
        "Asian": 31,
        "Native American": 11,
    }
    assert set(load_compas(with_scores=True).features) - set(load_compas().features) == {
        "decile_score",
        "v_decile_score",
    }
    assert not load_compas().frame.isna().to_numpy().any()


def test_compas_holds_nothing_known_afterwards():
    assert set(load_compas().frame.columns) == {
        *("sex", "age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
        *("c_charge_degree", "race", "two_year_recid"),
    }


def test_german_values_are_words():
    data = load_german()
    assert len(data.features) == 19
    assert data.frame["checking_account"].value_counts()["none"] == 394
    assert data.frame["amount"].iloc[0] == 1_169
    text = data.frame.select_dtypes(exclude="number")
    assert not text.apply(lambda column: column.str.fullmatch(r"A\d+")).to_numpy().any()


def test_law_columns(raw_dir):
    data = load_law(raw_dir)
    assert data.frame.isna().sum().to_dict() == {
        **{"lsat": 92, "ugpa": 112, "zfygpa": 902, "zgpa": 1_148, "fam_inc": 264, "dob_yr": 48, "tier": 94},
        **{"fulltime": 30, "gender": 4, "race": 0, "pass_bar": 0},
    }
    assert set(data.frame["fulltime"].dropna()) == {"yes", "no"}


def test_names_and_load():
    assert names() == ("adult", "compas", "german", "law")
    with pytest.raises(InputError, match="no data set 'adlut', did you mean 'adult'"):
        load("adlut")


@pytest.mark.parametrize("name", COUNTS)
def test_a_folder_without_the_file_is_an_error(name, tmp_path):
    with pytest.raises(InputError, match=r"(?s)\.(data|csv).* in .*"):
        load(name, tmp_path)


def test_environment_variable_does_not_replace_the_shipped_data(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    assert len(load_german().frame) == 1_000


@pytest.mark.parametrize(
    ("name", "filename", "content", "message"),
    [
        ("adult", "adult.data", "39, Private\n", "2 columns, not 15"),
        ("german", "german.data", "A11 " * 20 + "1\n", "codes that are not documented"),
        ("compas", "compas-scores-two-years.csv", "sex,age\nMale,3\n", "lacks the columns juv_fel_count"),
        ("law", "lsac.csv", "", "cannot be read as the official file"),
    ],
)
def test_a_file_that_is_not_the_official_one(name, filename, content, message, tmp_path):
    (tmp_path / filename).write_text(content)
    with pytest.raises(InputError, match=message):
        load(name, tmp_path)
