"""The tables as a Markdown file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.markdown import markdown_table
from reproduction.xray import changes, summary


def markdown(nets: pd.DataFrame, results: Sequence[Mapping[str, Any]]) -> str:
    """All tables: means and spreads, the paper's claims, what else changes."""
    parts = [
        f"{nets['seed'].nunique()} seeds, {nets['epochs'].max()} epochs. {summary.LEGEND}",
        markdown_table(summary.HEAD, summary.rows(summary.summarise(nets))),
        summary.small_print(nets, results),
    ]
    claims = summary.claims(nets)
    if not claims.empty:
        parts += [summary.CLAIMS_LEGEND, markdown_table(summary.CLAIMS_HEAD, summary.claim_rows(claims), left=2)]
        parts += [changes.LEGEND, markdown_table(changes.HEAD, changes.rows(changes.changes(results)), left=2)]
    return "\n\n".join(parts) + "\n"
