"""An interrupt at any moment ends in one line and exit code 130."""

import pytest

INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"


def test_while_libraries_are_imported(console, tmp_path):
    (tmp_path / "typer").mkdir()
    (tmp_path / "typer" / "__init__.py").write_text(INTERRUPT)
    assert console("list", PYTHONPATH=tmp_path) == (130, "", "Interrupted.\n")


def test_while_a_command_works(console, table, tmp_path):
    (tmp_path / "mine.py").write_text(INTERRUPT)
    before = sorted(tmp_path.rglob("*"))
    options = ("--target", "hired", "--protected", "sex", "--constraint", "mine:Mine", "-o", "r")
    code, out, err = console("train", table, *options, PYTHONDONTWRITEBYTECODE="1")
    assert (code, out, err) == (130, "", "Interrupted.\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("processes", ["abc", "", "-1"])
def test_a_broken_variable_of_torchrun_is_named(run, table, monkeypatch, processes):
    monkeypatch.setenv("WORLD_SIZE", processes)
    code, _, err = run("train", table, "--target", "hired", "--protected", "sex", "-o", "r")
    assert code == 2
    assert "WORLD_SIZE" in err
