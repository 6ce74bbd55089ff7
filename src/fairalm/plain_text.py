"""Text of the user's as one line that can be shown anywhere."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> str:
    r"""One line of printable text: no line breaks, no escape codes, no bytes that are not UTF-8.

    >>> plain("a\x1b[31m\u2028b")
    'a [31m b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
