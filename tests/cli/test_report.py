import json
import sys

import pytest

from fairalm.cli._page import older, to_say, write_report, write_reports

ARGS = ("--target", "hired", "--protected", "sex")


def test_commands_end_with_the_page(run, table, tmp_path):
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
    run("train", table, *ARGS, "-o", "a")
    run("compare", table, *ARGS, "--seeds", 1, "--methods", "secant", "-o", "c.json")
    code, out, _ = run("report", "a", "c.json", "-o", "both.html", "--figures", "figures", "--json")
    assert code == 0
    printed = json.loads(out)
    assert printed["bytes"] == (tmp_path / "both.html").stat().st_size
    assert (
        printed["verdict"]["outcome"]
        == json.loads((tmp_path / "a" / "metrics.json").read_text())["criterion"]["verdict"]
    )
    assert {"rates.pdf", "rates.png", "tradeoff.pdf", "curve-gap.png"} <= {
        p.name for p in (tmp_path / "figures").iterdir()
    }
    assert (tmp_path / "figures" / "tradeoff.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "figures" / "tradeoff.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run("report", "a", "-o", "a.html", "--min-cell", 1)
    assert code == 0
    assert out.startswith("Among people with hired = yes")
    assert out.splitlines()[-1] == "Page: a.html"


def test_card(run, table, tmp_path):
    run("train", table, *ARGS, "-o", "a")
    code, out, _ = run("card", "a")
    assert code == 0
    assert out.startswith("---\nlibrary_name: fairalm\n")
    assert run("card", "a", "-o", "card.md")[1] == "Card: card.md\n"
    assert (tmp_path / "card.md").read_text() == out


def test_what_cannot_be_is_said_in_a_sentence(run, table, tmp_path):
    run("train", table, *ARGS, "-o", "a")
    for args, said in (
        (("report", "b"), "b is not a run of fairalm: there is no such file or folder."),
        (("report", "a", "-o", "a.txt"), "a.txt must end in .html."),
        (("report", "a", "-o", "a/report.html"), "a/report.html exists: choose another file, or pass --overwrite."),
        (("card", "a", "--min-cell", 0), "min-cell"),
    ):
        code, out, err = run(*args)
        assert code == 2
        assert out == ""
        assert said in err


def test_pages_of_an_experiment(run, table, tmp_path, monkeypatch):
    run("compare", table, *ARGS, "--seeds", 1, "--methods", "secant", "-o", "c.json")
    made, folder = json.loads((tmp_path / "c.json").read_text()), tmp_path / "pages"
    assert write_reports([("a", made), ("b", made)], folder) == f"Pages: 2 in {folder}"
    assert {path.name for path in folder.iterdir()} == {"a.html", "b.html"}
    assert write_reports([], folder) == write_report(None, tmp_path / "x.html") == older(tmp_path)
    assert to_say(["Page: x", older(tmp_path)], tmp_path) == ["Page: x"]
    assert to_say([older(tmp_path)] * 2, tmp_path) == [older(tmp_path)]
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    said = 'No page. The page needs vl-convert-python: pip install "fairalm[report]".'
    assert write_reports([("c", made)], folder) == write_report(made, tmp_path / "x.html") == said


@pytest.mark.parametrize("command", ["train", "compare"])
def test_without_the_extra_one_line_says_so(run, table, tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    more = ("-o", "r") if command == "train" else ("--seeds", 1, "--methods", "secant")
    code, out, _ = run(command, table, *ARGS, *more)
    assert code == 0
    assert out.splitlines()[-1] == 'No page. The page needs vl-convert-python: pip install "fairalm[report]".'
    code, _, err = run("report", "r") if command == "train" else (2, "", "pip install")
    assert code == 2
    assert "pip install" in err
