"""Text of the user's, made safe to show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def plain(value: Any) -> str:
    r"""One line of printable text: no line breaks, no escape codes, no bytes that are not UTF-8.

    >>> plain("a\x1b[31m\u2028b")
    'a [31m b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def for_xml(value: Any) -> Any:
    r"""A value of JSON, with a mark for each letter that XML does not know: Vega's SVG would end the process at it.

    >>> for_xml({"label": ["a\x1b", 1.5]})
    {'label': ['a�', 1.5]}
    """
    if isinstance(value, str):
        return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {for_xml(key): for_xml(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [for_xml(item) for item in value]
    return value
