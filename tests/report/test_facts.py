import copy
import itertools
import json

import numpy as np
import pytest

from fairalm._validation import encode_groups
from fairalm.exceptions import InputError
from fairalm.measures import Measure, bin_scores, group_rates, measure_of, merge_bins, people_to_settle
from fairalm.report.chart_data import chart_data
from fairalm.report.facts import gather
from fairalm.report.page import page
from fairalm.report.specs import specs


def content(run):
    return json.loads((run / "metrics.json").read_text())


def counts_of(metrics, group, **counts):
    """Put other confusion counts into the fair model's test people, and all that follows from them."""
    changed = copy.deepcopy(metrics)
    entry = changed["splits"]["test"]
    entry["groups"][group] |= counts
    y, predicted, names = [], [], []
    for name, cells in entry["groups"].items():
        for key, (label, prediction) in {"tp": (1, 1), "fn": (1, 0), "fp": (0, 1), "tn": (0, 0)}.items():
            y += [label] * cells[key]
            predicted += [prediction] * cells[key]
            names += [name] * cells[key]
    rates = group_rates(y, predicted, sensitive_features=names, target=1)
    for measure in ("error", "deo"):
        entry[measure] = measure_of(measure, rates).to_dict()
    entry.pop("scores", None)
    return changed


def test_the_verdict_is_that_of_the_run(trained):
    metrics, facts = content(trained), gather([trained])
    verdict = facts["verdict"]
    assert verdict["outcome"] == metrics["constraint"]["verdict"]
    gap = Measure("deo", **metrics["splits"]["test"]["deo"])
    assert str(gap).replace(" %", " points") in verdict["text"]
    assert "at most 1 point" in verdict["text"]
    assert facts["constraint"]["sentence"].startswith("Among people with hired = yes, the share the model misses")


@pytest.mark.parametrize("gap", [0.03, 0.04])
def test_how_many_more_people_would_settle_it(trained, gap):
    metrics = content(trained)
    entry = {
        "value": gap,
        "low": 0.0,
        "high": 0.06,
        "n": 600,
        "n_min": 250,
        "signed": gap,
        "note": "",
        "split": "heldout",
    }
    metrics["splits"]["test"]["deo"] = entry
    n_test = metrics["splits"]["test"]["error"]["n"]
    times = people_to_settle(Measure("deo", **entry), 0.01) / 250
    half = max(gap, 0.06 - gap)
    assert times == pytest.approx((half / (gap - 0.01)) ** 2, rel=0.01)  # width shrinks with the root
    text = gather([metrics])["verdict"]["text"]
    assert f"about {float(f'{n_test * (times - 1):.1e}'):,.0f} more test people" in text


def test_verdicts_that_need_no_more_people(trained):
    for low, high, outcome in ((0.0, 0.005, "met"), (0.02, 0.06, "not met")):
        metrics = content(trained)
        metrics["splits"]["test"]["deo"] |= {"value": (low + high) / 2, "low": low, "high": high}
        verdict = gather([metrics])["verdict"]
        assert verdict["outcome"] == outcome
        assert "more test people" not in verdict["text"]


def test_a_constant_model_is_no_success(trained):
    metrics = content(trained)
    for name in "FM":
        metrics = counts_of(metrics, name, tp=0, fp=0, fn=200, tn=200)
    assert "predicts one label for all people" in gather([metrics])["verdict"]["text"]


def test_large_counts_are_shown_as_they_are(trained):
    metrics, facts = content(trained), gather([trained])
    for name, model in (("splits", facts["models"][0]), ("plain", facts["models"][1])):
        entry = (metrics["splits"] if name == "splits" else metrics["plain"]["splits"])["test"]
        assert model["error"]["value"] == entry["error"]["value"]
        for group in model["groups"]:
            for key, count in group["counts"].items():
                assert count == entry["groups"][group["name"]][key]
            for rate, figure in group["rates"].items():
                kept = entry["groups"][group["name"]]["rates"][rate]
                for end in ("value", "low", "high"):
                    assert figure[end] == pytest.approx(kept[end], abs=1e-5)


def test_a_small_group_and_label_is_rounded_with_all_that_needs_it(trained):
    facts = gather([counts_of(content(trained), "F", tp=4, fn=3)])
    model, group = facts["models"][0], facts["models"][0]["groups"][0]
    assert group["counts"]["tp"] + group["counts"]["fn"] == 10
    assert all(count % 10 == 0 for own in model["groups"] for count in own["counts"].values())
    assert group["rates"]["tpr"]["value"] is None
    assert group["rates"]["tpr"]["text"] == "20 to 100 %"  # 4 to 0 wrong of 5 to 14
    assert model["verdict"] == "cannot tell"
    assert "rounded to the nearest 10" in facts["privacy"][0]
    assert "3 people" not in page(facts)
    assert "7 people" not in page(facts)


