"""Argument lists of every command, drawn from the options that the commands declare."""

from __future__ import annotations

from functools import cache
from typing import Any

from tools.attack import mutate
from tools.attack.case import Case

NOT_TRIED = {"--download", "--mlflow", "--device"}  # the network, seconds of imports, and a machine's own devices
FILES = ("people.csv", "people.parquet", "people.csv.gz", "new.csv", "faces.csv", "compare.json", "faces", "none.csv")
RUNS = ("logistic", "forest", "mlp", "frontier", "lda", "audit", "relu3", "maps", "checkpoint")
COLUMNS = ("skill", "town", "race", "weight", "sex", "hired", "approved", "image", "gender", "over30", "none", "self")
WORDS = (
    "yes",
    "no",
    "F",
    "M",
    "x",
    "error",
    "drop",
    "group",
    "unknown",
    "crossed",
    "separate",
    "both",
    "plain",
    "left",
)
WORDS = (*WORDS, "ll144", "train", "heldout", "crossfit", "auto", "average", "best", "last", "mixture", "cpu", "tab")
NAMES = ("equal-opportunity", "equalized-odds", "demographic-parity", "predictive-parity", "error-parity", "fairalm")
NAMES = (*NAMES, "secant", "lagrangian", "reweight", "frontier", "logistic", "tree", "linear-svm", "naive-bayes", "mlp")
NAMES = (*NAMES, "relu3", "last-layer", "adversarial", "my_module:Mine", "os:system", "json:", ":", "secant,plain", "")
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.01",
    "0.5",
    "1.0",
    "1e300",
    "-0.0",
    "nan",
    "inf",
    "1e-320",
    "9" * 30,
    "x",
    "",
    "٣",
)
PLACES = (
    "out",
    "out.html",
    "out.csv",
    "out.parquet",
    "out.json",
    "out.md",
    ".",
    "..",
    "",
    "people.csv/x",
    "a/b/c",
    "é\ud8ff",
)
ODD = tuple(text for text in mutate.TEXTS if "\x00" not in text)  # no process can be given a NUL
LASTING = {"--epochs", "--seeds"}  # a large number is a long job, not a mistake
OUT = {"-o", "--out", "--figures"}


@cache
def commands() -> dict[str, list[Any]]:
    """The parameters of each command."""
    import typer

    from fairalm.cli import app
    from fairalm.cli._shell import COMMANDS

    group: Any = typer.main.get_command(app)
    return {name: group.get_command(None, name).params for name in COMMANDS if name != "demo"}


def arguments(case: Case) -> None:
    """An argument list; it runs in a folder that has the intact tables and, as links, the intact runs."""
    rng = case.rng
    for name in (*FILES, *RUNS):
        if (case.seeds / name).exists():
            (case.folder / name).symlink_to(case.seeds / name)
    name = rng.choice(sorted(commands()))
    params = commands()[name]
    given: list[str] = []
    for param in params:
        if not getattr(param, "is_flag", None) and not param.opts[0].startswith("-"):
            given += [_value(case, param) for _ in range(rng.choice((1,) * 12 + (0, 2)))]
    likely = _likely(case, name) if rng.random() < 0.7 else []
    options = [param for param in params if param.opts[0].startswith("-") and not NOT_TRIED & set(param.opts)]
    for param in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 2, 3, 5)))):
        option = rng.choice([*param.opts, *param.secondary_opts])
        likely += [option] if param.is_flag else [option, _value(case, param)]
    if rng.random() < 0.05:
        likely.insert(rng.randrange(len(likely) + 1), rng.choice(("--", "-", "--none", "-q", "--tol=", *ODD)))
    case.command(name, *(given + likely if rng.random() < 0.9 else likely + given))


def _likely(case: Case, command: str) -> list[str]:
    """Options without which a command refuses everything else."""
    quick = ["--max-iter", "2"]
    return {
        "train": ["--target", "hired", "--protected", "sex", *quick],
        "frontier": ["--target", "hired", "--protected", "sex", "--folds", "2"],
        "lda": ["--target", "hired", "--protected", "sex", "--reference", "M", "--acceptance", "0.5", "--folds", "2"],
        "compare": ["--target", "hired", "--protected", "sex", "--seeds", "1", *quick],
        "audit": ["--decision", case.rng.choice(("hired", "approved")), "--protected", "sex"],
        "predict": ["-o", case.rng.choice(("out.csv", "out.parquet"))],
        "cam": ["-o", "out"],
    }.get(command, [])


def _value(case: Case, param: Any) -> str:
    """A value: mostly of the kind that the parameter is for, as its name and metavar tell."""
    rng, metavar = case.rng, str(param.metavar or "")
    if OUT & set(param.opts) or param.name == "folder":
        return rng.choice(PLACES)  # nothing outside of the case's folder
    if rng.random() < 0.08:
        return rng.choice(ODD)
    if rng.random() < 0.08:
        return rng.choice((*FILES, *RUNS, *COLUMNS, *WORDS, *NAMES, *NUMBERS))
    if LASTING & set(param.opts):
        return rng.choice(NUMBERS[:5])
    if metavar in ("X", "N"):
        return rng.choice(NUMBERS)
    if "COL" in metavar:
        return rng.choice(COLUMNS)
    if metavar == "NAME" or "NAMES" in metavar:
        return rng.choice(NAMES)
    if "|" in metavar:
        return rng.choice((*metavar.split("|"), *WORDS))
    if "RUN" in metavar:
        return rng.choice(RUNS)
    if any(word in metavar for word in ("DATA", "FILE", "IMAGES", "DIR")):
        return rng.choice(FILES)
    return rng.choice(WORDS)
