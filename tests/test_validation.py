import re
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import dok_array

from fairalm._coding import group_name
from fairalm._validation import Groups, check_binary, check_same_index, encode_groups, no_such
from fairalm.exceptions import InputError

WORDS = ["b", "a", "b", "c"]
WORDS_CODES, WORDS_LABELS = [1, 0, 1, 2], ("a", "b", "c")


class Colour(Enum):
    RED = 1
    BLUE = 2


def kind(value):
    """A short name for a container in a test's id."""
    if hasattr(value, "dtype"):
        return f"{type(value).__module__.split('.')[0]}-{type(value).__name__}-{value.dtype}"
    return f"{type(value).__module__.split('.')[0]}-{type(value).__name__}"


def encoded(*args, **kwargs):
    groups = encode_groups(*args, **kwargs)
    assert groups.codes.dtype == np.int64
    assert groups.n_groups == len(groups.labels)
    return groups.codes.tolist(), groups.labels


# One column, in whatever it comes.


@pytest.mark.parametrize(
    "column",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        np.array(WORDS)[:, None],
        pd.Series(WORDS),
        pd.Series(WORDS, index=[7, 3, 3, 0]),
        pd.Series(WORDS, dtype="category"),
        pd.Series(WORDS, dtype="string"),
        pd.Series(WORDS, dtype=object),
        pd.Categorical(WORDS, categories=["c", "b", "a", "nobody"], ordered=True),
        pd.Index(WORDS),
        pd.DataFrame({"race": WORDS}, index=[4, 2, 0, 1]),
        {"race": WORDS},
        {"race": np.array(WORDS)},
        {"race": pd.Series(WORDS, index=[9, 1, 5, 2])},
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pl.DataFrame({"race": WORDS}),
    ],
    ids=kind,
)
def test_containers(column):
    assert encoded(column) == (WORDS_CODES, WORDS_LABELS)


@pytest.mark.parametrize(
    ("column", "codes", "labels"),
    [
        ([3, 1, 3], [1, 0, 1], (1, 3)),
        (np.array([3, 1, 3], dtype=np.int8), [1, 0, 1], (1, 3)),
        ([10, 9], [1, 0], (9, 10)),  # in order of the numbers, not of their text
        ([np.int64(3), np.int64(1)], [1, 0], (1, 3)),
        (np.array([0.5, -0.5]), [1, 0], (-0.5, 0.5)),
        ([True, False, True], [1, 0, 1], (False, True)),
        (np.array([True, False]), [1, 0], (False, True)),
        (pd.Series([True, False], dtype="boolean"), [1, 0], (False, True)),
        (pl.Series([True, False]), [1, 0], (False, True)),
        (pd.Series([2, 1], dtype="Int64"), [1, 0], (1, 2)),
        ([("F", 2), ("F", 1), ("F", 2)], [1, 0, 1], (("F", 1), ("F", 2))),
        ([("F", 2), ("F",)], [1, 0], (("F",), ("F", 2))),
        (["x", 1, (2, 3)], [2, 0, 1], (1, (2, 3), "x")),  # types that do not compare go by their text
        ([Colour.RED, Colour.BLUE], [1, 0], (Colour.BLUE, Colour.RED)),
        ([pd.Timestamp("2001-01-01"), pd.Timestamp("2000-01-01")], [1, 0], None),
        (["", " "], [0, 1], ("", " ")),  # empty text is a value
        (["nan", "None"], [1, 0], ("None", "nan")),  # and so is this text
    ],
)
def test_values(column, codes, labels):
    found_codes, found_labels = encoded(column)
    assert found_codes == codes
    if labels is not None:
        assert found_labels == labels
        assert [type(label) for label in found_labels] == [type(label) for label in labels]


def test_codes_do_not_depend_on_the_order_of_the_rows():
    for values in (WORDS, [3, 1, 2, 3], [True, False], ["x", 1, (2, 3)]):
        assert encoded(values)[1] == encoded(values[::-1])[1]
        assert encoded(values)[0] == encoded(values[::-1])[0][::-1]


def test_codes_of_labels_with_the_same_text_do_not_depend_on_the_order_of_the_rows():
    assert encoded([1, "1"])[1] == encoded(["1", 1])[1]


# Several columns are crossed.


