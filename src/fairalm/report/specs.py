"""The charts, written once in Vega-Lite: the page draws them, and so do the figures for papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.report.chart_data import CHANGED_MODELS, curve_rows
from fairalm.report.chart_style import COLORS, INK, Spec, domain, labels, layer, palette, percent_axis, styled
from fairalm.report.frontier import CONSTANT, CURVE, PLAIN
from fairalm.report.verdict import is_ratio
from fairalm.report.words import MODEL_KINDS

CURVES = {"error": "error", "gap": "gap", "multiplier": "multipliers", "saddle_gap": "saddle gap"}


def specs(facts: Mapping[str, Any]) -> dict[str, Spec]:
    """Every chart by name, without its data, which the page's script or :func:`chart_data` provides by name."""
    groups = [group["name"] for group in facts["models"][facts["headline"]]["groups"]]
    longest = max((len(model["history"].get("round", ())) for model in facts["models"]), default=0)
    charts = {"rates": _rates([rate["name"] for rate in facts["rates"].values()], groups), "tradeoff": _tradeoff(facts)}
    if facts["models"][facts["headline"]]["plain"] is not None:
        charts |= {f"change-{rate}": _change(facts["rates"][rate]["name"], groups) for rate in facts["changed"]}
    if facts["frontier"] is not None:
        charts["frontier"] = _frontier(facts)
    if longest > 1:
        last = max(model["history"]["round"][-1] for model in facts["models"] if model["history"])
        shown = [curve for curve in CURVES if any(curve_rows(model, curve) for model in facts["models"])]
        charts |= {f"curve-{curve}": _curve(facts, curve, last, is_last=curve == shown[-1]) for curve in shown}
    return styled(charts)


def _rates(rates: list[str], groups: list[str]) -> Spec:
    colors = palette("group", groups)
    y: Spec = {"field": "rate", "type": "nominal", "sort": rates, "title": None, "axis": {"grid": True, "ticks": False}}
    tip = {"calculate": "datum.group + ', ' + datum.rate + ': ' + datum.text + ' ' + datum.interval", "as": "tip"}
    return {
        "description": "Rates per group with 95 % intervals; the table below has the same figures.",
        "data": {"name": "rates"},
        "height": {"step": max(9, 18 - len(groups)), "for": "offset"},
        "encoding": {
            "y": y,
            "yOffset": {"field": "group", "type": "nominal", "sort": groups},
            "color": colors["color"],
            "tooltip": {"field": "tip", "type": "nominal"},
        },
        "transform": [tip],
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2.5, "opacity": 0.55},
                "encoding": {"x": percent_axis("low", None, scale={"domain": [0, 1]}), "x2": {"field": "high"}},
            },
            {
                "transform": [{"filter": "isValid(datum.value)"}],
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {"x": percent_axis("value", None), "shape": colors["shape"]},
            },
        ],
    }


def _change(rate: str, groups: list[str]) -> Spec:
    """A rate of each group, from the plain model to the fair one; colours and shapes are those of the trade-off."""
    x = percent_axis("value", rate, scale={"domain": [0, 1]})
    y: Spec = {"field": "group", "type": "nominal", "title": None, "scale": {"domain": groups}}
    drawn, fair = [{"filter": "isValid(datum.value)"}], [{"filter": {"field": "model", "equal": CHANGED_MODELS[0]}}]
    line: Spec = {"type": "line", "color": INK, "strokeWidth": 1, "opacity": 0.5, "aria": False}
    rule: Spec = {"type": "rule", "color": COLORS[0], "strokeWidth": 4, "opacity": 0.55, "aria": False}
    point: Spec = {"type": "point", "filled": True, "size": 70, "opacity": 1, "aria": False}
    return {
        "description": f"{rate} of each group under the plain and the fair model; a table has the same figures.",
        "data": {"name": "changes"},
        "height": {"step": 24},
        "encoding": {
            "y": {**y, "axis": {"grid": True, "ticks": False}},
            "tooltip": {"field": "tip", "type": "nominal"},
        },
        "layer": [
            {"mark": line, "transform": drawn, "encoding": {"x": x, "detail": {"field": "group", "type": "nominal"}}},
            {"mark": rule, "transform": fair, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"mark": point, "transform": drawn, "encoding": {"x": x, **palette("model", list(CHANGED_MODELS))}},
        ],
    }


def _tradeoff(facts: Mapping[str, Any]) -> Spec:
    """Every model by its gap and its error, those that no other beats, and the intervals of the chosen one."""
    drawn, rows = facts["tradeoff"], facts["rows_are"]
    kinds = [words for words in MODEL_KINDS.values() if any(point["kind"] == words for point in drawn["points"])]
    gaps, errors = ([point[name] for point in drawn["points"]] for name in ("gap", "error"))
    title = _gap_title(facts["constraint"], f"on the test {rows}")
    x = percent_axis("gap", title, scale={"domain": domain(gaps, 0.0)})
    y = percent_axis("error", "share of wrong decisions (error)", scale={"domain": domain(errors)})
    line: Spec = {"color": INK, "strokeWidth": 1.5}
    ring: Spec = {"type": "point", "filled": False, "color": INK, "strokeWidth": 2, "opacity": 1}
    front: Spec = {**line, "type": "line", "opacity": 0.5, "strokeDash": [4, 4]}
    interval: Spec = {**line, "type": "rule", "opacity": 0.35, "clip": True}
    point: Spec = {"type": "point", "filled": True, "size": 90, "opacity": 0.85, "cursor": "pointer", "aria": False}
    return {
        "description": "Every model by its gap and its error on the test rows; the list below has the same models.",
        "height": 320,
        "encoding": {"x": x, "y": y},
        "layer": [
            _band(facts["constraint"]["tol"]),
            layer("front", front, order={"field": "gap", "type": "quantitative"}),
            layer("chosen", interval, x={**x, "field": "gap_low"}, x2={"field": "gap_high"}),
            layer("chosen", interval, y={**y, "field": "error_low"}, y2={"field": "error_high"}),
            layer("chosen", {**ring, "size": 260}),
            {**layer("labelled", {**ring, "size": 90, "opacity": 0}), "name": "labelled"},
            {  # drawn last, on top, so that the mouse reaches them
                "data": {"name": "points"},
                "name": "points",
                "mark": point,
                "encoding": {**palette("kind", kinds), "tooltip": {"field": "tip", "type": "nominal"}},
            },
        ],
        **labels("labelled"),
    }


