"""The command, mounted on an app of its own, on a tiny setting."""

import json

import pandas as pd
import pytest
import typer
from fairalm.cli.reproduce_theory import theory
from typer.testing import CliRunner

from fairalm.cli._shell import Guarded
from fairalm.exceptions import InputError
from reproduction.theory import run_study

TINY = ("--rounds", "60", "--models", "4", "--games", "2", "--rows", "2500")
app = typer.Typer(cls=Guarded, rich_markup_mode=None)
app.command("theory")(theory)
app.command("other")(lambda: None)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*args):
        done = CliRunner().invoke(app, ["theory", *map(str, args)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr

    return call


def test_table_and_files(run, tmp_path):
    code, out, err = run(*TINY, "-o", "here/there")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "PP linear (the paper:" in out
    assert "fails" in out  # a finding, not an error
    folder = tmp_path / "here" / "there"
    written = json.loads((folder / "theory.json").read_text())
    claims = {claim["name"]: claim for claim in written["checks"]}
    assert claims["second case, η = 1/T"]["holds"]
    assert not claims["PP linear (the paper: it is not)"]["holds"]
    assert claims["lemma, main text"]["slack"] >= -1e-11
    assert written["config"] == {"rounds": 60, "models": 4, "games": 2, "seed": 0}
    curves = pd.read_csv(folder / "theory.csv")
    assert curves["T"].max() == 60
    assert curves["family"].nunique() == 3
    assert (folder / "theory.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_all_on_stdout_and_a_seed_repeats(run):
    code, out, err = run(*TINY, "--seed", 3, "--json")
    assert (code, err) == (0, "")
    first, again = json.loads(out), json.loads(run(*TINY, "--seed", 3, "--json")[1])
    assert first["checks"] == again["checks"]
    assert first["picture"].endswith("theory.png")


def test_errors_are_one_sentence(run, tmp_path):
    code, out, err = run("--rows", 10)
    assert (code, out) == (2, "")
    assert err.startswith("Error: `rows` must lie above 2000")
    (tmp_path / "file").write_text("")
    code, _, err = run(*TINY, "-o", "file")
    assert code == 2
    assert "file" in err


def test_study_refuses_garbage():
    with pytest.raises(InputError, match="at least 2"):
        run_study(1)
    with pytest.raises(InputError, match="not be negative"):
        run_study(10, n_games=-1)
