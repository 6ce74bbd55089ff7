"""The labels of CelebA: what a net is measured on, how settings and labels are chosen, the tables, the command."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="nets need torch")
pytest.importorskip("PIL", reason="reading pictures needs pillow")
from PIL import Image
from scipy import stats

from fairalm.report.facts import gather
from reproduction.experiment import markdown_of
from reproduction.labels import Labels, display
from reproduction.labels import table as tables
from reproduction.labels.job import NetJob, load_faces, measures
from reproduction.labels.table import PAPER, chosen, pairs_in_table, passes, sentences, summarise, tried
from reproduction.page import as_run

PAPER_FILE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
NAMES = ["Attractive", "Male", "Mustache", "Smiling", "Wearing_Lipstick", "Young"]
PART = 80  # faces


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Faces in the official layout; the label shows in the brightness, and no woman has a mustache."""
    root, rng = tmp_path_factory.mktemp("data") / "celeba", np.random.default_rng(0)
    (root / "img_align_celeba").mkdir(parents=True)
    rows, parts = [], []
    for i in range(3 * PART):
        values = dict(zip(NAMES, rng.random(len(NAMES)) < 0.5, strict=True))
        values["Mustache"] &= values["Male"]
        pixels = rng.integers(0, 100, (28, 28, 3)) + 100 * values["Attractive"] + 50 * values["Male"]
        Image.fromarray(pixels.astype(np.uint8)).save(root / "img_align_celeba" / f"{i}.png")
        rows.append(f"{i}.png " + " ".join("1" if values[name] else "-1" for name in NAMES))
        parts.append(f"{i}.png {i // PART}")
    (root / "list_attr_celeba.txt").write_text("\n".join([str(len(rows)), " ".join(NAMES), *rows]) + "\n")
    (root / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return str(root.parent)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path_factory.getbasetemp() / "labels-cache"))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)


def counts(fn, tp, *, fp=(0, 0), tn=(50, 50)):
    return {"tn": list(tn), "fp": list(fp), "fn": list(fn), "tp": list(tp)}


def run_job(job, folder):
    return {"config": job.config, **job.run(folder)}


def result(label, method, protected="", *, valid=None, test=None, why="", **setting):
    """As a job gives it; the same counts for both attributes."""
    names = [protected] if protected else [name for name in ("Male", "Young") if name != label]
    found = {part: dict.fromkeys(names, c) for part, c in (("valid", valid), ("test", test)) if c}
    return {"config": NetJob(label, method, protected, **setting).config, "why": why, "counts": found}


def test_one_unconstrained_net_is_measured_for_both_attributes(folder, monkeypatch):
    found = run_job(NetJob("Attractive", "unconstrained", lr=0.3), folder)
    faces = load_faces(folder, None)
    for part in ("valid", "test"):
        frame = faces.part(part).frame
        both = [found["counts"][part][name] for name in ("Male", "Young")]
        assert (
            measures(both[0], "Male")["error"].value == measures(both[1], "Young")["error"].value < 0.3
        )  # it learnt something
        for name, c in zip(("Male", "Young"), both, strict=True):
            for code in (0, 1):
                positives = int(((frame[name] == code) & (frame["Attractive"] == 1)).sum())
                assert c["fn"][code] + c["tp"][code] == positives
        assert np.sum([*both[0].values()]) == PART
    assert len(found["history"]["train_error"]) == 5
    assert json.loads(json.dumps(found)) == run_job(NetJob("Attractive", "unconstrained", lr=0.3), folder)
    monkeypatch.setattr(tables, "LEAST_DEO", 0.0)  # this net has almost no gap
    pages = {page.file: page for page in Labels(Path(), folder).pages([found])}
    assert list(pages) == ["pages/Male-Attractive", "pages/Young-Attractive"]
    for name in ("Male", "Young"):
        facts = gather([as_run(pages[f"pages/{name}-Attractive"], "typed")], min_cell=1)
        own = measures(found["counts"]["test"][name], name)
        assert facts["verdict"]["gap"]["value"] == own["deo"].value
        assert facts["models"][0]["error"]["value"] == own["error"].value
        assert set(facts["models"][0]["history"]) == {"round", "error"}  # it knows of no group


def test_a_net_to_choose_by_does_not_see_the_test_part(folder):
    found = run_job(NetJob("Smiling", "fairalm", "Male", eta=0.1, is_tested=False), folder)
    assert list(found["counts"]) == ["valid"]
    assert list(found["counts"]["valid"]) == ["Male"]


