"""The options of an experiment: each of its fields that is annotated with an :class:`Option` is one."""

from __future__ import annotations

import argparse
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, NoReturn, get_type_hints

from fairalm.exceptions import InputError

Names = tuple[str, ...]


class Option(NamedTuple):
    """What the command line says about a field; one whose default is False is a flag."""

    help: str  # a sentence
    parse: Callable[[str], Any] = str  # from text to the value; ArgumentTypeError says what is wrong
    metavar: str = "N"  # what the help shows in place of the value
    quick: Any = None  # the default with --quick
    default: str = ""  # the default in words, if its value does not say it

    def describe(self, default: Any) -> str:
        """Its help with its defaults."""
        usual, quick = (",".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in (default, self.quick))
        parts = [self.default or usual] * (bool(self.default) or default is not None)
        parts += [f"{quick} with --quick"] * (self.quick is not None)
        return f"{self.help} Default: {'; '.join(parts)}." if parts else self.help


def whole(least: int = 1, most: float = math.inf) -> Callable[[str], int]:
    """Parse a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        if not text.lstrip("-").isdecimal() or not least <= int(text) <= most:
            up_to = "" if most == math.inf else f" and at most {most:,}"
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}{up_to}; got {text!r}.")
        return int(text)

    return parse


def names(what: str, known: Iterable[str]) -> Callable[[str], Names]:
    """Parse names separated by commas, each once, in the order of `known`.

    >>> names("data set", ["adult", "compas", "german"])("german,adult")
    ('adult', 'german')
    """
    there_are = f"there are {', '.join(known)}."

    def parse(text: str) -> Names:
        chosen = [name.strip() for name in text.split(",") if name.strip()]
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} {name!r}; {there_are}")
        if not chosen:
            raise argparse.ArgumentTypeError(f"no {what} is named; {there_are}")
        return tuple(name for name in known if name in chosen)

    return parse


def positives(text: str) -> tuple[float, ...]:
    """Parse positive numbers separated by commas, each once.

    >>> positives("0.1,1,0.1")
    (0.1, 1.0)
    """
    try:
        numbers = tuple(dict.fromkeys(float(part) for part in text.split(",") if part.strip()))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < number < math.inf for number in numbers):
        raise argparse.ArgumentTypeError(f"must be positive numbers separated by commas; got {text!r}.")
    return numbers


def options_of(kind: Any) -> Iterator[tuple[str, Any, Option]]:
    """Name, default and option of each field of a dataclass that is one."""
    hints = get_type_hints(kind, include_extras=True)
    for entry in fields(kind):
        for option in getattr(hints[entry.name], "__metadata__", ()):
            yield entry.name, entry.default, option


class Parser(argparse.ArgumentParser):
    """A parser whose help is a docstring and whose errors are one sentence."""

    def __init__(self, prog: str, documented: Any) -> None:
        paragraphs = (inspect.getdoc(documented) or "").split("\n\n")
        super().__init__(
            prog,
            description="\n\n".join(text if "\n  " in text else textwrap.fill(text, 80) for text in paragraphs),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise InputError(message.removeprefix("argument "))

    def add_options(self, kind: Any) -> None:
        for name, default, option in options_of(kind):
            flags = ["--" + name.replace("_", "-")] if name != "out" else ["-o", "--out"]
            if default is False:
                self.add_argument(*flags, action="store_true", help=option.help)
            else:
                told = option.describe(None if name == "out" else default)
                self.add_argument(*flags, type=option.parse, metavar=option.metavar, help=told)


def with_options(kind: Any, given: dict[str, Any]) -> Any:
    """An instance of a dataclass with the options that were given and, if ``--quick`` is one, its defaults."""
    quick = {name: option.quick for name, _, option in options_of(kind) if given.get("quick")}
    return kind(**{name: value for name, value in quick.items() if value is not None} | given)
