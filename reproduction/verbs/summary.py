"""From cells to tables: means over the seeds in percent, each with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures import Measure
from fairalm.vision.leak import average, difference
from reproduction.verbs.rules import RULES

Results = Sequence[Mapping[str, Any]]
MEASURES = {"error": "error", "worst": "worst group", "deo": "DEO"}
OURS = "fairalm-heldout"
FEWEST = 3  # seeds; an interval over two of them says nothing


def runs(results: Results) -> pd.DataFrame:
    """One line per head that was chosen and tested.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.verbs.cell.run_cell` gives them.

    Returns
    -------
    pandas.DataFrame
        ``data``, ``rule``, ``seed``, ``setting``; shares: ``error``, ``worst`` (of the four cells of label and group),
        ``deo``, each with ``_low`` and ``_high``, its interval on this test part; ``chance``, the DEO of a head without
        any gap; ``fresh_error`` and ``fresh_deo`` of scenes; ``selection``.
    """
    lines = []
    for result in results:
        config, test, fresh = result["config"], result["test"], result["fresh"]
        setting = ", ".join(f"{name} {value:g}" for name, value in config["settings"][result["chosen"]].items())
        line = {name: config[name] for name in ("data", "rule", "seed")} | {"setting": setting}
        for name in MEASURES:
            line |= {name: test[name]["value"], f"{name}_low": test[name]["low"], f"{name}_high": test[name]["high"]}
        line |= {name: test[name] for name in ("chance", "selection")}
        line |= {f"fresh_{name}": fresh[name]["value"] if fresh else np.nan for name in ("error", "deo")}
        lines.append(line)
    return pd.DataFrame(lines)


def summarise(heads: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds, in percent.

    The interval of scenes is over the seeds, each of which has scenes of its own, if there are three. The seeds of
    Waterbirds and of imSitu share their test pictures, so theirs is that of the test part: the mean of its ends.

    Parameters
    ----------
    heads : pandas.DataFrame
        From :func:`runs`.

    Returns
    -------
    pandas.DataFrame
        One line per data set and rule: ``error``, ``worst``, ``deo`` with ``_low``, ``_high`` and ``_sd`` (over the
        seeds), ``one_low`` and ``one_high``, the mean interval of a DEO on one test part; ``chance``; of scenes
        ``fresh_deo`` with ``_low`` and ``_high``; how many seeds have a DEO of 0 (``zeros``) or predict one label
        (``constants``); ``setting``, the one chosen most often, and ``seeds``.
    """
    lines = []
    for (data, rule), part in heads.groupby(["data", "rule"], sort=False):
        is_drawn = str(data).startswith("scenes")
        is_over_seeds = is_drawn and len(part) >= FEWEST
        line: dict[str, Any] = {"data": data, "rule": rule}
        over_seeds = average(part[[*MEASURES, "chance", "fresh_error", "fresh_deo"]])
        for name in (*MEASURES, *["fresh_error", "fresh_deo"] * is_drawn):
            found = over_seeds[name]
            low, high = found.low, found.high
            if not is_over_seeds and name in MEASURES:
                low, high = part[f"{name}_low"].mean(), part[f"{name}_high"].mean()
            line |= {name: found.value, f"{name}_low": low, f"{name}_high": high, f"{name}_sd": part[name].std()}
        line |= {
            "one_low": part["deo_low"].mean(),
            "one_high": part["deo_high"].mean(),
            "chance": part["chance"].mean(),
        }
        line = {key: value if isinstance(value, str) or value is None else 100 * value for key, value in line.items()}
        line |= {
            "zeros": int((part["deo"] == 0).sum()),
            "constants": int(part["selection"].isin((0.0, 1.0)).sum()),
            "setting": Counter(part["setting"]).most_common(1)[0][0],
            "seeds": len(part),
        }
        lines.append(line)
    return pd.DataFrame(lines)


def against(heads: pd.DataFrame, data: str, ours: str = OURS) -> pd.DataFrame:
    """A rule less each other, seed by seed, in points, with Student's interval over the seeds."""
    by_rule = {
        str(rule): part.set_index("seed") for rule, part in heads[heads["data"] == data].groupby("rule", sort=False)
    }
    first, lines = by_rule.pop(ours, pd.DataFrame()), []
    for rule, part in by_rule.items():
        seeds = part.index.intersection(first.index)
        if len(seeds) < FEWEST:
            continue
        found = difference(first.loc[seeds, list(MEASURES)], part.loc[seeds, list(MEASURES)])
        line: dict[str, Any] = {"rule": rule}
        for name, mean in found.items():
            line |= percent(name, mean)
        lines.append(line)
    return pd.DataFrame(lines)


def percent(name: str, measure: Measure) -> dict[str, float]:
    """A measure and its interval as columns."""
    ends = {name: measure.value, f"{name}_low": measure.low, f"{name}_high": measure.high}
    return {key: np.nan if end is None else 100 * end for key, end in ends.items()}


def title(rule: str) -> str:
    """The name of a rule in tables."""
    return RULES[rule].title


def figure_text(line: Mapping[Any, Any], name: str, *, digits: int = 1) -> str:
    """A mean with its interval.

    >>> figure_text({"deo": 5.93, "deo_low": 1.2, "deo_high": 11.04}, "deo")
    '5.9 [1.2, 11.0]'
    """
    low, high = line.get(f"{name}_low"), line.get(f"{name}_high")
    if line.get(name) is None or line[name] != line[name]:
        return ""
    value = f"{line[name]:.{digits}f}"
    return value if low is None or low != low else f"{value} [{low:.{digits}f}, {high:.{digits}f}]"
