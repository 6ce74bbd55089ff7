"""The numbers of the paper's appendix, table "Standard Datasets": percent, and ± where it gives one."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """One entry as the paper prints it; the ± is taken to be a standard deviation over its runs."""

    error: float
    deo: float
    error_sd: float | None = None
    deo_sd: float | None = None


#: row -> data set -> entry; only the last row was measured for the paper, the others are quoted there
PAPER: dict[str, dict[str, Printed]] = {
    "zafar": {"adult": Printed(22.0, 5.0), "compas": Printed(31.0, 10.0), "german": Printed(38.0, 13.0)},
    "hardt": {
        "adult": Printed(18.0, 11.0),
        "compas": Printed(29.0, 8.0),
        "german": Printed(29.0, 11.0),
        "law": Printed(4.5, 0.0),
    },
    "donini": {"adult": Printed(19.0, 1.0), "compas": Printed(27.0, 5.0), "german": Printed(27.0, 5.0)},
    "agarwal": {"adult": Printed(17.0, 1.0), "compas": Printed(31.0, 3.0), "law": Printed(4.5, 1.0)},
    "algorithm-1": {
        "adult": Printed(15.8, 0.7, 1.0, 0.6),
        "compas": Printed(34.7, 0.1, 1.0, 0.1),
        "german": Printed(24.3, 10.8, 2.7, 4.5),
        "law": Printed(4.8, 0.4, 0.1, 0.2),
    },
}
