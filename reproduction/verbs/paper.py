"""The numbers of the paper's table "Quantitative Results on ImSitu": test error and DEO in percent."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """One entry; the paper gives no interval and no number of runs."""

    error: float
    deo: float


_VERBS = ("cooking", "shaving", "washing", "assembling")
_ENTRIES = {
    "unconstrained": ((17.9, 7.1), (23.6, 4.2), (12.8, 25.9), (7.5, 15.0)),
    "l2": ((14.3, 14.0), (23.6, 1.3), (10.9, 0.0), (5.0, 21.6)),
    "reweight": ((11.9, 3.5), (19.0, 5.3), (10.9, 0.0), (4.9, 9.0)),
    "adversarial": ((4.8, 0.0), (13.5, 11.9), (14.6, 25.9), (6.2, 18.3)),
    "lagrangian": ((2.4, 3.5), (12.4, 12.0), (3.7, 0.0), (5.0, 5.8)),
    "proxy-lagrangian": ((2.4, 3.5), (12.4, 12.0), (3.7, 0.0), (14.9, 26.0)),
    "fairalm": ((3.6, 0.0), (20.0, 0.0), (7.3, 0.0), (2.5, 0.0)),
}
#: rule -> target verb of the pair -> entry
PAPER = {
    rule: {verb: Printed(*entry) for verb, entry in zip(_VERBS, entries, strict=True)}
    for rule, entries in _ENTRIES.items()
}
