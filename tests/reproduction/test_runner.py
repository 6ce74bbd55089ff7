"""Jobs are run once, each failure is named, and ``python -m reproduction tabular`` works as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from fairalm import InputError
from reproduction.experiment import Job
from reproduction.runner import Runner

ROOT = Path(__file__).parents[2]
SMALL = ("tabular", "--tables", "german", "--rows", "plain,constant", "--seeds", "2")


@dataclass(frozen=True)
class Square(Job):
    """A job that fails at 0 and, once, stops everything at 2."""

    number: int
    log: Path | None = field(default=None, compare=False)

    @property
    def name(self):
        return f"square-{self.number}"

    def run(self, data_dir):
        if self.number == 0:
            raise ZeroDivisionError("on purpose")
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{self.number} ")
            if self.number == 2 and self.log.read_text().count("2") == 1:
                raise KeyboardInterrupt
        return {"square": self.number**2, "pair": (1, float("nan"))}


def test_nothing_is_run_twice(tmp_path, capsys):
    run, jobs = Runner(tmp_path, processes=1), [Square(n, tmp_path / "log") for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        run(jobs)
    assert [run.read(job) is not None for job in jobs] == [True, False, False]
    results = run(jobs)
    assert [result["square"] for result in results] == [1, 4, 9]
    assert (tmp_path / "log").read_text() == "1 2 2 3 "
    assert [result["config"] for result in results] == [{"number": n} for n in (1, 2, 3)]
    assert [result["pair"] for result in results] == [[1, None]] * 3  # plain JSON, whether kept or just made
    assert "1 of 3 jobs are in" in capsys.readouterr().out
    assert run(jobs) == results


def test_a_job_that_fails_does_not_stop_the_others(tmp_path, capsys):
    run = Runner(tmp_path, processes=1)
    assert [result["square"] for result in run([Square(0), Square(4)])] == [16]
    assert run.n_failed == 1
    assert "Warning: square-0 failed" in capsys.readouterr().err
    with pytest.raises(InputError, match="Every job failed; see the warnings above"):
        run([Square(0)])


def test_what_is_kept_must_fit(tmp_path):
    run, job = Runner(tmp_path, processes=1), Square(5)
    run([job])
    path = tmp_path / "jobs" / "square-5.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"config": {"number": 6}}))
    with pytest.raises(InputError, match="other settings"):
        run.read(job)
    for text in ("{", "[]", "{}"):
        path.write_text(text)
        with pytest.raises(InputError, match="not a job"):
            run.read(job)


def test_table_and_files(run, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("vl_convert")
    folder = tmp_path / "here" / "table"
    done = run(*SMALL, "--jobs", "1", "-o", folder)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines()[:-2])) <= 80
    assert "German, without it" in done.out
    assert done.out.splitlines()[-1] == f"Page: {folder / 'report-german.html'}"
    files = {"table.md", "table.csv", "table.tex", "tradeoff-german.png", "report-german.html", "jobs"}
    assert files == {path.name for path in folder.iterdir()}
    assert len(pd.read_csv(folder / "table.csv")) == 8
    done = run(*SMALL, "--jobs", "1", "-o", folder, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["failed"] == 0
    assert len(json.loads(done.out)["table"]) == 8


def test_killed_and_started_again(tmp_path):
    pytest.importorskip("fairlearn")
    command = [sys.executable, "-m", "reproduction", "tabular", "--tables", "german", "-o", str(tmp_path)]
    command += ["--rows", "hardt,donini,plain", "--seeds", "3", "--jobs", "2"]
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begun = subprocess.Popen(command, start_new_session=True, **quiet)
    jobs = tmp_path / "jobs"
    while not (jobs.is_dir() and len(list(jobs.glob("*.json"))) >= 2):
        assert begun.poll() is None
        time.sleep(0.02)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    before = {path.name: path.stat().st_mtime_ns for path in jobs.glob("*.json")}
    assert 2 <= len(before) < 18
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(before)} of 18 jobs are in" in done.stdout
    after = {path.name: path.stat().st_mtime_ns for path in jobs.glob("*.json")}
    assert len(after) == 18
    assert before.items() <= after.items()


def test_on_a_dask_cluster(run, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        done = run(*SMALL, "-o", tmp_path / "dask", "--dask", cluster.scheduler_address)
    assert (done.code, done.err) == (0, "")
    done = run(*SMALL, "-o", tmp_path / "here", "--jobs", "1")
    assert (done.code, done.err) == (0, "")
    there, here = ((tmp_path / name / "table.csv").read_text() for name in ("dask", "here"))
    assert there == here


def test_bad_options(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for options, words in [
        (("--jobs", "0"), "--jobs must be 1 or more"),
        (("--seeds", "none"), "--seeds: must be a whole number of at least 1; got 'none'"),
        (("--tables", "adults"), "there is no data set 'adults'; there are adult, compas"),
        (("--rows", ","), "no method is named"),
        (("--row", "plain"), "--row"),
        (("--tables", "law"), "lsac.csv is not in"),
        (("--tables", "german", "--dask", "tcp://127.0.0.1:9"), "no Dask scheduler at tcp://127.0.0.1:9"),
    ]:
        done = run("tabular", *options, "-o", tmp_path / "table")
        assert (done.code, done.out) == (2, "")
        assert words in done.err
        assert len(done.err.splitlines()) == 1
        assert not list((tmp_path / "table").glob("*"))


def test_help_names_every_option_and_quick_changes_the_defaults(run):
    done = run("tabular", "--help")
    assert done.code == 0
    assert "python -m reproduction tabular --seeds 3" in done.out
    assert "Default: 10; 1 with --quick." in " ".join(done.out.split())
    assert run().code == 2
    assert "tabular   standard data sets" in run("--help").out
