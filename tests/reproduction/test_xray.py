"""Nets on X-rays: what a job holds, what the tables make of it, and the command, on made-up images."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("torch", reason="nets need torch")
pytest.importorskip("PIL", reason="reading images needs pillow")
from PIL import Image

from fairalm.datasets import split
from fairalm.datasets.images import load_xray
from fairalm.exceptions import InputError
from fairalm.measures.chance import chance_gap
from fairalm.report.facts import gather
from fairalm.vision.image_model import load_image_model
from reproduction.experiment import markdown_of
from reproduction.page import as_run
from reproduction.seeds import variance_ratio
from reproduction.xray import TEST, Xray, XrayJob, changes_text, claims, means_text, net_table, small_print, summarise

PAGE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
COUNTS = {("MontgomerySet", 0): 8, ("MontgomerySet", 1): 8, ("ChinaSet_AllFiles", 0): 12, ("ChinaSet_AllFiles", 1): 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty images in the official layout."""
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


def result(method, seed, errors, deo):
    """A job's result as far as the tables need it; the last of `errors` is the final one."""
    rates = {"tpr": {"value": 1 - deo}, "fpr": {"value": 0.1}, "error": {"value": 0.1}}
    groups = {
        name: {"tp": n // 2, "fn": n - n // 2, "rates": rates} for name, n in (("Montgomery", 14), ("Shenzhen", 84))
    }
    error = {"value": errors[-1], "low": 0.0, "high": 1.0}
    return {
        "config": XrayJob(method, seed, 0.1 if method == "fairalm" else None, epochs=len(errors)).config,
        "entry": {"error": error, "deo": {"value": deo, "signed": deo}, "groups": groups},
        "profile": {f"{part}_{name}": errors for part in ("train", "test") for name in ("error", "deo")},
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


def test_a_net_is_measured_on_what_it_was_not_trained_on(folder, tmp_path):
    job = XrayJob("fairalm", 3, 0.1, epochs=2, size=32, nets=tmp_path)
    found = {"config": job.config, **job.run(str(folder))}
    assert json.loads(json.dumps(found)) == found
    data = load_xray(folder, size=32)
    rest, held = split(data.y, data.groups, test_size=TEST, random_state=3)
    assert (len(rest), len(held)) == (30, 10)
    model = load_image_model(tmp_path / "fairalm-0.1")
    assert model.settings["method"] == "FairALM(eta=0.1, eta_beta=0.0)"
    test, line = data.rows(held), net_table([found]).iloc[0]
    assert line["error"] == pytest.approx(float((model.predict(test) != test.y).mean()))
    assert found["profile"]["test_error"][-1] == pytest.approx(line["error"])
    assert found["profile"]["test_deo"][-1] == pytest.approx(line["deo"])
    assert len(found["profile"]["test_deo_high"]) == 2
    assert "has 2 of Montgomery and 3 of Shenzhen" in small_print([found])
    hits = sum(line[f"true positive rate, {name}"] * n for name, n in (("Montgomery", 2), ("Shenzhen", 3)))
    assert line["chance"] == pytest.approx(chance_gap(hits / 5, 2, 3))
    again = job.run(str(folder))
    assert {**found, **again, "seconds": 0} == {**found, "seconds": 0}
    (page,) = Xray(tmp_path, str(folder), size=32).pages([found])
    facts = gather([as_run(page, "typed")], min_cell=1)
    (net,) = facts["models"]
    assert (net["name"], net["kind"], net["settings"]["eta"]) == ("fairalm, eta 0.1", "fairalm", 0.1)
    assert (net["gap"]["value"], net["error"]["value"]) == (line["deo"], line["error"])
    assert net["history"]["error"] == [round(value, 4) for value in found["profile"]["test_error"]]
    assert facts["runs"][0]["split"] == "tested on 25 % of the people, seed 3"


def test_a_net_for_the_hospital(folder):
    groups = XrayJob("hospital", 0, epochs=1, size=32).run(str(folder))["entry"]["groups"]
    assert set(groups) == {"0", "1"}  # those without and with tuberculosis
    assert [group["tp"] + group["fn"] for group in groups.values()] == [3, 3]  # Shenzhen's


def test_jobs_share_seeds(tmp_path):
    jobs = Xray(tmp_path, seeds=2, first=5, eta=(0.1, 1.0), pi_control=True).jobs()
    names = ["unconstrained-5", "fairalm-0.1-5", "fairalm-1-5", "pi-control-5", "hospital-5"]
    assert [job.name for job in jobs[::2]] == names
    assert [job.seed for job in jobs] == [5, 6] * 4 + [5]
    assert [job.nets is not None for job in jobs] == [True, False] * 4 + [True]


def test_a_pretrained_net(folder, tmp_path):
    plain, _ = Xray(tmp_path, str(folder), seeds=1, epochs=1, size=32, pretrained=True).jobs()[::2]
    assert plain.config["net"] == "efficientnet-lite0"
    found = {"config": plain.config, **plain.run(str(folder))}
    settings = load_image_model(plain.nets / "unconstrained").settings
    assert (settings["net"], settings["weights"]) == ("efficientnet-lite0", "imagenet")
    (page,) = Xray(tmp_path, str(folder), size=32).pages([found])
    assert gather([as_run(page, "typed")], min_cell=1)["models"][0]["settings"]["net"] == "efficientnet-lite0"


def test_lines_by_hand(results):
    nets = net_table(results)
    assert nets["reached"].tolist() == [3.0, 2.0, np.inf, np.inf, np.inf, 3.0]
    table = summarise(nets).set_index("label")
    assert table.loc["unconstrained", "error"] == pytest.approx(0.73 / 3)
    assert table.loc["unconstrained", "error_sd"] == pytest.approx(np.std([0.2, 0.3, 0.23], ddof=1))
    assert table.loc["unconstrained", ["median", "never"]].tolist() == [np.inf, 2]
    assert table.loc["fairalm, eta 0.1", ["median", "never"]].tolist() == [3.0, 1]
    rows = means_text(nets).rows
    assert rows[0][-1] == "> 3 (2)"
    assert rows[1][-1] == "3 (1)"
    assert "14 of Montgomery and 84 of Shenzhen" in small_print(results)
    assert "errs on 2.0 % [0.0, 100.0] of seed 0's test images" in small_print(results)


def test_claims_by_hand(results):
    table = claims(net_table(results)).set_index("claim")
    names = ["mean error", "variance of error", "mean DEO", "variance of DEO", "epochs to 20 % error"]
    assert table.index.tolist() == names
    mean = table.loc["mean error"]
    half = stats.t.ppf(0.975, 2) * 0.01 / np.sqrt(3)
    assert [mean["value"], mean["low"], mean["high"]] == pytest.approx([-0.05, -0.05 - half, -0.05 + half])
    assert (mean["measured"], mean["verdict"]) == ("-5.0 [-7.5, -2.5]", "shown")
    ratio = table.loc["variance of error"]
    assert ratio["value"] == pytest.approx(np.var([0.16, 0.25, 0.17]) / np.var([0.2, 0.3, 0.23]))
    assert ratio["verdict"] == "open"
    assert table.loc["mean DEO", "value"] == pytest.approx(0.0)
    epochs = table.loc["epochs to 20 % error"]
    assert epochs["value"] == 0.0
    assert epochs["measured"] == "sooner in 2, later in 0 seeds"  # a seed in which neither gets there is a tie
    assert epochs["verdict"] == "open"
    for one in results:
        one["entry"]["error"]["value"] = 1 - one["entry"]["error"]["value"]
    assert claims(net_table(results)).set_index("claim").loc["mean error", "verdict"] == "the opposite"


def test_what_else_changes(results, tmp_path):
    title, table = changes_text(net_table(results))
    assert title.startswith("What else changes with fairalm, eta 0.1")
    rows = {row[0]: row[1:] for row in table.rows}
    half = 100 * stats.t.ppf(0.975, 2) * np.std([-0.1, 0.2, -0.1], ddof=1) / np.sqrt(3)
    before, change = rows["true positive rate, Shenzhen"]
    assert before.startswith("83.3 [")
    assert change.split(" ", 1)[1] == f"[{-half:+.1f}, {half:+.1f}]"
    assert rows["error after epoch 1"][1].startswith("-3.3 [")
    page = markdown_of(Xray(tmp_path).markdown(results))
    assert "| error after epoch 2 | 36.7 [22.3, 51.0] | -6.7 [" in page


def test_one_seed_or_no_plain_net_says_less(results, tmp_path):
    one = claims(net_table(results[:2]))
    assert set(one["verdict"]) == {"open"}
    assert one["measured"][1] == "undefined"
    assert means_text(net_table(results[:2])).rows[0] == ["unconstrained", "20.0", "", "10.0", "", "3"]
    assert claims(net_table([results[1]])).empty
    assert "lower in the paper" not in markdown_of(Xray(tmp_path).markdown([results[1]]))


def test_variance_ratio_is_the_test_turned_round():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12)) + rng.normal(size=12)
    value, low, high = variance_ratio(x, 2 * y)
    assert value == pytest.approx(np.var(x) / np.var(2 * y))
    for edge in (low, high):  # a ratio at the edge is rejected at 5 % exactly
        scaled = 2 * y * np.sqrt(edge)
        assert stats.pearsonr(x + scaled, x - scaled).pvalue == pytest.approx(0.05)
    assert np.isnan(variance_ratio([1, 1, 1], [1, 2, 3])[0])
    assert np.isnan(variance_ratio([1, 2], [2, 1])[0])


