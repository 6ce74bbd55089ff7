"""Heads under seven methods: what a job returns, the tables made of it, and the command, on made-up images."""

import io
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="heads need torch")
pytest.importorskip("PIL", reason="reading images needs pillow")
pytest.importorskip("efficientnet_lite_pytorch", reason="features need the net's package")
import torch
from PIL import Image

from fairalm import InputError, select_nvp
from fairalm.datasets.images import VERB_PAIRS
from fairalm.measures import deo
from fairalm.nn import Features
from fairalm.report.facts import gather
from reproduction.experiment import markdown_of
from reproduction.page import Page, as_run, net_entry
from reproduction.verbs import Verbs, draw_profiles, draw_steadiness, draw_tradeoff, model
from reproduction.verbs import job as verbs_job
from reproduction.verbs.job import (
    KINDS,
    PAIRS,
    ROWS,
    SEVEN,
    HeadJob,
    Parts,
    choose,
    entry_of,
    figures,
    fit_head,
    keep_features,
    load_images,
    read_parts,
)
from reproduction.verbs.table import PAPER, blocks, differences, ranges, steadiness, summarise, sweeps, zeros

PAGE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
#: imSitu's cooking and driving
COOKING = {
    ("valid", 0, "man"): 26,
    ("valid", 0, "woman"): 16,
    ("valid", 1, "man"): 14,
    ("valid", 1, "woman"): 28,
    ("test", 0, "man"): 26,
    ("test", 0, "woman"): 17,
    ("test", 1, "man"): 12,
    ("test", 1, "woman"): 17,
}
SHORT = {**KINDS["imsitu"], "epochs": 3, "batch_size": 32, "lr": 0.05}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path_factory.getbasetemp() / "verbs-cache"))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)
    monkeypatch.setattr(verbs_job, "FRESH", 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Waterbirds and imSitu in their official layouts, a few images of each kind."""
    root, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)

    def paint(path, label, group):
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 80, (24, 24, 3)) + 100 * np.array([label, group, 0])
        Image.fromarray(pixels.astype(np.uint8)).save(path)

    birds = [
        {"img_filename": f"{split}/{y}{place}{i}.png", "y": y, "place": place, "split": split}
        for split, y, place, i in product(range(3), range(2), range(2), range(4))
    ]
    for bird in birds:
        paint(root / "waterbirds" / bird["img_filename"], bird["y"], bird["place"])
    pd.DataFrame(birds).to_csv(root / "waterbirds" / "metadata.csv", index=False)
    people = [
        {"split": split, "image": f"{verb}_{split}{gender}{i}.jpg", "verb": verb, "gender": gender}
        for split, pair, gender, i in product(("train", "val", "test"), VERB_PAIRS, ("man", "woman"), range(2))
        for verb in pair
    ]
    for person in people:
        place = root / "imsitu" / "of500_images_resized" / person["image"]
        paint(place, person["verb"] in PAIRS, person["gender"] == "man")
    pd.DataFrame(people).to_csv(root / "imsitu" / "labels.csv", index=False)
    return root


def made_up(n, seed, correlation):
    """Two columns: a noisy label, and a group that mostly goes with it in training."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    group = np.where(rng.random(n) < correlation, y, 1 - y)
    x = np.column_stack([y + 0.7 * rng.normal(size=n), group + 0.3 * rng.normal(size=n)])
    return Features(torch.tensor(x, dtype=torch.float32), y, group)


@pytest.fixture(scope="module")
def parts():
    return Parts(made_up(600, 0, 0.9), made_up(400, 1, 0.5), made_up(400, 2, 0.5), dual=made_up(400, 3, 0.5))


def test_printed_numbers_are_those_of_the_paper():
    if not PAGE.is_file():
        pytest.skip(f"there is no {PAGE}")
    text = PAGE.read_text(encoding="utf-8")
    table = text[: text.index("tab:imsitu-accs} \\footnotesize")].rpartition(r"\begin{table}")[2]
    lines = [line for line in table.splitlines() if line.count("&") == 8 and re.search(r"\d", line)]
    found = [[float(number) for number in re.findall(r"& *([\d.]+)", line)] for line in lines]
    assert found == [[number for entry in PAPER[method] for number in entry] for method in SEVEN]


def test_parts_of_waterbirds(folder, tmp_path):
    for _ in range(2):  # the second time, nothing is run
        keep_features("waterbirds", 0, 96, tmp_path, data_dir=str(folder), imsitu=None)
    found = read_parts("waterbirds", 3, 96, tmp_path)
    assert [len(part.y) for part in (found.train, found.dual, found.choose, found.test)] == [16, 8, 8, 16]
    assert found.train.x.mean(dim=0).abs().max() < 1e-4
    assert found.fresh is None
    for part in (found.dual, found.choose):
        assert np.bincount(2 * part.y + part.group).tolist() == [2, 2, 2, 2]
    other = read_parts("waterbirds", 4, 96, tmp_path)
    assert torch.equal(found.test.x, other.test.x)
    assert not torch.equal(found.choose.x, other.choose.x)  # the seed draws the halves


def test_scenes_have_imsitus_counts_and_many_more(folder, tmp_path):
    for name in ("scenes-fresh", "scenes-washing"):
        keep_features(name, 1, 48, tmp_path, data_dir=str(folder), imsitu=None)
    found = read_parts("scenes-washing", 1, 48, tmp_path)
    assert [len(part.y) for part in (found.train, found.choose, found.test, found.fresh)] == [8, 8, 8, 20]
    assert found.dual is None
    with pytest.raises(InputError, match="held-out images"):
        fit_head(found, {"eta": 1.0}, short("fairalm-heldout"))


def short(method, **changes):
    """The config of a job, as far as a head needs it."""
    return {"method": method, "seed": 5, **SHORT, **changes}


def measured(head, rows):
    return figures(entry_of(head, rows, ("a", "b")))


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")
@pytest.mark.parametrize("name", ROWS)
def test_every_method_trains_the_same_head_whatever_it_is_measured_on(parts, name):
    row = ROWS[name]
    fits = [fit_head(each, row.settings[0], short(name)) for each in (parts._replace(test=parts.choose), parts)]
    assert torch.equal(fits[0][0].weight, fits[1][0].weight)
    assert len(fits[0][1]) == (SHORT["epochs"] if row.method else 0)
    if row.method:
        last, again = fits[1][1].iloc[-1], measured(fits[1][0], parts.test)
        assert (last["valid_error"], last["valid_deo"]) == (again["error"]["value"], again["deo"]["value"])


def test_a_held_out_dual_closes_the_gap(parts):
    gap = {}
    for name, setting in (("unconstrained", {}), ("fairalm-heldout", {"eta": 0.1})):
        head, _ = fit_head(parts, setting, short(name, seed=0, epochs=10, lr=0.1))
        gap[name] = measured(head, parts.test)["deo"]["value"]
    assert gap["unconstrained"] > 0.4
    assert gap["fairalm-heldout"] < 0.2


def test_figures_by_hand():
    y, group = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 0, 0, 1, 1])
    found = figures(net_entry(y, np.array([1, -1, 1, 1, -1, -1, 1, 1]), group))
    assert (found["error"]["value"], found["deo"]["value"], found["worst"]["value"]) == (3 / 8, 0.5, 1.0)
    assert found["selection"] == 5 / 8
    assert found["worst"]["low"] < 1 == found["worst"]["high"]