def test_pages_are_the_same_whatever_the_small_count(trained):
    """Nothing on the page tells 1 missed from 4, or the error and the gap that follow."""
    metrics = content(trained)
    pages = {page(gather([counts_of(metrics, "F", tp=200 - fn, fn=fn)])) for fn in (1, 2, 3, 4)}
    assert len(pages) == 1


def test_figures_follow_from_the_rounded_counts(trained):
    facts = gather([counts_of(content(trained), "F", tp=197, fn=3)])
    model = facts["models"][0]
    right, n = (sum(group["counts"][part] for group in model["groups"] for part in parts) for parts in PARTS)
    assert model["error"]["value"] == pytest.approx(1 - right / n, abs=0.005)
    shares = [1 - group["counts"]["fn"] / (group["counts"]["tp"] + group["counts"]["fn"]) for group in model["groups"]]
    assert model["gap"]["value"] == pytest.approx(max(shares) - min(shares), abs=0.005)
    assert model["change"] is None
    assert model["history"] == {}
    assert model["scores"] is None
    assert facts["runs"][0]["fingerprint"] == "left out"
    assert not any(text.startswith("Certificate") for text in facts["limits"])


PARTS = (("tp", "tn"), ("tp", "fp", "tn", "fn"))


def test_people_of_too_few_are_rounded(trained):
    metrics = content(trained)
    tested = metrics["splits"]["test"]["groups"]["F"]
    metrics["data"]["groups"]["F"]["no"] = tested["fp"] + tested["tn"] + 5  # five to train on, by subtraction
    facts = gather([metrics])
    first = facts["people"]["groups"][0]
    assert facts["rounded_to"] == 10
    assert all(count % 10 == 0 for count in [*first["counts"], first["total"]])
    assert facts["people"]["sizes"]["rows"].startswith("about ")


def test_figures_by_weight_are_left_out(trained):
    metrics = counts_of(content(trained), "F", tp=197, fn=3)
    for splits in (metrics["splits"], metrics["plain"]["splits"]):
        for entry in splits.values():
            for group in entry["groups"].values():
                group["weights"] = group["weight_squares"] = {part: group[part] for part in PARTS[1]}
    facts = gather([metrics])
    assert facts["models"][0]["gap"]["text"] == facts["models"][0]["error"]["text"] == "left out"
    assert facts["models"][0]["groups"][0]["rates"]["fpr"] is None
    assert "because rows have weights" in facts["privacy"][-1]


@pytest.mark.parametrize("min_cell", [10, 60, 200])
def test_thresholds_part_nobody_or_enough(trained, min_cell):
    facts = gather([trained], min_cell=min_cell)
    for model, entry in zip(
        facts["models"], (content(trained)["splits"], content(trained)["plain"]["splits"]), strict=True
    ):
        if model["scores"] is None:
            assert min_cell > 10  # too few people between any two
            continue
        for group, rows_ in zip(model["groups"], model["scores"]["above"], strict=True):
            for key, row in rows_.items():
                own = entry["test"]["groups"][group["name"]][key]
                for a, b in [*itertools.pairwise(row), (row[-1], 0), *((count, own) for count in row[1:])]:
                    assert abs(a - b) == 0 or abs(a - b) >= min_cell


def test_merging_bins_further_is_binning_with_larger_cells():
    rng = np.random.default_rng(0)
    scores, positive = rng.uniform(size=3000), rng.uniform(size=3000) < 0.4
    groups = encode_groups(rng.choice(["a", "b"], 3000))
    fine, coarse = (bin_scores(scores, positive, groups, min_cell=m) for m in (10, 90))
    merged = merge_bins(fine, 90)
    assert len(merged["edges"]) == len(coarse["edges"])
    for rows_ in merged["counts"].values():
        for row in rows_.values():
            assert all(count == 0 or count >= 90 for count in row)
    assert merge_bins(fine, 5) is fine


