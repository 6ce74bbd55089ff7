"""From nets to tables: means and spreads over the seeds, and the paper's claims, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures import rate_interval
from fairalm.vision.leak import average, difference
from reproduction.xray.paper import CLAIMS, REACHED
from reproduction.xray.settings import HOSPITAL, PLAIN
from reproduction.xray.variance import variance_ratio

NAMES = {"error": "error", "deo": "DEO"}
HEAD = ["rule", "error", "sd", "DEO", "sd", "to 20 %"]
CLAIMS_HEAD = ["rule", "lower in the paper", "measured", "found"]
LEGEND = (
    "Percent of the test pictures. error and DEO: mean [95 % interval] and standard deviation over the seeds. to 20 %:"
    " epochs until the test error is 20 % or less, median over the seeds; a net that never does is later than any."
)
CLAIMS_LEGEND = (
    "Seed by seed against the unconstrained net, with 95 % intervals. Means: the difference, in points. Variances: the"
    " ratio, by Pitman and Morgan. Epochs: in how many seeds the rule gets there sooner, and later. shown: the interval"
    " (of the seeds that differ, the share that is later) lies on the paper's side; open: it does not tell."
)


def runs(results: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One line per net that predicts tuberculosis.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.xray.cell.run_cell` gives them.

    Returns
    -------
    pandas.DataFrame
        ``label``, ``seed``; shares after the last epoch: ``error``, ``deo``, ``signed`` (Montgomery's false negative
        rate less Shenzhen's), ``chance``, ``train_error``, ``train_deo``; ``epochs``, and ``reached``, the first one
        with a test error of 20 % or less, infinite if there is none.
    """
    lines = []
    for result in results:
        config, profile = result["config"], result["profile"]
        if config["rule"] == HOSPITAL:
            continue
        early = np.flatnonzero(np.array(profile["test_error"]) <= REACHED)
        lines.append(
            {
                "label": label(config),
                "seed": config["seed"],
                "error": result["error"]["value"],
                "deo": result["deo"]["value"],
                "signed": result["deo"]["signed"],
                "chance": result["chance"],
                "train_error": profile["train_error"][-1],
                "train_deo": profile["train_deo"][-1],
                "epochs": config["epochs"],
                "reached": float(early[0] + 1) if len(early) else np.inf,
            }
        )
    return pd.DataFrame(lines)


def label(config: Mapping[str, Any]) -> str:
    """A net's rule, with its setting."""
    return str(config["rule"]) if config["eta"] is None else f"{config['rule']}, eta {config['eta']:g}"


def summarise(nets: pd.DataFrame) -> pd.DataFrame:
    """One line per rule: means with intervals, deviations, and the median epoch of those that got to 20 %."""
    lines = []
    for rule, part in nets.groupby("label", sort=False):
        line: dict[str, Any] = {"label": rule, "seeds": len(part)}
        found = average(part[["error", "deo", "signed", "chance", "train_error", "train_deo"]])
        for name, mean in found.items():
            line |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
            line[f"{name}_sd"] = part[name].std()
        line |= {
            "epochs": part["epochs"].max(),
            "median": part["reached"].median(),
            "never": int(np.isinf(part["reached"]).sum()),
        }
        lines.append(line)
    return pd.DataFrame(lines)


