"""The page of a search for less discriminatory alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.measures.text import points, with_interval
from fairalm.report import lda_words as words
from fairalm.report.chart_style import INK, Spec, domain, layer, palette, percent_axis, styled
from fairalm.report.facts import MIN_CELL
from fairalm.report.rounding import is_small
from fairalm.report.shell import html_page

BASELINE, CHOSEN = "baseline", "chosen"


def write_lda_page(path: AnyPath, content: words.Content, *, min_cell: int = MIN_CELL) -> None:
    """Write the page of a search, from the content of its lda.json."""
    write_atomic(path, lda_page(content, min_cell=min_cell).encode())


def lda_page(content: words.Content, *, min_cell: int = MIN_CELL) -> str:
    """The page as text; a ratio of a group with fewer than `min_cell` rows accepted or refused is hidden."""
    facts = lda_facts(content, min_cell)
    said = " ".join([facts["lead"], *(answer for _, answer in facts["answers"])])
    return html_page("lda", facts["title"], said, facts, styled({"tried": _chart(facts)}))


def lda_facts(content: words.Content, min_cell: int = MIN_CELL) -> dict[str, Any]:
    """All that the page may say."""
    content = _suppressed(content, min_cell)
    config, judged, changes = content["config"], content["splits"]["judge"], content["changes"]
    columns = [judged[name] for name in (BASELINE, CHOSEN) if name in judged]
    rows = [
        [
            _long_name(name, config["reference"]),
            *(_cell(words.figure_text(own.get(name), name)) for own in columns),
            *([_cell(words.change_text(changes.get(name), name))] if changes else []),
        ]
        for name in words.measures_of(content)
    ]
    return {
        "title": words.question(content),
        "lead": words.verdict_line(content),
        "answers": words.answers(content),
        "reference": config["reference"],
        "goal": config["ratio"],
        "most": points(config["margin"]),
        "ratios": [_arrow(name, judged) for name in judged[BASELINE] if name.startswith(words.OF)],
        "head": ["figure", BASELINE, *([CHOSEN, "change"] if changes else [])],
        "rows": rows,
        "points": [_point(row) for row in content["splits"]["choose"] if row.get("ratio") is not None],
        "estimators": list(dict.fromkeys(row["estimator"] for row in content["splits"]["choose"])),
        "limit": _limit(content),
        "log": [_logged(row) for row in content["splits"]["choose"]],
        "meaning": words.meaning(content),
        "protocol": words.protocol(content),
        "limits": words.limits(),
        "privacy": f"This page holds no row of the data. If a group has fewer than {min_cell} rows accepted or refused,"
        " the ratios of all groups are hidden.",
        "command": content["command"],
        "versions": content["versions"],
    }


def _suppressed(content: words.Content, min_cell: int) -> dict[str, Any]:
    """The content without ratios that would reveal a small count."""
    if not any(is_small(count, min_cell) for count in content["smallest"].values()):
        return dict(content)
    # the ratios of all groups together with the totals would give the hidden one; the lowest may be that of a small one
    small = {words.OF + group for group in content["smallest"]} | {"ratio", "ratio, all rows searched"}
    none = {"value": None, "low": None, "high": None, "note": f"hidden (fewer than {min_cell} rows)"}

    def hidden(named: Mapping[str, Any]) -> dict[str, Any]:
        return {name: none if name in small else own for name, own in named.items()}

    def without(row: Mapping[str, Any]) -> dict[str, Any]:
        columns = {f"{start}{name}{end}" for name in small for start in ("", "change of ") for end in ENDS}
        return {name: None if name in columns else value for name, value in row.items()}

    splits = {
        "judge": {model: hidden(own) for model, own in content["splits"]["judge"].items()},
        "choose": [without(row) for row in content["splits"]["choose"]],
    }
    changes = content["changes"] and hidden(content["changes"])
    return {**content, "splits": splits, "changes": changes, "goal": "undefined"}


ENDS = ("", " low", " high")


def _long_name(name: str, reference: str) -> list[str]:
    """A measure in words, and the field's word for it."""
    known = {
        "bad_rate": ["bad, of those accepted", "bad rate"],
        "acceptance": ["accepted, of all rows", "acceptance rate"],
        "auc": ["how well the score ranks", "AUC"],
        "ks": ["how far it parts good from bad", "KS"],
    }
    return known.get(name, [f"{name.removeprefix(words.OF)} to {reference}", "adverse impact ratio"])


def _cell(text: str) -> str | list[str]:
    """A figure, and its interval below it."""
    value, bracket, ends = text.partition(" [")
    return [value, f"[{ends}"] if bracket else text