def _frontier(facts: Mapping[str, Any]) -> Spec:
    """The curve with its intervals, the chosen point in a ring, the plain model, the constants and the tolerance."""
    drawn, constraint = facts["frontier"]["drawn"], facts["constraint"]
    marks = [*drawn["curve"], *drawn["models"]]
    gaps, errors = ([mark[part] for mark in marks] for part in ("gap", "error"))
    title = _gap_title(constraint, "out of fold")
    x = percent_axis("gap", title, scale={"domain": domain(gaps, 0.0)})
    y = percent_axis("error", "share of wrong decisions (error)", scale={"domain": domain(errors)})
    kinds = [kind for kind in (CURVE, PLAIN, CONSTANT) if any(mark["kind"] == kind for mark in marks)]
    colors = {
        name: {**own, "legend": None} for name, own in palette("kind", kinds).items()
    }  # labels say which is which
    wide, tall = (
        {axis: {**own, "field": f"{part}_low"}, f"{axis}2": {"field": f"{part}_high"}}
        for axis, own, part in (("x", x, "gap"), ("y", y, "error"))
    )
    blue, bar = {"color": COLORS[0], "clip": True}, {"type": "rule", "strokeWidth": 1.5, "opacity": 0.5, "clip": True}
    ring: Spec = {"type": "point", "filled": False, "color": INK, "strokeWidth": 2, "opacity": 1, "size": 220}
    point: Spec = {"type": "point", "filled": True, "opacity": 1}
    tooltip = {"field": "tip", "type": "nominal"}
    return {
        "description": "Error against gap along the curve, out of fold; the table below has the same figures.",
        "height": 320,
        "encoding": {"x": x, "y": y},
        "layer": [
            _band(constraint["tol"]),
            layer("curve", {**blue, "type": "area", "opacity": 0.15}, **tall),
            layer("curve", {**blue, "type": "line", "strokeWidth": 2}, order={"field": "gap", "type": "quantitative"}),
            *(layer("models", bar, color=colors["color"], **ends) for ends in (wide, tall)),
            *(layer("chosen", {**bar, "color": INK}, **ends) for ends in (wide, tall)),
            layer("chosen", ring),
            layer("curve", {**point, "size": 40, "color": COLORS[0]}, tooltip=tooltip),
            layer("models", {**point, "size": 110}, **colors, tooltip=tooltip),
            {**layer("labelled", {**ring, "opacity": 0, "size": 60}), "name": "labelled"},
        ],
        **labels("labelled"),
    }


def _gap_title(constraint: Mapping[str, Any], where: str) -> str:
    return f"{constraint['title'] if is_ratio(constraint) else 'gap between groups'}, {where}"


def _band(tol: float) -> Spec:
    """The gaps within the tolerance."""
    return {
        "data": {"values": [{"low": 0, "high": tol}]},
        "mark": {"type": "rect", "color": COLORS[2], "opacity": 0.18, "aria": False},
        "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "y": None},
    }


def _curve(facts: Mapping[str, Any], curve: str, last: int, *, is_last: bool) -> Spec:
    axis: Spec = {"tickCount": 4, "minExtent": 50, "format": ".1~%" if curve in ("error", "gap") else ".2~f"}
    values = [row["value"] for model in facts["models"] for row in curve_rows(model, curve)]
    least = min(values) if curve == "error" else min(*values, 0.0)
    scale = {"domain": [least, max(values)], "nice": True}  # the chosen model may have no line
    value = {"field": "value", "type": "quantitative", "title": CURVES[curve], "axis": axis, "scale": scale}
    ticks: Spec = {"values": list(range(1, last + 1))} if last < 10 else {"tickMinStep": 1, "tickCount": 8}
    ticks |= {"title": "round or epoch" if is_last else None, "format": "d"}
    rounds = {"domain": [1, max(last, 2)], "nice": False}
    x = {"field": "round", "type": "quantitative", "scale": rounds, "axis": ticks}
    thin: Spec = {"type": "line", "color": INK, "opacity": 0.3, "strokeWidth": 1}
    thick: Spec = {"type": "line", "color": COLORS[0], "strokeWidth": 2.5, "point": last < 30}
    tooltip = {"field": "model", "type": "nominal"}
    return {
        "description": f"{CURVES[curve]} in training, a line per model.",
        "height": 110,
        "encoding": {"x": x, "y": value, "detail": {"field": "line", "type": "nominal"}},
        "layer": [layer("curves", thin, tooltip=tooltip), layer("chosen", thick, tooltip=tooltip)],
    }
