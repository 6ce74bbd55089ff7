"""What a fit warns of reaches the terminal, metrics.json, the page and the card."""

import json

import pytest

COLLAPSED = ("--method", "fairalm", "--eta", "3", "--predictor", "last")
CASES = {
    "every group loses": (("--without-protected",), "at the expense of every group"),
    "a mixture is better": (("--without-protected", "--tol", "0.1"), "Mixtures of the models found may be"),
    "no better than a constant": (COLLAPSED, "to predict the same for every row is wrong"),
    "constant": (COLLAPSED, "a constant has no gap, and no use"),
    "the tolerance is not met": (("--method", "reweight", "--predictor", "last"), "above the tolerance of 1."),
}


@pytest.mark.parametrize("case", CASES)
def test_a_warning_is_shown_kept_and_repeated(case, run, tmp_path):
    pytest.importorskip("vl_convert")
    pytest.importorskip("huggingface_hub")
    options, words = CASES[case]
    code, _, err = run("train", "compas", *options, "-o", "r")
    assert code == 0
    warned = [line for line in err.splitlines() if words in line]
    assert len(warned) == 1
    assert warned[0].startswith("Warning: ")
    assert "tol=" not in warned[0]
    assert "predictor=" not in warned[0]  # options are spelled as the command line has them
    kept = json.loads((tmp_path / "r" / "metrics.json").read_text())["training"]["warnings"]
    assert any(words in sentence for sentence in kept)
    run("report", "r", "-o", "page.html", "--min-cell", 1)
    assert words in (tmp_path / "page.html").read_text(encoding="utf-8")
    run("card", "r", "-o", "card.md", "--min-cell", 1)
    assert words in " ".join((tmp_path / "card.md").read_text(encoding="utf-8").split())


def test_a_model_that_costs_little_is_not_warned_of(run):
    code, _, err = run("train", "compas", "-o", "r")
    assert code == 0
    assert err == ""
