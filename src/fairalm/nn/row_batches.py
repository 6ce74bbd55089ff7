"""Batches of rows that are in memory: no loader has to fetch one row at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from fairalm.nn.distributed import n_ranks, rank


class RowBatches:
    """Batches of rows, in a new order each pass if there is a seed.

    Under ``torch.distributed``, a shuffled pass gives each rank its share of every batch. All random numbers come from
    `generator`, whose state a :class:`~fairalm.nn.Trainer` saves, so that a resumed run sees the same batches.

    A column is a tensor, or an object that gives one for ``column[rows]``. A shuffled pass leaves out a last batch with
    fewer rows than `smallest`, such as 2 for batch normalisation; with `flip` it reverses the last axis of the first
    column, with probability one half per row: mirror images.

    >>> batches = RowBatches([torch.arange(5)], 2, seed=0)
    >>> len(batches), sorted(int(i) for (rows,) in batches for i in rows)
    (3, [0, 1, 2, 3, 4])
    """

    def __init__(
        self, columns: Sequence[Any], batch_size: int, *, seed: int | None = None, smallest: int = 1, flip: bool = False
    ) -> None:
        self.columns, self.batch_size, self.smallest, self.flip = columns, batch_size, smallest, flip
        self.n_rows = len(columns[0])
        self.generator = None if seed is None else torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self._split(torch.arange(self.n_rows)))

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        if self.generator is None:
            for rows in self._split(torch.arange(self.n_rows)):
                yield tuple(column[rows] for column in self.columns)
            return
        order = torch.randperm(self.n_rows, generator=self.generator)
        draws = torch.rand(self.n_rows, generator=self.generator) if self.flip else torch.ones(self.n_rows)
        for batch in self._split(order):
            rows = batch[rank() :: n_ranks()]
            first, *others = (column[rows] for column in self.columns)
            is_flipped = draws[rows] < 0.5
            if is_flipped.any():
                first[is_flipped] = first[is_flipped].flip(-1)
            yield first, *others

    def _split(self, rows: Tensor) -> list[Tensor]:
        least = 1 if self.generator is None else max(self.smallest, n_ranks())
        return [part for part in torch.split(rows, self.batch_size) if len(part) >= least]