def test_a_label_without_people_to_train_on_reads_undefined(folder):
    plain = run_job(NetJob("Mustache", "unconstrained"), folder)
    fair = run_job(NetJob("Mustache", "fairalm", "Male", eta=0.1), folder)
    assert not plain["why"]  # trained, since young and other people have one
    assert fair["why"] == "undefined (0 rows to train on in women, y=1)"
    table = summarise([plain, fair]).set_index(["protected", "method"])
    assert table.loc[("Male", "unconstrained"), "note"] == "undefined (0 rows in women, y=1)"
    assert table.loc[("Male", "fairalm"), "note"] == fair["why"]
    assert table.loc["Male", "deo"].isna().all()
    assert table.loc[("Male", "unconstrained"), "people"] == 0
    assert table.loc[("Young", "unconstrained"), "deo"] >= 0


def test_settings_are_means_over_the_pairs_tried():
    nets = [
        result(label, "unconstrained", valid=counts((wrong, 0), (50 - wrong, 50)), lr=lr, is_tested=False)
        for lr, wrong in ((0.1, 8), (0.3, 4))
        for _, label in tables.TRIED
    ]
    rates = tried(nets, "lr")
    assert rates["error"].tolist() == pytest.approx([0.04, 0.02])
    assert rates["deo"].tolist() == pytest.approx([0.16, 0.08])
    assert rates["precision"].tolist() == [1, 1]
    assert chosen(nets, "lr") == 0.3
    by_eta = {
        0.1: counts((30, 10), (20, 40), tn=(100, 0)),
        0.3: counts((26, 24), (24, 26), tn=(100, 0)),
        1.0: counts((0, 0), (50, 50), fp=(90, 0), tn=(10, 0)),
    }
    nets += [
        result(label, "fairalm", protected, valid=valid, eta=eta)
        for eta, valid in by_eta.items()
        for protected, label in tables.TRIED
    ]
    nets = [net | {"config": net["config"] | {"is_tested": False}} for net in nets]
    assert tried(nets, "eta")["deo"].tolist() == pytest.approx([0.4, 0.04, 0.0])
    assert chosen(nets, "eta") == 0.3  # the last has lost more than a tenth of the accuracy


def test_the_screen():
    assert passes(counts((5, 0), (45, 50)), "Male")
    assert not passes(counts((1, 0), (49, 50)), "Male")  # DEO 2
    assert not passes(counts((5, 0), (45, 50), fp=(45, 0)), "Male")  # precision 68
    assert not passes(counts((50, 50), (0, 0)), "Male")  # predicts nobody
    assert not passes(counts((0, 5), (0, 45)), "Male")  # nobody to judge by
    unfair, fair = counts((5, 0), (45, 50)), counts((0, 0), (50, 50))
    plain = [result(name, "unconstrained", valid=c) for name, c in (("Bald", unfair), ("Bangs", fair), ("Male", fair))]
    assert pairs_in_table(plain) == [("Male", "Bald"), ("Male", "Bangs"), ("Young", "Bald"), ("Young", "Male")]


@pytest.fixture
def results():
    unfair, silent = counts((20, 5), (30, 45), fp=(10, 10)), counts((50, 50), (0, 0))
    strong = counts((10, 10), (40, 40), fp=(20, 20))
    tried = {"valid": counts((10, 0), (40, 50), fp=(10, 10)), "is_tested": False}
    return [
        result("Attractive", "unconstrained", valid=unfair, test=unfair),
        result("Attractive", "fairalm", "Male", valid=strong, test=strong, eta=1.0),
        result("Attractive", "pi-control", "Male", valid=unfair, test=counts((10, 9), (40, 41), fp=(10, 10))),
        result("Bald", "unconstrained", valid=silent, test=silent),
        result("Goatee", "unconstrained", valid=unfair, test=counts((0, 5), (0, 45))),
        result("Smiling", "unconstrained", lr=0.1, **tried),
        result("Smiling", "fairalm", "Male", eta=0.3, **tried),
    ]


@pytest.fixture
def table(results):
    return summarise(results)


def test_figures_by_hand(table):
    rows = table.set_index(["protected", "label", "method"])
    plain, fair = (rows.loc[("Male", "Attractive", method)] for method in ("unconstrained", "fairalm"))
    own = measures(counts((20, 5), (30, 45), fp=(10, 10)), "Male")
    assert plain["deo"] == pytest.approx(30)
    assert (plain["deo_low"], plain["deo_high"]) == pytest.approx((100 * own["deo"].low, 100 * own["deo"].high))
    assert plain["precision"] == pytest.approx(100 * 75 / 95)
    assert plain["precision_low"] == pytest.approx(100 * own["precision"].low)
    assert plain["error"] == pytest.approx(100 * 45 / 220)
    assert plain["p"] == pytest.approx(stats.fisher_exact([[30, 45], [20, 5]]).pvalue)
    assert plain["q"] == pytest.approx(2 * plain["p"])  # of four defined pairs two have this gap
    assert (fair["deo"], fair["deo_low"]) == (0, 0)
    assert fair["change"] == pytest.approx(100 * (80 / 120 - 75 / 95))
    assert fair["change_low"] < fair["change"] < fair["change_high"]
    assert pd.isna(fair["p"])
    assert rows.loc[("Young", "Goatee", "unconstrained"), "note"] == "undefined (0 rows in not young, y=1)"
    assert pd.isna(rows.loc[("Male", "Bald", "unconstrained"), "precision"])


