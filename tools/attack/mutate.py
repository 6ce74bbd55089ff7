"""How inputs are altered: bytes, text, JSON and tables. Everything is drawn from the generator that is passed."""

from __future__ import annotations

import codecs
import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

DEEP = "@deep@"  # replaced in the text of JSON by lists within lists, which json.dumps cannot write
DEPTHS = (50, 500, 5_000, 100_000)
TEXTS = (
    "",
    " ",
    "\u2028",
    "\x00",
    "\ud800",
    "\u202eabc",
    "'\"<script>&",
    "=1+1",
    "../../x",
    "self",
    "nan",
    "-0",
    "1e400",
    "{0}",
    "{name}",
    "%s",
    "é" * 300,
    "x" * 100_000,
    "\r\n",
    "🙂",
)
NUMBERS = (0, -1, 1, 2, -0.0, 0.5, 1e-320, 1e300, -1e300, 2**31, 2**63, 2**64, 10**400, float("inf"), float("nan"))
VALUES: tuple[Any, ...] = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": 1}}, DEEP)


def of_bytes(rng: Random, content: bytes) -> bytes:
    """Flip bits, cut, repeat, overwrite, insert or shuffle some bytes."""
    altered = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if not altered:
            return bytes([rng.randrange(256)])
        place, length = rng.randrange(len(altered)), rng.choice((1, 1, 2, 8, 64, 512))
        what = rng.randrange(6)
        if what == 0:
            altered[place] ^= 1 << rng.randrange(8)
        elif what == 1:
            del altered[place:]
        elif what == 2:
            del altered[place : place + length]
        elif what == 3:
            altered[place:place] = altered[place : place + length] * rng.choice((1, 2, 50))
        elif what == 4:
            altered[place : place + length] = rng.randbytes(length)
        else:
            altered[place:place] = rng.choice((b"\x00", b"\xff", b"\n", b"\r", b'"', b",", b"\xef\xbb\xbf", b"{", b"9"))
    return bytes(altered)


def of_json(rng: Random, content: bytes) -> bytes:
    """Alter values, keys and lists of a JSON file; sometimes its encoding or its bytes."""
    if rng.random() < 0.1:
        return of_bytes(rng, content)
    value = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        value = _alter(rng, value)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if DEEP in text:
        depth, (left, right) = rng.choice(DEPTHS), rng.choice((("[", "]"), ('{"a":', "}")))
        text = text.replace(f'"{DEEP}"', left * depth + "1" + right * depth)
    if rng.random() < 0.05:
        encoding = rng.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1", "cp500"))
        return text.encode(encoding, "replace")
    altered = text.encode("utf-8", "surrogatepass")
    return of_bytes(rng, altered) if rng.random() < 0.05 else altered


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value has parts, itself included; of a long list only the first ones."""
    found = [place]
    items = value.items() if isinstance(value, dict) else enumerate(value[:4]) if isinstance(value, list) else ()
    for key, part in items:
        found += _places(part, (*place, key))
    return found


def _value(rng: Random) -> Any:
    return copy.deepcopy(rng.choice(VALUES))  # a list that is put into a file may be altered there


def _alter(rng: Random, value: Any) -> Any:
    """The value with one change at a place drawn by its depth first, so that deep parts do not get all of them."""
    places = _places(value)
    depth = rng.choice(sorted({len(place) for place in places}))
    place = rng.choice([place for place in places if len(place) == depth])
    if not place:
        return _value(rng) if rng.random() < 0.3 else value
    parent = value
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    what = rng.randrange(8)
    if what == 0:
        del parent[key]
    elif what == 1 and isinstance(parent, dict):
        parent[rng.choice(TEXTS)] = parent.pop(key)
    elif what == 2 and isinstance(parent, dict):
        parent[rng.choice(TEXTS)] = _value(rng)
    elif what == 3 and isinstance(parent, list):
        parent *= rng.choice((0, 2, 3, 100))
    elif what == 4:
        other = value
        for step in rng.choice(places):
            other = other[step]
        parent[key] = copy.deepcopy(other)
    elif what == 5 and isinstance(parent[key], (int, float)):
        parent[key] = rng.choice(NUMBERS)
    elif what == 6 and isinstance(parent[key], str):
        parent[key] = rng.choice((*TEXTS, parent[key] * 2, parent[key][:-1], parent[key].upper()))
    else:
        parent[key] = _value(rng)
    return value


CELLS = ("inf", "-inf", "nan", "1e300", "1e999", "0x1F", "1_000", "1,5", "'", '"', '"a\nb"', "NA", "01", "1", " F")
CELLS = (*CELLS, "True", "2020-01-01", "9" * 400, "-0.0", "1e-400", "yes ", "Yes", "self", *TEXTS[:-4])


def of_csv(rng: Random, content: bytes) -> bytes:
    """Alter cells, lines, separators and quotes of a .csv file; sometimes its encoding or its bytes."""
    if rng.random() < 0.25:
        return of_bytes(rng, content)
    lines = content.decode().splitlines()
    rows = [line.split(",") for line in lines]
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(TABLE_CHANGES)(rng, rows)
        rows = rows or [[]]
    text = rng.choice(("\n", "\n", "\n", "\r\n", "\r")).join(rng.choice((",",) * 9 + (";",)).join(row) for row in rows)
    encoding = rng.choice(("utf-8",) * 8 + ("utf-16", "utf-8-sig", "latin-1", "cp500"))
    with_errors = "surrogatepass" if encoding.startswith("utf") else "replace"
    altered = text.encode(encoding, with_errors)
    return altered + rng.choice((b"", b"\n", b"\n\n\n", b"\x1a", codecs.BOM_UTF8))


def _set_cell(rng: Random, rows: list[list[str]]) -> None:
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = rng.choice(CELLS)


def _set_column(rng: Random, rows: list[list[str]]) -> None:
    column, value = rng.randrange(len(rows[0]) or 1), rng.choice(CELLS)
    for row in rows[1:]:
        if column < len(row):
            row[column] = value


def _set_name(rng: Random, rows: list[list[str]]) -> None:
    if rows[0]:
        rows[0][rng.randrange(len(rows[0]))] = rng.choice((*CELLS, *rows[0], "prediction", "score", "index"))


def _drop_cells(rng: Random, rows: list[list[str]]) -> None:
    row = rng.choice(rows)
    del row[rng.randrange(len(row) or 1) :]


def _add_cells(rng: Random, rows: list[list[str]]) -> None:
    rng.choice(rows).extend([rng.choice(CELLS)] * rng.choice((1, 2, 500)))


def _drop_rows(rng: Random, rows: list[list[str]]) -> None:
    del rows[rng.randrange(len(rows)) :]


def _add_row(rng: Random, rows: list[list[str]]) -> None:
    rows.insert(rng.randrange(len(rows) + 1), rng.choice(([], [" "], ["\t"], ["#"], list(rng.choice(rows)))))


def _repeat_rows(rng: Random, rows: list[list[str]]) -> None:
    rows *= rng.choice((2, 5))


def _drop_column(rng: Random, rows: list[list[str]]) -> None:
    column = rng.randrange(len(rows[0]) or 1)
    for row in rows:
        del row[column : column + 1]


TABLE_CHANGES: tuple[Callable[[Random, list[list[str]]], None], ...]
TABLE_CHANGES = (_set_cell, _set_cell, _set_column, _set_name, _drop_cells, _add_cells, _drop_rows, _add_row)
TABLE_CHANGES = (*TABLE_CHANGES, _repeat_rows, _drop_column)