def test_command(folder, run, tmp_path, page_facts):
    command = ["xray", "--quick", "--seeds", "1", "--jobs", "1", "--data-dir", folder, "-o", "here"]
    done = run(*command)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines()[:-2])) <= 80
    out = tmp_path / "here"
    files = {"table.md", "table.csv", "xray.png", "profiles.png", "report.html", "jobs", "nets"}
    assert {path.name for path in out.iterdir()} == files
    assert len(list((out / "nets").iterdir())) == len(list((out / "jobs").iterdir())) == 3
    assert len(pd.read_csv(out / "table.csv")) == 2
    assert done.out.splitlines()[-1] == "Page: here/report.html"
    for name in ("xray", "profiles"):
        with Image.open(out / f"{name}.png") as image:
            assert np.asarray(image).std() > 0
    kept = json.loads((out / "jobs" / "fairalm-1-0.json").read_text())
    facts = page_facts(out / "report.html", kept["entry"]["deo"])
    assert [model["name"] for model in facts["models"]] == ["fairalm, eta 1", "unconstrained"]  # not the hospital's
    again = json.loads(run(*command, "--json").out)
    assert (len(again["table"]), len(again["claims"]), again["failed"]) == (2, 5, 0)


def test_only_the_net_for_the_hospital(results, tmp_path):
    with pytest.raises(InputError, match="Every net for tuberculosis failed"):
        Xray(tmp_path).frames(results[-1:])


@pytest.mark.parametrize(
    ("more", "words"), [((), "FAIRALM_DATA"), (("--eta", "0.1,x"), "--eta: must be positive numbers")]
)
def test_one_sentence_before_any_work(run, tmp_path, more, words):
    done = run("xray", *more)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not PAGE.is_file(), reason="the paper is not beside the project")
def test_the_claims_are_the_papers():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert r"lower variance in testset error and the DEO measure for FairALM" in text
    assert r"FairALM reaches $20\%$ testset error in fewer epochs" in text
    assert r"$25\%$ of the samples" in text