def claims(nets: pd.DataFrame) -> pd.DataFrame:
    """What the paper says is lower than in the unconstrained net, measured seed by seed.

    Returns
    -------
    pandas.DataFrame
        One line per rule and claim: ``value``, ``low``, ``high``, what they would be without any difference
        (``neutral``), and ``found``.
    """
    by_rule = {str(rule): part.set_index("seed") for rule, part in nets.groupby("label", sort=False)}
    plain = by_rule.pop(PLAIN, pd.DataFrame())
    lines = []
    for name, every in by_rule.items():
        seeds = every.index.intersection(plain.index)
        if seeds.empty:
            continue
        fair, other = every.loc[seeds], plain.loc[seeds]
        means = difference(fair[list(NAMES)], other[list(NAMES)])
        sooner, later = int((fair["reached"] < other["reached"]).sum()), int((fair["reached"] > other["reached"]).sum())
        for figure, word in NAMES.items():
            mean = means[figure]
            lines.append(_line(name, f"mean {word}", mean.value, mean.low, mean.high, 0.0))
            lines.append(_line(name, f"variance of {word}", *variance_ratio(fair[figure], other[figure]), 1.0))
        share, low, high = np.nan, np.nan, np.nan
        if sooner + later:
            share, (low, high) = later / (sooner + later), map(float, rate_interval(later, sooner + later))
        lines.append(_line(name, CLAIMS[-1], share, low, high, 0.5) | {"sooner": sooner, "later": later})
    return pd.DataFrame(lines)


def _line(rule: str, claim: str, value: Any, low: Any, high: Any, neutral: float) -> dict[str, Any]:
    found = "open"
    if low is not None and high is not None:
        found = "shown" if high < neutral else "the opposite" if low > neutral else "open"
    return {
        "label": rule,
        "claim": claim,
        "value": value,
        "low": low,
        "high": high,
        "neutral": neutral,
        "found": found,
    }


def rows(table: pd.DataFrame) -> list[list[str]]:
    """The lines of :func:`summarise` as text."""
    lines = []
    for line in table.to_dict("records"):
        cells = [str(line["label"])]
        for name in NAMES:
            spread = line[f"{name}_sd"]
            cells += [_interval(line, name), "" if pd.isna(spread) else f"{100 * spread:.1f}"]
        median = f"> {line['epochs']}" if np.isinf(line["median"]) else f"{line['median']:g}"
        lines.append([*cells, median + (f" ({line['never']} never)" if line["never"] else "")])
    return lines


def _interval(line: Mapping[Any, Any], name: str) -> str:
    mean, low, high = (line[f"{name}{end}"] for end in ("", "_low", "_high"))
    return f"{100 * mean:.1f}" + ("" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")


def claim_rows(table: pd.DataFrame) -> list[list[str]]:
    """The lines of :func:`claims` as text."""
    return [
        [str(line["label"]), str(line["claim"]), _measured(line), line["found"]] for line in table.to_dict("records")
    ]


def _measured(line: Mapping[Any, Any]) -> str:
    value, low, high = line["value"], line["low"], line["high"]
    if line["neutral"] == 0.5:
        return f"sooner in {line['sooner']:.0f}, later in {line['later']:.0f} seeds"
    if pd.isna(value):
        return "undefined"
    if line["neutral"] == 0.0:
        return f"{100 * value:+.1f}" + ("" if pd.isna(low) else f" [{100 * low:+.1f}, {100 * high:+.1f}]")
    return f"× {value:.2f} [{low:.2f}, {high:.2f}]"


def small_print(nets: pd.DataFrame, results: Sequence[Mapping[str, Any]]) -> str:
    """What a DEO from so few pictures can mean, what the training shows, and how well the hospital is told."""
    first = next(result for result in results if result["config"]["rule"] != HOSPITAL)
    counts = dict(zip(first["rates"], first["positives"], strict=True))
    few = " and ".join(f"{n} of {name}" for name, n in counts.items())
    means = summarise(nets)
    trained = "; ".join(
        f"{line['label']} {100 * line['train_error']:.1f} and {100 * line['train_deo']:.1f}"
        for line in means.to_dict("records")
    )
    text = (
        f"A test part has {few} with tuberculosis: there, a net without any gap shows a DEO of"
        f" {100 * nets['chance'].mean():.1f} on average. Error and DEO on the training pictures in the last epoch:"
        f" {trained}."
    )
    for result in results:
        if result["config"]["rule"] == HOSPITAL:
            error = result["error"]
            told = f" {100 * error['value']:.1f} % [{100 * error['low']:.1f}, {100 * error['high']:.1f}]"
            text += (
                f" A net trained to tell the hospital errs on{told} of seed {result['config']['seed']}'s test pictures."
            )
    return text
