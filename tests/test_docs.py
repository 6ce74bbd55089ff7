"""Every ```python block of the README and the docs runs, each page from top to bottom; so does every example."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIGHTNING = pytest.mark.filterwarnings(  # what it says of torch 2.13, and of a small machine
    "ignore:.*LeafSpec.*is deprecated:FutureWarning", "ignore:.*does not have many workers"
)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@pytest.mark.filterwarnings("ignore:Setting a.*deprecated")  # fairlearn on pandas 3
@LIGHTNING
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_page_runs(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path / "cache"))
    namespace = {"__name__": "docs"}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@LIGHTNING
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_example_runs(example, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path / "cache"))
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page):
    """Each `fairalm ...` or `python -m reproduction ...` line of a shell block names what --help knows."""
    shell = "".join(re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    shell = re.sub(r"^fairalm ", "python -m fairalm ", shell, flags=re.MULTILINE)
    commands = re.findall(r"^python -m ((?:fairalm|reproduction) \w+)([^\n#]*)", shell, re.MULTILINE)
    for command, rest in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command.split(), "--help"],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={"COLUMNS": "200", "NO_COLOR": "1", "PATH": ""},
        )
        assert done.returncode == 0, f"{page.name}: {command}: {done.stderr}"
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in done.stdout, f"{page.name}: {command} has no {option}"
