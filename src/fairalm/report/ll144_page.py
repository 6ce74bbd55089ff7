"""The tables of Local Law 144 as a page to publish: text and tables only, without a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.measures.text import percent
from fairalm.report.shell import style

TITLES = {"sex": "Sex categories", "race": "Race/ethnicity categories", "intersection": "Intersectional categories"}
NOT_GIVEN = "not stated"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}
thead th:not(.number), th[scope="row"] {{ text-align: start; }}
</style>
</head>
<body>
<main>
<h1 dir="auto">{title}</h1>
{body}
</main>
</body>
</html>
"""


def write_ll144_page(path: AnyPath, facts: Mapping[str, Any]) -> None:
    """Write the page, given the content of its ll144.json. It has every count, as the rule asks for."""
    write_atomic(path, ll144_page(facts).encode())


def ll144_page(facts: Mapping[str, Any]) -> str:
    """The page as text."""
    title = f"Bias audit: {facts['tool'] or facts['data']['name']}"
    parts = [_table(None, summary(facts), "plain")]
    for table in facts["tables"]:
        head, rows = table_rows(facts, table)
        parts += [
            f"<section><h2>{TITLES[table['table']]}</h2>",
            f'<div class="scroll" tabindex="0" role="region" aria-label="{TITLES[table["table"]]}">',
            _table(head, rows),
            "</div>",
            *(f'<p dir="auto">{escape(line)}</p>' for line in table_notes(facts, table)),
            "</section>",
        ]
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*facts["notes"], *arithmetic(facts)))
    parts.append(f"<section><h2>Notes</h2><ul>{notes}</ul></section>")
    return PAGE.format(title=escape(title), style=style(), body="\n".join(parts))


def summary(facts: Mapping[str, Any]) -> list[list[str]]:
    """What the rule's summary of results states beside the tables, as given."""
    return [
        ["Automated employment decision tool", facts["tool"] or NOT_GIVEN],
        ["Date of this audit", facts["audit_date"] or NOT_GIVEN],
        ["Distribution date of the tool", facts["distribution_date"] or NOT_GIVEN],
        ["Source and explanation of the data", facts["data_source"] or NOT_GIVEN],
        ["Applicants assessed", f"{facts['data']['rows']:,}"],
        ["Rule", facts["law"]],
    ]


def table_rows(facts: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of a table: rates in percent, impact ratios to three decimals."""
    is_scoring = facts["rate"] == "scoring"
    names = {"sex": ["Sex"], "race": ["Race/ethnicity"], "intersection": ["Sex", "Race/ethnicity"]}[table["table"]]
    head = [
        *names,
        "Applicants",
        *([] if is_scoring else ["Selected"]),
        f"{facts['rate'].capitalize()} rate",
        "Impact ratio",
    ]
    rows = []
    for own in table["categories"]:
        counts = [f"{own['applicants']:,}", *([] if is_scoring else [f"{own['selected']:,}"])]
        rate = "no applicants" if own["rate"] is None else percent(own["rate"])
        ratio = (
            "left out" if own["left_out"] else "none" if own["impact_ratio"] is None else f"{own['impact_ratio']:.3f}"
        )
        rows.append([*own["labels"], *counts, rate, ratio])
    return head, rows


def table_notes(facts: Mapping[str, Any], table: Mapping[str, Any]) -> list[str]:
    """The number of unknown category, and the reason for categories that are left out."""
    what = {"sex": "sex", "race": "race/ethnicity", "intersection": "sex or race/ethnicity"}[table["table"]]
    lines = [f"{table['unknown']:,} assessed applicants of unknown {what} are not in these calculations."]
    left_out = [own["category"] for own in table["categories"] if own["left_out"]]
    if left_out:
        share = f"under {100 * facts['leave_out_below']:.3g} % of the data"
        lines.append(f"Left out of the impact ratios, each {share}: {', '.join(left_out)}. Reason: {facts['reason']}")
    return lines


def arithmetic(facts: Mapping[str, Any]) -> list[str]:
    """How the figures were computed."""
    what = (
        f"The scoring rate is the share of a category with a score ({facts['column']}) above {facts['median']:.6g}, the"
        " median of all applicants assessed, also of those of unknown category; a score that equals it is not above it."
        if facts["rate"] == "scoring"
        else f"The selection rate is the share of a category with {facts['column']} = {facts['positive']}."
    )
    return [
        what,
        "The impact ratio is the rate of a category over the highest rate of its table, before any rounding.",
        f"Data: {facts['data']['name']}, {facts['data']['fingerprint']}; fairalm {facts['versions']['fairalm']}.",
    ]


def _head(name: str, is_number: bool) -> str:
    kind = ' class="number"' if is_number else ""
    return f'<th scope="col"{kind}>{escape(name)}</th>'


def _table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], kind: str = "") -> str:
    n_names = 1 if head is None else head.index("Applicants")
    top = (
        ""
        if head is None
        else "<thead><tr>" + "".join(_head(name, place >= n_names) for place, name in enumerate(head)) + "</tr></thead>"
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row" dir="auto">{escape(cell)}</th>'
            if place < n_names
            else f'<td dir="auto">{escape(cell)}</td>'
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}">{top}<tbody>{body}</tbody></table>'