def test_front_and_choice(compared):
    facts = gather([compared])
    models = facts["models"]
    assert len(models) == 2 * (4 + 2 * any(m["kind"] == "other" for m in models))
    for model in models:
        beaten = any(
            other["error"]["value"] <= model["error"]["value"]
            and other["gap"]["value"] <= model["gap"]["value"]
            and (other["error"]["value"], other["gap"]["value"]) != (model["error"]["value"], model["gap"]["value"])
            for other in models
        )
        assert not (beaten and model["id"] in facts["front"])
    trained = [single["splits"]["train"] for single in json.loads(compared.read_text())["runs"]]
    best = max(1 - entry["error"]["value"] for entry in trained)
    able = [i for i, entry in enumerate(trained) if 1 - entry["error"]["value"] >= 0.9 * best]
    assert facts["nvp"] == min(able, key=lambda i: (trained[i]["deo"]["value"], trained[i]["error"]["value"]))


def test_runs_on_other_data_are_named(trained, frontier):
    other = content(frontier)
    other["data"]["fingerprint"] = "sha256:0"
    facts = gather([content(trained), other])
    assert [model["name"] for model in facts["models"]][:2] == ["people: fair model (secant)", "people: plain model"]
    assert "different data" in facts["limits"][0]


@pytest.mark.parametrize("what", ["constraint", "label", "groups"])
def test_runs_that_do_not_belong_on_one_axis_are_refused(trained, what):
    other = content(trained)
    if what == "constraint":
        other["measure"] |= {"key": "ddp"}
    elif what == "label":
        other["config"]["positive"] = "no"
    else:
        for splits in (other["splits"], other["plain"]["splits"]):
            groups = splits["test"]["groups"]
            groups["women"] = groups.pop("F")
    with pytest.raises(InputError, match=rf"people has the {what} .* trained has .*Write a report for each\."):
        gather([trained, other])


def test_one_model_far_from_all_others_does_not_squeeze_the_chart(compared):
    metrics = json.loads(compared.read_text())
    far = next(single for single in metrics["runs"] if single["method"] == "reweight")
    far["splits"]["test"]["error"] |= {"value": 0.9, "low": 0.88, "high": 0.92}
    drawn = gather([metrics])["tradeoff"]
    assert len(drawn["points"]) == len(metrics["runs"]) - 1
    assert drawn["outside"][0].startswith("fair model (reweight), seed 0: gap")
    assert "error 90.0 % [88.0, 92.0]" in drawn["outside"][0]
    labels = [row["label"] for row in drawn["labelled"]]
    assert labels[:2] == ["fair model (secant), seed 0", "plain model, seed 0"]
    assert "augmented" in labels


def test_charts_have_their_data(trained):
    facts = gather([trained])
    for name, spec in specs(facts).items():
        used = {layer["data"]["name"] for layer in spec["layer"] if "name" in layer.get("data", {})}
        used |= {spec["data"]["name"]} if "data" in spec else set()
        assert used <= set(chart_data(facts, name))
        assert all(chart_data(facts, name)[key] for key in used - {"front", "nvp"})


def test_curves_are_as_fine_as_the_counts_behind_them(compared):
    metrics = json.loads(compared.read_text())
    single = metrics["runs"][0] | {"seed": None, "settings": {"net": "small"}, "seconds": None}
    single["history"] = {"error": [0.12345, 0.2], "gap": [-0.12345, 0.0], "dual_0": [0.12345, 1.0]}
    single["splits"] = {"test": single["splits"]["test"]}
    for part, error in (("train", 0.12), ("test", 0.1235)):  # the training people are not counted
        facts = gather([{**metrics, "runs": [single | {"history_of": part}]}])
        (model,) = facts["models"]
        assert (model["name"], model["settings"]["net"]) == ("plain model", "small")
        assert model["history"] == {
            "round": [1, 2],
            "error": [error, 0.2],
            "gap": [error, 0.0],
            "dual_0": [0.1235, 1.0],
        }
        assert facts["curves_of"] == part
        assert specs(facts)["curve-gap"]["encoding"]["x"]["axis"]["values"] == [1, 2]
        assert facts["runs"][0]["seconds"] == metrics.get("seconds")


def test_what_is_no_run_is_refused(tmp_path, trained):
    with pytest.raises(InputError, match=r"it has no metrics\.json"):
        gather([tmp_path])
    with pytest.raises(InputError, match="no such file"):
        gather([tmp_path / "x"])
    (tmp_path / "a.json").write_text('{"schema": 2, "config": {}}')
    with pytest.raises(InputError, match="a report needs one that fairalm wrote"):
        gather([tmp_path / "a.json"])
    with pytest.raises(InputError, match="`min_cell` must be 1 or more"):
        gather([trained], min_cell=0)
    with pytest.raises(InputError, match="no run"):
        gather([])
    with pytest.raises(InputError, match=r"has no sheet\.png"):
        gather([trained], maps=tmp_path)
