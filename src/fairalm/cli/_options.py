"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairalm.cli._models import ESTIMATORS
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import names

KNOWN = ", ".join(names())

DataArgument = Annotated[str, typer.Argument(metavar="DATA", help=f"A .csv or .parquet file, or one of: {KNOWN}.")]
Target = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of the label, two values. A data set by name brings its own."),
]
Protected = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Protected column. Given twice or more, the columns are crossed."),
]
Positive = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="Label that counts as positive. Default: the larger, 1 or 'yes'."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Leave a column out: an id, what is known only afterwards."),
]
TestSize = Annotated[float, typer.Option(metavar="X", help="Share of people to test on.")]
WithProtected = Annotated[
    bool | None,
    typer.Option(
        "--with-protected/--without-protected",
        help="Whether the model may use the protected columns. Default: with, for a data set by name, as in the paper;"
        " without, for a table of your own.",
        show_default=False,
    ),
]
MissingOption = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="error|drop|group",
        help="People without a protected value: refuse, leave out, or a group of their own.",
    ),
]
MergeBelow = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Merge groups of fewer than N people into 'other'."),
]
DataDir = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Folder with the official files of a data set by name."),
]
Download = Annotated[
    bool,
    typer.Option("--download", help="Fetch 'law', which is not shipped, if it is not there."),
]
ConstraintOption = Annotated[
    str,
    typer.Option("--constraint", metavar="NAME", help=f"Criterion: {', '.join(CONSTRAINTS)}."),
]
EstimatorOption = Annotated[str, typer.Option("--estimator", metavar="NAME", help=f"Model: {', '.join(ESTIMATORS)}.")]
Tol = Annotated[float, typer.Option(metavar="X", help="Tolerance: 0.01 lets rates differ by one point.")]
MaxIter = Annotated[int, typer.Option(metavar="N", min=1, help="Rounds of a rule, at most.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else, to stdout.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
OutFile = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="File to write as well.")]
