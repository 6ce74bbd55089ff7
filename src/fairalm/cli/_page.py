"""The page that commands end with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fairalm.report.facts import gather
from fairalm.report.maps import Maps
from fairalm.report.page import write_page
from fairalm.report.runs import RunSource

PAGE = "report.html"


def older(out: Path) -> str:
    """What is said where no cell keeps what a page needs."""
    return f"No page: the cells in {out} were made by an older fairalm"


def write_report(run: RunSource | None, page: Path, *, maps: Maps | None = None) -> str:
    """Write the page of a run, on disk or not; the line that says where it is, or why there is none."""
    if run is None:
        return older(page.parent)
    try:
        write_page(page, gather([run], maps=maps))
    except ImportError as error:
        return f"No page. {error}."
    return f"Page: {page}"


def to_say(lines: Iterable[str], out: Path) -> list[str]:
    """Each line of several pages once; that cells are older only if there is nothing else to say."""
    found = list(dict.fromkeys(lines))
    return [line for line in found if line != older(out)] or found


def write_reports(runs: Iterable[tuple[str, RunSource]], folder: Path) -> str:
    """Write a page per run and name; the line that says how many and where, what to install, or why there is none."""
    n_pages = 0
    try:
        for name, run in runs:
            write_page(folder / f"{name}.html", gather([run]))
            n_pages += 1
    except ImportError as error:
        return f"No page. {error}."
    return f"Pages: {n_pages} in {folder}" if n_pages else older(folder.parent)
