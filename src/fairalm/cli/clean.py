"""``fairalm clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairalm.console import say, say_path
from fairalm.folders import clean as clean_folder


def clean(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that runs were written into.")] = Path("runs"),
) -> None:
    """Remove what killed commands left in a folder.

    A command that is killed while it writes leaves a hidden folder behind, and its lock. A run that it was replacing is
    put back. Finished runs, checkpoints of nets and what a running command writes are not touched.

    For example:
      fairalm clean runs
    """
    found = clean_folder(folder)
    for path in found:
        say_path(f"Removed: {path}")
    if not found:
        say(f"Nothing to remove in {folder}.")
