"""The results of speed.py as tables for the docs: figures, exponents, and which goals are met."""

from __future__ import annotations

import numpy as np
import pandas as pd
from harness import CONTENDERS, FRONTIER, GRADIENT, MIXTURE, SINGLE, TOL
from speed_data import AWARE, title_of

TABLES = ("adult", "compas", "german", "law")
MADE_UP = ("rows", "groups", "features")
LEAST_KEPT = 0.1  # of the plain model's lead over a constant on test rows; with less, a small gap is no success
LARGE = 10**7  # bytes of X from which the growth of a process says something
USUAL = {"rows": 10**5, "groups": 2, "features": 20}  # of made-up rows, where another number varies
HEAD = (
    "problem",
    "contender",
    "× plain, processor",
    "× plain, wall",
    "fits",
    "memory / X",
    "train gap",
    "within tol",
    "test error",
    "test gap",
    "floor",
)
FIGURES = (
    "cpu",
    "wall",
    "fits",
    "memory",
    "train gap",
    "resolution",
    "test error",
    "test gap",
    "floor",
    "constant error",
)


def frame_of(records):
    """One row per record, with times as multiples of the plain fit and memory beyond its own as a multiple of X."""
    frame = pd.DataFrame(records)
    wanted = [*FIGURES, "X bytes", "stopped", "expected", "failed"]
    frame = frame.reindex(columns=[*frame.columns, *(name for name in wanted if name not in frame)])
    key = ["title", "estimator", "seed"]
    plain = frame[frame["contender"] == "plain"].set_index(key)[["cpu", "wall", "memory", "test error"]]
    frame = frame.join(plain.add_prefix("plain "), on=key)
    frame["× cpu"], frame["× wall"] = frame["cpu"] / frame["plain cpu"], frame["wall"] / frame["plain wall"]
    frame["memory / X"] = (frame["memory"] - frame["plain memory"]) / frame["X bytes"]
    lead = frame["constant error"] - frame["plain test error"]
    frame["is constant"] = frame["constant error"] - frame["test error"] < LEAST_KEPT * lead
    frame["is large"] = frame["X bytes"] >= LARGE
    frame["is within"] = frame["train gap"] <= np.maximum(TOL, frame["resolution"]) + 1e-9
    return frame


def one(frame, title, contender, estimator="logistic"):
    """The rows of a contender on a problem."""
    chosen = (frame["title"] == title) & (frame["contender"] == contender) & (frame["estimator"] == estimator)
    return frame[chosen]


def spread_of(values, digits=1):
    """The median, with the quartiles if there are several."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f}" + (f" [{low:.{digits}f}, {high:.{digits}f}]" if len(values) > 1 else "")


def mean_of(values, digits):
    """The mean in percent, with the standard deviation if there are several."""
    deviation = f" ± {100 * values.std():.{digits}f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.{digits}f}{deviation}"


def within_of(block):
    """Whether a contender is within the tolerance, and still better than a constant."""
    n_within = block["is within"].sum()
    text = {0: "no", len(block): "yes"}.get(n_within, f"{n_within} of {len(block)}")
    return f"{text}, near-constant" if n_within and block["is constant"].any() else text


def line_of(title, contender, block):
    """A contender's line of a table."""
    first = block.iloc[0]
    if pd.notna(first["failed"]):
        return [title, contender, f"failed: {first['failed']}", *[""] * 8]
    if pd.notna(first["stopped"]):
        return [title, contender, f"> {first['× cpu']:.0f} (stopped)", *[""] * 8]
    if pd.notna(first["expected"]):
        return [title, contender, f"not run: budget (~ {first['expected'] / first['plain wall']:.0f})", *[""] * 8]
    block = block[block["train gap"].notna()]
    return [
        title,
        contender,
        spread_of(block["× cpu"]),
        f"{block['× wall'].median():.1f}",
        f"{block['fits'].mean():.1f}",
        f"{100 * block['memory / X'].median():.0f} %" if block["is large"].all() and contender != "plain" else "–",
        f"{100 * block['train gap'].mean():.2f}",
        within_of(block),
        mean_of(block["test error"], 2),
        mean_of(block["test gap"], 1),
        f"{100 * block['floor'].mean():.1f}",
    ]


def markdown(head, lines):
    """A table whose first two columns are words."""
    rule = "|---|---|" + "---:|" * (len(head) - 2)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines)])


def table_of(frame):
    """One line per problem and contender."""
    lines = []
    for title, block in frame.groupby("title", sort=False):
        for contender in CONTENDERS:
            rows = block[block["contender"] == contender]
            if len(rows):
                lines.append(line_of(title, contender, rows))
    return markdown(HEAD, lines)


def varied(frame, axis):
    """The made-up rows of which only one number varies, ordered by it."""
    usual = [frame[other] == value for other, value in USUAL.items() if other != axis]
    made_up = frame["title"].str.contains(" × ") & (frame["estimator"] == "logistic")
    return frame[np.logical_and.reduce([made_up, *usual])].sort_values(axis, kind="stable")


