"""The command line of the experiments."""

from __future__ import annotations

import importlib
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from fairalm.console import say_error
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.interrupts import interruptible
from reproduction.options import Parser, whole, with_options

EXPERIMENTS = ("tabular", "labels", "celeba", "verbs", "xray", "looks", "theory")


def reproduce(arguments: Sequence[str]) -> None:
    """Make a table, figure or claim of the paper again.

    The experiments:
      tabular   standard data sets: seven methods on Adult, COMPAS, German and Law
      labels    which labels of CelebA a small net predicts unfairly
      celeba    "Attractive" by gender on CelebA: last layers, small nets, ResNet-18
      verbs     verb pairs: seven methods on Waterbirds, scenes and imSitu
      xray      tuberculosis from X-rays of two hospitals
      looks     where a fair net looks
      theory    the lemmas and the theorem, checked by running Algorithm 1

    `python -m reproduction NAME --help` says what an experiment does, what it needs and how long it takes.
    """
    parser = Parser("python -m reproduction", reproduce)
    parser.add_argument("NAME", choices=EXPERIMENTS, help="the experiment")
    name = parser.parse_args(arguments[:1]).NAME
    # heavy imports happen in the experiment that needs them
    kind = getattr(importlib.import_module(f"reproduction.{name}"), name.capitalize())
    parser = Parser(f"python -m reproduction {name}", kind)
    parser.add_options(kind)
    parser.add_argument("--jobs", type=whole(-1), metavar="N", help="Processes. Default: -1, one per core.")
    parser.add_argument("--dask", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON, and nothing else, to stdout.")
    given = {"out": Path(f"fairalm-{name}")} | vars(parser.parse_args(arguments[1:]))
    processes = given.pop("jobs", -1)
    if processes == 0:
        raise InputError("--jobs must be 1 or more, or -1 for one per core; got 0.")
    runner = {"processes": processes, "dask": given.pop("dask", None), "as_json": given.pop("json", False)}
    from reproduction.runner import run_experiment

    run_experiment(with_options(kind, given), shlex.join(["python", "-m", "reproduction", *arguments]), **runner)


def main(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code. An error of the user's ends in one sentence and code 2."""
    # more than one BLAS thread gains little on tables and is much slower when the cores are busy
    with interruptible(), warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FairALMWarning)
        warnings.showwarning = lambda message, *_, **__: say_error(f"Warning: {_spelled(message)}")
        try:
            reproduce(arguments)
            return 0
        except InputError as error:
            problem = _spelled(error)
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}." if error.filename and error.strerror else str(error)
        except ImportError as error:
            if "pip install" not in str(error):
                raise
            problem = str(error)
    say_error(f"Error: {problem}")
    return 2


def _spelled(message: Any) -> str:
    """A message whose parameters are named as options of the command line."""

    def option(name: str, value: Any) -> str:
        return f"--{name.replace('_', '-')}" + ("" if value in (None, True) else f" {value}")

    return str(message.spelled(option) if hasattr(message, "spelled") else message)
