import itertools

import pytest

from fairalm.report.suppress import bands, is_exact, rate_band


@pytest.mark.parametrize("tp", [0, 1, 3, 9, 10, 11, 40])
@pytest.mark.parametrize("fn", [0, 1, 5, 9, 10, 30])
def test_no_count_of_a_few_is_shown_or_follows(tp, fn):
    shown = bands({"tp": tp, "fn": fn, "tn": 50, "fp": 50}, 10)
    if 0 < tp + fn < 10:
        assert shown["tp"] is None
        assert shown["fn"] is None
        return
    for name, count in (("tp", tp), ("fn", fn)):
        least, most = shown[name]
        assert least <= count <= most
        if 0 < count < 10:  # every such count looks the same
            assert (least, most) == ((1, 9) if tp + fn >= 20 else (1, tp + fn - 1))
    least, most = shown["tp"]
    assert shown["fn"] == (tp + fn - most, tp + fn - least)  # the row's size is known: subtraction gives no more


def test_what_is_shown_does_not_depend_on_the_hidden_count():
    for n in (60, 20, 19, 11, 10):
        pages = {str(bands({"tp": n - fn, "fn": fn, "tn": 50, "fp": 50}, 10)) for fn in range(1, 10)}
        assert len(pages) == 1


def test_rates_come_from_the_bands_alone():
    shown = bands({"tp": 50, "fn": 3, "tn": 40, "fp": 30}, 10)
    assert not is_exact(shown)
    for rate, (k, n) in {"fnr": (lambda c: c, 53), "error": (lambda c: c + 30, 123)}.items():
        band = rate_band(shown, rate)
        assert band["least"] == pytest.approx(k(1) / n)
        assert band["most"] == pytest.approx(k(9) / n)
        assert band["low"] < band["least"] < band["most"] < band["high"]
    ppv = rate_band(shown, "ppv")
    assert (ppv["least"], ppv["most"]) == (pytest.approx(44 / 74), pytest.approx(52 / 82))
    assert rate_band(bands({"tp": 50, "fn": 13, "tn": 4, "fp": 3}, 10), "error") is None
    assert rate_band(bands({"tp": 50, "fn": 13, "tn": 4, "fp": 3}, 10), "tpr")["least"] == pytest.approx(50 / 63)
    assert rate_band(bands({"tp": 0, "fn": 0, "tn": 40, "fp": 30}, 10), "tpr") == {}


def test_one_person_is_enough_when_asked():
    for counts in itertools.product((0, 1, 2), repeat=4):
        assert is_exact(bands(dict(zip(("tp", "fn", "tn", "fp"), counts, strict=True)), 1))