def test_constant_heads_are_chosen_only_where_there_is_nothing_else():
    def run(error, gap, selection):
        return {"error": {"value": error}, "deo": {"value": gap}, "selection": selection}

    assert choose([run(0.2, 0.1, 0.4), run(0.22, 0.0, 0.0)]) == 0
    assert choose([run(0.2, 0.1, 0.0), run(0.22, 0.0, 0.0)]) == 1


def test_a_job_on_imsitu_itself(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "imsitu", SHORT)
    keep_features("imsitu-shaving", 0, 224, tmp_path, data_dir=None, imsitu=str(folder / "imsitu"))
    job = HeadJob("imsitu-shaving", "fairalm", 0, folder=tmp_path)
    result = json.loads(json.dumps({"config": job.config, **job.run()}))
    assert result["config"]["size"] == 224
    assert result["fresh"] is None
    values = [[run[name]["value"] for run in result["runs"]] for name in ("error", "deo")]
    constant = [run["selection"] in (0, 1) for run in result["runs"]]
    assert result["chosen"] == select_nvp(*values, constant=None if all(constant) else constant)
    assert len(result["history"]["deo"]) == SHORT["epochs"]
    assert result["history"]["error"][-1] == result["test"]["error"]["value"]
    images = load_images("imsitu-shaving", 0, 224, None, str(folder / "imsitu"))
    facts = gather([as_run(Page("report", "imsitu-shaving", images, [model(result)]), "typed")], min_cell=1)
    (head,) = facts["models"]
    assert (head["gap"]["value"], head["error"]["value"]) == tuple(result["test"][n]["value"] for n in ("deo", "error"))
    assert head["settings"]["eta"] == result["config"]["settings"][result["chosen"]]["eta"]
    assert [group["name"] for group in head["groups"]] == [group["name"] for group in facts["people"]["groups"]]


