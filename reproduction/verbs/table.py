"""The tables: means over the seeds with intervals, differences, ranges over eta, and what a DEO of 0 can mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import gcd
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from fairalm.measures import deo
from fairalm.measures.chance import chance_gap
from fairalm.measures.means import differences_of, means_of
from reproduction.experiment import Block, Results, Table
from reproduction.seeds import columns, paired, text_table
from reproduction.verbs.job import PAIRS, ROWS, SWEPT

MEASURES = {"error": "error", "worst": "worst group", "deo": "DEO"}
SCENES = {"error": "error", "deo": "DEO", "chance": "gap 0", "fresh_deo": "many"}
RANGES = {"error": "error", "deo": "DEO", "decade": "DEO, decade", "useful": "useful"}
OURS = "fairalm-heldout"
FEWEST = 3  # seeds; an interval over two of them says nothing
RATE = 0.9  # a true positive rate, to compute with
#: The paper's "Quantitative Results on ImSitu": error and DEO of each of the PAIRS on the test part, in percent.
PAPER = {
    "unconstrained": ((17.9, 7.1), (23.6, 4.2), (12.8, 25.9), (7.5, 15.0)),
    "l2": ((14.3, 14.0), (23.6, 1.3), (10.9, 0.0), (5.0, 21.6)),
    "reweight": ((11.9, 3.5), (19.0, 5.3), (10.9, 0.0), (4.9, 9.0)),
    "adversarial": ((4.8, 0.0), (13.5, 11.9), (14.6, 25.9), (6.2, 18.3)),
    "lagrangian": ((2.4, 3.5), (12.4, 12.0), (3.7, 0.0), (5.0, 5.8)),
    "proxy-lagrangian": ((2.4, 3.5), (12.4, 12.0), (3.7, 0.0), (14.9, 26.0)),
    "fairalm": ((3.6, 0.0), (20.0, 0.0), (7.3, 0.0), (2.5, 0.0)),
}
LEGEND = (
    "Percent of test images, mean over the seeds [95 % interval]. Waterbirds and imSitu: the interval of the test part,"
    " which the seeds share; scenes: over the seeds, each with scenes of its own. worst group: the largest error of the"
    " four cells of label and group. gap 0: the DEO that a head without any gap shows on as many images. many: DEO on"
    " 1,000 further scenes of the target verb. held-out: multipliers moved by half of the validation part."
)
LESS = "Waterbirds: FairALM with held-out multipliers less the others, seed by seed, in points"
STEADY = "Waterbirds, steadiness. Largest less smallest over eta from 0.01 to 10, in points of the test part, mean over"
STEADY += " the seeds [95 % interval]."
STEADY_MORE = (
    " DEO, decade: the same within the worst tenfold range of eta. useful: share of the etas with at most half of the"
    " unconstrained head's DEO for at most two points of error."
)
ZERO_LEGEND = (
    "What a DEO of 0 can mean with imSitu's numbers. 0 at: how many rates both groups can have alike (2: none and all"
    " predicted). up to: the upper end of the interval of a DEO of 0, all predicted. chance, exact: mean DEO of a model"
    f" whose true rate is {RATE:.0%} in both groups, and how often it shows exactly 0; percent. off: how far the"
    " paper's errors are, at most, from shares of so many images, in percentage points."
)


def tested(results: Results) -> pd.DataFrame:
    """A line for each head that was chosen and tested, in shares, with the intervals of its test part."""
    lines = []
    for result in results:
        config, test, fresh = result["config"], result["test"], result["fresh"]
        line = {name: config[name] for name in ("data", "method", "seed")}
        line["setting"] = ", ".join(f"{key} {x:g}" for key, x in config["settings"][result["chosen"]].items())
        line |= columns({name: test[name] for name in MEASURES}) | {key: test[key] for key in ("chance", "selection")}
        lines.append(line | {f"fresh_{key}": fresh[key]["value"] if fresh else np.nan for key in ("error", "deo")})
    return pd.DataFrame(lines)


def summarise(results: Results) -> pd.DataFrame:
    """Means over the seeds in percent, a line for each data set and method.

    The intervals of scenes are over the seeds, if there are three. The seeds of the other data sets share their test
    images, so theirs are those of the test part: the means of their ends. ``one_low`` and ``one_high`` are the mean
    interval of a DEO on one test part; ``zeros`` and ``constants`` count the seeds whose DEO or prediction is one.
    """
    lines = []
    for (data, method), part in tested(results).groupby(["data", "method"], sort=False):
        is_scenes, line = str(data).startswith("scenes"), {"data": data, "method": method}
        kept = [*MEASURES, *["fresh_error", "fresh_deo"] * is_scenes]
        for name, mean in means_of(part[kept], shares=kept).items():
            line |= columns({name: mean}, scale=100)
            if name in MEASURES and (not is_scenes or len(part) < FEWEST):
                line |= {name + end: 100 * part[name + end].mean() for end in ("_low", "_high")}
            line[f"{name}_sd"] = 100 * part[name].std()
        line |= {f"one{end}": 100 * part[f"deo{end}"].mean() for end in ("_low", "_high")}
        line |= {"chance": 100 * part["chance"].mean(), "zeros": int((part["deo"] == 0).sum())}
        line |= {"constants": int(part["selection"].isin((0, 1)).sum())}
        lines.append(line | {"setting": Counter(part["setting"]).most_common(1)[0][0], "seeds": len(part)})
    return pd.DataFrame(lines)


def differences(results: Results) -> pd.DataFrame:
    """FairALM with held-out multipliers less each other method on Waterbirds, seed by seed, in points."""
    heads = tested(results).query("data == 'waterbirds'").set_index("seed").groupby("method", sort=False)
    pairs = paired({str(method): part[[*MEASURES]] for method, part in heads}, OURS)
    found = {method: differences_of(ours, other) for method, other, ours in pairs if len(ours) >= FEWEST}
    return pd.DataFrame([{"method": method, **columns(means, scale=100)} for method, means in found.items()])


def sweeps(results: Results) -> pd.DataFrame:
    """Error and DEO on the test part of Waterbirds for each method, seed and eta, as shares."""
    return pd.DataFrame(
        {"method": result["config"]["method"], "seed": result["config"]["seed"], **setting}
        | {name: figures[name]["value"] for name in ("error", "deo")}
        for result in results
        for setting, figures in zip(result["config"]["sweep"], result["sweep"], strict=True)
    )


def ranges(results: Results) -> pd.DataFrame:
    """Largest less smallest error and DEO over eta, as shares, by method and seed; for the rest see ``STEADY_MORE``."""
    plain: Any = tested(results).query("data == 'waterbirds' and method == 'unconstrained'").set_index("seed")
    swept, lines = sweeps(results), {}
    for (method, seed), part in swept.groupby(["method", "seed"], sort=False) if len(swept) else ():
        if seed in plain.index:
            etas, error, gap = part["eta"], part["error"], part["deo"]
            decades = [gap[(etas >= 0.99 * eta) & (etas <= 10.1 * eta)] for eta in etas if 9.9 * eta <= etas.max()]
            useful = (gap <= plain["deo"][seed] / 2) & (error <= plain["error"][seed] + 0.02)
            lines[method, seed] = [np.ptp(error), np.ptp(gap), max(map(np.ptp, decades)), useful.mean()]
    return pd.DataFrame(lines, index=list(RANGES)).T


def steadiness(results: Results) -> pd.DataFrame:
    """Means of :func:`ranges` over the seeds in percent; then FairALM's less the others' that are held out alike."""
    found = ranges(results)
    tables: dict[str, Any] = {name: found.loc[name] for name in SWEPT if name in found.index}
    lines = {ROWS[name].title: means_of(table, shares=RANGES) for name, table in tables.items()}
    for ours in ("fairalm", OURS):
        alike = {name: table for name, table in tables.items() if ROWS[name].is_heldout == ROWS[ours].is_heldout}
        pairs = {name: differences_of(own, other) for name, other, own in paired(alike, ours) if len(own) > 1}
        lines |= {f"FairALM less {ROWS[name].title}": less for name, less in pairs.items()}
    return pd.DataFrame([{"method": title, **columns(means, scale=100)} for title, means in lines.items()])


def zeros(counts: Mapping[str, Mapping[tuple[str, int, str], int]]) -> pd.DataFrame:
    """What a DEO of 0 can mean with imSitu's counts of each pair, by target verb and part; see ``ZERO_LEGEND``."""
    lines = []
    for part, (verb, found) in product(("valid", "test"), counts.items()):
        men, women = found[part, 1, "man"], found[part, 1, "woman"]
        line: dict[str, Any] = {"verb": verb, "part": part, "men": men, "women": women}
        if men and women:
            predicted, steps = [1] * (men + women), gcd(men, women)
            ways = [(men * step // steps, women * step // steps) for step in range(steps + 1)]
            exact = float(sum(binom.pmf(m, men, RATE) * binom.pmf(w, women, RATE) for m, w in ways))
            high = deo(predicted, predicted, sensitive_features=[0] * men + [1] * women, target=1).high or 0.0
            line |= {"rates": len(ways), "high": 100 * high, "chance": 100 * chance_gap(RATE, men, women)}
            line |= {"exact": 100 * exact}
        n = sum(count for (where, _, _), count in found.items() if where == part)
        printed = [row[list(PAIRS).index(verb)][0] for row in PAPER.values()]
        off = max(abs(error - 100 * round(error * n / 100) / n) for error in printed)
        lines.append(line | {"images": n, "off": off})
    return pd.DataFrame(lines)


def data_title(data: str) -> str:
    """A data set in words: 'Scenes, cooking (+)' for "scenes-cooking"."""
    kind, _, verb = data.partition("-")
    return {"imsitu": "imSitu"}.get(kind, kind.capitalize()) + (f", {verb} (+)" if verb else "")


def _with_titles(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(method=[ROWS[name].title for name in table["method"]])


def data_table(means: pd.DataFrame, data: str, *, full: bool = False) -> Table:
    """One data set; if `full`, pairs of verbs also with what one test part shows, and with the paper's numbers."""
    kind, _, verb = data.partition("-")
    part, heads = means[means["data"] == data], {"method": "method", **(SCENES if kind == "scenes" else MEASURES)}
    if full and verb:
        lines, place = part.to_dict("records"), list(PAIRS).index(verb)
        one = [f"{line['one_low']:.1f} to {line['one_high']:.1f}" for line in lines]
        sets = [f"{line['zeros']} of {line['seeds']}" for line in lines]
        paper = ["{}, {}".format(*PAPER[line["method"]][place]) for line in lines]
        part = part.assign(one=one, sets=sets, paper=paper)
        heads |= {"one": "DEO's interval in one set", "sets": "sets with DEO 0", "paper": "paper, on imSitu"}
    return text_table(_with_titles(part), heads)


def blocks(results: Results, zeroed: pd.DataFrame, seeds: int, *, full: bool = False) -> Iterator[Block]:
    """The tables; `full` for table.md."""
    means, less, steady = summarise(results), differences(results), steadiness(results)
    for data in means["data"].unique():
        yield from (f"{data_title(data)}; {seeds} seeds", data_table(means, data, full=full), "")
    yield LEGEND
    if not less.empty:
        yield from ("", LESS, text_table(_with_titles(less), {"method": "less", **MEASURES}))
    if not steady.empty:
        shown = RANGES if full else {name: RANGES[name] for name in ("error", "deo")}
        yield from ("", STEADY + STEADY_MORE * full, text_table(steady, {"method": "method", **shown}))
    if not zeroed.empty:
        heads: dict[Any, str] = {"verb": "verb (+)", "rates": "0 at", "high": "up to"}
        rounded = zeroed.assign(off=zeroed["off"].map("{:.2f}".format))
        yield from ("", ZERO_LEGEND, text_table(rounded, {str(name): heads.get(name, str(name)) for name in rounded}))
