"""What several commands print, and the files they write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from fairalm.console import is_terminal, print_table, say
from fairalm.constraints import Constraint
from fairalm.datasets import name_of
from fairalm.exceptions import InputError
from fairalm.files import new_file, to_json
from fairalm.folders import locked
from fairalm.measures.text import percent
from fairalm.progress import progress_bar
from fairalm.report.facts import gather
from fairalm.report.figures import write_figure
from fairalm.report.page import write_page
from fairalm.report.runs import RunSource
from fairalm.report.words import constraint_sentence, weight_sentence
from fairalm.runs import Samples, Settings, Source
from fairalm.spreadsheets import write_rows


def print_json(result: Any) -> None:
    """Print the result of ``--json``: one line, the only one on stdout."""
    typer.echo(to_json(result))


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 fit", "4 fits"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def show_samples(samples: Samples, constraint: Constraint, *lines: str) -> None:
    """Print how many rows there are by group, then some lines, then the constraint."""
    positive, parts, rows_are = samples.data.y, samples.groups.apart, samples.rows_are
    weight = np.ones(len(positive)) if samples.weights is None else samples.weights
    share = percent(np.average(positive, weights=weight))
    say(
        f"{samples.data.name}: {len(positive):,} {rows_are}, {share} with {samples.label}; protected:"
        f" {', '.join(samples.data.protected)}."
    )
    if samples.positive_guessed:
        say(f"The positive label, {samples.label}, is a guess, the larger of the two: name it with --positive.")
    if samples.n_dropped:
        say(f"Left out: {samples.n_dropped:,} {rows_are} without a protected value.")
    if samples.weight is not None:
        say(weight_sentence(samples.weight, rows_are))
    print_table(
        ["group", rows_are, "share", samples.label],
        [
            (name, f"{size:,}", percent(own.sum() / weight.sum()), percent(own @ positive / own.sum()))
            for part in parts
            for code, (name, size) in enumerate(zip(part.names, part.sizes, strict=True))
            for own in (weight * (part.codes == code),)
        ],
    )
    say()
    for line in lines:
        say(line)
    say(f"Constraint {constraint_sentence(constraint, samples.label, rows_are)}")


def protected_sentence(samples: Samples) -> str:
    """Say whether the model sees the protected columns, and how to change it."""
    columns = ", ".join(samples.data.protected)
    if samples.with_protected:
        return f"The model may use {columns} (--without-protected keeps it out)."
    return f"The model does not see {columns} (--with-protected lets it)."


def working(text: str) -> AbstractContextManager[Any]:
    """Show on stderr that something is being done."""
    return progress_bar(None, shown=is_terminal(), text=text)


def new_run(out: Path | None, source: Source, settings: Settings) -> Path:
    """The folder of a run: the given one, or one named after what is trained."""
    if out is not None:
        return out
    chosen = settings.to_dict()
    return run_folder(source.data, f"{chosen['constraint']}-{chosen['method']}")


def run_folder(data: str, what: str) -> Path:
    """The folder of a run that is named after its data and what was done."""
    name = re.sub(r"[^\w.-]+", "-", name_of(data))
    return Path("runs") / f"{name}-{what}"


@contextmanager
def reserved_file(out: Path | None, suffixes: Sequence[str], overwrite: bool) -> Iterator[None]:
    """Refuse a file of another kind, or one that exists; within the block no other process writes it."""
    if out is not None and out.suffix.lower() not in suffixes:
        raise InputError(f"{out} must end in {' or '.join(suffixes)}.")
    with reserved_files([] if out is None else [out], overwrite):
        yield


@contextmanager
def reserved_files(paths: Sequence[Path], overwrite: bool) -> Iterator[None]:
    """Refuse files that exist, before any work; within the block no other process writes them."""
    check_new_files(paths, overwrite)
    with ExitStack() as locks:
        for path in paths:
            locks.enter_context(locked(path))
        check_new_files(paths, overwrite)
        yield


def check_new_files(paths: Iterable[Path], overwrite: bool) -> None:
    """Refuse files that exist, unless they are to be replaced."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file.")
        if path.exists() and not overwrite:
            raise InputError(f"{path} exists: choose another name, or pass {{overwrite}}.", overwrite=True)


def write_table(out: Path, parts: Iterable[Any], *, raw: bool = False) -> None:
    """Write a .csv or .parquet file from data frames or tables of pyarrow, one after the other.

    In a .csv file, text that a spreadsheet would take for a formula gets an apostrophe, unless `raw`.
    """
    with new_file(out) as file:
        if out.suffix.lower() == ".csv":
            _write_csv(file, parts, raw)
        else:
            _write_parquet(file, parts)


def _write_csv(file: Path, parts: Iterable[Any], raw: bool) -> None:
    with file.open("w", encoding="utf-8", newline="") as text:
        for number, part in enumerate(parts):
            frame = part if isinstance(part, pd.DataFrame) else part.to_pandas(types_mapper=pd.ArrowDtype)
            write_rows(text, frame, header=number == 0, raw=raw)


def _write_parquet(file: Path, parts: Iterable[Any]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Writing .parquet files needs pyarrow: pip install "fairalm[parquet]"') from error
    writer = None
    for part in parts:
        table = pa.Table.from_pandas(part, preserve_index=False) if isinstance(part, pd.DataFrame) else part
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_picture(run: Path, picture: Path) -> str:
    """Write the curve of a frontier; the line that says why there is no picture, if there is none."""
    try:
        facts = gather([run])
        curve = facts["frontier"]
        if curve is None:
            return "No picture: it would show counts of fewer than ten people. frontier.csv has every point."
        title = f"{facts['title']} {curve['title']} Training {facts['rows_are']}, out of fold, with 95 % intervals."
        if curve["outside"]:
            title += f" Above the picture: {'; '.join(curve['outside'])}."
        write_figure(picture, facts, "frontier", title=title)
    except ImportError as error:
        return f"No picture. {error}."
    return ""


def write_report(run: RunSource, page: Path) -> str:
    """Write the page of a run; the line that says what to install if that is not possible."""
    return written_page(page, lambda path: write_page(path, gather([run])))


def written_page(page: Path, write: Callable[[Path], Any]) -> str:
    """Write a page; the line that says what to install if that is not possible."""
    try:
        write(page)
    except ImportError as error:
        return f"No page. {error}."
    return ""
