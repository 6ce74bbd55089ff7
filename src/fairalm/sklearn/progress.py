"""A progress bar for the rounds of a fit, on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairalm.game import Outcome


@contextmanager
def round_bar(total: int, shown: bool) -> Iterator[Callable[[int, Outcome], None] | None]:
    """A callback that moves the bar, or None when no bar is wanted."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fitting", total=total)

        def on_round(t: int, outcome: Outcome) -> None:
            text = f"round {t}: error {100 * outcome.error:.1f} %, gap {100 * outcome.moments.max_gap:.1f}"
            bar.update(task, completed=t, description=text)

        yield on_round
