"""The page of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.report.answers import verdict_lines
from fairalm.report.shell import html_page
from fairalm.report.specs import specs

DRAWN = ("tradeoff", "frontier", "curve-")  # charts; the rates of groups are tables with arrows


def write_page(path: AnyPath, facts: Mapping[str, Any]) -> int:
    """Write the page of facts from :func:`fairalm.report.facts.gather`; return its size in bytes."""
    content = page(facts).encode()
    write_atomic(path, content)
    return len(content)


def page(facts: Mapping[str, Any]) -> str:
    """The page as text."""
    charts = {name: spec for name, spec in specs(facts).items() if name.startswith(DRAWN)}
    return html_page("run", facts["title"], " ".join(verdict_lines(facts)), facts, charts)
