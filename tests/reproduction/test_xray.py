"""Nets on X-rays: what a cell holds, what the tables make of it, and the command, on made-up pictures."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("torch", reason="nets need torch")
pytest.importorskip("PIL", reason="reading pictures needs pillow")
from PIL import Image

from fairalm.datasets import split
from fairalm.datasets.images import load_xray
from fairalm.measures.chance import chance_gap
from fairalm.report.facts import gather
from fairalm.vision.train import load_run
from reproduction.old import invoke
from reproduction.xray.cell import Cell, all_cells, run_cell
from reproduction.xray.changes import changes
from reproduction.xray.figure import draw, draw_profiles
from reproduction.xray.page import as_run
from reproduction.xray.pages import markdown
from reproduction.xray.paper import CLAIMS
from reproduction.xray.settings import TEST
from reproduction.xray.summary import claim_rows, claims, rows, runs, small_print, summarise
from reproduction.xray.variance import variance_ratio

PAGE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
COUNTS = {("MontgomerySet", 0): 8, ("MontgomerySet", 1): 8, ("ChinaSet_AllFiles", 0): 12, ("ChinaSet_AllFiles", 1): 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty pictures in the official layout."""
    root, rng = tmp_path_factory.mktemp("data") / "xray", np.random.default_rng(0)
    for (name, label), n in COUNTS.items():
        place = root / name / "CXR_png"
        place.mkdir(parents=True, exist_ok=True)
        for i in range(n):
            pixels = rng.integers(0, 120, (32, 32)) + 100 * label
            Image.fromarray(pixels.astype(np.uint8)).save(place / f"X_{i:04d}_{label}.png")
    return root.parent


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path_factory.getbasetemp() / "xray-cache"))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)


def result(rule, seed, errors, deo):
    """A cell's result as far as the tables need it; the last of `errors` is the final one."""
    config = Cell(rule, seed, 0.1 if rule == "fairalm" else None, epochs=len(errors)).config
    profile = {f"{part}_{name}": errors for part in ("train", "test") for name in ("error", "deo")}
    return {
        "config": config,
        "error": {"value": errors[-1], "low": 0.0, "high": 1.0},
        "deo": {"value": deo, "signed": deo},
        "rates": {name: {"tpr": 1 - deo, "fpr": 0.1, "error": 0.1} for name in ("Montgomery", "Shenzhen")},
        "positives": [14, 84],
        "chance": 0.1,
        "profile": profile,
    }


@pytest.fixture
def results():
    """Errors lower by 4 to 6 points; DEO alike; 20 % reached sooner once, and once by the fair net only."""
    return [
        result("unconstrained", 0, [0.5, 0.3, 0.20], 0.10),
        result("fairalm", 0, [0.5, 0.2, 0.16], 0.20),
        result("unconstrained", 1, [0.5, 0.4, 0.30], 0.30),
        result("fairalm", 1, [0.4, 0.3, 0.25], 0.10),
        result("unconstrained", 2, [0.5, 0.4, 0.23], 0.10),
        result("fairalm", 2, [0.5, 0.4, 0.17], 0.20),
        result("hospital", 0, [0.1, 0.1, 0.02], 0.0),
    ]