@pytest.mark.parametrize(
    "columns",
    [
        {"sex": ["M", "F", "M", "F"], "race": ["x", "x", "x", "y"]},
        pd.DataFrame({"sex": ["M", "F", "M", "F"], "race": ["x", "x", "x", "y"]}, index=[3, 3, 1, 0]),
        pd.DataFrame({"sex": ["M", "F", "M", "F"], "race": ["x", "x", "x", "y"]}, dtype="category"),
        pd.DataFrame([["M", "x"], ["F", "x"], ["M", "x"], ["F", "y"]], columns=["same", "same"]),
        np.array([["M", "x"], ["F", "x"], ["M", "x"], ["F", "y"]]),
        pl.DataFrame({"sex": ["M", "F", "M", "F"], "race": ["x", "x", "x", "y"]}),
    ],
    ids=["dict", "pandas", "categories", "same name", "numpy", "polars"],
)
def test_crossed_columns(columns):
    groups = encode_groups(columns)
    assert groups.labels == (("F", "x"), ("F", "y"), ("M", "x"))  # only what occurs
    assert groups.codes.tolist() == [2, 0, 2, 1]
    assert groups.names == ("F × x", "F × y", "M × x")


def test_crossed_columns_of_different_types():
    codes, labels = encoded({"sex": ["M", "F"], "age": [40, 9], "member": [True, False]})
    assert (codes, labels) == ([1, 0], (("F", 9, False), ("M", 40, True)))
    assert [type(part) for part in labels[0]] == [str, int, bool]


def test_columns_that_do_not_fit_together():
    with pytest.raises(InputError, match="columns must have one length"):
        encode_groups({"sex": ["F", "M"], "race": ["x", "y", "z"]})


@pytest.mark.parametrize("index", [[1, 0], [5, 6]])
def test_series_in_a_dict_have_one_index(index):
    columns = {"sex": pd.Series(["F", "M"], index=index), "race": pd.Series(["x", "y"], index=index)}
    assert encoded(columns) == ([0, 1], (("F", "x"), ("M", "y")))
    with pytest.raises(
        InputError, match=r"sensitive_features\['race'\] and sensitive_features\['sex'\] have different"
    ):
        encode_groups(columns | {"race": pd.Series(["x", "y"])})


# Missing values.

MISSING = [
    ["a", None, "b"],
    ["a", float("nan"), "b"],
    ["a", pd.NA, "b"],
    ["a", pd.NaT, "b"],
    ("a", None, "b"),
    np.array(["a", None, "b"], dtype=object),
    np.array(["a", np.nan, "b"], dtype=object),
    pd.Series(["a", None, "b"]),
    pd.Series(["a", None, "b"], dtype="string"),
    pd.Series(["a", None, "b"], dtype="category"),
    pd.DataFrame({"g": ["a", None, "b"]}),
    {"g": ["a", None, "b"]},
    pl.Series(["a", None, "b"]),
    pl.DataFrame({"g": ["a", None, "b"]}),
]


@pytest.mark.parametrize("column", MISSING, ids=kind)
def test_missing(column):
    with pytest.raises(InputError, match=r"1 of 3 rows have no value .* missing='drop'"):
        encode_groups(column)
    assert encoded(column, missing="drop") == ([0, -1, 1], ("a", "b"))
    assert encoded(column, missing="group") == ([0, 2, 1], ("a", "b", "missing"))


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([0, 1, None], (0, 1)),
        (np.array([0.0, 1.0, np.nan]), (0.0, 1.0)),
        ([True, False, None], (False, True)),
        (pd.Series([0, 1, pd.NA], dtype="Int64"), (0, 1)),
        (pd.Series([True, False, pd.NA], dtype="boolean"), (False, True)),
        (pl.Series([0, 1, None]), (0, 1)),
        (pl.Series([0.0, 1.0, float("nan")]), (0.0, 1.0)),
        pytest.param(
            pl.DataFrame({"g": [0, 1, None]}),
            (0, 1),
        ),
        pytest.param(
            {"g": [0, 1, None]},
            (0, 1),
        ),
    ],
    ids=kind,
)
def test_missing_beside_numbers(column, labels):
    found = encode_groups(column, missing="drop")
    assert found.labels == labels
    assert [type(label) for label in found.labels] == [type(label) for label in labels]
    assert found.codes[-1] == -1
    assert encode_groups(column, missing="group").labels == (*labels, "missing")


