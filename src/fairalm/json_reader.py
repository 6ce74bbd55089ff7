"""The one reader of JSON files: strict, by a schema for each kind of file, within limits of size and depth."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import AnyPath

LARGEST = 2**28  # bytes
DEEPEST = 64  # levels of lists and objects
LONGEST_NUMBER = 400  # characters, more than any float has
RESTORE = "restore it from a copy, or run the command that wrote it again"


def read_json(path: AnyPath, kind: str, *, advice: str = RESTORE) -> Any:
    """Read a JSON file that must be as the schema of its `kind` says, fairalm/schemas/KIND.schema.json.

    Every error names the file, the place in it and what to do (`advice`).
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has {path.stat().st_size:,} bytes, more than the {LARGEST:,} allowed: {advice}.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check the path.") from None
    try:
        value = parse_json(content)
        check_json(value, kind)
    except ValueError as error:
        raise InputError(f"{path} cannot be used: {error}; {advice}.") from error
    return value


def parse_json(content: bytes) -> Any:
    """JSON in UTF-8 without NaN, repeated keys, vast numbers or deep nesting; a ValueError says what is wrong where.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'a' is there twice
    """
    if content.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_int=_number(int),
            parse_float=_number(float),
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON at line {error.lineno}, column {error.colno} ({error.msg})") from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(value)
    return value


def check_json(value: Any, kind: str) -> None:
    """Raise a ValueError with the place of what is not as the schema of a kind says."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(value))
    if error is not None:
        place = "".join(map(_step, error.absolute_path)).removeprefix(".") or "the top level"
        message = error.message if len(error.message) <= 200 else f"{error.message[:150]} ... {error.message[-45:]}"
        raise ValueError(f"at {place}, {message}")


def _step(key: str | int) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


def read_schema(kind: str) -> dict[str, Any]:
    """A JSON schema of the package."""
    text = files("fairalm").joinpath("schemas", f"{kind}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(read_schema(kind))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in made if names.count(name) > 1)!r} is there twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no JSON")


def _number(kind: type[int] | type[float]) -> Any:
    def parse(text: str) -> float:
        value = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the number {text[:20]}... is larger than a float can hold")
        return kind(text)

    return parse


def _too_deep() -> ValueError:
    return ValueError(f"it is nested more than {DEEPEST} levels deep")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for part in level
            if isinstance(part, (dict, list))
            for item in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return
    raise _too_deep()
