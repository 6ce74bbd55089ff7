"""Run a tutorial: a page whose Python blocks and `fairalm` commands are executed in one folder.

    python -m tools.tutorials docs/tutorials/lender.md build/tutorials/lender

The folder gets what the page writes, and page.md: the page with what every block printed below it.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import warnings
from pathlib import Path

from typer.testing import CliRunner

from fairalm.cli import app

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"<!-- needs: (\w+) -->")
NOT_RUN = (
    '!!! note "Not run here"\n    The code of this page was not run: this machine has no folder `{}` with the data.\n'
)


def run(page: Path, folder: Path) -> str:
    """The page's text with the output of its blocks, which are run in the folder from top to bottom."""
    text = page.read_text(encoding="utf-8")
    needs = NEEDS.search(text)
    if needs and not has_data(needs[1]):
        return NEEDS.sub(NOT_RUN.format(f"FAIRALM_DATA/{needs[1]}"), text)
    folder.mkdir(parents=True, exist_ok=True)
    space = {"__name__": "tutorial"}
    with moved(folder):
        return BLOCK.sub(lambda block: block[0] + shown(output_of(*block.groups(), space, str(page))), text)


def has_data(name: str) -> bool:
    """Whether the data folder of the environment has a folder of that name."""
    return (Path(os.environ.get("FAIRALM_DATA", "")) / name).is_dir() and "FAIRALM_DATA" in os.environ


@contextlib.contextmanager
def moved(folder: Path):
    """Another current folder, as `contextlib.chdir` of Python 3.11 has it."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def output_of(language: str, code: str, space: dict, name: str) -> str:
    """What a block prints, its warnings included."""
    if language == "sh":
        return "".join(output_of_command(line) for line in code.replace("\\\n", " ").splitlines())
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, kind, *rest: print(f"{kind.__name__}: {message}")
        exec(compile(code, name, "exec"), space)
    return printed.getvalue()


def output_of_command(line: str) -> str:
    """What a `fairalm` command prints; other commands, such as an installation, are for the reader only."""
    program, *arguments = shlex.split(line, comments=True) or [""]
    if program != "fairalm":
        return ""
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "NO_COLOR": "1"})
    if done.exit_code != 0:
        raise RuntimeError(f"{line} ended with {done.exit_code}: {done.output}") from done.exception
    return done.output


def shown(output: str) -> str:
    """The output as a block of the page."""
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    return '\n```text title="Output"\n' + "\n".join(lines) + "\n```\n" if lines else ""


if __name__ == "__main__":
    page, folder = map(Path, sys.argv[1:])
    text = run(page.resolve(), folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "page.md").write_text(text, encoding="utf-8")
