"""Numbers that no model can use are refused in one sentence that names their column."""

import pytest

QUESTION = ("--target", "hired", "--protected", "sex")
COMMANDS = {
    "train": QUESTION,
    "frontier": QUESTION,
    "compare": (*QUESTION, "--methods", "fairalm", "--seeds", 1),
    "lda": (*QUESTION, "--reference", "M", "--acceptance", 0.5),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("value", "words"), [(1e300, "beyond 1e+100"), (-1e200, "beyond 1e+100"), ("inf", "infinite")])
def test_vast_numbers_are_refused(run, people, command, value, words):
    people.loc[3, "skill"] = float(value)
    people.to_csv("vast.csv", index=False)
    code, out, err = run(command, "vast.csv", *COMMANDS[command])
    assert (code, out) == (2, "")
    assert err.startswith("Error: Column 'skill' has 1 ")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("value", "words"), [(1e300, "beyond 1e+100"), ("inf", "infinite")])
def test_vast_numbers_are_not_predicted(run, people, table, tmp_path, value, words):
    assert run("train", table, *QUESTION, "-o", "r")[0] == 0
    people.loc[3, "skill"] = float(value)
    people.to_csv("vast.csv", index=False)
    code, out, err = run("predict", "r", "vast.csv", "-o", "out.csv")
    assert (code, out) == (2, "")
    assert err.startswith("Error: Column 'skill' has 1 ")
    assert words in err
    assert err.rstrip().endswith("replace or empty them.")
    assert not (tmp_path / "out.csv").exists()
