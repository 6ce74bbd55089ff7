"""The labels of CelebA: what a net is counted on, how settings and labels are chosen, the tables, the command."""

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
from typer.testing import CliRunner

from fairalm.cli import app
from fairalm.report.facts import gather
from reproduction.labels import pages, plan
from reproduction.labels.cell import Cell, load_faces, run_cell
from reproduction.labels.figure import draw
from reproduction.labels.page import as_runs, screened
from reproduction.labels.paper import PAPER
from reproduction.labels.rates import deo, error, precision
from reproduction.labels.summary import findings, labels_shown, summarise

PAGE = Path(__file__).parents[3] / "shared" / "paper" / "fairalm.tex"
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


def result(label, rule, protected="", *, valid=None, test=None, why="", **setting):
    """As run_cell gives it; the same counts for both attributes."""
    names = [protected] if protected else [name for name in ("Male", "Young") if name != label]
    found = {part: dict.fromkeys(names, c) for part, c in (("valid", valid), ("test", test)) if c}
    return {"config": Cell(label, rule, protected, **setting).config, "why": why, "counts": found}


def test_one_unconstrained_net_is_counted_for_both_attributes(folder):
    found = run_cell(Cell("Attractive", "unconstrained", lr=0.3), folder)
    faces = load_faces(folder, None)
    for part in ("valid", "test"):
        frame = faces.part(part).frame
        both = [found["counts"][part][name] for name in ("Male", "Young")]
        assert error(both[0]).value == error(both[1]).value < 0.3  # it learnt something
        for name, c in zip(("Male", "Young"), both, strict=True):
            for code in (0, 1):
                positives = int(((frame[name] == code) & (frame["Attractive"] == 1)).sum())
                assert c["fn"][code] + c["tp"][code] == positives
        assert np.sum([*both[0].values()]) == PART
    assert len(found["history"]["train_error"]) == 5
    assert json.loads(json.dumps(found)) == run_cell(Cell("Attractive", "unconstrained", lr=0.3), folder)
    pairs = [(name, "Attractive") for name in ("Male", "Young")]
    runs = dict(as_runs([found], pairs, faces, "typed"))
    assert list(runs) == ["Male-Attractive", "Young-Attractive"]
    for name in ("Male", "Young"):
        facts = gather([runs[f"{name}-Attractive"]], min_cell=1)
        gap, counts_of = deo(found["counts"]["test"][name], name), found["counts"]["test"][name]
        assert facts["verdict"]["gap"]["value"] == gap.value
        assert facts["models"][0]["error"]["value"] == error(counts_of).value
        assert set(facts["models"][0]["history"]) == {"round", "error"}  # it knows of no group
    assert not list(as_runs([{**found, "entries": {}}], pairs, faces, "typed"))


def test_a_net_to_choose_by_does_not_see_the_test_part(folder):
    found = run_cell(Cell("Smiling", "fairalm", "Male", eta=0.1, is_tested=False), folder)
    assert list(found["counts"]) == ["valid"]
    assert list(found["counts"]["valid"]) == ["Male"]


def test_a_label_without_people_to_train_on_reads_undefined(folder):
    plain = run_cell(Cell("Mustache", "unconstrained"), folder)
    fair = run_cell(Cell("Mustache", "fairalm", "Male", eta=0.1), folder)
    assert not plain["why"]  # trained, since young and other people have one
    assert fair["why"] == "undefined (0 people to train on in women, y=1)"
    table = summarise([plain, fair]).set_index(["protected", "rule"])
    assert table.loc[("Male", "unconstrained"), "note"] == "undefined (0 people in women, y=1)"
    assert table.loc[("Male", "fairalm"), "note"] == fair["why"]
    assert table.loc["Male", "deo"].isna().all()
    assert table.loc[("Male", "unconstrained"), "people"] == 0
    assert table.loc[("Young", "unconstrained"), "deo"] >= 0


