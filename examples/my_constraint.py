"""A constraint of your own: see docs/how-to/extending.md."""

from dataclasses import dataclass
from typing import ClassVar

from fairalm import Constraint
from fairalm.cells import Event


@dataclass(frozen=True, kw_only=True)
class ErrorAndOpportunity(Constraint):
    """Equal error among all people, and among those whose label is the target."""

    rates: ClassVar[str] = "the share of wrong predictions among all people, and that among people with {label}, each"

    def events(self, y):
        """Two events, which overlap; `y` is True where the label is the target."""
        return (Event("all"), Event("y=target", mask=y))
