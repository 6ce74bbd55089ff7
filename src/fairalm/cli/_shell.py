"""The command group: commands are imported when they run; errors are one sentence, with the exit codes below."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from fairalm.exceptions import FairALMWarning, InputError
from fairalm.interrupts import interruptible

EXIT_CODES = (
    "Exit codes: 0 done, whether or not the constraint is met; 2 the input or an option cannot be used, and one"
    " sentence on stderr says why; 130 interrupted; 1 anything unexpected, which is worth reporting as a bug."
)
USER_ERROR = 2
#: command -> one line of help, in the order of the root's help
COMMANDS = {
    "demo": "Show every method at work on shipped data, in a table and a figure.",
    "train": "Train a fair model and measure it on rows it has not seen.",
    "frontier": "Fit once, see the whole trade-off, and choose a point of it.",
    "lda": "Search for a less discriminatory alternative, and document the search.",
    "predict": "Predict the labels of a table with a trained model.",
    "audit": "Measure given predictions by group.",
    "compare": "Compare methods on one table over several splits.",
    "report": "Write one page about one or more runs, to read, to mail and to print.",
    "card": "Write a model card in Markdown, as the Hugging Face hub reads it.",
    "cam": "Show where nets look, and measure it.",
    "check": "Check that every file of a run is as it was written.",
    "clean": "Remove what killed commands left in a folder.",
    "list": "List data sets, constraints, methods and estimators by name.",
}


class Commands(TyperGroup):
    """The commands, each in the module of its name; the context's ``obj`` holds the arguments as typed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"fairalm.cli.{cmd_name}"), cmd_name)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name, help=keep_examples(command))(command)
        return typer.main.get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the command line for metrics.json."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error of the user's ends in one sentence and exit code 2."""
        from threadpoolctl import threadpool_limits

        # more than one BLAS thread gains little on tables and costs a factor of six when the cores are busy
        with interruptible(), warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", FairALMWarning)
            warnings.showwarning = show_warning
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise  # the reader left, as in `fairalm list | head -1`: typer ends quietly
            except InputError as error:
                message = error.spelled(as_option)
            except OSError as error:
                message = f"{error.filename}: {error.strerror}." if error.filename and error.strerror else str(error)
            except ImportError as error:
                if "pip install" not in str(error):
                    raise
                message = str(error)
        _say_error(f"Error: {message}")
        raise typer.Exit(USER_ERROR)


def keep_examples(command: Any) -> str:
    """Return a command's docstring as its help; lines after "Example:" are kept as they are."""
    return re.sub(r"\n\n(?=[^\n]+:\n  )", "\n\n\b\n", inspect.getdoc(command) or "")


def as_option(parameter: str, value: Any) -> str:
    """A parameter as the command line spells it.

    >>> as_option("missing", "drop"), as_option("sep", ";"), as_option("merge_below", None), as_option("download", True)
    ('--missing drop', "--sep ';'", '--merge-below', '--download')
    """
    option = "--" + parameter.replace("_", "-")
    if value is None or value is True or value is ...:
        return option
    values = value if isinstance(value, (list, tuple)) else [value]
    return " ".join(f"{option} {shlex.quote(str(each))}" for each in values)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    text = message.spelled(as_option) if isinstance(message, FairALMWarning) else str(message)
    _say_error(f"Warning: {text}")


def _say_error(text: str) -> None:
    from fairalm.console import say_error

    say_error(text)
