"""The page that commands end with."""

from __future__ import annotations

from pathlib import Path

from fairalm.report.facts import gather
from fairalm.report.page import write_page
from fairalm.report.runs import Source

PAGE = "report.html"


def write_report(run: Source, page: Path) -> str:
    """Write the page of a run, on disk or not; the line that says where it is, or what to install."""
    try:
        write_page(page, gather([run]))
    except ImportError as error:
        return f"No page. {error}."
    return f"Page: {page}"
