import pytest

from fairalm.measures.text import interval, percent, plus_minus, with_interval


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(0.5), "50.0 %"),
        (percent(0.12345, 2), "12.35 %"),
        (interval(0.1, 0.25, 0), "[10, 25]"),
        (with_interval(0.3, float("nan"), float("nan")), "30.0 %"),
        (with_interval(0.031, 0.012, 0.05, unit="", sign="+"), "+3.1 [+1.2, +5.0]"),
        (with_interval(5.93, 1.2, 11.04, unit="", scale=1), "5.9 [1.2, 11.0]"),
        (plus_minus(1.25, float("nan"), 2), "1.25"),
    ],
)
def test_formats(text, expected):
    assert text == expected
