"""What changed from the plain model to another, what is known of it, and whether that is enough, in sentences.

Sentences take figures as :mod:`fairalm.report.models` makes them: ``value``, ``low`` and ``high`` as shares, and
``digits``; they are None where they are hidden or undefined. A change is the fair model's figure minus the plain one's
on the same test rows, with the interval of the paired difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairalm.measures.text import percent, points, with_interval

Figure = Mapping[str, Any]
NARROW = 0.01  # "did not change": the interval of the change contains 0 and reaches no further than this
NOTICED = 0.005  # a change without interval must be larger to be called one
MOST_NAMED = 4  # groups named one by one in a sentence
REASONS = {
    "met": "Met: the whole interval is within that.",
    "not met": "Not met: the whole interval is beyond that.",
    "cannot tell": "Cannot tell: the interval reaches from within that to beyond it.",
    "undefined": "Cannot tell: there are too few {rows} to measure it.",
}


class RateChange(NamedTuple):
    """A group's rate under the plain model and under the fair one; None where it is hidden or not recorded."""

    group: str
    before: float | None
    after: float | None
    change: Figure | None = None


def direction(change: Figure) -> str:
    """In words, by the interval of a change.

    >>> direction({"low": -0.14, "high": -0.05}), direction({"low": -0.003, "high": 0.003})
    ('fell', 'did not change')
    >>> direction({"low": -0.03, "high": 0.03})
    'may have changed'
    """
    if change["low"] > 0 or change["high"] < 0:
        return "rose" if change["low"] > 0 else "fell"
    return "did not change" if max(-change["low"], change["high"]) <= NARROW else "may have changed"


def gap_sentence(
    subject: str, gap: Figure, before: Figure | None, change: Figure | None, rows: str, *, is_ratio: bool = False
) -> str:
    """What the gap was, what it is, and what it is at most on rows not seen; `subject` is "the gap between A and B".

    With `is_ratio` the figures are one minus a ratio; the sentence is about the ratio, which is at least something.
    """
    subject, scale = subject[0].upper() + subject[1:], _POINTS
    if gap["value"] is None:
        return f"{subject} is {gap['text']}."
    if is_ratio:
        scale, gap = _RATIO, _turned(gap, 1.0)
        before, change = before and _turned(before, 1.0), change and _turned(change, 0.0)
    bound, least = ("at least", gap["low"]) if is_ratio else ("at most", gap["high"])
    known = "" if least is None else f"; on new {rows} it is {bound} {scale.number(gap, least)}{scale.unit}"
    return f"{subject} {_move(scale, gap, before, change)}{known}."


def error_sentence(error: Figure, before: Figure | None, change: Figure | None) -> str:
    """What the share of wrong decisions was and is."""
    if error["value"] is None:
        return f"The share of wrong decisions (error) is {error['text']}."
    return f"The share of wrong decisions (error) {_move(_PERCENT, error, before, change)}."


class _Scale(NamedTuple):
    """How the figures of a sentence are printed."""

    unit: str
    times: float = 100.0
    digits: int | None = None  # those of the figure

    def number(self, figure: Figure, share: float) -> str:
        return f"{self.times * share:.{figure['digits'] if self.digits is None else self.digits}f}"

    def change(self, change: Figure) -> str:
        digits = change["digits"] if self.digits is None else self.digits
        value, low, high = (
            round(self.times * change[end], digits) + 0.0 for end in ("value", "low", "high")
        )  # no -0.0
        return f"change {with_interval(value, low, high, digits, unit='', scale=1.0, sign='+')}"


_POINTS, _PERCENT, _RATIO = _Scale(" points"), _Scale(" %"), _Scale("", 1.0, 2)


def _move(scale: _Scale, after: Figure, before: Figure | None, change: Figure | None) -> str:
    if before is None or before["value"] is None:
        return f"is {scale.number(after, after['value'])}{scale.unit}"
    digits = {"digits": min(before["digits"], after["digits"])}
    before, after = {**before, **digits}, {**after, **digits}
    now = scale.number(after, after["value"]) + scale.unit
    both = f"from {scale.number(before, before['value'])} to {now}"
    if change is None:
        is_same = scale.number(before, before["value"]) + scale.unit == now
        return f"stayed at {now}" if is_same else f"went {both}"
    how, by = direction(change), scale.change(change)
    if how == "did not change":
        return f"did not change ({now}; {by})"
    return f"may have changed: {both} ({by})" if how == "may have changed" else f"{how} {both} ({by})"


def _turned(figure: Figure, one: float) -> dict[str, Any]:
    """One minus a figure, or minus a change."""
    ends = {name: None if figure[other] is None else one - figure[other] for name, other in _TURNED.items()}
    return {**figure, **ends}


_TURNED = {"value": "value", "low": "high", "high": "low"}


def rates_sentence(name: str, changes: Sequence[RateChange]) -> str:
    """A rate of each group before and after, or of the lowest and highest of many; "" if all are hidden."""
    after = [(each.group, each.after) for each in changes if each.after is not None]
    before = {each.group: each.before for each in changes if each.before is not None}
    if not after:
        return ""
    if len(after) <= MOST_NAMED:
        parts = [
            f"{group} from {100 * before[group]:.1f} to {percent(rate)}"
            if group in before
            else f"{group} {percent(rate)}"
            for group, rate in after
        ]
    elif len(before) == len(after):
        parts = [f"{_ends(list(before.items()))} under the plain model", f"{_ends(after)} under the fair model"]
    else:
        parts = [_ends(after)]
    return f"{name}: {', '.join(parts)}."


def levelling_sentence(words: str, changes: Sequence[RateChange]) -> str:
    """Say it where the rate of every group that is shown fell, in one of them by more than chance; else "".

    >>> fell = {"value": -0.1, "low": -0.15, "high": -0.05}
    >>> levelling_sentence("selected less often", [RateChange("a", 0.5, 0.4, fell), RateChange("b", 0.6, 0.5, fell)])
    'Both groups are selected less often than before.'
    """
    falls = [each.before - each.after for each in changes if each.before is not None and each.after is not None]
    if len(falls) < 2 or min(falls) <= 0:
        return ""
    known = [each.change for each in changes if each.change is not None]
    is_clear = any(change["high"] < 0 for change in known) if known else min(falls) > NOTICED
    all_groups = "Both groups are" if len(falls) == 2 else "Every group is"
    who = all_groups if len(falls) == len(changes) else "Every group whose rate is shown is"
    return f"{who} {words} than before." if is_clear else ""


def limit_in_words(constraint: Mapping[str, Any]) -> str:
    """The tolerance, or the ratio that is asked for."""
    return f"at least {1 - constraint['tol']:.3g}" if is_ratio(constraint) else f"at most {points(constraint['tol'])}"


def is_ratio(constraint: Mapping[str, Any]) -> bool:
    """Whether a ratio of rates is asked for, and no difference."""
    return bool(constraint["kind"] == "shortfall")


def _ends(rates: Sequence[tuple[str, float]]) -> str:
    ordered = sorted(rates, key=lambda own: own[1])
    (low, least), (high, most) = ordered[0], ordered[-1]
    return f"{100 * least:.1f} ({low}) to {percent(most)} ({high})"
