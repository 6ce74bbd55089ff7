"""Heat maps of ``fairalm cam`` for the page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.io import AnyPath, load
from fairalm.measures import Measure

SHEET, RESULTS = "sheet.png", "cam.json"
LARGEST = 1_500_000  # bytes of a sheet, so that the page stays under 3 MB
TITLES = {
    "leak": {"overlap": "highest places shared with the net for the protected attribute", "chance": "by chance"},
    "focus": {"inside": "mass inside the mask", "chance": "by chance", "peak_outside": "peak outside"},
}


def read_maps(folders: Sequence[Path], named: AnyPath | None = None) -> list[dict[str, Any]]:
    """The sheets, and the figures of leak and focus, of the folders that hold them.

    Parameters
    ----------
    folders : sequence of path
        Looked into.
    named : path, optional
        Must hold them.
    """
    found = [folder for folder in dict.fromkeys(folders) if (folder / SHEET).is_file() and (folder / RESULTS).is_file()]
    if named is not None:
        if not all((Path(named) / name).is_file() for name in (SHEET, RESULTS)):
            raise InputError(f"{named} has no {SHEET} and {RESULTS}: name a folder that fairalm cam wrote.")
        found.append(Path(named))
    return [_maps(folder) for folder in found]


def _maps(folder: Path) -> dict[str, Any]:
    picture, results = (folder / SHEET).read_bytes(), load(folder / RESULTS)
    if len(picture) > LARGEST:
        raise InputError(
            f"{folder / SHEET} has {len(picture):,} bytes, too many for a page: make it again with fewer --rows."
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