def test_sentences(table):
    said = " ".join(sentences(table))
    assert "4 of 6 pairs" in said  # Goatee passes on the validation part
    assert "2 would on the test part, 2 do on both" in said
    assert "undefined in 2 pairs" in said
    assert "In 2 others the net predicts the label for nobody" in said
    assert "leaves 0 out in 2 of 4 pairs" in said
    assert "F, on 1 screened pairs: DEO is lower than U's in 1, below 4 in 1, and its interval holds 0 in 1" in said
    assert said.count("lower by more in 1,") == 1


def test_text_and_figure(results, table, tmp_path):
    assert display.labels_shown(table, "Male") == ["Attractive", "Goatee"]
    rows = display.deo_table(table, "Male").rows
    assert re.fullmatch(r"30 \[1\d, 4\d\]\*", rows[0][1])
    assert re.fullmatch(r"0 \[0, 1\d\]", rows[0][2])
    assert rows[0][-1] == "28, 3"
    assert rows[1][1] == "undefined (0 rows in women, y=1)"
    assert display.precision_table(table, "Male").rows[0][2].startswith("-12 [-2")
    page = markdown_of(Labels(tmp_path).markdown(results))
    assert "eta by NVP, 0.3 of 0.3" in page
    assert "| 0.3 | 13.6 | 20.0 | 81.8 |" in page
    assert page.count("| Bald |") == 2
    widths = [[line.count("|") for line in block.splitlines()] for block in page.split("\n\n") if block[0] == "|"]
    assert all(len(set(width)) == 1 for width in widths)
    assert display.draw(table).get_size_inches()[0] == 11


def test_the_command_continues_where_it_was(run, folder, tmp_path, monkeypatch, page_facts):
    monkeypatch.setattr(tables, "LEAST_DEO", 0.0)  # these nets have almost no gap
    out = tmp_path / "out"
    line = ("labels", "--data-dir", folder, "-o", out, "--jobs", "1")
    first = run(*line)
    assert first.code == 0, first.err
    assert max(map(len, first.out.splitlines()[:-2])) <= 80
    assert "28, 3" in first.out  # the last column is not cut off
    assert first.out.splitlines()[-2].startswith(f"Written to {out}")
    assert {path.name for path in out.iterdir()} == {"jobs", "labels.png", "pages", "table.csv", "table.md"}
    unfair = pd.read_csv(out / "table.csv").query("method == 'unconstrained' and is_screened")
    written = sorted((out / "pages").iterdir())
    assert [path.stem for path in written] == sorted(unfair["protected"] + "-" + unfair["label"])
    assert first.out.splitlines()[-1] == f"Pages: {len(written)} in {out / 'pages'}"
    fair = json.loads((out / "jobs" / f"{'-'.join(written[0].stem.split('-')[::-1])}-fairalm.json").read_text())
    protected = written[0].stem.partition("-")[0]
    facts = page_facts(written[0], measures(fair["counts"]["test"][protected], protected)["deo"].to_dict())
    assert [model["name"] for model in facts["models"]] == ["fairalm", "unconstrained"]
    kept = {path: path.stat().st_mtime_ns for path in (out / "jobs").iterdir()}
    page = (out / "table.md").read_bytes()
    told = json.loads(run(*line, "--json").out)
    assert told["failed"] == 0
    assert told["eta"] in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    assert len(told["table"]) == len(pd.read_csv(out / "table.csv"))
    assert {path: path.stat().st_mtime_ns for path in (out / "jobs").iterdir()} == kept
    assert (out / "table.md").read_bytes() == page


def test_no_faces_no_work(run, tmp_path):
    done = run("labels", "--data-dir", tmp_path, "-o", tmp_path / "x")
    assert done.code == 2
    assert "list_attr_celeba.txt" in done.err
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not PAPER_FILE.is_file(), reason="the paper is not beside the project")
def test_printed_numbers_are_the_papers():
    text = PAPER_FILE.read_text(encoding="utf-8")
    body = text[: text.index("tab:celeba_ablation}")].rpartition(r"\begin{tabular}")[2]
    line = re.compile(r"([A-Z][\w ]+) & (\d+) & (\d+) & ([A-Z][\w ]+) & (\d+) & (\d+)")
    found = {"Male": {}, "Young": {}}
    for label, u, f, other, other_u, other_f in line.findall(body):
        found["Male"][label.title().replace(" ", "_")] = (float(u), float(f))
        found["Young"][other.title().replace(" ", "_")] = (float(other_u), float(other_f))
    assert found == PAPER
