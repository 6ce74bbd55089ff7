"""``fairalm reproduce tabular`` as a user types it: files, a kill in the middle, a Dask cluster, bad options."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

QUICK = ("--tables", "german", "--rows", "plain,constant", "--seeds", "2")


def test_table_and_files(run, tmp_path):
    code, out, err = run("reproduce", "tabular", *QUICK, "--jobs", "1", "-o", tmp_path / "here" / "table")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines()[:-2])) <= 80
    assert "German, without it" in out
    folder = tmp_path / "here" / "table"
    assert out.splitlines()[-1] == f"Page: {folder / 'report-german.html'}"
    assert {"table.md", "table.csv", "table.tex", "tradeoff-german.png", "report-german.html", "cells"} <= {
        p.name for p in folder.iterdir()
    }
    assert len(pd.read_csv(folder / "table.csv")) == 8
    code, out, err = run("reproduce", "tabular", *QUICK, "--jobs", "1", "-o", folder, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["failed"] == 0


def test_killed_and_started_again(tmp_path):
    command = [sys.executable, "-m", "fairalm", "reproduce", "tabular", "--tables", "german", "-o", str(tmp_path)]
    command += ["--rows", "hardt,donini,plain", "--seeds", "3", "--jobs", "2"]
    begun = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    cells = tmp_path / "cells"
    while not (cells.is_dir() and len(list(cells.glob("*.json"))) >= 2):
        assert begun.poll() is None
        time.sleep(0.02)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    before = {path.name: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert 2 <= len(before) < 18
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(before)} of 18 cells are in" in done.stdout
    after = {path.name: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert len(after) == 18
    assert before.items() <= after.items()


def test_on_a_dask_cluster(run, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        code, _, err = run("reproduce", "tabular", *QUICK, "-o", tmp_path / "dask", "--dask", cluster.scheduler_address)
    assert (code, err) == (0, "")
    code, _, err = run("reproduce", "tabular", *QUICK, "-o", tmp_path / "here", "--jobs", "1")
    assert (code, err) == (0, "")
    there, here = ((tmp_path / name / "table.csv").read_text() for name in ("dask", "here"))
    assert there == here


def test_bad_options(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for options, words in [
        (("--jobs", "0"), "--jobs must be 1 or more"),
        (("--tables", "adults"), "adults"),
        (("--rows", ","), "No method is named"),
        (("--tables", "law"), "lsac.csv is not in"),
        (("--tables", "german", "--dask", "tcp://127.0.0.1:9"), "no Dask scheduler at tcp://127.0.0.1:9"),
    ]:
        code, out, err = run("reproduce", "tabular", *options, "-o", tmp_path / "table")
        assert (code, out) == (2, "")
        assert words in err
        assert len(err.splitlines()) == 1
        assert not list((tmp_path / "table").glob("*"))
