"""``python -m fairalm`` and the command ``fairalm``."""

from collections.abc import Callable

from fairalm.interrupts import run_command


def _find() -> Callable[[], None]:
    from fairalm.cli import main as command

    return command


def main() -> None:
    """Run the command line."""
    run_command(_find)


if __name__ == "__main__":
    main()
