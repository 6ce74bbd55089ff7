"""An experiment: its options, its jobs, and the tables, figures and pages made of their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd

from reproduction.options import Option
from reproduction.page import Page

Result = Mapping[str, Any]
Results = Sequence[Result]


@dataclass(frozen=True)
class Job(ABC):
    """A part of an experiment that is run as a whole or not at all: a small frozen value."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name for the progress bar and for its file, ``jobs/NAME.json``."""

    @property
    def config(self) -> dict[str, Any]:
        """All that its result depends on, apart from the code: every field but those with ``compare=False``."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.compare}

    @abstractmethod
    def run(self, data_dir: str | None) -> dict[str, Any]:
        """Return its result, which must be plain JSON. The runner adds the ``config``."""


class Table(NamedTuple):
    """A table as text, for the terminal and for Markdown; the first `left` columns are aligned to the left."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


Block = str | Table  # a paragraph, "" for an empty line, or a table


@dataclass(frozen=True)
class Experiment(ABC):
    """An experiment of the paper. The fields are its options; the docstring is the help of its command."""

    out: Annotated[Path, Option("Folder to write, or to continue in. Default: fairalm-NAME.", Path, "DIR")]
    data_dir: Annotated[str | None, Option("Folder with the official files.", str, "DIR", None, "$FAIRALM_DATA")] = None
    quick: Annotated[bool, Option("A small version, in minutes, to see that everything works.")] = False

    def prepare(self) -> None:  # noqa: B027
        """Read the data once, so that a missing file is an error before any work."""

    @abstractmethod
    def jobs(self) -> Sequence[Job]:
        """All jobs; if the choice of some depends on the results of others, the first of them."""

    def collect(self, run: Callable[[Sequence[Job]], list[Result]]) -> list[Result]:
        """The results of all jobs. Override it where later jobs depend on the results of earlier ones."""
        return run(self.jobs())

    @abstractmethod
    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        """The tables to compute with, by name: written as NAME.csv, and part of ``--json``."""

    @abstractmethod
    def text(self, results: Results) -> Iterable[Block]:
        """What is printed."""

    def markdown(self, results: Results) -> Iterable[Block]:
        """What is written to table.md; nothing by default."""
        return ()

    def facts(self, results: Results) -> dict[str, Any]:
        """What ``--json`` prints besides the tables, or in place of one of the same name."""
        return {}

    def files(self, results: Results) -> dict[str, Any]:
        """Further files by name: text, or what is written as JSON."""
        return {}

    def figures(self, results: Results) -> Iterable[tuple[str, Any]]:
        """The matplotlib figures, or functions that draw to a `path`, each with the name of its .png file."""
        return ()

    def pages(self, results: Results) -> Iterable[Page]:
        """The HTML pages with every model."""
        return ()


def markdown_of(blocks: Iterable[Block]) -> str:
    """Paragraphs and tables as Markdown.

    >>> print(markdown_of(["Percent.", Table(["method", "error"], [["plain", "14.9"]])]), end="")
    Percent.
    <BLANKLINE>
    | method | error |
    | --- | ---: |
    | plain | 14.9 |
    """

    def text(block: Block) -> str:
        if isinstance(block, str):
            return block
        bars = ["---"] * block.left + ["---:"] * (len(block.head) - block.left)
        return "\n".join("| " + " | ".join(line) + " |" for line in [block.head, bars, *block.rows])

    return "\n\n".join(map(text, blocks)) + "\n"