def test_settings_are_means_over_the_pairs_tried():
    nets = [
        result(label, "unconstrained", valid=counts((wrong, 0), (50 - wrong, 50)), lr=lr, is_tested=False)
        for lr, wrong in ((0.1, 8), (0.3, 4))
        for _, label in plan.TRIED
    ]
    rates = plan.tried(nets, "lr")
    assert rates["error"].tolist() == pytest.approx([0.04, 0.02])
    assert rates["deo"].tolist() == pytest.approx([0.16, 0.08])
    assert rates["precision"].tolist() == [1, 1]
    assert plan.choose_rate(rates) == 0.3
    runs = pd.DataFrame({"eta": [0.1, 0.3, 1.0], "error": [0.2, 0.25, 0.5], "deo": [0.1, 0.02, 0.0]})
    assert plan.choose_eta(runs) == 0.3  # the last has lost more than a tenth of the accuracy


def test_the_screen():
    assert plan.passes(counts((5, 0), (45, 50)), "Male")
    assert not plan.passes(counts((1, 0), (49, 50)), "Male")  # DEO 2
    assert not plan.passes(counts((5, 0), (45, 50), fp=(45, 0)), "Male")  # precision 68
    assert not plan.passes(counts((50, 50), (0, 0)), "Male")  # predicts nobody
    assert not plan.passes(counts((0, 5), (0, 45)), "Male")  # nobody to judge by
    unfair, fair = counts((5, 0), (45, 50)), counts((0, 0), (50, 50))
    plain = [result(name, "unconstrained", valid=c) for name, c in (("Bald", unfair), ("Bangs", fair), ("Male", fair))]
    assert plan.in_table(plain) == [("Male", "Bald"), ("Male", "Bangs"), ("Young", "Bald"), ("Young", "Male")]


@pytest.fixture
def table():
    unfair, silent = counts((20, 5), (30, 45), fp=(10, 10)), counts((50, 50), (0, 0))
    strong = counts((10, 10), (40, 40), fp=(20, 20))
    return summarise(
        [
            result("Attractive", "unconstrained", valid=unfair, test=unfair),
            result("Attractive", "fairalm", "Male", valid=strong, test=strong, eta=1.0),
            result("Attractive", "pi-control", "Male", valid=unfair, test=counts((10, 9), (40, 41), fp=(10, 10))),
            result("Bald", "unconstrained", valid=silent, test=silent),
            result("Goatee", "unconstrained", valid=unfair, test=counts((0, 5), (0, 45))),
        ]
    )


def test_figures_by_hand(table):
    rows = table.set_index(["protected", "label", "rule"])
    plain, fair = (rows.loc[("Male", "Attractive", rule)] for rule in ("unconstrained", "fairalm"))
    c = counts((20, 5), (30, 45), fp=(10, 10))
    assert plain["deo"] == pytest.approx(30)
    assert (plain["deo_low"], plain["deo_high"]) == pytest.approx((100 * deo(c, "Male").low, 100 * deo(c, "Male").high))
    assert plain["precision"] == pytest.approx(100 * 75 / 95)
    assert plain["precision_low"] == pytest.approx(100 * precision(c).low)
    assert plain["error"] == pytest.approx(100 * 45 / 220)
    assert plain["p"] == pytest.approx(stats.fisher_exact([[30, 45], [20, 5]]).pvalue)
    assert plain["q"] == pytest.approx(2 * plain["p"])  # of four defined pairs two have this gap
    assert (fair["deo"], fair["deo_low"]) == (0, 0)
    assert fair["change"] == pytest.approx(100 * (80 / 120 - 75 / 95))
    assert fair["change_low"] < fair["change"] < fair["change_high"]
    assert pd.isna(fair["p"])
    assert rows.loc[("Young", "Goatee", "unconstrained"), "note"] == "undefined (0 people in not young, y=1)"
    assert pd.isna(rows.loc[("Male", "Bald", "unconstrained"), "precision"])


def test_findings(table):
    said = " ".join(findings(table))
    assert "4 of 6 pairs" in said  # Goatee passes on the validation part
    assert "2 would on the test part, 2 do on both" in said
    assert "undefined in 2 pairs" in said
    assert "In 2 others the net predicts the label for nobody" in said
    assert "leaves 0 out in 2 of 4 pairs" in said
    assert "F, on 1 screened pairs: DEO is lower than U's in 1, below 4 in 1, and its interval holds 0 in 1" in said
    assert said.count("lower by more in 1,") == 1


