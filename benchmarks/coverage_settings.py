"""The protocol of benchmarks/coverage.py, fixed before its first run: what is simulated, how often, and the limits.

Every setting is drawn `DRAWS` times from the seed `SEED`, and every interval is nominally one of 95 %. Group sizes are
fixed, labels and the two models' predictions are drawn. Draws in which a measure is undefined are left out.

Limits, for every setting unless it says "mean":

| what | limit |
|---|---|
| weighted rates and gaps, unequal weights | mean over settings 93 to 98 %, lowest at least 93 % |
| paired changes of error, rates, gaps, ratios | mean over settings 93 to 98 %, lowest at least 93 % |
| the smallest gap of twenty models | at least 93 % |
| false "met": the gap is above the tolerance, the verdict is "met" | at most 5 % |
| means over seeds of shares, kept inside [0, 1] | not below that of Student's interval |

Cells under ten rows have no limit: their coverage is computed exactly and stated. With 4,000 draws the standard error
of a coverage of 95 % is 0.34 points, so the lowest of a hundred settings is expected 0.9 points below its true value.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

DRAWS, SEED = 4000, 0
LEVEL = 0.95


@dataclass(frozen=True)
class Group:
    """A group's label share and, for each label, the share predicted as the target before and after.

    `down` and `up` are the shares of those predictions that change: of the positive ones and of the negative ones.
    """

    tpr: float
    fpr: float
    down: float = 0.0
    up: float = 0.0
    base: float = 0.4


@dataclass(frozen=True)
class Setting:
    """Groups and their sizes; `sigma` is the spread of log-normal weights, 0 for none."""

    name: str
    groups: tuple[Group, ...]
    sizes: tuple[int, ...]
    sigma: float = 0.0
    is_separate: bool = False  # then the groups are the combinations of two attributes with two values each


# Two groups, before -> after
PAIRS = {
    "no gap, few flips": (Group(0.7, 0.2, 0.02, 0.02), Group(0.7, 0.2, 0.02, 0.02)),
    "no gap, many flips": (Group(0.7, 0.2, 0.15, 0.15), Group(0.7, 0.2, 0.15, 0.15)),
    "gap mended": (Group(0.7, 0.2, 0.05, 0.0), Group(0.55, 0.1, 0.0, 0.25)),
    "gap kept": (Group(0.7, 0.2, 0.05, 0.05), Group(0.55, 0.1, 0.05, 0.05)),
    "gap reversed": (Group(0.7, 0.2, 0.15, 0.0), Group(0.55, 0.1, 0.0, 0.3)),
    "gap made": (Group(0.7, 0.2, 0.0, 0.05), Group(0.7, 0.2, 0.2, 0.0)),
    "rare": (Group(0.1, 0.03, 0.1, 0.01), Group(0.05, 0.01, 0.1, 0.02)),
    "levelled down": (Group(0.9, 0.4, 0.4, 0.0), Group(0.6, 0.3, 0.02, 0.01)),
}
PAIR_SIZES = ((100, 100), (400, 400), (2000, 400), (10000, 1500))

# Five groups
FLIPS = {"down": 0.04, "up": 0.04}
MANY = {
    "all equal": (Group(0.7, 0.2, **FLIPS),) * 5,
    "one apart, mended": (*(Group(0.7, 0.2, **FLIPS),) * 4, Group(0.5, 0.1, 0.0, 0.4)),
    "one apart, kept": (*(Group(0.7, 0.2, **FLIPS),) * 4, Group(0.5, 0.1, **FLIPS)),
    "spread": tuple(Group(0.5 + 0.08 * i, 0.1 + 0.03 * i, 0.02 * i, 0.1 - 0.02 * i) for i in range(5)),
    "another apart": (*(Group(0.7, 0.2, **FLIPS),) * 3, Group(0.5, 0.1, 0.0, 0.4), Group(0.7, 0.2, 0.3, 0.0)),
}
MANY_SIZES = ((200,) * 5, (1000,) * 5, (3000, 1000, 400, 200, 200))

# Two attributes with two values each, compared each on its own
SEPARATE = {
    "two attributes, no gap": (Group(0.7, 0.2, **FLIPS),) * 4,
    "two attributes, one mended": (*(Group(0.7, 0.2, **FLIPS),) * 2, *(Group(0.55, 0.1, 0.0, 0.25),) * 2),
    "two attributes, both apart": tuple(Group(0.5 + 0.1 * i, 0.1 + 0.03 * i, **FLIPS) for i in range(4)),
}
SEPARATE_SIZES = ((100,) * 4, (600, 200, 1000, 400))

SIGMAS = (0.5, 1.0)  # of the logarithm of the weights
MEASURES = ("error", "deo", "equalized_odds", "ddp", "predictive_parity", "dp_ratio")


def paired_settings() -> list[Setting]:
    """Two models on the same rows."""
    two = [Setting(name, groups, sizes) for (name, groups), sizes in itertools.product(PAIRS.items(), PAIR_SIZES)]
    five = [Setting(name, groups, sizes) for (name, groups), sizes in itertools.product(MANY.items(), MANY_SIZES)]
    apart = [
        Setting(name, groups, sizes, is_separate=True)
        for (name, groups), sizes in itertools.product(SEPARATE.items(), SEPARATE_SIZES)
    ]
    return two + five + apart


def weighted_settings() -> list[Setting]:
    """The same with weights: all pairs of groups at two sizes, five groups at one."""
    two = itertools.product(PAIRS.items(), PAIR_SIZES[1:3], SIGMAS)
    five = itertools.product(MANY.items(), MANY_SIZES[1:2], SIGMAS)
    return [Setting(name, groups, sizes, sigma) for (name, groups), sizes, sigma in (*two, *five)]


# One of so many models on the same rows is chosen by its gap on them
N_MODELS = 20
CHOSEN_SIZES = ((100, 100), (400, 400), (2000, 400))
CHOSEN_GAPS = (0.0, 0.03, 0.1)  # true gap of every model, or of the best when they differ
CHOSEN_AGREEMENT = (0.0, 0.5, 0.9)  # share of rows in which a model follows the shared prediction

TOLERANCES = (0.01, 0.05, 0.1)  # false "met" where the true gap is just above
SMALL = (1, 2, 3, 5, 7, 9)  # rows per cell, two cells

# Means over seeds of shares, from Beta distributions
N_SEEDS = (3, 5, 10)
BETAS = ((50, 450), (5, 45), (1, 20), (0.5, 20), (200, 2), (5, 5))
