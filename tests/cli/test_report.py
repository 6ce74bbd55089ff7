import html
import json
import sys

import pytest

from fairalm.report.card import escape

ARGS = ("--target", "hired", "--protected", "sex")


def test_commands_end_with_the_page(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, _ = run("train", table, *ARGS, "-o", "r")
    assert code == 0
    assert out.splitlines()[-1] == "Page: r/report.html"
    assert (tmp_path / "r" / "report.html").stat().st_size < 3_000_000
    code, out, _ = run("compare", table, *ARGS, "--seeds", 1, "--methods", "secant", "-o", "c.csv")
    assert out.splitlines()[-1] == "Page: c.html"
    assert "secant" in (tmp_path / "c.html").read_text()
    code, out, _ = run("compare", table, *ARGS, "--seeds", 1, "--methods", "secant")
    assert out.splitlines()[-1] == "Page: fairalm-compare.html"
    assert (tmp_path / "fairalm-compare.html").is_file()


def test_report_of_several_runs(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    run("train", table, *ARGS, "-o", "a")
    run("compare", table, *ARGS, "--seeds", 1, "--methods", "secant", "-o", "c.json")
    code, out, _ = run("report", "a", "c.json", "-o", "both.html", "--figures", "figures", "--json", "--min-cell", 1)
    assert code == 0
    printed = json.loads(out)
    assert printed["bytes"] == (tmp_path / "both.html").stat().st_size
    assert (
        printed["verdict"]["outcome"]
        == json.loads((tmp_path / "a" / "metrics.json").read_text())["constraint"]["verdict"]
    )
    assert {"rates.pdf", "rates.png", "tradeoff.pdf", "curve-gap.png"} <= {
        p.name for p in (tmp_path / "figures").iterdir()
    }
    assert (tmp_path / "figures" / "tradeoff.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "figures" / "tradeoff.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run("report", "a", "-o", "hidden.html", "--min-cell", 10**6, "--figures", "none")
    assert code == 0
    assert out.splitlines()[-1] == "Figures: none, because every count is hidden"
    code, out, _ = run("report", "a", "-o", "a.html", "--min-cell", 1)
    assert code == 0
    assert out.startswith("Among people with hired = yes")
    assert "on new people it is at most" in " ".join(out.split())
    assert out.splitlines()[-1] == "Page: a.html"


def test_runs_that_differ_are_refused(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    run("train", table, *ARGS, "-o", "a")
    run("train", table, *ARGS, "--constraint", "demographic-parity", "-o", "b")
    code, out, err = run("report", "a", "b", "-o", "both.html")
    assert (code, out) == (2, "")
    assert "b has the constraint ddp, a has deo: their figures do not belong on one axis." in err
    assert "Write a report for each." in err
    assert not (tmp_path / "both.html").exists()


def test_birds_are_not_people(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    pytest.importorskip("huggingface_hub")
    code, out, _ = run("train", table, *ARGS, "--rows-are", "birds", "-o", "a")
    assert code == 0
    texts = [" ".join(text.split()) for text in (out, run("report", "a", "-o", "a.html")[1])]
    texts.append(run("card", "a")[1].split("---")[2])
    texts.append((tmp_path / "a.html").read_text().split("<noscript>")[1].split("</noscript>")[0])
    for text in texts:
        assert "birds" in text
        assert "people" not in text.replace("people.csv", "").replace("people:", "")


def test_card(run, table, tmp_path):
    pytest.importorskip("huggingface_hub")
    run("train", table, *ARGS, "-o", "a")
    code, out, _ = run("card", "a")
    assert code == 0
    assert out.startswith("---\nlibrary_name: fairalm\n")
    assert run("card", "a", "-o", "card.md")[1] == "Card: card.md\n"
    assert (tmp_path / "card.md").read_text() == out


def test_warnings_of_the_training_are_repeated(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    code, _, err = run("train", table, *ARGS, "--max-iter", 1, "--method", "l2", "--predictor", "last", "-o", "a")
    assert code == 0
    (warning,) = json.loads((tmp_path / "a" / "metrics.json").read_text())["training"]["warnings"]
    assert "above the tolerance" in warning
    assert "Warning: The gap is" in err
    said = html.unescape((tmp_path / "a" / "report.html").read_text().split("<noscript>")[1].split("</p>")[0])
    assert "1 warning not shown, because a warning may quote a small count." in said
    _, out, _ = run("report", "a", "-o", "a.html", "--min-cell", 1)
    assert f"Warning in training: {warning}" in " ".join(out.split())
    _, out, _ = run("report", "a", "-o", "b.html", "--min-cell", 1, "--json")
    assert json.loads(out)["verdict"]["warnings"] == [warning]
    assert "1 warning not shown, because a warning may quote a small count" in run("card", "a")[1]
    assert escape(f"{warning}") in run("card", "a", "--min-cell", 1)[1]
    run("compare", table, *ARGS, "--seeds", 1, "--methods", "l2", "-o", "c.json")
    runs = json.loads((tmp_path / "c.json").read_text())["runs"]
    assert [len(single["warnings"]) for single in runs if single["method"] in ("plain", "l2")] == [0, 1]


def test_what_cannot_be_is_said_in_a_sentence(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    run("train", table, *ARGS, "-o", "a")
    for args, said in (
        (("report", "b"), "b is not a run of fairalm: there is no such file or folder."),
        (("report", "a", "-o", "a.txt"), "a.txt must end in .html."),
        (("report", "a", "-o", "a/report.html"), "a/report.html exists: choose another name, or pass --overwrite."),
        (("card", "a", "--min-cell", 0), "min-cell"),
    ):
        code, out, err = run(*args)
        assert code == 2
        assert out == ""
        assert said in err


@pytest.mark.parametrize("command", ["train", "compare"])
def test_without_the_extra_one_line_says_so(run, table, tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    more = ("-o", "r") if command == "train" else ("--seeds", 1, "--methods", "secant")
    code, out, _ = run(command, table, *ARGS, *more)
    assert code == 0
    assert out.splitlines()[-1] == 'No page. Pages and figures need vl-convert: pip install "fairalm[report]".'
    code, _, err = run("report", "r") if command == "train" else (2, "", "pip install")
    assert code == 2
    assert "pip install" in err
