"""``fairalm check``."""

from __future__ import annotations

from fairalm.cli import _options as opt
from fairalm.console import say
from fairalm.manifest import check_manifest


def check(run: opt.RunFolder) -> None:
    """Check that every file of a run is as fairalm wrote it.

    What you get: one line if nothing is missing or changed; otherwise the first file that is, and exit code 2. Other
    commands check by themselves what they read.

    For example:
      fairalm check runs/adult
    """
    manifest = check_manifest(run)
    say(f"{run}: {len(manifest['files'])} files, all as fairalm {manifest['versions']['fairalm']} wrote them.")
