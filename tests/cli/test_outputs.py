"""One process writes an output at a time, and what it writes is there whole or not at all."""

import json
import subprocess
import sys

import pytest

from fairalm.manifest import MANIFEST, check_manifest

HOLD = """
import sys
from fairalm.folders import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
QUESTION = ("--target", "hired", "--protected", "sex")
COMPARE = (*QUESTION, "--methods", "fairalm", "--seeds", 1)
#: command -> its arguments after the data, its outputs, and what writes its page
WITH_PAGES = {
    "train": (QUESTION, ["r"], "fairalm.cli._output.write_page"),
    "frontier": (QUESTION, ["r"], "fairalm.cli._output.write_page"),
    "lda": ((*QUESTION, "--reference", "M", "--acceptance", "0.6"), ["r"], "fairalm.cli.lda.write_lda_page"),
    "audit": (("--decision", "hired", "--protected", "sex"), ["r"], "fairalm.cli.audit.write_audit_page"),
    "compare": (COMPARE, ["r.json", "r.html"], "fairalm.cli._output.write_page"),
}


@pytest.fixture
def held(tmp_path):
    """Another process that holds the lock of an output; its number."""
    processes = []

    def hold(name):
        command = [sys.executable, "-c", HOLD, str(tmp_path / name)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout.readline() == b"held\n"
        return process.pid

    yield hold
    for process in processes:
        process.communicate()


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (("train", "nowhere.csv", *QUESTION), "r"),
        (("train", "nowhere.csv", *QUESTION, "--estimator", "mlp"), "r"),
        (("frontier", "nowhere.csv", *QUESTION), "r"),
        (("lda", "nowhere.csv", *QUESTION, "--reference", "M", "--acceptance", "0.5"), "r"),
        (("audit", "nowhere.csv", "--decision", "hired", "--protected", "sex"), "r"),
        (("compare", "nowhere.csv", *QUESTION), "r.json"),
        (("report", "nowhere"), "r.html"),
        (("card", "nowhere"), "r.md"),
        (("predict", "nowhere", "nowhere.csv"), "r.csv"),
    ],
)
def test_a_second_process_is_told_before_any_work(run, held, arguments, out):
    pytest.importorskip("vl_convert")
    number = held(out)
    code, _, err = run(*arguments, "-o", out)
    assert code == 2
    assert f"{out} is being written by process {number}" in err


@pytest.mark.parametrize("name", WITH_PAGES)
def test_an_interrupt_while_the_page_is_written_leaves_nothing(run, table, tmp_path, monkeypatch, name):
    pytest.importorskip("vl_convert")
    options, outputs, writer = WITH_PAGES[name]
    command = (name, table, *options, "-o", outputs[0])

    def interrupt(path, *_, **__):
        path.write_text("<html>")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(writer, interrupt)
        code, _, err = run(*command)
        assert (code, err.splitlines()[-1]) == (130, "Interrupted.")
    assert [path.name for path in tmp_path.iterdir()] == [table.name]
    code, _, err = run(*command)
    assert code == 0, err
    assert all((tmp_path / output).exists() for output in outputs)
    if outputs == ["r"]:
        pages = {path.name for path in (tmp_path / "r").glob("*.html")}
        assert pages
        assert pages <= check_manifest(tmp_path / "r")["files"].keys()


def test_the_manifest_says_what_the_files_were_made_from(run, table, trained, tmp_path):
    first = json.loads((tmp_path / "r" / MANIFEST).read_text())
    assert first["format"] == 1
    assert {"python", "numpy", "pandas", "scikit-learn", "fairalm"} <= first["versions"].keys()
    written = {path.name for path in (tmp_path / "r").iterdir()}
    assert first["files"].keys() == written - {MANIFEST}
    assert first["data"] == json.loads((tmp_path / "r" / "metrics.json").read_text())["data"]["fingerprint"]
    assert first["seed"] == 0
    expected = {("--seed", 1): {"split", "seed", "settings"}, ("--tol", 0.2): {"settings"}, (): set()}
    for option, differs in expected.items():
        code, _, err = run("train", table, *QUESTION, *option, "-o", "r", "--overwrite")
        assert code == 0, err
        other = json.loads((tmp_path / "r" / MANIFEST).read_text())
        assert {key for key in ("data", "split", "seed", "settings") if other[key] != first[key]} == differs


def test_what_stands_beside_an_output_is_not_replaced(run, table, trained, tmp_path):
    pytest.importorskip("vl_convert")
    (tmp_path / "c.html").write_text("mine")
    compare = ("compare", table, *COMPARE, "-o", "c.json")
    code, _, err = run(*compare)
    assert (code, "c.html exists" in err, (tmp_path / "c.json").exists()) == (2, True, False)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "tradeoff.png").write_text("mine")
    report = ("report", "r", "-o", "page.html", "--figures", "figures")
    code, _, err = run(*report)
    assert (code, "tradeoff.png exists" in err, (tmp_path / "page.html").exists()) == (2, True, False)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"tradeoff.png"}
    for command, file in ((compare, "c.html"), (report, "figures/tradeoff.png")):
        assert run(*command, "--overwrite")[0] == 0
        assert (tmp_path / file).read_bytes() != b"mine"


def test_a_comparison_is_printed_where_its_page_cannot_be_written(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    (tmp_path / "fairalm-compare.html").mkdir()
    code, out, err = run("compare", table, *COMPARE)
    assert code == 0, err
    assert "as a multiple of the plain model" in out
    assert "No page. fairalm-compare.html" in out


@pytest.mark.parametrize("out", [".", "..", "/", "../x/.."])
def test_the_current_folder_is_no_output(run, table, tmp_path, out):
    for overwrite in ((), ("--overwrite",)):
        code, _, err = run("train", table, *QUESTION, "-o", out, *overwrite)
        assert (code, len(err.splitlines())) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == [table.name]
