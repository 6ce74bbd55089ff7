"""The command ``fairalm``: one module per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fairalm
from fairalm.cli._shell import EXIT_CODES, Commands, keep_examples

app = typer.Typer(
    cls=Commands,
    name="fairalm",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fairalm {fairalm.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Train fair models: name the protected column, keep your model, get figures with intervals.

    Start here:
      fairalm demo          the methods side by side, in a table and a figure
      fairalm train adult   a fair model on data that is shipped
      fairalm train people.csv --target hired --protected sex
      fairalm frontier people.csv --target hired --protected sex
    """


app.callback(help=keep_examples(root))(root)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a name must not stop the command
    app(prog_name="fairalm")
