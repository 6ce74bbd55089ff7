"""Heat maps of ``fairalm cam`` for the page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, read_json
from fairalm.measures import Measure

SHEET, RESULTS = "sheet.png", "cam.json"
LARGEST = 1_500_000  # bytes of a sheet, so that the page stays under 3 MB
TITLES = {
    "leak": {"overlap": "highest places shared with the net for the protected attribute", "chance": "by chance"},
    "focus": {"inside": "mass inside the mask", "chance": "by chance", "peak_outside": "peak outside"},
}


class Maps(NamedTuple):
    """What ``fairalm cam`` writes: the sheet, a PNG file, and the figures."""

    sheet: Path
    results: Mapping[str, Any]


def read_maps(folders: Sequence[Path], more: AnyPath | Maps | None = None) -> list[dict[str, Any]]:
    """The sheets, and the figures of leak and focus.

    Parameters
    ----------
    folders : sequence of path
        Folders that may hold such files.
    more : path or Maps, optional
        A folder that must hold them, or their content.
    """
    maps = [_in(folder) for folder in dict.fromkeys(folders) if _has_maps(folder)]
    if isinstance(more, Maps):
        maps.append(more)
    elif more is not None:
        if not _has_maps(Path(more)):
            raise InputError(f"{more} has no {SHEET} and {RESULTS}: name a folder that fairalm cam wrote.")
        maps.append(_in(Path(more)))
    return [_facts(each) for each in maps]


def _has_maps(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SHEET, RESULTS))


def _in(folder: Path) -> Maps:
    return Maps(folder / SHEET, read_json(folder / RESULTS))


def _facts(maps: Maps) -> dict[str, Any]:
    image, results = maps.sheet.read_bytes(), maps.results
    if len(image) > LARGEST:
        raise InputError(
            f"{maps.sheet} has {len(image):,} bytes, too many for a page: make it again with fewer {{rows}}.", rows=None
        )
    tables = []
    for kind, titles in TITLES.items():
        measured = results.get(kind) or {}
        nets = [net for net in measured if "chance" in measured[net] or kind == "focus"]
        rows = [
            {"name": title, "cells": [str(Measure(name, **measured[net][name])) for net in nets]}
            for name, title in titles.items()
            if nets and all(name in measured[net] for net in nets)
        ]
        if rows:
            tables.append({"title": kind, "nets": nets, "rows": rows})
    return {
        "sheet": "data:image/png;base64," + base64.b64encode(image).decode(),
        "images": results["data"]["images"],
        "tables": tables,
    }
