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
    {"exceptions", "_validation", "progress"},
    {"files"},
    {"constraints", "cells", "moments", "schedules", "measures", "datasets", "models_io"},
    {"methods"},
    {"mixtures", "result", "game", "signals", "selection"},
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
        if parts[0] != "fairalm" or len(parts) == 1:
            continue
        if layer_of(here) < layer_of("cli"):
            assert parts[1] != "__version__", f"{here} reaches up to the package"
        if parts[1].startswith("__version__") or not any(parts[1] in layer for layer in LAYERS):
            continue
        assert layer_of(parts[1]) <= layer_of(here), f"{here} imports {name}"
        if here in BACKENDS:
            assert parts[1] not in BACKENDS - {here}, f"backend {here} imports backend {parts[1]}"


@pytest.mark.parametrize("heavy", ["torch", "matplotlib", "fairlearn", "polars", "typer", "PIL"])
def test_import_is_light(heavy):
    code = f"import sys, fairalm; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_star_import_has_all_names():
    for name in fairalm.__all__:
        assert hasattr(fairalm, name)
