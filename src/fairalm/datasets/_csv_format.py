"""How a .csv file is written: its encoding, separator, decimal mark and compression."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairalm.datasets._checks import check_distinct
from fairalm.exceptions import InputError

HEAD = 2**16  # bytes that tell whether a file is text
SEPARATORS = {";": ";", "\t": "tab", "|": "|", ",": ","}  # likely ones, as they are typed
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)  # what these raise


@dataclass(frozen=True)
class CsvFormat:
    r"""How to read the bytes of a .csv file.

    >>> CsvFormat(sep="tab").options["sep"]
    '\t'
    """

    encoding: str = "utf-8"
    sep: str = ","
    decimal: str = "."

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError:
            message = f"{{encoding}} must be an encoding such as utf-8, latin-1 or cp1252; got {self.encoding!r}."
            raise InputError(message, encoding=None) from None
        if self.sep in ("tab", "\\t"):
            object.__setattr__(self, "sep", "\t")
        if len(self.sep) != 1 or self.sep in '"\r\n':
            raise InputError(f"{{sep}} must be one character, such as ';', or tab; got {self.sep!r}.", sep=None)
        if self.decimal not in (".", ",") or self.decimal == self.sep:
            raise InputError(f"{{decimal}} must be . or , and not the separator; got {self.decimal!r}.", decimal=None)

    @property
    def options(self) -> dict[str, Any]:
        """How pandas reads it."""
        return {"encoding": self._codec, "sep": self.sep, "decimal": self.decimal, "low_memory": False}

    @property
    def _codec(self) -> str:
        return "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Check the header of a file, and turn the errors of reading it into sentences that name it."""
        try:
            with open_bytes(path) as raw:
                self._check_text(raw.read(HEAD), path)
            with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding=self._codec, newline="") as text:
                rows = (row for row in csv.reader(text, delimiter=self.sep) if "".join(row).strip() or len(row) > 1)
                self._check_header(next(rows, []), next(rows, []), path)
            yield
        except InputError:
            raise
        except UnicodeError as error:
            raise self._not_in_encoding(path) from error
        except BROKEN as error:
            if getattr(error, "errno", None) is not None:  # of the system
                raise
            raise InputError(f"{path} cannot be unpacked ({error}): save it again.") from error
        except (csv.Error, ValueError) as error:
            raise InputError(f"{path} cannot be read as CSV ({str(error).strip()}).") from error

    def _check_text(self, head: bytes, path: Path) -> None:
        if "\0" not in codecs.getincrementaldecoder(self._codec)("ignore").decode(head):
            return
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(f"{path} looks like UTF-16: pass {{encoding}}.", encoding="utf-16")
        raise InputError(f"{path} is not text: save it as CSV UTF-8.")

    def _check_header(self, header: list[str], first: list[str], path: Path) -> None:
        """Refuse what pandas would rename or misread without a word."""
        likely = max(SEPARATORS, key=header[0].count) if len(header) == 1 else ""
        if likely and likely in header[0]:
            raise InputError(
                f"{path} looks separated by {SEPARATORS[likely]!r} (header {header[0]!r}): pass {{sep}}.",
                sep=SEPARATORS[likely],
            )
        if not all(column.strip() for column in header):
            # a row number saved by mistake would become a feature
            raise InputError(f"{path} has a column without a name: name it, or save without row numbers.")
        check_distinct(header, str(path))
        if len(first) > len(header):
            raise InputError(f"{path} has {len(header)} names in its header but {len(first)} values in a row.")

    def _not_in_encoding(self, path: Path) -> InputError:
        """The error for bytes that are not in the encoding, with a likely one."""
        name = "UTF-8" if self._codec == "utf-8-sig" else self.encoding
        likely = likely_encoding(self._undecodable(path))
        if likely is None or codecs.lookup(likely) == codecs.lookup(self._codec):
            return InputError(
                f"{path} is not {name} text: pass its {{encoding}}, or save it as CSV UTF-8.", encoding=None
            )
        shown = {"latin-1": "Latin-1", "cp1252": "Windows-1252"}[likely]
        return InputError(f"{path} is not {name} text; it looks like {shown}: pass {{encoding}}.", encoding=likely)

    def _undecodable(self, path: Path) -> bytes:
        """The first part of a file that cannot be decoded."""
        decoder = codecs.getincrementaldecoder(self._codec)()
        with open_bytes(path) as raw:
            while part := raw.read(HEAD):
                try:
                    decoder.decode(part)
                except UnicodeError:
                    return part
        return b""


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked."""
    opener = OPENERS.get(path.suffix.lower(), open)
    opened: IO[bytes] = opener(path, "rb")
    return opened


def likely_encoding(part: bytes) -> str | None:
    """The encoding of a Western European text that is not UTF-8; None if it seems to be something else.

    Letters with accents stand alone between others. Runs of bytes above 127 are another script.

    >>> likely_encoding("Müller,café".encode("latin-1")), likely_encoding("10 €,“ja”".encode("cp1252"))
    ('latin-1', 'cp1252')
    >>> likely_encoding("Привет".encode("cp1251"))
    """
    runs = re.findall(rb"[\x80-\xff]+", part)
    if sum(len(run) for run in runs if len(run) <= 2) * 2 < sum(map(len, runs)) or not runs:
        return None
    bytes_above = set(b"".join(runs))
    if bytes_above & {0x81, 0x8D, 0x8F, 0x90, 0x9D}:  # free in Windows-1252
        return None
    return "cp1252" if min(bytes_above) < 0xA0 else "latin-1"
