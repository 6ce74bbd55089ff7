"""The house stays one that a reader can hold: short modules, short functions, private names at home."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "src" / "fairalm").rglob("*.py"), *(ROOT / "reproduction").rglob("*.py")])
MODULE_LINES, BODY_LINES = 350, 60
every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@every_source
def test_a_module_fits_in_the_head(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


@every_source
def test_a_function_fits_on_the_screen(path):
    """Signature and docstring aside."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= BODY_LINES, f"{node.name} has {lines} lines"


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


@every_source
def test_private_names_stay_in_their_package(path):
    here = ".".join(path.relative_to(ROOT / "src" if "src" in path.parts else ROOT).with_suffix("").parts)
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(("fairalm", "reproduction")):
            continue
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            for place, part in enumerate(parts):
                if is_private(part):
                    home = ".".join(parts[:place])
                    assert here.startswith(f"{home}.") or here == home, f"{here} imports {name}"
