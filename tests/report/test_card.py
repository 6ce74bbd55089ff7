import json

import pytest

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
            assert escape(str(Measure("deo", **test["deo"]))) in text
        assert f"**{metrics['constraint']['verdict'].capitalize()}.**" in text


def test_names_are_text(nasty):
    text = model_card(gather([nasty]))
    code = text[text.index("## How it was made") :]
    assert "<script>" not in text.replace(code, "").split("---", 2)[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 * (2 + 4)
    assert "אבג" in text


def test_small_cells_are_hidden(nasty):
    text = model_card(gather([nasty], min_cell=2000))
    assert "hidden" in text
    assert "deo" not in text.split("---")[1].replace("DEO", "")
