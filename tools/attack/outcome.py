"""What an attack found: how often it tried, and each time the program failed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: How the program can fail, and what that means.
FAILURES = {
    "corrupt": "a file that is neither the old one nor the new one",
    "lost": "finished work that is gone, or that the same command cannot go on with",
    "traceback": "an error that is not one sentence",
    "hang": "no end within the time limit",
    "silent": "altered input that is used as if nothing had happened, or a hidden count that can be computed",
}


@dataclass
class Outcome:
    """One row of the table."""

    what: str
    tries: int = 0
    failures: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in FAILURES})
    note: str = ""

    def fail(self, kind: str, how: str) -> None:
        """Record a failure with what is needed to see it again."""
        self.failures[kind].append(how)

    @property
    def n_failures(self) -> int:
        """How many times the program failed."""
        return sum(map(len, self.failures.values()))

    def cells(self) -> list[str]:
        """The row of the table."""
        return [self.what, f"{self.tries:,}", *(str(len(self.failures[kind])) for kind in FAILURES), self.note]

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON keeps it."""
        return asdict(self)
