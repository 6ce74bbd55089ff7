"""The one door to fairlearn."""

from __future__ import annotations

from typing import Any


def import_fairlearn() -> Any:
    """The package with the two algorithms, or the command that installs it."""
    try:
        import fairlearn.postprocessing
        import fairlearn.reductions
    except ImportError as error:
        raise ImportError('This comparator runs on fairlearn: pip install "fairalm[compare]"') from error
    return fairlearn
