"""Each mistake ends in one sentence, exit code 2, no traceback and no half-written run."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.fixes import parse_version

import sklearn
from fairalm import FairALMClassifier, InputError
from fairalm.cli._shell import as_option

BASE = ("--target", "hired", "--protected", "sex", "-o", "runs/r")


def mistake(outcome, message, folder):
    code, out, err = outcome
    assert code == 2, err
    assert out == ""
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    assert err.startswith("Error: ")
    assert message in err
    assert not (folder / "runs").exists()
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def edited(name, people):
    table = people.copy()
    if name == "one group":
        table["sex"] = "F"
    elif name == "no positives":
        table.loc[table["sex"] == "F", "hired"] = "no"
    elif name == "missing group":
        table.loc[:4, "sex"] = None
    elif name == "three labels":
        table.loc[:4, "hired"] = "perhaps"
    elif name == "missing label":
        table.loc[:4, "hired"] = None
    elif name == "infinite":
        table.loc[:4, "skill"] = np.inf
    return table


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("one group", "The protected attribute has 1 group ('F')"),
        ("no positives", "Group 'F' has no rows with y='yes'"),
        (
            "missing group",
            "5 of 600 rows have no value in the protected column (sex): fill them, or pass --missing drop",
        ),
        ("three labels", "Target column 'hired' has 3 labels ('no', 'perhaps', 'yes'): say with --positive which one"),
        ("missing label", "y has 5 missing values"),
        ("infinite", "Column 'skill' has 5 infinite values"),
    ],
)
def test_what_is_in_the_table(run, people, tmp_path, name, message):
    edited(name, people).to_csv(tmp_path / "p.csv", index=False)
    mistake(run("train", "p.csv", *BASE), message, tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "hird"), "There is no column 'hird', did you mean 'hired'?"),
        (("--protected", "gender"), "There is no column 'gender'"),
        (("--drop", "twn"), "did you mean 'town'?"),
        (("--drop", "sex"), "named twice"),
        (("--positive", "maybe"), "--positive maybe is not a label of 'hired': it has 'no' and 'yes'"),
        (("--method", "secnt"), "There is no method 'secnt', did you mean 'secant'?"),
        (("--constraint", "equal-oportunity"), "There is no constraint 'equal-oportunity', did you mean"),
        (("--estimator", "svm"), "There is no estimator 'svm'"),
        (("--predictor", "best"), "There is no predictor 'best'"),
        (("--dual-signal", "test"), "There is no dual signal 'test'"),
        (("--missing", "ignore"), "--missing must be one of error, drop, group; got 'ignore'"),
        (("--attributes", "each"), "--attributes must be one of crossed, separate; got 'each'"),
        (("--attributes", "separate", "--estimator", "mlp"), "--attributes separate is not for --estimator mlp"),
        (("--eta", "0.1"), "The method 'secant' has no step size"),
        (("--method", "l2", "--eta", "-1"), "must be positive"),
        (("--method", "l2", "--eta", "inf"), "--eta must be a positive number"),
        (("--tol", "7"), "must lie in [0, 1]"),
        (("--tol", "nan"), "must lie in [0, 1]"),
        (("--test-size", "2"), "--test-size must lie between 0 and 1; got 2.0"),
        (("--test", "absent.csv"), "There is no file absent.csv"),
        (("--constraint", "predictive-parity", "--predictor", "mixture"), "no best mixture"),
    ],
)
def test_options(run, table, tmp_path, options, message):
    mistake(run("train", table, *BASE, *options), message, tmp_path)


def test_files(run, people, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "header.csv").write_text("skill,town,sex,hired\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "binary.parquet").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    for name, message in {
        "absent.csv": "There is no file absent.csv",
        "empty.csv": "empty.csv is empty",
        "header.csv": "has 0 rows",
        "binary.csv": "is not text",
        "binary.parquet": "cannot be read as Parquet",
        "people.xlsx": "only .csv, .csv.gz, .csv.bz2, .csv.xz and .parquet",
        "adlt": "There is no file or data set 'adlt', did you mean 'adult'?",
        "[red]x[/red].csv": "There is no file [red]x[/red].csv",
    }.items():
        mistake(run("train", name, *BASE), message, tmp_path)


@pytest.mark.parametrize(
    ("n_rows", "n_groups", "message"),
    [
        (
            30_000,
            30_000,
            "The protected column 'ID' has 30,000 groups in 30,000 rows, 1.0 rows per group: is it an id?",
        ),
        (100_000, 2_000, "The protected column 'ID' has 2,000 groups in 100,000 rows, more than the 200 that can be"),
    ],
)
def test_an_id_is_no_protected_attribute(run, tmp_path, n_rows, n_groups, message):
    pytest.importorskip("torch")
    rows, y = np.arange(n_rows), np.arange(n_rows) % 2
    pd.DataFrame({"ID": rows % n_groups, "age": rows % 50, "y": y, "said": 1 - y}).to_csv(
        tmp_path / "p.csv", index=False
    )
    for command in (
        ("audit", "p.csv", "--decision", "said"),
        ("train", "p.csv", "-o", "runs/r"),
        ("train", "p.csv", "-o", "runs/r", "--estimator", "mlp"),
        ("compare", "p.csv"),
    ):
        outcome = run(*command, "--target", "y", "--protected", "ID")
        mistake(outcome, message, tmp_path)
        assert "Name another column, or merge small groups (--merge-below)." in outcome[2]


def test_a_table_of_your_own_needs_names(run, table, tmp_path):
    mistake(run("train", table), "name its label with --target", tmp_path)


def test_a_test_file_with_other_columns(run, people, tmp_path):
    people.to_csv(tmp_path / "p.csv", index=False)
    people.rename(columns={"skill": "talent"}).to_csv(tmp_path / "renamed.csv", index=False)
    people.assign(skill="high").to_csv(tmp_path / "text.csv", index=False)
    people.assign(hired="perhaps").to_csv(tmp_path / "label.csv", index=False)
    for name, message in {
        "renamed": "renamed.csv lacks the column 'skill' of the training table",
        "text": "Column 'skill' of text.csv holds text; in the training table it holds numbers",
        "label": "label.csv has a label 'perhaps' in 'hired'",
    }.items():
        mistake(run("train", "p.csv", *BASE, "--test", f"{name}.csv"), message, tmp_path)


def test_where_nothing_can_be_written(run, table, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_text("x")
    train = ("train", table, "--target", "hired", "--protected", "sex")
    mistake(run(*train, "-o", "photos"), "photos exists: choose another folder, or pass --overwrite", tmp_path)
    mistake(run(*train, "-o", "photos", "--overwrite"), "photos is not a run of fairalm", tmp_path)
    mistake(run(*train, "-o", "file/r"), "file/r: Not a directory", tmp_path)
    mistake(run("demo", "--rows", "500", "-o", "file/r"), "Not a directory", tmp_path)
    assert (tmp_path / "photos" / "one.jpg").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(run, table, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    mistake(run("train", table, *BASE[:-1], "locked/r"), "Permission denied", tmp_path)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("train", "p.csv", "--target", "hird", *BASE[2:]), "did you mean 'hired'"),
        (("train", "absent.csv", *BASE), "There is no file"),
        (("train", "binary.csv", *BASE), "is not text"),
        (("train", "p.csv", *BASE, "--tol", "7"), "must lie in [0, 1]"),
        (("audit", "p.csv", "--target", "hired", "--decision", "town", "--protected", "sex"), "same two labels"),
        (("predict", "nowhere", "p.csv", "-o", "out.csv"), "nowhere is not a run"),
        (("compare", "p.csv", *BASE[:-2], "--methods", "secant,best"), "There is no method 'best'"),
    ],
)
def test_through_the_console(console, people, tmp_path, args, message):
    people.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 10)
    mistake(console(*args), message, tmp_path)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"), reason="scikit-learn itself imports pyarrow there"
)
def test_a_missing_extra_is_a_sentence(console, people, tmp_path):
    pytest.importorskip("pyarrow")
    people.to_parquet(tmp_path / "p.parquet")
    (tmp_path / "hidden" / "pyarrow").mkdir(parents=True)
    (tmp_path / "hidden" / "pyarrow" / "__init__.py").write_text("raise ImportError('not here')")
    mistake(
        console("train", "p.parquet", *BASE, PYTHONPATH=tmp_path / "hidden"), 'pip install "fairalm[parquet]"', tmp_path
    )


def test_an_unknown_option_and_an_unreadable_number(run, table):
    for options in (("--tool", "1"), ("--tol", "x")):
        code, out, err = run("train", table, *BASE, *options)
        assert (code, out) == (2, "")
        assert "Error: " in err
        assert "Traceback" not in err


def test_a_terminal_without_unicode(console, people, tmp_path):
    people.assign(sex=people["sex"].map({"F": "🎉", "M": "×"})).to_csv(tmp_path / "p.csv", index=False)
    assert console("train", "p.csv", *BASE, PYTHONIOENCODING="ascii")[0] == 0


def test_library_calls():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
    with pytest.raises(InputError, match="`sensitive_features` has 19 rows, the data has 20"):
        FairALMClassifier().fit(X, y, sensitive_features=["a"] * 19)
    with pytest.raises(InputError, match="y has 19 rows, X has 20"):
        FairALMClassifier().fit(X, y[:19], sensitive_features=["a"] * 19)
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(InputError, match=r"KNeighborsClassifier\.fit takes no sample_weight"):
        FairALMClassifier(KNeighborsClassifier()).fit(X, y, sensitive_features=["a", "a", "b", "b"] * 5)


def test_parameters_become_options():
    error = InputError("pass {missing}, or {merge_below}: {x}", missing="drop", merge_below=None)
    assert str(error) == "pass missing='drop', or merge_below: {x}"
    assert error.spelled(as_option) == "pass --missing drop, or --merge-below: {x}"
    assert as_option("trusted", ["a.B", "c.D"]) == "--trusted a.B --trusted c.D"
