import json
import sys

import pytest

from fairalm.exceptions import FairALMWarning
from fairalm.measures import Measure
from fairalm.report.card import escape, model_card
from fairalm.report.facts import gather


def test_the_hub_reads_it(trained, nasty):
    hub = pytest.importorskip("huggingface_hub")
    for run in (trained, nasty):
        metrics = json.loads((run / "metrics.json").read_text())
        text = model_card(gather([run]))
        data = hub.ModelCard(text).data
        assert data.library_name == "fairalm"
        assert data.pipeline_tag == "tabular-classification"
        figures = {result.metric_type: result.metric_value for result in data.eval_results}
        test = metrics["splits"]["test"]
        assert figures["error"] == pytest.approx(test["error"]["value"], abs=1e-5)
        if run == trained:
            assert figures["deo"] == pytest.approx(test["deo"]["value"], abs=1e-5)
            ends = next(result.metric_args for result in data.eval_results if result.metric_type == "deo")
            assert ends == pytest.approx({end: test["deo"][end] for end in ("low", "high")}, abs=1e-5)
            assert escape(str(Measure("deo", **test["deo"])).replace(" %", " points")) in text
        assert f"{metrics['constraint']['verdict'].capitalize()}: " in text
        assert "May I use it without the attribute? " in text


def test_without_the_hub(trained, monkeypatch):
    pytest.importorskip("huggingface_hub")
    with_metadata = model_card(gather([trained]))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.warns(FairALMWarning, match=r'pip install "fairalm\[hub\]"'):
        text = model_card(gather([trained]))
    assert text.startswith("# ")
    assert with_metadata.endswith(text)


def test_names_are_text(nasty):
    pytest.importorskip("huggingface_hub")
    text = model_card(gather([nasty]))
    code = text[text.index("## How it was made") :]
    assert "<script>" not in text.replace(code, "").split("---", 2)[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 3 * (2 + 4)
    assert "אבג" in text


def test_small_cells_are_rounded(nasty):
    pytest.importorskip("huggingface_hub")
    text = model_card(gather([nasty], min_cell=2000))
    assert "rounded to the nearest 2000" in text
    assert "sha256" not in text


def test_rates_from_the_plain_model_and_warnings(trained):
    pytest.importorskip("huggingface_hub")
    metrics = json.loads((trained / "metrics.json").read_text())
    metrics["training"]["warnings"] = ["The TPR falls in F <b>."]
    lines = model_card(gather([metrics])).splitlines()
    assert "**Warning in training:** The TPR falls in F \\<b\\>." in lines
    head = lines.index("| group | TPR | selection rate |")
    for line, name in zip(lines[head + 2 :], "FM", strict=False):
        cells = [name]
        for rate in ("tpr", "selection"):
            before, after = (
                entry["test"]["groups"][name]["rates"][rate]
                for entry in (metrics["plain"]["splits"], metrics["splits"])
            )
            ends = f"[{100 * after['low']:.1f}, {100 * after['high']:.1f}]"
            cells.append(escape(f"{100 * before['value']:.1f} % → {100 * after['value']:.1f} % {ends}"))
        assert line == f"| {' | '.join(cells)} |"
    del metrics["plain"]
    assert "From the plain model" not in model_card(gather([metrics]))
