"""The page: one file with its data, its style, its script and the charting library inside."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fairalm.files import AnyPath, cache_dir, to_json, write_atomic
from fairalm.report.specs import specs
from fairalm.report.words import verdict_lines


def vl_convert() -> Any:
    """The module that contains Vega; an ImportError with the command if it is missing."""
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError('The page needs vl-convert-python: pip install "fairalm[report]"') from error
    return vl_convert


def write_page(path: AnyPath, facts: Mapping[str, Any]) -> int:
    """Write the page of facts from :func:`fairalm.report.facts.gather`; return its size in bytes."""
    content = page(facts).encode()
    write_atomic(path, content)
    return len(content)


def page(facts: Mapping[str, Any]) -> str:
    """The page as text."""
    vl_convert()  # before any work
    charts = {name: json.loads(_compiled(to_json(spec))) for name, spec in specs(facts).items()}
    filled = {
        "TITLE": html.escape(facts["title"]),
        "NOSCRIPT": html.escape(" ".join(verdict_lines(facts))),
        "STYLE": _part("page.css"),
        "FACTS": script_json(facts),
        "CHARTS": script_json(charts),
        "VEGA": _vega(),
        "SCRIPT": _part("page.js"),
    }
    pieces = _part("page.html").split("@@")  # once, so that the content itself is not searched for marks
    return "".join(filled[piece] if position % 2 else piece for position, piece in enumerate(pieces))


def script_json(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in.

    >>> script_json({"a": "</script>"})
    '{"a": "\\u003c/script>"}'
    """
    return to_json(value).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (files("fairalm.report") / "template" / name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Vega and vega-embed, from vl-convert's bundle: made in seconds, and kept for each version in the cache folder."""
    kept = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundle = str(vl_convert().javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")
    with suppress(OSError):  # the cache folder cannot be written: bundle again next time
        write_atomic(kept, bundle.encode())
    return bundle


@lru_cache(maxsize=64)
def _compiled(spec: str) -> str:
    """A Vega-Lite spec as Vega."""
    return json.dumps(vl_convert().vegalite_to_vega(json.loads(spec)))