def test_a_cell_is_measured_on_what_it_was_not_trained_on(folder, tmp_path):
    cell = Cell("fairalm", 3, 0.1, epochs=2, size=32)
    found = run_cell(cell, str(folder), nets=tmp_path, kept=3)
    assert json.loads(json.dumps(found)) == found
    data = load_xray(folder, size=32)
    rest, held = split(data.y, data.groups, test_size=TEST, random_state=3)
    assert (len(rest), len(held)) == (30, 10)
    model, settings = load_run(tmp_path / "fairalm-0.1")
    assert settings["method"] == "FairALM(eta=0.1, eta_beta=0.0)"
    test = data.rows(held)
    assert found["error"]["value"] == pytest.approx(float((model.predict(test) != test.y).mean()))
    assert found["profile"]["test_error"][-1] == pytest.approx(found["error"]["value"])
    assert found["profile"]["test_deo"][-1] == pytest.approx(found["deo"]["value"])
    assert len(found["profile"]["test_deo_high"]) == 2
    assert found["positives"] == [2, 3]
    hits = sum(found["rates"][name]["tpr"] * n for name, n in zip(("Montgomery", "Shenzhen"), (2, 3), strict=True))
    assert found["chance"] == pytest.approx(chance_gap(hits / 5, 2, 3))
    assert found["entry"]["deo"] == {**found["deo"], "split": found["entry"]["deo"]["split"]}
    again = run_cell(cell, str(folder))
    assert {**again, "seconds": 0} == {**found, "seconds": 0}
    facts = gather([as_run([found], "typed", str(folder))], min_cell=1)
    (net,) = facts["models"]
    assert (net["name"], net["kind"], net["settings"]["eta"]) == ("fairalm, eta 0.1", "fairalm", 0.1)
    assert (net["gap"]["value"], net["error"]["value"]) == (found["deo"]["value"], found["error"]["value"])
    assert net["history"]["error"] == [round(value, 4) for value in found["profile"]["test_error"]]
    assert facts["runs"][0]["split"] == "tested on 25 % of the people, seed 3"


def test_the_net_of_the_hospital(folder):
    found = run_cell(Cell("hospital", 0, epochs=1, size=32), str(folder))
    assert set(found["rates"]) == {"0", "1"}  # its groups are the sick and the healthy
    assert found["positives"] == [3, 3]  # Shenzhen's


def test_cells_share_seeds():
    cells = all_cells(seeds=2, first=5, etas=(0.1, 1.0), pi_control=True)
    assert [cell.name for cell in cells[::2]] == [
        "unconstrained-5",
        "fairalm-0.1-5",
        "fairalm-1-5",
        "pi-control-5",
        "hospital-5",
    ]
    assert [cell.seed for cell in cells] == [5, 6] * 4 + [5]


def test_lines_by_hand(results):
    nets = runs(results)
    assert nets["reached"].tolist() == [3.0, 2.0, np.inf, np.inf, np.inf, 3.0]
    table = summarise(nets).set_index("label")
    assert table.loc["unconstrained", "error"] == pytest.approx(0.73 / 3)
    assert table.loc["unconstrained", "error_sd"] == pytest.approx(np.std([0.2, 0.3, 0.23], ddof=1))
    assert table.loc["unconstrained", ["median", "never"]].tolist() == [np.inf, 2]
    assert table.loc["fairalm, eta 0.1", ["median", "never"]].tolist() == [3.0, 1]
    text = rows(table.reset_index())
    assert text[0][-1] == "> 3 (2 never)"
    assert text[1][-1] == "3 (1 never)"
    assert "14 of Montgomery and 84 of Shenzhen" in small_print(nets, results)


def test_claims_by_hand(results):
    table = claims(runs(results)).set_index("claim")
    assert set(table.index) == set(CLAIMS)
    mean = table.loc["mean error"]
    half = stats.t.ppf(0.975, 2) * 0.01 / np.sqrt(3)
    assert [mean["value"], mean["low"], mean["high"]] == pytest.approx([-0.05, -0.05 - half, -0.05 + half])
    assert mean["found"] == "shown"
    ratio = table.loc["variance of error"]
    assert ratio["value"] == pytest.approx(np.var([0.16, 0.25, 0.17]) / np.var([0.2, 0.3, 0.23]))
    assert ratio["found"] == "open"
    assert table.loc["mean DEO", "value"] == pytest.approx(0.0)
    epochs = table.loc["epochs to 20 % error"]
    assert [epochs["sooner"], epochs["later"], epochs["value"]] == [2, 0, 0.0]  # a seed that neither reaches is a tie
    assert epochs["found"] == "open"
    turned = [dict(r, error={**r["error"], "value": 1 - r["error"]["value"]}) for r in results]
    assert claims(runs(turned)).set_index("claim").loc["mean error", "found"] == "the opposite"


