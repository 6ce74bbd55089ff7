"""The pages keep their word: their code runs from top to bottom, as do the examples, and links and commands exist.

The tutorials are run by test_site.py.
"""

import contextlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fairalm
from fairalm.cli import app
from reproduction.command import reproduce

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "docs", ROOT / "reproduction")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(page for path in FOLDERS for page in path.rglob("*.md"))]
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if not path.name.startswith("my_")]
ADDING = ROOT / "docs" / "how-to" / "extending.md"
# code, the name of the file if it has a title, and what the page says it prints
BLOCK = re.compile(r'^```python(?: title="(\S+)")?\n(.*?)^```\n(?:\n```\n(.*?)^```)?', re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIGHTNING = pytest.mark.filterwarnings(  # its warnings about torch 2.13, and about a small machine
    "ignore:.*LeafSpec.*is deprecated:FutureWarning", "ignore:.*does not have many workers"
)


def name_of(path):
    return str(path.relative_to(ROOT))


def text_of(page):
    return page.read_text(encoding="utf-8")


def shell_of(page):
    """The shell blocks of a page, a command per line."""
    return "".join(SHELL.findall(text_of(page))).replace("\\\n", " ")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty current folder, from which modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@pytest.mark.filterwarnings("ignore:Setting a.*deprecated")  # fairlearn on pandas 3
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@LIGHTNING
@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(text_of(page)) and page.parent.name != "tutorials"], ids=name_of
)
def test_page_runs(page, folder, capsys):
    if page.name == "spark.md" and shutil.which("java") is None:
        pytest.skip("needs Java 17 on the path")
    namespace = {"__name__": "docs"}
    text = text_of(page)
    for block in BLOCK.finditer(text):
        title, code, printed = block.groups()
        if title:
            (folder / title).write_text(code, encoding="utf-8")
            continue
        line = text[: block.start()].count("\n") + 1
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
        assert (printed or "") in capsys.readouterr().out


def test_every_public_name_is_in_the_reference():
    shown = set(re.findall(r"^::: (\S+)", "".join(map(text_of, (ROOT / "docs/reference").glob("*.md"))), re.MULTILINE))
    assert {f"fairalm.{name}" for name in fairalm.__all__ if name != "__version__"} <= shown


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@LIGHTNING
@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_runs(example, folder, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_adding_shows_the_real_files():
    shown = {title: code for title, code, _ in BLOCK.findall(text_of(ADDING)) if title}
    assert shown == {path.name: text_of(path) for path in (ROOT / "examples").glob("my_*.py")}
    assert max(code.count("\n") for code in shown.values()) <= 25


@pytest.mark.slow
def test_adding_can_be_walked(folder):
    """The files of the page are saved and its commands run, as a reader would; then the report is there."""
    for title, code, _ in BLOCK.findall(text_of(ADDING)):
        if title:
            (folder / title).write_text(code, encoding="utf-8")
    for command in shell_of(ADDING).splitlines():
        run(*command.split()[1:], cwd=folder)
    assert "error and opportunity" in (folder / "runs" / "mine" / "report.html").read_text(encoding="utf-8")
    assert "error and opportunity" in (folder / "mine.md").read_text(encoding="utf-8")


def run(*arguments, cwd):
    command = [sys.executable, "-m", "fairalm", *arguments]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target, section in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text_of(page)):
        if "://" not in target:
            path = page.parent / target if target else page
            assert path.exists(), f"{name_of(page)} links to {target}"
            assert not section or section in sections_of(path), f"{name_of(page)} links to {target}#{section}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_site_has_no_link_to_a_file_outside(page):
    """Such links work in the repository; the site shows the path instead."""
    site = pytest.importorskip("tools.site")
    shown = site.OUTSIDE.sub("", text_of(page))
    for target in re.findall(r"\]\(([^)#]+)", shown):
        if "://" not in target and page.is_relative_to(ROOT / "docs"):
            assert (page.parent / target).resolve().is_relative_to(ROOT / "docs"), target


def sections_of(page):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page):
    """Each `fairalm` or `python -m reproduction` line of a shell block has a command and options that --help knows."""
    commands = re.findall(r"^(?:python -m )?(fairalm|reproduction) (\w+)([^\n#]*)", shell_of(page), re.MULTILINE)
    for package, command, rest in commands:
        told = help_of(package, command)
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in told, f"{name_of(page)}: {package} {command} has no {option}"


@cache
def help_of(package, command):
    if package == "fairalm":
        told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
        assert told.exit_code == 0, told.output
        return told.output
    with contextlib.redirect_stdout(io.StringIO()) as told, pytest.raises(SystemExit, match="0"):
        reproduce([command, "--help"])
    return told.getvalue()
