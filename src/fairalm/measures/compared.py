"""The cells that a measure compares, and what is said about small and empty ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairalm._validation import no_such
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.measures.definitions import Definition
from fairalm.measures.rates import GroupRates

SMALL_CELL = 10  # rows; below this a measure's note names the cell
FEW = f" (under {SMALL_CELL} rows a 95 % interval may cover only 84 %)"  # lowest of two cells: benchmarks/coverage.py


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """A table with one line per event and attribute and one column per group: only cells of a line are compared.

    Where an attribute has fewer groups than another, the group is "" and the cell is empty.
    """

    kind: str  # as in Definition
    reference: str | None  # as in Definition
    n_attributes: int
    events: tuple[str, ...]  # of the lines, in words
    groups: npt.NDArray[np.object_]
    rows: IntArray  # rows of data in each cell
    rates: FloatArray
    k: FloatArray  # what the interval is computed from: k out of n; n is the number of rows unless they have weights
    n: FloatArray

    @classmethod
    def of(cls, definition: Definition, rates: GroupRates) -> ComparedCells:
        """The cells of a measure; a single one if it is about all groups together."""
        rates = rates.pooled if definition.kind == "overall" else rates
        attributes = rates.attributes
        widest = max(part.stop - part.start for part in attributes)

        def lines(values: npt.NDArray[np.generic], empty: object) -> list[npt.NDArray[np.generic]]:
            parts = [values[part] for part in attributes]
            if len(parts) == 1:
                return parts
            return [np.pad(part, (0, widest - len(part)), constant_values=empty) for part in parts]  # type: ignore[call-overload]

        shares = definition.rates.values()
        columns = [(rates.counts(share)[1], rates.value(share), *rates.effective(share)) for share in shares]
        tables = [
            np.stack([line for column in table for line in lines(column, empty)])
            for table, empty in zip(zip(*columns, strict=True), (0, np.nan, 0.0, 0.0), strict=True)
        ]
        names = lines(np.array(rates.names, dtype=object), "") * len(definition.rates)
        events = tuple(rates.event(share) for share in shares for _ in attributes)
        if definition.reference is not None and definition.reference not in rates.names:
            raise no_such("group", definition.reference, rates.names)
        about = (definition.kind, definition.reference, len(attributes), events)
        return cls(*about, np.stack(names), *tables)

    @classmethod
    def joined(cls, parts: Sequence[ComparedCells]) -> ComparedCells:
        """The lines of several tables of the same groups, one after the other."""
        tables = [[getattr(part, name) for part in parts] for name in ("groups", "rows", "rates", "k", "n")]
        events = tuple(event for part in parts for event in part.events)
        first = parts[0]
        about = (first.kind, first.reference, first.n_attributes, events)
        return cls(*about, *(np.concatenate(table) for table in tables))

    @property
    def pairs(self) -> BoolArray:
        """Which group (second axis) is compared with which (third axis), in each line.

        In a line that has the reference, each is compared with it; for differences, it with each as well.
        """
        is_group = self.groups != ""
        pairs = is_group[:, :, None] & is_group[:, None, :] & ~np.eye(self.groups.shape[1], dtype=bool)
        if self.reference is None:
            return np.asarray(pairs)
        named = self.groups == self.reference
        against = np.broadcast_to(named[:, None, :], pairs.shape)
        if self.kind == "difference":
            against = against | named[:, :, None]
        return np.asarray(pairs & (against | ~named.any(axis=1)[:, None, None]))

    @property
    def n_rows(self) -> int:
        """Rows of data in the cells; each attribute has all of them."""
        return int(self.rows.sum()) // self.n_attributes

    @property
    def n_min(self) -> int:
        """Rows of data in the smallest cell that has any."""
        return int(self.rows[self.rows > 0].min(initial=self.n_rows))

    def why_undefined(self) -> str:
        """Return "" if the measure is defined. It needs two non-empty cells in every line."""
        if self.kind == "overall":
            return "" if self.n.any() else "undefined (0 rows)"
        is_group = self.groups != ""
        alone = is_group.sum(axis=1) == 1
        if alone.any():
            return f"undefined (only one group: {self.groups[alone][0, 0]})"
        short = (self.n > 0).sum(axis=1) < 2
        if short.any():
            return f"undefined ({self._named(is_group & (self.n == 0) & short[:, None])})"
        nowhere = ~self.k.any(axis=1)
        if self.kind in ("ratio", "shortfall") and nowhere.any():
            event = self.events[int(np.argmax(nowhere))]
            return f"undefined (every rate is 0{', ' * bool(event)}{event})"
        return ""

    def note(self) -> str:
        """Name small and empty cells."""
        if self.kind == "overall":
            return f"small cell: {self._rows(0, 0)}{FEW}" if self.n.item() < SMALL_CELL else ""
        empty = self.n == 0
        left_out, small = (self.groups != "") & empty, ~empty & (self.n < SMALL_CELL)
        notes = [f"left out: {self._named(left_out)}"] * bool(left_out.any())
        notes += [f"small cell: {self._named(small)}{FEW}"] * bool(small.any())
        return "; ".join(notes)

    def _named(self, chosen: BoolArray) -> str:
        """Say in words which cells, at most three of them: "4 rows in Female, y=1"."""
        texts = []
        for line, group in np.argwhere(chosen)[:3]:
            where = ", ".join(filter(None, (self.groups[line, group], self.events[line])))
            texts.append(f"{self._rows(line, group)} in {where}")
        others = int(chosen.sum()) - len(texts)
        return "; ".join(texts) + (f"; and {others} more" if others else "")

    def _rows(self, line: int, group: int) -> str:
        """Rows of a cell in words, and how many of equal weight would be as precise."""
        count, worth = int(self.rows[line, group]), round(float(self.n[line, group]))
        text = f"{count} row{'' if count == 1 else 's'}"
        return f"{text} (worth {worth} by their weights)" if worth < count else text
