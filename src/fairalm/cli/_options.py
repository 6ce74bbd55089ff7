"""The options that commands share, and commands that take the fields of a dataclass as their options."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from fairalm.cells import Cells
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import names
from fairalm.methods import METHODS
from fairalm.runs import images, nets
from fairalm.runs.choices import ADVERSARIAL, BOOSTERS, ESTIMATORS, FRONTIER, NETS, WITH_PROBABILITIES
from fairalm.runs.settings import MAX_ITER, SIGNALS, default_method, default_signal
from fairalm.sklearn.classifier import PREDICTORS

Protected = Option(metavar="COL", help="Protected column. May be given twice or more, see --attributes.")
CrossedProtected = Option(metavar="COL", help="Protected column. Given twice or more, the columns are crossed.")
FILES = "A .csv (also .csv.gz) or .parquet file, a folder of .parquet files"
Data = Annotated[str, Argument(metavar="DATA", help=f"{FILES}, or one of: {', '.join(names())}.")]
Seed = Annotated[int, Option(metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same result.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON, and nothing else, to stdout.")]
Raw = Annotated[
    bool, Option("--raw", help="In .csv files, leave text as it is that a spreadsheet would run as a formula.")
]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace what is there.")]
Mlflow = Annotated[
    bool, Option("--mlflow", help="Log the run to MLflow too: settings, figures and the folder, with the model in it.")
]
OutFile = Annotated[Path | None, Option("-o", "--out", metavar="FILE", help="File to write as well.")]
NewRun = Annotated[
    Path | None,
    Option("-o", "--out", metavar="RUN", help="Folder to write.", show_default="runs/DATA-CONSTRAINT-METHOD"),
]
RunFolder = Annotated[Path, Argument(metavar="RUN", help="Folder that fairalm train or frontier wrote.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of .csv files, such as latin-1 or cp1252.")]
Separator = Annotated[
    str | None, Option("--sep", metavar="CHAR", help="Separator of .csv files: one character, such as ';', or tab.")
]
Decimal = Annotated[str | None, Option(metavar=".|,", help="Decimal mark of .csv files.")]
EPOCHS = f"{nets.EPOCHS}; for images, {images.EPOCHS}"
BATCH_SIZE = f"{nets.BATCH_SIZE}; for images, {images.BATCH_SIZE}"
OWN = "or module:Class of your own"


def text(metavar: str, help: str, **more: Any) -> Any:
    """The type of an option that takes text."""
    return Annotated[str | None, Option(metavar=metavar, help=help, **more)]


def number(kind: Any, help: str, **more: Any) -> Any:
    """The type of an option that takes a number."""
    return Annotated[kind, Option(metavar="X" if kind in (float, float | None) else "N", help=help, **more)]


#: How .csv files are written.
CSV: dict[str, Any] = {"encoding": Encoding, "sep": Separator, "decimal": Decimal}
#: Options of :class:`fairalm.runs.Source`.
SOURCE: dict[str, Any] = {
    "data": Data,
    "target": text("COL", "Column of the label: two values, or more with --positive. A data set by name has its own."),
    "protected": Annotated[list[str] | None, CrossedProtected],
    "positive": text("VALUE", "Label that counts as positive, against all others. Default: the larger, 1 or 'yes'."),
    "drop": Annotated[
        list[str] | None,
        Option(metavar="COL", help="Leave a column out, such as an id or what is known only afterwards."),
    ],
    "with_protected": Annotated[
        bool | None,
        Option(
            "--with-protected/--without-protected",
            help="Whether the model may use the protected columns. Default: with, for a data set by name, as in the"
            " paper; without, for a table of your own.",
            show_default=False,
        ),
    ],
    "missing": text(
        "error|drop|group",
        "Rows without a protected value: refuse them, leave them out, or make them a group of their own.",
    ),
    "rows": number(int | None, "Read a random sample of N rows; of files, .parquet only.", min=1),
    "merge_below": number(int | None, "Merge groups of fewer than N rows into 'other'.", min=1),
    **CSV,
    "rows_are": text("WORD", "What the rows are, in the plural: people, birds, loans."),
    "data_dir": text("DIR", "Folder with the official files of a data set by name."),
    "download": Annotated[bool, Option("--download", help="Fetch 'law', which is not shipped, if it is not there.")],
}
#: The same for ``fairalm train``.
TRAIN_SOURCE: dict[str, Any] = SOURCE | {
    "protected": Annotated[list[str] | None, Protected],
    "attributes": text(
        "crossed|separate", "Several protected columns: compare the crossed groups, or each column on its own."
    ),
    "weight": text("COL", "Column that says how many people a row stands for."),
    "test": text("FILE", "Rows to test on, instead of a share of DATA."),
    "image_column": text("COL", "Images only: column with the file paths, relative to DATA's folder."),
    "image_size": number(int | None, "Images only: pixels on a side.", min=8, max=1024, show_default=str(images.SIZE)),
}
#: Options of :class:`fairalm.runs.Settings`.
SETTINGS: dict[str, Any] = {
    "constraint": Annotated[str, Option(metavar="NAME", help=f"Constraint: {', '.join(CONSTRAINTS)}; {OWN}.")],
    "tol": number(float, "Tolerance: 0.01 lets rates differ by one point."),
    "estimator": Annotated[str, Option(metavar="NAME", help=f"Model: {', '.join((*ESTIMATORS, *BOOSTERS))}.")],
    "max_iter": number(int | None, "Rounds of a method, at most.", min=1, show_default=str(MAX_ITER)),
    "test_size": number(float, "Share of the rows to test on."),
}
#: The same for ``fairalm train``.
TRAIN_SETTINGS: dict[str, Any] = SETTINGS | {
    "estimator": Annotated[str, Option(metavar="NAME", help=f"Model: {', '.join((*ESTIMATORS, *BOOSTERS, *NETS))}.")],
    "method": text(
        "NAME",
        f"Method: {', '.join((*METHODS, FRONTIER))}; for images also {ADVERSARIAL}; {OWN}.",
        show_default=f"{default_method('logistic')}; for a net, {default_method('mlp')}",
    ),
    "eta": Annotated[float | None, Option(metavar="X", help="Step size of the method, if it has one.")],
    "predictor": text(
        "|".join(PREDICTORS),
        "Of the models that training finds: the best, the last, or one drawn at random for each row, from all (average)"
        " or from the best mixture.",
        show_default="single",
    ),
    "dual_signal": text(
        "|".join(SIGNALS),
        "Where the gap is measured in training: on the training rows, on rows held out, or out of fold. auto takes"
        " crossfit where the training rates of the plain model cannot be trusted, otherwise train.",
        show_default=f"{default_signal('logistic')}; for a net, {default_signal('mlp')}; for a last-layer,"
        f" {default_signal('last-layer')}",
    ),
    "epochs": number(int | None, "Nets only: passes over the data.", min=1, show_default=EPOCHS),
    "batch_size": number(int | None, "Nets only: rows per step.", min=1, show_default=BATCH_SIZE),
    "device": text("NAME", "Nets only: cpu, cuda or mps.", show_default="cpu"),
    "weights": text("FILE", "Images only: ImageNet weights to begin with, or 'imagenet'."),
    "seed": Seed,
}
#: Options of :class:`fairalm.runs.Choice`: a point of the frontier.
POINT: dict[str, Any] = {
    "tol": number(float | None, "Tolerance: 0.01 lets rates differ by one point."),
    "ratio": number(float | None, "Bound a ratio of rates in place of a difference: 0.8 is the four-fifths rule."),
    "acceptance": number(float | None, "Share of all people predicted positive, between 0 and 1."),
    "cost_fp": number(float | None, "What it costs to predict positive where that is wrong."),
    "cost_fn": number(float | None, "What it costs not to predict positive where that is right."),
    "floor": text(
        "plain|X",
        "No levelling down: no group's share predicted positive (its TPR, for equal-opportunity and equalized-odds) may"
        " fall below the plain model's, or below X.",
    ),
}
LINEAR = [name for name, kind in CONSTRAINTS.items() if Cells.of(kind(), n_groups=2).is_linear]
#: Options of :class:`fairalm.runs.FrontierSettings`.
FRONTIER_SETTINGS: dict[str, Any] = {
    "constraint": Annotated[str, Option(metavar="NAME", help=f"Constraint: {', '.join(LINEAR)}; {OWN}.")],
    **POINT,
    "tol": SETTINGS["tol"],
    "reference": text("GROUP", "Compare each group with this one, not with every other."),
    "estimator": Annotated[str, Option(metavar="NAME", help=f"Model: {', '.join(WITH_PROBABILITIES)}.")],
    "folds": number(int, "Folds of the out-of-fold probabilities; the fits are twice or more (N + 1).", min=2),
    "cost_fp": number(float, "What it costs to predict positive where that is wrong."),
    "cost_fn": number(float, "What it costs not to predict positive where that is right."),
    "test_size": SETTINGS["test_size"],
    "seed": Seed,
}


def takes(**parts: tuple[type, Mapping[str, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take dataclasses as arguments, whose fields are its options on the command line.

    `parts` gives for each such argument the dataclass and those of its fields that are options, each with its option.
    Defaults come from the dataclass.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            if own.name not in parts:
                parameters.append(own.replace(kind=own.KEYWORD_ONLY))
                continue
            kind, options = parts[own.name]
            defaults = {field.name: field.default for field in fields(kind)}
            for name, option in options.items():
                default = {MISSING: own.empty, (): None}.get(defaults[name], defaults[name])
                parameters.append(own.replace(name=name, kind=own.KEYWORD_ONLY, default=default, annotation=option))

        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            for name, (kind, options) in parts.items():
                given = {field: values.pop(field) for field in options}
                values[name] = kind(**{field: value for field, value in given.items() if value is not None})
            command(**values)

        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options

    return decorate


def typed(context: typer.Context) -> str:
    """The command line as it was typed."""
    return shlex.join(["fairalm", *context.find_root().obj])
