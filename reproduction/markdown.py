"""Tables as the experiments write them to files."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(names: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table in Markdown.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    rows : sequence of sequences of str
        The cells.
    left : int
        How many columns, from the first, are aligned to the left; the others to the right.

    Examples
    --------
    >>> print(markdown_table(["rule", "error"], [["plain", "14.9"]]))
    | rule | error |
    | --- | ---: |
    | plain | 14.9 |
    """
    bars = ["---"] * left + ["---:"] * (len(names) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [names, bars, *rows])