def test_what_else_changes(results):
    found = {name: (before, change) for _, name, before, change in changes(results)}
    before, change = found["true positive rate, Shenzhen"]
    assert before.value == pytest.approx(1 - 0.5 / 3)
    assert change.value == pytest.approx(0.0)
    assert change.low == pytest.approx(-stats.t.ppf(0.975, 2) * np.std([-0.1, 0.2, -0.1], ddof=1) / np.sqrt(3))
    assert found["error after epoch 1"][1].value == pytest.approx(-0.1 / 3)
    assert "| fairalm, eta 0.1 | error after epoch 2 | 36.7 [22.3, 51.0] | -6.7 [" in markdown(runs(results), results)


def test_one_seed_or_no_plain_net_says_less(results):
    one = claims(runs(results[:2]))
    assert set(one["found"]) == {"open"}
    assert claim_rows(one)[1][2] == "undefined"
    assert claims(runs([results[1]])).empty
    assert "lower in the paper" not in markdown(runs([results[1]]), [results[1]])


def test_variance_ratio_is_the_test_turned_round():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12)) + rng.normal(size=12)
    found = variance_ratio(x, 2 * y)
    assert found.value == pytest.approx(np.var(x) / np.var(2 * y))
    for edge in (found.low, found.high):  # a ratio at the edge is rejected at 5 % exactly
        scaled = 2 * y * np.sqrt(edge)
        assert stats.pearsonr(x + scaled, x - scaled).pvalue == pytest.approx(0.05)
    assert np.isnan(variance_ratio([1, 1, 1], [1, 2, 3]).value)
    assert np.isnan(variance_ratio([1, 2], [2, 1]).value)


def test_pictures(results, tmp_path):
    draw(runs(results), tmp_path / "boxes.png")
    draw_profiles(results, tmp_path / "profiles.png")
    for name in ("boxes", "profiles"):
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert np.asarray(picture).std() > 0


def test_command(folder, tmp_path, monkeypatch, page_facts, forget):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "xray", "--quick", "--seeds", "1", "--jobs", "1", "--data-dir", str(folder), "-o", "here"]
    done = invoke(command)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    out = tmp_path / "here"
    assert {path.name for path in out.iterdir()} >= {"table.md", "table.csv", "xray.png", "profiles.png", "cells"}
    assert len(list((out / "nets").iterdir())) == len(list((out / "cells").iterdir())) == 3
    assert len(pd.read_csv(out / "table.csv")) == 2
    assert done.stdout.splitlines()[-1] == "Page: here/report.html"
    kept = json.loads((out / "cells" / "fairalm-1-0.json").read_text())
    facts = page_facts(out / "report.html", kept["deo"])
    assert [model["name"] for model in facts["models"]] == ["fairalm, eta 1", "unconstrained"]  # not the hospital's
    forget(out / "cells" / "unconstrained-0.json")
    again = invoke([*command, "--json"])
    assert len(json.loads(again.stdout)["table"]) == 2
    assert len(page_facts(out / "report.html", kept["deo"])["models"]) == 1


@pytest.mark.parametrize(("more", "words"), [((), "FAIRALM_DATA"), (("--eta", "0.1,x"), "--eta must be positive")])
def test_one_sentence_before_any_work(tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    done = invoke(["reproduce", "xray", *more])
    assert done.exit_code != 0
    assert words in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not PAGE.is_file(), reason="the paper is not beside the project")
def test_the_claims_are_the_papers():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert r"lower variance in testset error and the DEO measure for FairALM" in text
    assert r"FairALM reaches $20\%$ testset error in fewer epochs" in text
    assert r"$25\%$ of the samples" in text
