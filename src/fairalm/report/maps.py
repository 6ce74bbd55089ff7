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


def read_maps(folders: Sequence[Path], named: AnyPath | Maps | None = None) -> list[dict[str, Any]]:
    """The sheets, and the figures of leak and focus, of the folders that hold them.

    Parameters
    ----------
    folders : sequence of path
        Looked into.
    named : path or Maps, optional
        Must hold them, or is them.
    """
    found = [_of(folder) for folder in dict.fromkeys(folders) if _holds(folder)]
    if isinstance(named, Maps):
        found.append(named)
    elif named is not None:
        if not _holds(Path(named)):
            raise InputError(f"{named} has no {SHEET} and {RESULTS}: name a folder that fairalm cam wrote.")
        found.append(_of(Path(named)))
    return [_facts(maps) for maps in found]


def _holds(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SHEET, RESULTS))


def _of(folder: Path) -> Maps:
    return Maps(folder / SHEET, read_json(folder / RESULTS))


def _facts(maps: Maps) -> dict[str, Any]:
    picture, results = maps.sheet.read_bytes(), maps.results
    if len(picture) > LARGEST:
        raise InputError(
            f"{maps.sheet} has {len(picture):,} bytes, too many for a page: make it again with fewer --rows."
        )
    tables = []
    for kind, titles in TITLES.items():
        found = results.get(kind) or {}
        nets = [net for net in found if "chance" in found[net] or kind == "focus"]
        rows = [
            {"name": title, "cells": [str(Measure(name, **found[net][name])) for net in nets]}
            for name, title in titles.items()
            if nets and all(name in found[net] for net in nets)
        ]
        if rows:
            tables.append({"title": kind, "nets": nets, "rows": rows})
    return {
        "sheet": "data:image/png;base64," + base64.b64encode(picture).decode(),
        "pictures": results["data"]["pictures"],
        "tables": tables,
    }
