import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from fairalm.cli import app

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def one_thread():
    """Workers side by side must not fight over the cores with threads of their own."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # output stays within 80 all the same

    def call(*args):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call


@pytest.fixture
def console(tmp_path):
    """The same through a real process."""

    def call(*args, **env):
        if "PYTHONPATH" in env:  # comes before what is there, such as the folder of this source tree
            env["PYTHONPATH"] = os.pathsep.join([str(env["PYTHONPATH"]), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-W", "default", "-m", "fairalm", *map(str, args)]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **ONE_THREAD, **env}, capture_output=True, timeout=120
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return call


@pytest.fixture
def people():
    """A made-up table with two groups, of which one is favoured."""
    rng = np.random.default_rng(0)
    n = 600
    sex = rng.choice(["F", "M"], n)
    skill = rng.normal(size=n) + 0.5 * (sex == "M")
    hired = np.where(skill + 0.7 * rng.normal(size=n) > 0, "yes", "no")
    town = rng.choice(["a", "b", "c"], n)
    return pd.DataFrame({"skill": skill.round(3), "town": town, "sex": sex, "hired": hired})


@pytest.fixture
def table(tmp_path, people):
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.fixture
def trained(run, table):
    """A run in the folder r."""
    assert run("train", table, "--target", "hired", "--protected", "sex", "-o", "r")[0] == 0