def test_jobs(tmp_path):
    jobs = Verbs(tmp_path, seeds=2).jobs()
    assert len({job.name for job in jobs}) == len(jobs) == 2 * (len(ROWS) + 4 * len(SEVEN))
    assert {job.data for job in jobs if ROWS[job.method].is_heldout or job.config["sweep"]} == {"waterbirds"}
    assert "imsitu-washing" in {job.data for job in Verbs(tmp_path, imsitu="imsitu").jobs()}


def made_figures(error, gap, low=0.0, high=1.0):
    worst = {"value": 2 * error, "low": low, "high": high}
    return {
        "error": {"value": error, "low": low, "high": high},
        "deo": {"value": gap, "low": low, "high": high},
        "worst": worst,
        "chance": 0.05,
        "selection": 0.3,
    }


def made_results():
    """Three seeds, whose DEO is 10, 20 and 30 %, and sweeps in which it grows by a step with each eta."""
    results = []
    for job in Verbs(Path("out"), seeds=3).jobs():
        gap = 0.1 * (1 + job.seed) * (job.method != "fairalm-heldout")
        slope = 0.01 if "fairalm" in job.method else 0.03
        sweep = [made_figures(0.2, slope * step) for step in range(len(job.config["sweep"]))]
        fresh = made_figures(0.2, 0.02) if job.data.startswith("scenes") else None
        history = {"error": [0.3, 0.2], "deo": [0.2, gap]} if ROWS[job.method].method else {}
        one = {"config": job.config, "runs": [], "chosen": 0, "test": made_figures(0.2, gap), "fresh": fresh}
        results.append({**one, "history": history, "sweep": sweep})
    return json.loads(json.dumps(results))


def test_tables():
    results = made_results()
    table = summarise(results).set_index(["data", "method"])
    birds, drawn = table.loc["waterbirds", "l2"], table.loc["scenes-cooking", "l2"]
    assert birds["deo"] == drawn["deo"] == pytest.approx(20.0)
    assert (birds["deo_low"], birds["deo_high"]) == (0.0, 100.0)  # of the shared test part
    assert drawn["deo_low"] == 0.0  # Student's would be below 0
    assert drawn["deo_high"] == pytest.approx(20 + 4.3027 * 10 / 3**0.5, abs=1e-2)  # Student's
    assert (drawn["one_low"], drawn["one_high"], drawn["fresh_deo"]) == (0, 100, pytest.approx(2.0))
    assert table.loc[("waterbirds", "fairalm-heldout"), "zeros"] == 3
    two = [result for result in results if result["config"]["seed"] < 2]
    few = summarise(two).set_index(["data", "method"]).loc["scenes-cooking", "l2"]
    assert (few["deo_low"], few["deo_high"]) == (0.0, 100.0)  # too few for an interval over the seeds
    assert differences(two).empty
    less = differences(results).set_index("method")
    assert "fairalm-heldout" not in less.index
    assert less.loc["l2", "deo"] == pytest.approx(-20.0)


