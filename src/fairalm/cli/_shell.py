"""How every command ends: errors as one sentence, warnings as one line, and the exit codes."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import typer
from threadpoolctl import threadpool_limits
from typer.core import TyperGroup

from fairalm.cli._output import say_error
from fairalm.exceptions import FairALMWarning, InputError

EXIT_CODES = (
    "Exit codes: 0 done, whether or not the criterion is met; 2 the input or an option cannot be used, and one sentence"
    " on stderr says why; 1 anything unexpected, which is worth reporting as a bug."
)
USER_ERROR = 2


class Guarded(TyperGroup):
    """The command group; its context's ``obj`` holds the arguments as typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the command line for metrics.json."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error of the user's ends in one sentence and exit code 2."""
        # more than one BLAS thread gains little on tables and costs a factor of six when the cores are busy
        with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
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
        say_error(f"Error: {message}")
        raise typer.Exit(USER_ERROR)


def keep_examples(command: Any) -> str:
    """Return a command's docstring as its help; lines after "Example:" are kept as they are."""
    return re.sub(r"\n\n(?=[^\n]+:\n  )", "\n\n\b\n", inspect.getdoc(command) or "")


def as_option(parameter: str, value: Any) -> str:
    """A parameter as the command line spells it.

    >>> as_option("missing", "drop"), as_option("merge_below", None), as_option("download", True)
    ('--missing drop', '--merge-below', '--download')
    """
    option = "--" + parameter.replace("_", "-")
    values = value if isinstance(value, (list, tuple)) else [value]
    has_value = [not (value is None or value is True or value is ...) for value in values]
    return " ".join(f"{option} {value}" if has else option for value, has in zip(values, has_value, strict=True))


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    text = message.spelled(as_option) if isinstance(message, FairALMWarning) else str(message)
    say_error(f"Warning: {text}")
