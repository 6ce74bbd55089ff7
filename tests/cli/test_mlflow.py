"""``--mlflow`` against MLflow's own store of files."""

import json

import pytest

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A tracking store in a folder; a client that reads it."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "hiring")
    return lambda: mlflow.MlflowClient((tmp_path / "store").as_uri())


@pytest.mark.filterwarnings("ignore::Warning")  # of MLflow
@pytest.mark.parametrize("command", ["train", "frontier"])
def test_a_run_is_logged(run, table, tmp_path, store, command):
    args = (command, table, "--target", "hired", "--protected", "sex", "--tol", "0.05", "-o", "r", "--mlflow")
    code, out, err = run(*args)
    assert code == 0, err
    client = store()
    experiment = client.get_experiment_by_name("hiring")
    (logged,) = client.search_runs([experiment.experiment_id])
    assert f"MLflow: run {logged.info.run_id}" in out
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    for end, key in {"": "value", "_low": "low", "_high": "high"}.items():
        for name in ("error", "deo"):
            assert logged.data.metrics[f"test_{name}{end}"] == metrics["splits"]["test"][name][key]
            assert logged.data.metrics[f"plain_test_{name}{end}"] == metrics["plain"]["splits"]["test"][name][key]
    assert "train_error_low" not in logged.data.metrics
    assert logged.data.params["tol"] == "0.05"
    assert logged.data.params["protected"] == "sex"
    assert logged.data.tags["fairalm.verdict"] == metrics["constraint"]["verdict"]
    files = {file.path for file in client.list_artifacts(logged.info.run_id)}
    assert {"metrics.json", "model.skops"} <= files
    assert ("report.html" in files) == (tmp_path / "r" / "report.html").exists()  # it needs an extra


@pytest.mark.filterwarnings("ignore::Warning")
def test_a_store_that_is_not_there(run, table, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    code, _, err = run("train", table, "--target", "hired", "--protected", "sex", "-o", "r", "--mlflow")
    assert code == 2
    assert "Error: The run is in r, but MLflow did not take it: " in err
    assert (tmp_path / "r" / "metrics.json").is_file()


def test_without_mlflow(run, table, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    code, _, err = run("train", table, "--target", "hired", "--protected", "sex", "-o", "r", "--mlflow")
    assert code == 2
    assert 'pip install "fairalm[mlflow]"' in err
    assert not (tmp_path / "r").exists()
