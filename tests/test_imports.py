"""Imports go one way, as the design draws them, and the package starts light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fairalm

ROOT = Path(fairalm.__file__).parent

#: A module may import from its own layer and from those before it.
LAYERS = [
    {"arrays", "exceptions", "_coding", "_validation", "console", "interrupts", "progress", "workers"},
    {"files", "json_reader", "folders", "manifest"},
    {"constraints", "cells", "moments", "schedules", "measures", "datasets", "models_io", "model_checks"}
    | {"model_versions", "tree_checks"},
    {"methods"},
    {"mixtures", "shifts", "candidates", "outcome", "result", "game", "finite", "signals", "selection"}
    | {"inputs", "parameters", "logistic"},
    {"frontier"},
    {"sklearn", "nn", "boost", "spark"},
    {"vision"},
    {"runs"},
    {"report"},
    {"cli", "__main__"},
]
BACKENDS = {"sklearn", "nn", "boost", "spark"}


def layer_of(part):
    return next(level for level, parts in enumerate(LAYERS) if part in parts)


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "fairalm":
                yield from (f"fairalm.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


SOURCES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_one_way(path):
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imports_of(path):
        parts = name.split(".")
        assert parts[0] != "reproduction", f"{here} sees the experiments"
        if parts[0] != "fairalm" or len(parts) == 1:
            continue
        if layer_of(here) < layer_of("cli"):
            assert parts[1] != "__version__", f"{here} reaches up to the package"
        if parts[1].startswith("__version__") or not any(parts[1] in layer for layer in LAYERS):
            continue
        assert layer_of(parts[1]) <= layer_of(here), f"{here} imports {name}"
        if here in BACKENDS:
            assert parts[1] not in BACKENDS - {here}, f"backend {here} imports backend {parts[1]}"


HEAVY = ["torch", "matplotlib", "fairlearn", "polars", "typer", "PIL", "lightgbm", "xgboost", "pyspark"]
COUNT = "; import sys; print(*(name for name in sys.modules if name.split('.')[0] in {names!r}))"


def modules(code, *names):
    """The modules of some packages that a fresh process has loaded after some code."""
    command = [sys.executable, "-c", code + COUNT.format(names=set(names))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_import_is_light():
    assert modules("import fairalm", *HEAVY) == []
    assert len(modules("import fairalm", "fairalm")) <= 40
    assert modules("from fairalm import FairALMClassifier", "torch", "matplotlib", "typer") == []


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_line_starts_light(option):
    run = f"import sys; sys.argv = ['fairalm', {option!r}]; import contextlib, io, fairalm.cli\n"
    run += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): fairalm.cli.main()\nx=0"
    assert modules(run, "numpy", "pandas", "sklearn", "torch", "matplotlib", "rich") == []
    assert len(modules(run, "fairalm")) <= 10


def test_star_import_has_all_names():
    for name in fairalm.__all__:
        assert hasattr(fairalm, name)
    assert set(fairalm.__all__) <= set(dir(fairalm))
    with pytest.raises(AttributeError, match="no attribute 'FairALMClasifier'"):
        fairalm.FairALMClasifier  # noqa: B018


def test_the_stub_has_the_same_names():
    imports = [node for node in ast.parse((ROOT / "__init__.pyi").read_text()).body if isinstance(node, ast.ImportFrom)]
    assert {alias.asname: node.module for node in imports for alias in node.names} == fairalm._MODULES
