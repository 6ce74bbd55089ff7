"""The page of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.report.audit_facts import audit_facts, drawn, noscript
from fairalm.report.chart_style import COLORS, Spec, palette, percent_axis, styled
from fairalm.report.shell import html_page

MOST_LINES = len(COLORS)  # of a chart; more groups are in the table only


def write_audit_page(path: AnyPath, audit: Mapping[str, Any], *, min_cell: int) -> None:
    """Write the page of an audit, given as the content of its audit.json."""
    write_atomic(path, audit_page(audit, min_cell=min_cell).encode())


def audit_page(audit: Mapping[str, Any], *, min_cell: int) -> str:
    """The page as text; it shows no count under `min_cell`."""
    facts = audit_facts(audit, min_cell)
    charts = {f"thresholds-{table['attribute']}": _thresholds(table["groups"]) for table in drawn(facts, MOST_LINES)}
    return html_page("audit", facts["title"], noscript(facts), facts, styled(charts))


def _thresholds(groups: list[str]) -> Spec:
    """The share of each group above each decile of the scores, a line per group."""
    x: Spec = {"field": "decile", "type": "quantitative", "title": "threshold, by decile of all scores"}
    x |= {"axis": {"values": list(range(1, 10)), "format": "d"}, "scale": {"domain": [1, 9]}}
    y = percent_axis("share", "share above the threshold", scale={"domain": [0, 1]})
    own = palette("group", groups)
    return {
        "description": "Share of each group above each decile of the scores; the table below has the same figures.",
        "data": {"name": "points"},
        "height": 260,
        "encoding": {"x": x, "y": y, "color": own["color"], "tooltip": {"field": "tip", "type": "nominal"}},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2, "aria": False}},
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "aria": False},
                "encoding": {"shape": own["shape"]},
            },
        ],
    }
