import itertools

import pytest

from fairalm.report.rounding import has_small, is_rough, rate_range, rounded, rounded_counts, rounding_moves, unit_for

PARTS = ("tp", "fn", "tn", "fp")


@pytest.mark.parametrize("min_cell", [2, 5, 10, 11, 25, 400])
def test_the_unit_is_no_smaller_than_what_is_hidden(min_cell):
    unit = unit_for(min_cell)
    assert unit >= min_cell
    assert unit % 10 == 0


@pytest.mark.parametrize("min_cell", [4, 5, 10, 20, 30])
def test_at_least_three_counts_look_the_same(min_cell):
    """Of the small ones, where a reader knows that one of them is small."""
    unit = unit_for(min_cell)
    for count in range(1, min_cell):
        assert sum(rounded(other, unit) == rounded(count, unit) for other in range(1, min_cell)) >= 3


def test_rounded_parts_fit_into_their_rows():
    for right, wrong in itertools.product(range(40), repeat=2):
        shown = rounded_counts({"tp": right, "fn": wrong, "tn": 0, "fp": 0}, 10)
        assert shown["fn"] == rounded(wrong, 10)
        assert shown["tp"] + shown["fn"] == rounded(right + wrong, 10)
        assert shown["tp"] >= 0


@pytest.mark.parametrize("rate", ["tpr", "fpr", "selection", "error", "ppv"])
def test_the_range_has_every_table_that_is_rounded_so(rate):
    share = {
        "tpr": lambda c: (c["tp"], c["tp"] + c["fn"]),
        "fpr": lambda c: (c["fp"], c["fp"] + c["tn"]),
        "selection": lambda c: (c["tp"] + c["fp"], sum(c.values())),
        "error": lambda c: (c["fn"] + c["fp"], sum(c.values())),
        "ppv": lambda c: (c["tp"], c["tp"] + c["fp"]),
    }[rate]
    shown = {"tp": 10, "fn": 10, "tn": 20, "fp": 0}
    found, seen = rate_range(shown, rate, 10), []
    for n1, w1, n0, w0 in itertools.product(range(15, 25), range(5, 15), range(15, 25), range(5)):
        k, n = share({"tp": n1 - w1, "fn": w1, "tn": n0 - w0, "fp": w0})
        seen += [k / n] if n else []
    assert (found["least"], found["most"]) == (pytest.approx(min(seen)), pytest.approx(max(seen)))
    assert found["low"] <= found["least"] <= found["value"] <= found["most"] <= found["high"]
    assert is_rough(found)


def test_a_large_group_keeps_its_rates():
    found = rate_range({"tp": 4000, "fn": 1000, "tn": 0, "fp": 0}, "tpr", 10)
    assert found["value"] == 0.8
    assert not is_rough(found)
    assert rate_range({"tp": 0, "fn": 0, "tn": 10, "fp": 0}, "tpr", 10) == {}
    assert rounding_moves([{"tp": 4000, "fn": 1000, "tn": 0, "fp": 0}] * 3, "tpr", 10, "difference") < 0.005


def test_exact_counts_have_exact_rates():
    counts = {"tp": 53, "fn": 14, "tn": 0, "fp": 0}
    assert rounded_counts(counts, 1) == counts
    found = rate_range(counts, "tpr", 1)
    assert found["least"] == found["value"] == found["most"] == 53 / 67


def test_what_is_small():
    for counts in itertools.product((0, 1, 9, 10, 30), repeat=4):
        own = dict(zip(PARTS, counts, strict=True))
        assert has_small(own, 10) == any(0 < count < 10 for count in counts)
        assert not has_small(own, 1)