def test_steadiness_by_hand():
    results = made_results()
    found = ranges(results)
    assert found.loc[("lagrangian", 0), "deo"] == pytest.approx(0.18)
    assert found.loc[("lagrangian", 0), "decade"] == pytest.approx(0.06)  # 0.01, 0.03 and 0.1
    assert found.loc[("lagrangian", 0), "useful"] == pytest.approx(2 / 7)  # DEO 0 and 3 of the plain head's 10
    assert found.loc[("fairalm", 1), "useful"] == 1.0
    means = steadiness(results).set_index("method")
    assert means.loc["FairALM", "deo"] == pytest.approx(6.0)
    assert means.loc["FairALM less Lagrangian", "deo"] == pytest.approx(-12.0)
    assert len(means) == 6 + 4  # not less itself
    scenes_alone = [result for result in results if result["config"]["data"] != "waterbirds"]
    assert steadiness(scenes_alone).empty


def test_text_and_figures():
    results = made_results()
    text = markdown_of(filter(None, blocks(results, zeros({"cooking": COOKING}), 3, full=True)))
    assert "nan" not in text
    assert "| 0 of 3 | 3.6, 0.0 |" in text
    assert "| FairALM less Lagrangian | 0.0 [0.0, 0.0] | -12.0 [-12.0, -12.0] |" in text
    for figure in (draw_profiles(results), draw_tradeoff(summarise(results)), draw_steadiness(sweeps(results))):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        with Image.open(buffer) as image:
            assert min(image.size) > 300


def test_what_a_zero_can_mean():
    found = zeros({"cooking": COOKING}).set_index("part")
    assert found["rates"].tolist() == [15, 2]  # no rate but 0 and 1 is both k / 12 and k / 17
    assert found["images"].tolist() == [84, 72]
    assert found.loc["valid", "off"] < 0.06 < 0.5 < found.loc["test", "off"]
    all_hit = deo([1] * 29, [1] * 29, sensitive_features=[0] * 12 + [1] * 17, target=1)
    assert found.loc["test", "high"] == 100 * all_hit.high > 20
    rng = np.random.default_rng(0)
    men, women = rng.binomial(12, 0.9, 100_000) / 12, rng.binomial(17, 0.9, 100_000) / 17
    assert found.loc["test", "chance"] == pytest.approx(100 * abs(men - women).mean(), abs=0.1)
    assert found.loc["test", "exact"] == pytest.approx(100 * (men == women).mean(), abs=0.3)


def test_the_command_continues_where_it_was(run, folder, monkeypatch, page_facts):
    monkeypatch.setitem(KINDS, "waterbirds", {**KINDS["waterbirds"], "epochs": 2})
    out = Path("out")
    line = ("verbs", "--sets", "waterbirds", "--seeds", 1, "--quick", "--jobs", 1, "--data-dir", folder, "-o", out)
    first = run(*line)
    assert first.code == 0, first.err
    assert max(map(len, first.out.splitlines()[:-2])) <= 80
    assert first.out.splitlines()[-1] == f"Page: {out / 'report-waterbirds.html'}"
    assert {path.name for path in out.iterdir()} == {
        *("jobs", "features", "table.md", "table.csv"),
        *("profiles.png", "tradeoff.png", "steadiness.png", "report-waterbirds.html"),
    }
    kept = json.loads((out / "jobs" / "waterbirds-fairalm-heldout-0.json").read_text())
    facts = page_facts(out / "report-waterbirds.html", kept["test"]["deo"])
    assert [model["name"] for model in facts["models"]][:2] == ["FairALM, held-out", "FairALM"]
    assert {group["name"] for group in facts["people"]["groups"]} == {"land", "water"}
    assert len(list((out / "jobs").iterdir())) == len(ROWS)
    (out / "jobs" / "waterbirds-l2-0.json").unlink()
    assert f"{len(ROWS) - 1} of {len(ROWS)} jobs are in" in run(*line).out
    told = json.loads(run(*line, "--json").out)
    assert [row["method"] for row in told["table"]] == list(ROWS)
    assert told["failed"] == 0
    assert {"differences", "steadiness", "zero"} <= set(told)


def test_what_is_missing_is_said_before_any_work(run, folder, tmp_path):
    for args, message in (
        (("--data-dir", tmp_path), "There is no metadata.csv"),
        (("--sets", "birds", "--data-dir", folder), "birds"),
        (("--data-dir", folder, "--imsitu", tmp_path), "There is no labels.csv"),
    ):
        result = run("verbs", *args, "-o", "out")
        assert result.code == 2
        assert message in result.err
        assert not Path("out").exists()