def _arrow(name: str, judged: Mapping[str, Any]) -> dict[str, Any]:
    """A group's share accepted in per cent of the reference's, before and after."""
    ends = [{key: own[name][key] for key in ("value", "low", "high")} for own in judged.values()]
    cells = [_cell(words.figure_text(own[name], name)) for own in judged.values()]
    before, after = (None, ends[0]) if len(ends) == 1 else ends
    texts = [cell if isinstance(cell, str) else cell[0] for cell in cells]
    interval = "" if isinstance(cells[-1], str) else cells[-1][1]
    arrow = {"name": name.removeprefix(words.OF), "text": [" → ".join(dict.fromkeys(texts)), interval]}
    return {**arrow, "before": before, "after": after}


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = [f"{name}{end}" for name in ("ratio", "bad_rate") for end in ENDS]
    figures = {key.replace(" ", "_"): row[key] for key in keys}
    asked = "no limit" if row["ratio asked"] is None else f"ratio {row['ratio asked']:.2f} asked"
    tip = f"{row['estimator']}, {asked}: ratio {row['ratio']:.2f}, bad rate {100 * row['bad_rate']:.2f} %"
    return {**figures, "estimator": row["estimator"], "role": row["role"], "tip": tip}


def _limit(content: words.Content) -> float | None:
    """The bad rate of the baseline on the choosing rows, plus the margin."""
    own = next(row for row in content["splits"]["choose"] if row["role"] == BASELINE)
    return None if own["bad_rate"] is None else float(own["bad_rate"] + content["config"]["margin"])


def _logged(row: Mapping[str, Any]) -> list[str]:
    """A line of the log: model, ratio, bad rate, change of the bad rate in points, and what became of it."""

    def figure(name: str, scale: float = 1, sign: str = "") -> str:
        value, low, high = (row.get(f"{name}{end}") for end in ENDS)
        if value is None or value != value:
            return ""
        how: Any = {"unit": "", "scale": scale, "digits": 2, "sign": sign}
        return with_interval(value, low, high, **how)

    asked = row["ratio asked"]
    name = f"{row['estimator']}, " + ("no limit" if asked is None or asked != asked else f"{asked:.2f} asked")
    became = row["role"] or row["why not"] or "admissible"
    return [name, figure("ratio"), figure("bad_rate", 100), figure("change of bad_rate", 100, "+"), became]


def _chart(facts: Mapping[str, Any]) -> Spec:
    """All models by lowest ratio and bad rate on the choosing rows."""
    shown = facts["points"]
    ratios, bad = [own["ratio"] for own in shown], [own["bad_rate"] for own in shown]
    across = {"domain": [min([*ratios, facts["goal"]]) - 0.02, max([*ratios, facts["goal"]]) + 0.02]}
    axis = {"title": f"lowest ratio of shares accepted, to {facts['reference']}", "tickCount": 6, "format": ".2f"}
    x: Spec = {"field": "ratio", "type": "quantitative", "axis": axis, "scale": across}
    y = percent_axis("bad_rate", "bad among the accepted", scale={"domain": domain([*bad, facts["limit"]])})
    dash: Spec = {"type": "rule", "color": INK, "strokeDash": [4, 4], "opacity": 0.6}
    line: Spec = {"type": "rule", "color": INK, "strokeWidth": 1.5, "opacity": 0.7, "clip": True}
    label: Spec = {"type": "text", "align": "left", "dx": 10, "dy": 14, "fontWeight": "bold"}
    note: Spec = {"type": "text", "align": "left", "dx": 4, "dy": -6, "fontSize": 11}
    return {
        "description": "Every model tried by its lowest ratio and its bad rate on the choosing rows; a table has them.",
        "height": 340,
        "encoding": {"x": x, "y": y},
        "layer": [
            layer("goal", dash, x=x, y={"value": 0}, y2={"value": "height"}),
            layer("limit", dash, y=y, x={"value": 0}, x2={"value": "width"}),
            layer("limit", note, y=y, x={"value": 0}, text={"field": "text"}),
            layer("marked", line, x={**x, "field": "ratio_low"}, x2={"field": "ratio_high"}),
            layer("marked", line, y={**y, "field": "bad_rate_low"}, y2={"field": "bad_rate_high"}),
            layer("marked", {"type": "point", "filled": False, "color": INK, "size": 260, "strokeWidth": 2}),
            layer("marked", label, text={"field": "role"}),
            {
                "data": {"name": "points"},
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.85, "aria": False},
                "encoding": {
                    **palette("estimator", facts["estimators"]),
                    "tooltip": {"field": "tip", "type": "nominal"},
                },
            },
        ],
    }
