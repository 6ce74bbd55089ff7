"""The shell of every page: one file with its facts, its style, its script and the charting library inside."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fairalm.files import cache_dir, to_json, write_atomic
from fairalm.plain_text import for_xml
from fairalm.report.chart_style import with_labels


def vl_convert() -> Any:
    """The module that contains Vega; an ImportError with the command if it is missing."""
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError('Pages and figures need vl-convert: pip install "fairalm[report]"') from error
    return vl_convert


def html_page(
    kind: str, title: str, noscript: str, facts: Mapping[str, Any], charts: Mapping[str, Mapping[str, Any]]
) -> str:
    """A page as text.

    Parameters
    ----------
    kind : str
        The page is template/base.html with ``<kind>.html`` in its middle, page.css, common.js and ``<kind>.js``.
    title, noscript : str
        The heading, and what a reader without JavaScript sees below it; both are plain text.
    facts : dict
        What the script may say: plain values, ready for JSON, with small counts suppressed.
    charts : dict
        Vega-Lite specs by name, from :func:`fairalm.report.chart_style.styled`; ``draw(name, data, box)`` of common.js
        gives them their data.
    """
    vl_convert()  # before any work
    filled = {
        "TITLE": html.escape(for_xml(title)),
        "NOSCRIPT": html.escape(for_xml(noscript)),
        "STYLE": style(),
        "BODY": _part(f"{kind}.html"),
        "FACTS": script_json(facts),
        "CHARTS": script_json({name: json.loads(_compiled(to_json(for_xml(spec)))) for name, spec in charts.items()}),
        "VEGA": _vega(),
        "COMMON": _part("common.js"),
        "SCRIPT": _part(f"{kind}.js"),
    }
    pieces = _part("base.html").split("@@")  # once, so that the content itself is not searched for marks
    return "".join(filled[piece] if position % 2 else piece for position, piece in enumerate(pieces))


def style() -> str:
    """The style of every page."""
    return _part("page.css")


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
    """A Vega-Lite spec as Vega, with its labels."""
    lite = json.loads(spec)
    return json.dumps(with_labels(vl_convert().vegalite_to_vega(lite), lite))
