"""``python -m fairalm`` and the command ``fairalm``; an interrupt ends in one line, also while they are imported."""

import os
import signal
from typing import Any

INTERRUPTED = 130  # exit code


def _end(*_: Any) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line; an interrupt while it is imported ends it at once."""
    before = signal.signal(signal.SIGINT, _end)
    from fairalm.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