def test_missing_in_crossed_columns():
    columns = {"sex": ["F", None, "M", "F"], "race": ["x", "x", None, "x"]}
    with pytest.raises(InputError, match=r"2 of 4 rows have no value in the protected column \(sex, race\)"):
        encode_groups(columns)
    labels = (("F", "x"), ("M", "missing"), ("missing", "x"))
    assert encoded(columns, missing="group") == ([0, 2, 1, 0], labels)
    assert encoded(columns, missing="drop", min_groups=1) == ([0, -1, -1, 0], (("F", "x"),))


def test_only_the_column_with_missing_values_is_named():
    with pytest.raises(InputError, match=r"1 of 2 rows have no value in the protected column \(race\)"):
        encode_groups({"sex": ["F", "M"], "race": ["x", None]})


def test_dropping_may_leave_too_few_groups():
    with pytest.raises(InputError, match=re.escape("1 group ('a'): at least 2")):
        encode_groups(["a", "a", None], missing="drop")


def test_missing_must_be_known():
    with pytest.raises(InputError, match="missing must be one of error, drop, group; got 'ignore'"):
        encode_groups(WORDS, missing="ignore")


# Small groups.


@pytest.mark.parametrize(
    ("merge_below", "codes", "labels"),
    [
        (None, [0, 0, 0, 1, 1, 2, 3], ("a", "b", "c", "d")),
        (1, [0, 0, 0, 1, 1, 2, 3], ("a", "b", "c", "d")),
        (2, [0, 0, 0, 1, 1, 2, 2], ("a", "b", "other")),
        (3, [0, 0, 0, 1, 1, 1, 1], ("a", "other")),
    ],
)
def test_merge_below(merge_below, codes, labels):
    assert encoded(list("aaabbcd"), merge_below=merge_below) == (codes, labels)


def test_merging_may_leave_one_group():
    with pytest.raises(InputError, match=re.escape("1 group ('other')")):
        encode_groups(list("aaabbcd"), merge_below=4)


def test_merge_below_counts_only_the_rows_that_stay():
    column = ["a", "a", "b", "b", "c", None, None, None]
    assert encoded(column, missing="drop", merge_below=2) == ([0, 0, 1, 1, 2, -1, -1, -1], ("a", "b", "other"))
    assert encoded(column, missing="group", merge_below=2)[1] == ("a", "b", "missing", "other")


def test_merge_below_with_crossed_columns():
    codes, labels = encoded({"s": list("FFFM"), "r": list("xxyy")}, merge_below=2)
    assert (codes, labels) == ([0, 0, 1, 1], (("F", "x"), "other"))


def test_labels_stay_distinct_beside_a_group_called_other():
    labels = encode_groups(["other"] * 3 + ["a"] * 3 + ["b", "c"], merge_below=3).labels
    assert len(set(labels)) == len(labels)


# So many groups that nothing can be said about any.


def spread(n_rows, n_groups):
    return pd.Series(np.arange(n_rows) % n_groups, name="shop")


@pytest.mark.parametrize(("n_rows", "n_groups"), [(40, 40), (510, 51), (2_000, 200)])
def test_as_many_groups_as_can_be_compared(n_rows, n_groups):
    assert encode_groups(spread(n_rows, n_groups)).n_groups == n_groups