def test_pages(table, tmp_path):
    assert screened(table) == [(name, label) for name in ("Male", "Young") for label in ("Attractive", "Goatee")]
    assert labels_shown(table, "Male") == ["Attractive", "Goatee"]
    rows = pages.deo_rows(table, "Male")
    assert re.fullmatch(r"30 \[1\d, 4\d\]\*", rows[0][1])
    assert re.fullmatch(r"0 \[0, 1\d\]", rows[0][2])
    assert rows[0][-1] == "28, 3"
    assert rows[1][1] == "undefined (0 people in women, y=1)"
    assert pages.precision_rows(table, "Male")[0][2].startswith("-12 [-2")
    runs = pd.DataFrame({"lr": [0.1], "eta": [0.3], "error": [0.2], "deo": [0.1], "precision": [0.8]})
    page = pages.markdown(table, runs, runs, pages.settings(runs, runs, 0.1, 0.3))
    assert "eta by NVP, 0.3 of 0.3" in page
    assert "| 0.3 | 20.0 | 10.0 | 80.0 |" in page
    assert page.count("| Bald |") == 2
    widths = [[line.count("|") for line in block.splitlines()] for block in page.split("\n\n") if block[0] == "|"]
    assert all(len(set(width)) == 1 for width in widths)
    draw(table, "title", tmp_path / "labels.png")
    with Image.open(tmp_path / "labels.png") as picture:
        assert picture.width > 800


def test_the_command_goes_on_where_it_was(folder, tmp_path, monkeypatch, page_facts, forget):
    monkeypatch.setattr(plan, "LEAST_DEO", 0.0)  # these nets have no gap to speak of
    out = tmp_path / "out"
    line = ["reproduce", "celeba-labels", "--data-dir", folder, "-o", str(out), "--jobs", "1"]
    first = CliRunner().invoke(app, line)
    assert first.exit_code == 0, first.output
    assert max(map(len, first.stdout.splitlines()[:-2])) <= 80
    assert "28, 3" in first.stdout  # the last column is not cut off
    assert first.stdout.splitlines()[-2].startswith(f"Written to {out}")
    assert {path.name for path in out.iterdir()} == {"cells", "labels.png", "pages", "table.csv", "table.md"}
    unfair = pd.read_csv(out / "table.csv").query("rule == 'unconstrained' and is_screened")
    written = sorted((out / "pages").iterdir())
    assert [path.stem for path in written] == sorted(unfair["protected"] + "-" + unfair["label"])
    assert first.stdout.splitlines()[-1] == f"Pages: {len(written)} in {out / 'pages'}"
    fair = json.loads((out / "cells" / f"{'-'.join(written[0].stem.split('-')[::-1])}-fairalm.json").read_text())
    protected = written[0].stem.partition("-")[0]
    facts = page_facts(written[0], deo(fair["counts"]["test"][protected], protected).to_dict())
    assert [model["name"] for model in facts["models"]] == ["fairalm", "unconstrained"]
    forget(*(out / "cells").iterdir())
    kept = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    page = (out / "table.md").read_bytes()
    again = CliRunner().invoke(app, [*line, "--json"])
    told = json.loads(again.stdout)
    assert told["failed"] == 0
    assert len(told["table"]) == len(pd.read_csv(out / "table.csv"))
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == kept
    assert (out / "table.md").read_bytes() == page
    assert CliRunner().invoke(app, line).stdout.splitlines()[-1] == (
        f"No page: the cells in {out} were made by an older fairalm"
    )


def test_no_faces_no_work(tmp_path):
    done = CliRunner().invoke(
        app, ["reproduce", "celeba-labels", "--data-dir", str(tmp_path), "-o", str(tmp_path / "x")]
    )
    assert done.exit_code != 0
    assert "list_attr_celeba.txt" in done.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not PAGE.is_file(), reason="the paper is not beside the project")
def test_printed_numbers_are_the_papers():
    text = PAGE.read_text(encoding="utf-8")
    body = text[: text.index("tab:celeba_ablation}")].rpartition(r"\begin{tabular}")[2]
    line = re.compile(r"([A-Z][\w ]+) & (\d+) & (\d+) & ([A-Z][\w ]+) & (\d+) & (\d+)")
    found = {"Male": {}, "Young": {}}
    for label, u, f, other, other_u, other_f in line.findall(body):
        found["Male"][label.title().replace(" ", "_")] = (float(u), float(f))
        found["Young"][other.title().replace(" ", "_")] = (float(other_u), float(other_f))
    assert found == PAPER
