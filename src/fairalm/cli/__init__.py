"""The command ``fairalm``: one module per subcommand."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fairalm
from fairalm.cli._shell import EXIT_CODES, Guarded, keep_examples
from fairalm.cli.audit import audit
from fairalm.cli.cam import cam
from fairalm.cli.card import card
from fairalm.cli.compare import compare
from fairalm.cli.demo import demo
from fairalm.cli.list_ import list_names
from fairalm.cli.predict import predict
from fairalm.cli.report import report
from fairalm.cli.train import train

app = typer.Typer(
    cls=Guarded,
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
    """Fair models: name the protected column, keep your model, get numbers with intervals.

    Start here:
      fairalm demo          the rules side by side, in a table and a picture
      fairalm train adult   a fair model on data that is shipped
      fairalm train people.csv --target hired --protected sex
    """


app.callback(help=keep_examples(root))(root)
for command in (demo, train, predict, audit, compare, report, card, cam, list_names):
    name = command.__module__.rpartition(".")[2].rstrip("_")
    app.command(name, help=keep_examples(command))(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a name must not stop the command
    app(prog_name="fairalm")