@pytest.mark.parametrize(
    ("n_rows", "n_groups", "message"),
    [
        (
            509,
            51,
            "The protected column 'shop' has 51 groups in 509 rows, 10.0 rows per group: is it an id? Name another",
        ),
        (30_000, 30_000, "has 30,000 groups in 30,000 rows, 1.0 rows per group: is it an id?"),
        (100_000, 2_000, "has 2,000 groups in 100,000 rows, more than the 200 that can be compared"),
        (2_010, 201, "has 201 groups in 2,010 rows, more than the 200 that can be compared"),
    ],
)
def test_more_groups_than_can_be_compared(n_rows, n_groups, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        encode_groups(spread(n_rows, n_groups))
    assert str(error.value).endswith("Name another column, or merge small groups (merge_below=...).")
    assert encode_groups(spread(n_rows, n_groups), refuse_ids=False).n_groups == n_groups


def test_crossed_columns_count_by_their_combinations():
    columns = {"town": np.arange(5_000) % 40, "shop": np.arange(5_000) % 41}
    message = "The protected column 'town' × 'shop' has 1,640 groups in 5,000 rows, 3.0 rows per group"
    with pytest.raises(InputError, match=re.escape(message)):
        encode_groups(columns)


def test_groups_are_counted_after_merging_and_without_dropped_rows():
    large = ["a"] * 500 + ["b"] * 500
    assert encode_groups(large + list(range(300)), merge_below=2).labels == ("a", "b", "other")
    holes = np.where(np.arange(1_000) % 2, None, np.arange(1_000) // 2 % 60)
    assert encode_groups(np.append(holes, holes), missing="drop").n_groups == 60
    with pytest.raises(InputError, match="60 groups in 500 rows"):
        encode_groups(holes, missing="drop")


# What cannot be used.


def test_one_group():
    with pytest.raises(InputError, match=re.escape("has 1 group ('a'): at least 2 are needed to compare")):
        encode_groups(["a", "a"])
    assert encoded(["a", "a"], min_groups=1) == ([0, 0], ("a",))


def test_no_rows():
    with pytest.raises(InputError, match="none"):
        encode_groups([])
    assert encoded([], min_groups=0) == ([], ())


@pytest.mark.parametrize("n_rows", [3, 5])
def test_length(n_rows):
    message = f"`sensitive_features` has 4 rows, the data has {n_rows}: pass one group per row."
    with pytest.raises(InputError, match=re.escape(message)):
        encode_groups(WORDS, n_rows=n_rows)
    assert encoded(WORDS, n_rows=4)[0] == WORDS_CODES


@pytest.mark.parametrize("column", [[{1}, {2}], [["a"], ["b"]], [{"a": 1}, {"b": 1}]], ids=["sets", "lists", "dicts"])
def test_unhashable(column):
    with pytest.raises(InputError, match="Group values must be hashable"):
        encode_groups(column)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "`sensitive_features` is missing"),
        ("abc", "got 0 dimensions"),
        (3, "got 0 dimensions"),
        (np.zeros((2, 2, 2)), "got 3 dimensions"),
        ({"a": 1}, "got 0 dimensions"),
    ],
)
def test_not_a_column(value, message):
    with pytest.raises(InputError, match=message):
        encode_groups(value)


def test_no_columns():
    with pytest.raises(InputError):
        encode_groups(np.empty((3, 0)))


@pytest.mark.parametrize("kind", ["array", "table"])
def test_pyarrow(kind):
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(WORDS) if kind == "array" else pyarrow.table({"race": WORDS})
    assert encoded(column) == (WORDS_CODES, WORDS_LABELS)


def test_input_is_left_as_it_was():
    frame = pd.DataFrame({"sex": ["F", None, "M"]}, index=[2, 0, 1])
    before = frame.copy()
    encode_groups(frame, missing="group", merge_below=1)
    pd.testing.assert_frame_equal(frame, before)


def test_groups_names_and_sizes():
    groups = Groups(np.array([0, 2, 2, -1, 0, 2]), ("a", ("F", 1), 3.5))
    assert groups.names == ("a", "F × 1", "3.5")
    assert groups.sizes.tolist() == [2, 0, 3]
    assert groups.n_groups == 3


@pytest.mark.parametrize(("label", "name"), [("a", "a"), (1, "1"), (("F", 2, True), "F × 2 × True"), (True, "True")])
def test_group_name(label, name):
    assert group_name(label) == name


# Rows that belong together.

PEOPLE = pd.DataFrame({"age": [31, 45, 27]}, index=[7, 3, 5])


@pytest.mark.parametrize(
    "other",
    [
        [0, 1, 0],
        np.array([0, 1, 0]),
        pl.Series([0, 1, 0]),
        pd.Index([0, 1, 0]),
        pd.Categorical([0, 1, 0]),
        None,
        {"a": [0, 1, 0]},
        dok_array((3, 1)),  # a dict by its class
        pd.Series([0, 1, 0], index=[7, 3, 5]),
        pd.Series([0, 1, 0], index=[7.0, 3.0, 5.0]),
        pd.Series([0, 1], index=[3, 5]),  # another length is another error
    ],
    ids=kind,
)
def test_rows_with_the_same_index_or_none(other):
    check_same_index(X=PEOPLE, y=other)
    check_same_index(X=other, y=PEOPLE)