def exponent(frame, axis, contender, figure):
    """Slope of log figure against log axis, its standard error and its range; None for fewer than two points."""
    points = varied(frame, axis).query("contender == @contender and `train gap`.notna()").groupby(axis)[figure].median()
    if len(points) < 2:
        return None
    x, y = np.log(points.index.to_numpy(dtype=float)), np.log(points.to_numpy())
    design = np.column_stack([x, np.ones_like(x)])
    (slope, _), *_ = np.linalg.lstsq(design, y, rcond=None)
    error = np.nan
    if len(x) > 2:
        left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        error = np.sqrt(left @ left / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
    return slope, error, points.index.min(), points.index.max()


def exponents(frame):
    """Least squares on logarithms: one line per contender, and the range in each cell."""
    wanted = [(axis, figure) for axis in MADE_UP for figure in ("cpu", "× cpu")]
    names = {"cpu": "time", "× cpu": "× plain"}
    head = ["contender", "", *(f"{axis}, {names[figure]}" for axis, figure in wanted)]
    lines = []
    for contender in CONTENDERS:
        cells = [_exponent_text(exponent(frame, axis, contender, figure)) for axis, figure in wanted]
        if any(cells):
            lines.append([contender, "", *cells])
    return markdown(head, lines)


def _exponent_text(found):
    if found is None:
        return ""
    slope, error, low, high = found
    deviation = "" if np.isnan(error) else f" ± {error:.2f}"
    return f"{slope:.2f}{deviation} ({low:g} to {high:g})"


def mark(holds):
    return "met" if holds else "NOT MET"


def speed_goal(frame, title):
    """Two groups: times against a plain fit and against ExponentiatedGradient, at the same or a smaller test gap."""
    ours, theirs = one(frame, title, SINGLE), one(frame, title, GRADIENT)
    if ours.empty or theirs.empty:
        return
    least = 30 if title == "adult" else 15
    both = ours.merge(theirs, on="seed", suffixes=("", " theirs"))
    faster = (both["cpu theirs"] / both["cpu"]).median()
    stopped = ">" if theirs["stopped"].notna().any() else ""
    yield f"{title}: {stopped}{faster:.0f} × faster than {GRADIENT} (at least {least}: {mark(faster >= least)})"
    gap, other, floor = (100 * block.mean() for block in (ours["test gap"], theirs["test gap"], ours["floor"]))
    if not stopped:
        allowed = mark(gap <= other + floor)
        yield f"{title}: test gap {gap:.1f} against {other:.1f} (at most the floor of {floor:.1f} above it: {allowed})"
    if title == "adult":
        times = ours["× cpu"].median()
        yield f"{title}: {times:.2f} × one plain fit (at most 2: {mark(times <= 2)})"


def groups_goal(frame, n_groups, most, aware):
    """Many groups: the fastest of our predictors within the tolerance and no constant, or else the fastest."""
    tried = {}
    for name in (SINGLE, MIXTURE):
        block = one(frame, title_of(10**5, n_groups, aware=aware), name).dropna(subset=["train gap"])
        if len(block):
            tried[name] = (block["is within"] & ~block["is constant"]).all(), block["× cpu"].median(), block
    if not tried:
        return
    name = min(tried, key=lambda name: (not tried[name][0], tried[name][1]))
    is_good, times, block = tried[name]
    errors = 100 * block[["test error", "plain test error", "constant error"]].mean()
    error = "test error {:.1f} % (plain {:.1f}, a constant {:.1f})".format(*errors)
    where = f"{n_groups} groups{', the group a feature' if aware else ''}, 10^5 rows, {name}"
    shown = f"{times:.1f} × one plain fit, within the tolerance: {within_of(block)}, {error}"
    yield f"{where}: {shown} (at most {most} × and within: {mark(is_good and times <= most)})"


def exponent_goal(frame, axis, figure, most):
    for name in (SINGLE, MIXTURE) if axis == "groups" else (SINGLE,):
        found = exponent(frame, axis, name, figure)
        if found:
            text = f"exponent in {axis} of {name}: {_exponent_text(found)}"
            yield f"{text} (at most {most}: {mark(found[0] <= most)})"


def memory_goal(frame, most=0.2):
    for name in (SINGLE, MIXTURE, FRONTIER):
        chosen = (frame["contender"] == name) & (frame["estimator"] == "logistic") & frame["is large"]
        large = frame[chosen & frame["memory / X"].notna()]
        if len(large):
            worst = large.loc[large["memory / X"].idxmax()]
            share = f"{100 * worst['memory / X']:.0f} % of X at most, on {worst['title']}"
            yield f"memory of {name}: {share} (at most {100 * most:.0f} %: {mark(worst['memory / X'] <= most)})"


def goals(frame):
    """One line per goal that the results say something about."""
    lines = [line for title in (*TABLES, "ACSIncome, sex") for line in speed_goal(frame, title)]
    for n_groups, most in ((10, 12), (50, 25)):
        for aware in (False, True):
            lines += groups_goal(frame, n_groups, most, aware)
    lines += [*exponent_goal(frame, "rows", "cpu", 1.05), *exponent_goal(frame, "groups", "× cpu", 0.3)]
    lines += memory_goal(frame)
    return "\n".join(f"- {line}" for line in lines)


def render(records):
    """The text of every marker that there are results for."""
    frame = frame_of(records)
    logistic = frame[frame["estimator"] == "logistic"]
    parts = {
        "tabular": logistic[logistic["title"].isin(TABLES)],
        "speed income": logistic[logistic["title"].str.startswith("ACSIncome")],
        **{f"speed {axis}": varied(frame, axis) for axis in MADE_UP},
        "speed aware": frame[frame["title"].str.endswith(AWARE)],
        "speed boosting": frame[frame["estimator"] == "boosting"],
    }
    texts = {marker: table_of(block) for marker, block in parts.items() if len(block)}
    made_up = frame["title"].str.contains(" × ").any()
    return texts | ({"speed exponents": exponents(frame)} if made_up else {}) | {"speed goals": goals(frame)}
