"""Heat maps of ``fairalm cam`` for the page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.json_reader import read_json
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
    """The sheets, and the figures of leak and focus, in those `folders` that have them and in `more`, which must."""
    maps = [_read(folder) for folder in dict.fromkeys(folders)]
    if more is not None:
        maps.append(more if isinstance(more, Maps) else _read(Path(more)))
        if maps[-1] is None:
            raise InputError(f"{more} has no {SHEET} and {RESULTS}: name a folder that fairalm cam wrote.")
    return [_facts(each) for each in maps if each is not None]


def _read(folder: Path) -> Maps | None:
    sheet, results = folder / SHEET, folder / RESULTS
    return Maps(sheet, read_json(results, "cam")) if sheet.is_file() and results.is_file() else None


def _facts(maps: Maps) -> dict[str, Any]:
    image, results = maps.sheet.read_bytes(), maps.results
    if len(image) > LARGEST:
        text = f"{maps.sheet} has {len(image):,} bytes, too many for a page: make it again with fewer {{rows}}."
        raise InputError(text, rows=None)
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