@pytest.mark.parametrize(
    ("index", "where"),
    [
        ([7, 5, 3], "row 1 is 5 in y, 3 in X"),
        (range(3), "row 0 is 0 in y, 7 in X"),
        (["7", "3", "5"], "row 0 is '7' in y, 7 in X"),
        ([7, 3, None], "row 2 is nan in y, 5 in X"),
    ],
)
def test_rows_with_another_index(index, where):
    message = (
        f"y and X have different indexes: {where}. Put the rows of y in the order of X with y.loc[X.index] or, if they"
        " are in that order already, pass y.to_numpy()."
    )
    for other in (pd.Series([0, 1, 0], index=index), pd.DataFrame({"y": [0, 1, 0]}, index=index)):
        with pytest.raises(InputError, match=re.escape(message)):
            check_same_index(X=PEOPLE, y=other)


def test_the_first_with_an_index_is_the_reference():
    y, s = pd.Series([0, 1, 0]), pd.Series(["a", "b", "a"], index=[2, 1, 0])
    with pytest.raises(InputError, match="sensitive_features and y have different indexes: row 0 is 2 in sensitive"):
        check_same_index(X=PEOPLE.to_numpy(), y=y, sensitive_features=s)
    with pytest.raises(InputError, match=r"sensitive_features\['sex'\] and y have"):
        check_same_index(y=y, sensitive_features={"race": [1, 2, 3], "sex": s})


def test_indexes_of_several_levels_and_with_missing_labels():
    pairs, holes = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), [None, 1.0, 2.0]
    check_same_index(X=pd.Series([0, 1, 2], index=holes), y=pd.Series([0, 1, 0], index=holes))
    other = pd.MultiIndex.from_tuples([("a", 1), ("a", 3)])
    with pytest.raises(InputError, match=r"row 1 is \('a', 3\) in y, \('a', 2\) in X"):
        check_same_index(X=pd.Series([0, 1], index=pairs), y=pd.Series([0, 1], index=other))
    with pytest.raises(InputError, match=r"row 2 is 3\.0 in y, 2\.0 in X"):
        check_same_index(X=pd.Series([0, 1, 2], index=holes), y=pd.Series([0, 1, 0], index=[None, 1.0, 3.0]))


def test_there_may_be_no_name_to_choose_from():
    assert str(no_such("column", "sex", [])) == "There is no column 'sex'; there are none."


# Labels.


@pytest.mark.parametrize(
    ("y", "positive", "classes"),
    [
        ([0, 1, 0], [False, True, False], (0, 1)),
        ([1, 0, 1], [True, False, True], (0, 1)),
        ([-1, 1], [False, True], (-1, 1)),
        ([2, 10], [False, True], (2, 10)),
        ([0.0, 1.0], [False, True], (0.0, 1.0)),
        ([True, False], [True, False], (False, True)),
        (["no", "yes", "no"], [False, True, False], ("no", "yes")),
        (np.array(["no", "yes"], dtype=object), [False, True], ("no", "yes")),
        (pd.Series(["no", "yes"], index=[5, 5]), [False, True], ("no", "yes")),
        (pd.Series(["no", "yes"], dtype="category"), [False, True], ("no", "yes")),
        (pd.Series([0, 1], dtype="Int64"), [False, True], (0, 1)),
        (pl.Series(["no", "yes"]), [False, True], ("no", "yes")),
    ],
    ids=kind,
)
def test_check_binary(y, positive, classes):
    found, found_classes = check_binary(y)
    assert found.dtype == bool
    assert found.tolist() == positive
    assert found_classes == classes
    assert [type(label) for label in found_classes] == [type(label) for label in classes]
    for target, other in (classes, classes[::-1]):
        with_target, pair = check_binary(y, target=target)
        assert pair == (other, target)
        assert with_target.tolist() == (positive if target == classes[1] else [not p for p in positive])


@pytest.mark.parametrize("target", ["yes", 2, 0.5])
def test_target_must_be_a_label(target):
    message = f"target={target!r} is not a label of y, whose labels are 0 and 1."
    with pytest.raises(InputError, match=re.escape(message)):
        check_binary([0, 1], target=target)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 0, 0], r"y has 1 .*\(0\)"),
        ([0, 1, 2], r"y has 3 .*\(0, 1, 2\)"),
        (list(range(9)), r"y has 9 .*\(0, 1, 2, 3, 4, \.\.\.\)"),
        (["a", "b", "c"], r"y has 3 .*\('a', 'b', 'c'\)"),
        ([], "y has 0 "),
        ([[0], [1]], r"y must be one column; got shape \(2, 1\)"),
        (1, r"y must be one column; got shape \(\)"),
    ],
)
def test_labels_that_are_not_two(y, message):
    with pytest.raises(InputError, match=message):
        check_binary(y)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, None],
        [0.0, 1.0, float("nan")],
        [0, 1, pd.NA],
        ["a", None, "b"],
        pd.Series([0, 1, pd.NA], dtype="Int64"),
        pl.Series([0, 1, None]),
        pl.Series(["a", "b", None]),
    ],
    ids=kind,
)
def test_missing_labels(y):
    with pytest.raises(InputError, match="y has 1 missing values: drop or fill those rows first"):
        check_binary(y)


