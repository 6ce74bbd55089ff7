"""Shares, intervals and spreads as text: the only place where they are formatted."""

from __future__ import annotations

End = float | None  # of an interval


def percent(share: float, digits: int = 1) -> str:
    """A share in percent.

    >>> percent(0.2392)
    '23.9 %'
    """
    return f"{100 * share:.{digits}f} %"


def points(share: float) -> str:
    """A difference of rates in percentage points.

    >>> points(0.01), points(0.025)
    ('1 point', '2.5 points')
    """
    number = f"{100 * share:.3g}"
    return f"{number} point{'' if number == '1' else 's'}"


def interval(low: float, high: float, digits: int = 1, *, scale: float = 100.0, sign: str = "") -> str:
    """The ends of an interval; parameters as in :func:`with_interval`.

    >>> interval(0.0662, 0.2148)
    '[6.6, 21.5]'
    """
    return f"[{scale * low:{sign}.{digits}f}, {scale * high:{sign}.{digits}f}]"


def with_interval(
    value: float, low: End, high: End, digits: int = 1, *, unit: str = " %", scale: float = 100.0, sign: str = ""
) -> str:
    """A share in percent with its interval, or alone where the interval is None or NaN.

    `unit` is printed after the value; `scale` multiplies all three numbers, so that 1 prints them as they are; and
    ``sign="+"`` prints the sign of positive numbers too, for differences.

    >>> with_interval(0.125, 0.0662, 0.2148), with_interval(0.125, None, None)
    ('12.5 % [6.6, 21.5]', '12.5 %')
    >>> with_interval(1.5, 0.8, 2.25, digits=2, unit="", scale=1)
    '1.50 [0.80, 2.25]'
    """
    text = f"{scale * value:{sign}.{digits}f}{unit}"
    if low is None or high is None or low != low or high != high:
        return text
    return f"{text} {interval(low, high, digits, scale=scale, sign=sign)}"


def plus_minus(mean: float, spread: float | None, digits: int = 1) -> str:
    """A mean with its spread, or alone where the spread is None or NaN.

    >>> plus_minus(33.62, 0.5), plus_minus(-0.0312, 0.1, digits=2), plus_minus(3, None)
    ('33.6 ± 0.5', '-0.03 ± 0.10', '3.0')
    """
    text = f"{mean:.{digits}f}"
    return text if spread is None or spread != spread else f"{text} ± {spread:.{digits}f}"
