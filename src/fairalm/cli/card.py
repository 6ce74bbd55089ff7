"""``fairalm card``."""

from __future__ import annotations

import typer

from fairalm.cli import _options as opt
from fairalm.cli._output import reserved_file
from fairalm.cli.report import MinCell
from fairalm.console import say_path
from fairalm.files import write_atomic
from fairalm.report.card import model_card
from fairalm.report.facts import MIN_CELL, gather


def card(
    run: opt.RunFolder,
    out: opt.OutFile = None,
    min_cell: MinCell = MIN_CELL,
    overwrite: opt.Overwrite = False,
) -> None:
    """Write a model card in Markdown, as the Hugging Face hub reads it.

    What you get: on stdout, or with -o in a .md file, the figures of fairalm report, headed by the hub's metadata.
    Intended use and licence are yours to add.

    For example:
      fairalm card runs/adult -o README.md
    """
    with reserved_file(out, (".md",), overwrite):
        text = model_card(gather([run], min_cell=min_cell))
        if out is None:
            typer.echo(text, nl=False)
            return
        write_atomic(out, text.encode())
    say_path(f"Card: {out}")
