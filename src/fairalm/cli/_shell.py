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

# arguments of the library that are options here; those that are also plain words only where "=" follows
_ARGUMENT = re.compile(
    r"(?<!['\w])(?:(merge_below|max_iter|test_size|data_dir)|(missing|predictor|download|overwrite|positive|protected)(?==))"
    r"(?:=(?:True|\.\.\.|'([^']*)'|(\d+(?:\.\d+)?))?)?"
)


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
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise  # the reader left, as in `fairalm list | head -1`: typer ends quietly
            except InputError as error:
                message = as_options(str(error))
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


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say_error(f"Warning: {as_options(str(message))}")


def as_options(message: str) -> str:
    """Name the library's arguments as the command line does.

    >>> as_options("fill them, or pass missing='drop'")
    'fill them, or pass --missing drop'
    >>> as_options("test_size=0.3 of 40 rows leaves no test row")
    '--test-size 0.3 of 40 rows leaves no test row'
    """

    def option(match: re.Match[str]) -> str:
        name = "--" + (match[1] or match[2]).replace("_", "-")
        value = match[3] or match[4]
        return f"{name} {value}" if value else name

    return _ARGUMENT.sub(option, message)
