"""How charts look: colours, axes and marks, for every page and for the figures of papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Spec = dict[str, Any]
# Okabe and Ito's colours that stand out from white and from black
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
INK = "currentColor"  # the page's text colour, so that one drawing serves light and dark
CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor", "gridColor"), INK),
        **dict.fromkeys(("domainOpacity", "tickOpacity"), 0.4),
        **dict.fromkeys(("labelFontSize", "titleFontSize"), 12),
        "gridOpacity": 0.12,
        "titleFontWeight": "normal",
        "labelLimit": 120,
    },
    "legend": {
        **dict.fromkeys(("labelColor", "titleColor"), INK),
        "orient": "bottom",
        "columns": 2,
        "labelFontSize": 12,
        "labelLimit": 130,
        "symbolOpacity": 1,
    },
    "text": {"color": INK, "fontSize": 12},
}


def styled(charts: Mapping[str, Spec]) -> dict[str, Spec]:
    """Vega-Lite specs as wide as their box, in the style of the page."""
    fit = {"type": "fit-x", "contains": "padding"}
    return {name: {"config": CONFIG, "width": "container", "autosize": fit, **spec} for name, spec in charts.items()}


def labels(mark: str, field: str = "label") -> Spec:
    """Labels for the marks of the layer called `mark`: :func:`with_labels` puts them where there is room."""
    return {"usermeta": {"labels": {"of": f"{mark}_marks", "field": field}}}


def with_labels(vega: Spec, spec: Mapping[str, Any]) -> Spec:
    """A compiled chart with the labels that its spec asks for: none overlaps another or a mark, and some are left out.

    Vega-Lite cannot ask for this. The first rows of the data come first.
    """
    wanted = spec.get("usermeta", {}).get("labels")
    if wanted is None:
        return vega
    text = {"signal": f"datum.datum[{wanted['field']!r}] || ''"}
    avoided = [mark["name"] for mark in vega["marks"] if mark["type"] == "symbol"]
    return {
        **vega,
        "marks": [
            *vega["marks"],
            {
                "type": "text",
                "aria": False,
                "from": {"data": wanted["of"]},
                "encode": {"enter": {"text": text, "fill": {"value": INK}, "fontSize": {"value": 12}}},
                "transform": [
                    {
                        "type": "label",
                        "size": {"signal": "[width, height]"},
                        "anchor": [
                            "right",
                            "top-right",
                            "bottom-right",
                            "left",
                            "top",
                            "bottom",
                            "top-left",
                            "bottom-left",
                        ],
                        "offset": [6],
                        "padding": 0,
                        "avoidMarks": avoided,
                    }
                ],
            },
        ],
    }


def percent_axis(field: str, title: str | None, **more: Any) -> Spec:
    """An axis of shares, in percent."""
    axis = {"format": ".1~%", "tickCount": 6, "labelSeparation": 8, "title": title}
    return {"field": field, "type": "quantitative", "axis": axis, **more}


def palette(field: str, domain: list[str]) -> Spec:
    """Colour and shape, for readers who cannot tell colours apart."""
    names: Spec = {"field": field, "type": "nominal", "title": None, "sort": None}
    return {
        "color": {**names, "scale": {"domain": domain, "range": list(COLORS)}},
        "shape": {**names, "scale": {"domain": domain, "range": list(SHAPES)}},
    }


def layer(data: str, mark: Spec, **encoding: Spec) -> Spec:
    """A layer over the data of that name, which screen readers skip: a table has the same figures."""
    return {"data": {"name": data}, "mark": {**mark, "aria": False}, "encoding": encoding}


def domain(values: Iterable[float | None], low: float | None = None) -> list[float]:
    """From the smallest to the largest value, with a margin; intervals may reach beyond."""
    defined = [value for value in values if value is not None] or [0.0, 1.0]
    room = max(0.15 * (max(defined) - min(defined)), 0.01)
    return [max(min(defined) - room, 0.0) if low is None else low, min(max(defined) + room, 1.0)]
