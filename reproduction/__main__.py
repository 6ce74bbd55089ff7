"""``python -m reproduction NAME``: run an experiment of the paper."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairalm.interrupts import run_command


def _find() -> Callable[[], int]:
    from reproduction.command import main

    return lambda: main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run_command(_find))
