"""`--estimator mlp`: a net through the same path, after a kill, and under torchrun."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from fairalm import load

pytest.importorskip("torch")

QUICK = ("--estimator", "mlp", "--epochs", 4, "--tol", 1)


def test_a_net_on_a_table(run, table, tmp_path):
    code, out, err = run("train", table, "--target", "hired", "--protected", "sex", *QUICK, "-o", "r")
    assert code == 0, err
    assert "Method pi-control on mlp: 4 epochs in" in out
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        "config.json",
        "history.csv",
        "manifest.json",
        "metrics.json",
        "model.skops",
        "report.html",
    ]
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["config"]["estimator"] == "mlp"
    assert metrics["training"]["optimality_gap"] is None  # a net has no certificate
    assert len(metrics["history"]["epoch"]) == 4
    assert not (tmp_path / "r.checkpoint").exists()
    code, _, err = run("predict", "r", table, "-o", "p.csv")
    assert code == 0, err
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert set(predicted["prediction"]) <= {"yes", "no"}
    assert ((predicted["score"] > 0.5) == (predicted["prediction"] == "yes")).all()


def test_the_gap_shrinks(run, tmp_path):
    code, out, err = run("train", "compas", "--estimator", "mlp", "--tol", 0.03, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["training"]["gap"] <= 0.03
    assert result["plain"]["splits"]["train"]["deo"]["value"] > 0.2


def test_the_plain_method_is_a_method_too(run, tmp_path):
    code, _, err = run("train", "compas", *QUICK, "--method", "unconstrained", "-o", "r")
    assert code == 0, err
    result = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert result["splits"]["test"]["error"] == result["plain"]["splits"]["test"]["error"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--estimator", "mlp", "--method", "secant"), "--method secant is not for --estimator mlp"),
        (("--method", "pi-control"), "--method pi-control is not for --estimator logistic"),
        (("--estimator", "mlp", "--max-iter", 3), "--max-iter is not for --estimator mlp"),
        (("--estimator", "mlp", "--predictor", "mixture"), "--predictor is not for --estimator mlp"),
        (("--estimator", "mlp", "--dual-signal", "crossfit"), "--dual-signal crossfit is not for nets"),
        (("--estimator", "mlp", "--device", "quantum"), "no device 'quantum'"),
        (("--epochs", 3), "--epochs is not for --estimator logistic"),
        (("--resume",), "--resume is not for --estimator logistic"),
        (("--estimator", "mpl"), "did you mean 'mlp'"),
    ],
)
def test_options_that_do_not_go_together(run, tmp_path, options, match):
    code, _, err = run("train", "compas", *options, "-o", "r")
    assert code == 2
    assert match in err
    assert len(err.strip().splitlines()) == 1
    assert not any(tmp_path.iterdir())


def test_compare_says_that_nets_are_for_train(run):
    code, _, err = run("compare", "compas", "--estimator", "mlp")
    assert code == 2
    assert "only fairalm train can train" in err


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
def test_a_killed_run_goes_on_to_the_same_end(run, table, tmp_path, signal_name):
    options = ("--target", "hired", "--protected", "sex", "--estimator", "mlp", "--epochs", 60, "--tol", 1)
    command = [sys.executable, "-m", "fairalm", "train", str(table), *map(str, options), "-o", "r"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE
    ) as process:
        checkpoint = tmp_path / "r.checkpoint" / "fair" / "history.json"
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(getattr(signal, signal_name))
    assert process.returncode != 0
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".csv", ".lock")] == ["r.checkpoint"]
    code, _, err = run("train", table, *options, "-o", "r")
    assert code == 2
    assert "pass --resume" in err
    code, _, err = run("train", table, *options, "-o", "r", "--resume", "--seed", 5)
    assert code == 2
    assert "in the checkpoint of" in err
    code, _, err = run("train", table, *options, "-o", "r", "--resume")
    assert code == 0, err
    code, _, err = run("train", table, *options, "-o", "whole")
    assert code == 0, err
    ends = [load(tmp_path / name / "model.skops") for name in ("r", "whole")]
    for name, value in ends[1].parameters_.items():
        assert (ends[0].parameters_[name] == value).all()
    pd.testing.assert_frame_equal(ends[0].history_, ends[1].history_)


def test_two_processes_train_the_net_of_one(run, tmp_path, torchrun):
    options = ("train", "compas", *QUICK)
    done = torchrun("-m", "fairalm", *options, "-o", "two")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("Written to two") == 1
    assert not (tmp_path / "two.checkpoint").exists()
    code, _, err = run(*options, "-o", "one")
    assert code == 0, err
    two, one = (load(tmp_path / name / "model.skops") for name in ("two", "one"))
    for name, value in one.parameters_.items():
        np.testing.assert_allclose(two.parameters_[name], value, atol=1e-4)


def test_torchrun_is_for_nets(torchrun):
    done = torchrun("-m", "fairalm", "train", "compas")
    assert done.returncode != 0
    assert "start it without torchrun" in done.stderr


def test_a_process_of_torchrun_that_dies_costs_nothing_finished(run, table, tmp_path):
    """The other one says how to go on, and the same command with --resume ends as one that was not disturbed."""
    options = ("train", table, "--target", "hired", "--protected", "sex", "--estimator", "mlp", "--tol", 1)
    options = tuple(map(str, (*options, "--epochs", 100, "-o", "r")))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "fairalm"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([*launch, *options], cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as parent:
        history = tmp_path / "r.checkpoint" / "fair" / "history.json"
        deadline = time.monotonic() + 60
        while not history.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        found = subprocess.run(["pgrep", "-P", str(parent.pid)], capture_output=True, check=True, text=True)
        os.kill(max(map(int, found.stdout.split())), signal.SIGKILL)  # the last to be started
        said = parent.stderr.read().decode()
    assert parent.returncode != 0
    assert "Error: Another process of torchrun has ended" in said
    assert "with --resume" in said
    assert [path.name for path in tmp_path.iterdir() if path.name != table.name] == ["r.checkpoint"]
    done = len(json.loads(history.read_text())["epoch"])
    resumed = subprocess.run([*launch, *options, "--resume"], cwd=tmp_path, env=environment, capture_output=True)
    assert resumed.returncode == 0, resumed.stderr[-2000:]
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert 0 < done < len(metrics["history"]["epoch"]) == 100
