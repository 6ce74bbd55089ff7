"""No escape code of a table, a file name or an option reaches the terminal, in results, warnings or errors."""

import pytest

CLEAR, TITLE, BELL = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m"
QUESTION = ("--target", "hired", "--protected", "sex")
COMMANDS = {
    "train": QUESTION,
    "frontier": QUESTION,
    "compare": (*QUESTION, "--methods", "fairalm", "--seeds", 1),
    "lda": (*QUESTION, "--reference", f"M{BELL}", "--acceptance", 0.5),
    "audit": ("--decision", "hired", "--protected", "sex"),
}


@pytest.fixture
def escaped(people, tmp_path):
    """People whose groups, towns and file name hold escape codes."""
    people["sex"] = people["sex"].map({"F": f"F{CLEAR}\u2028{TITLE}", "M": f"M{BELL}"})
    people["town"] += TITLE
    file = tmp_path / f"people{CLEAR}.csv"
    people.to_csv(file, index=False)
    return file.name


def assert_is_text(*outputs):
    for output in outputs:
        assert {letter for letter in output if not letter.isprintable()} <= {"\n"}


@pytest.mark.parametrize("command", COMMANDS)
def test_results(run, escaped, command):
    out = f"out{CLEAR}.json" if command == "compare" else f"out{CLEAR}"
    code, printed, err = run(command, escaped, *COMMANDS[command], "-o", out)
    assert code == 0, err
    assert "out [2J" in printed
    assert_is_text(printed, err)


def test_results_of_a_run(run, escaped):
    pytest.importorskip("vl_convert")
    assert run("train", escaped, *QUESTION, "-o", f"r{CLEAR}")[0] == 0
    for arguments in (("predict", escaped, "-o", "out.csv"), ("card",), ("report", "-o", "r.html"), ("check",)):
        code, printed, err = run(arguments[0], f"r{CLEAR}", *arguments[1:])
        assert code == 0, err
        assert_is_text(printed, err)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("wrong", ["data", "column", "out"])
def test_errors(run, escaped, command, wrong):
    given = [f"no{CLEAR}.csv" if wrong == "data" else escaped, *COMMANDS[command]]
    given += ["--protected", f"sax{TITLE}"] if wrong == "column" else []
    given += ["-o", f"{escaped}/x.json" if command == "compare" else f"{escaped}/x"] if wrong == "out" else []
    code, printed, err = run(command, *given)
    assert (code, printed) == (2, "")
    assert len(err.splitlines()) == 1, err
    assert_is_text(err)


def test_errors_of_options(run, escaped):
    for given in (("--tol", f"x{CLEAR}"), (f"--no{CLEAR}", "x"), ("--seed", CLEAR)):
        code, printed, err = run("train", escaped, *QUESTION, *given)
        assert code == 2
        assert_is_text(printed, err)
    code, _, err = run(f"tr{CLEAR}")
    assert code == 2
    assert_is_text(err)