def test_labels_of_mixed_types():
    with pytest.raises(InputError):
        check_binary(np.array([0, "a"], dtype=object))


# Several attributes, each on its own.


TWO_COLUMNS = {"sex": ["F", "M", "F", "M", "F", "M"], "race": ["x", "x", "y", "z", "z", "x"]}


def test_separate_attributes_keep_the_crossed_groups_and_say_where_each_belongs():
    crossed, separate = (encode_groups(TWO_COLUMNS, attributes=how) for how in ("crossed", "separate"))
    assert (separate.codes.tolist(), separate.labels) == (crossed.codes.tolist(), crossed.labels)
    assert crossed.attributes == ()
    assert (crossed.blocks, crossed.compared) == ((5,), crossed.names)
    assert crossed.membership.tolist() == np.eye(5).tolist()
    assert separate.blocks == (2, 3)
    assert separate.compared == ("sex = F", "sex = M", "race = x", "race = y", "race = z")
    for code, label in enumerate(separate.labels):
        own = [f"sex = {label[0]}", f"race = {label[1]}"]
        assert [name for name, on in zip(separate.compared, separate.membership[code], strict=True) if on] == own
        assert tuple(part.labels[part.of[code]] for part in separate.attributes) == label
    assert separate.membership.dtype == float
    sex, race = separate.apart
    assert (sex.codes.tolist(), race.codes.tolist()) == ([0, 1, 0, 1, 0, 1], [0, 0, 1, 2, 2, 0])
    assert separate.take([1, 2]).apart[1].codes.tolist() == [0, 1]


def test_separate_attributes_are_merged_and_dropped_each_on_its_own():
    columns = {"sex": ["F", "M", None, "F", "M", "M"], "race": ["x", "x", "y", "y", None, "z"]}
    groups = encode_groups(columns, attributes="separate", missing="drop")
    assert groups.compared == ("sex = F", "sex = M", "race = x", "race = y", "race = z")
    assert [part.codes.tolist() for part in groups.apart] == [[0, 1, -1, 0, -1, 1], [0, 0, -1, 1, -1, 2]]
    merged = encode_groups(columns, attributes="separate", missing="drop", merge_below=2)
    assert merged.compared == ("sex = F", "sex = M", "race = x", "race = other")
    assert merged.labels == (("F", "x"), ("F", "other"), ("M", "x"), ("M", "other"))
    kept = encode_groups(columns, attributes="separate", missing="group")
    assert kept.compared[:3] == ("sex = F", "sex = M", "sex = missing")
    assert kept.blocks == (3, 4)


def test_one_column_on_its_own_is_the_column():
    assert encoded(WORDS, attributes="separate") == (WORDS_CODES, WORDS_LABELS)
    assert encode_groups({"sex": ["F", "M"]}, attributes="separate").compared == ("F", "M")


def test_separate_attributes_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match=r"attribute 'race' has 1 group \('x'\): at least 2"):
        encode_groups({"sex": ["F", "M"], "race": ["x", "x"]}, attributes="separate")
    with pytest.raises(InputError, match="attributes must be one of crossed, separate; got 'each'"):
        encode_groups(TWO_COLUMNS, attributes="each")
    twice = pd.DataFrame([["F", "x"], ["M", "y"]], columns=["a", "a"])
    with pytest.raises(InputError, match="must have different names; got a, a"):
        encode_groups(twice, attributes="separate")


def test_a_separate_attribute_may_be_no_id():
    columns = {"sex": ["F", "M"] * 50, "name": [f"person {i}" for i in range(100)]}
    with pytest.raises(InputError, match="'name' has 100 groups in 100 rows"):
        encode_groups(columns, attributes="separate")
