"""The documentation site, as `make docs` builds it: its tutorials, its links, and the search without a server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="needs mkdocs-material")

from tools.links import broken
from tools.tutorials import NEEDS, has_data

ROOT = Path(__file__).parents[1]
TUTORIALS = [page for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")) if page.stem != "index"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_the_network(site):
    assert sorted(broken(site)) == []


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_what_it_printed_and_its_page(page, site):
    text = page.read_text(encoding="utf-8")
    if (needs := NEEDS.search(text)) and not has_data(needs[1]):
        pytest.skip(f"needs the folder {needs[1]} in FAIRALM_DATA")
    assert ">Output<" in (site / "tutorials" / f"{page.stem}.html").read_text(encoding="utf-8")
    for name in re.findall(r"<!-- page: (\S+)", text):
        assert (site / "tutorials" / page.stem / Path(name).name).stat().st_size > 1000


def test_a_site_opened_from_a_folder_can_be_searched(site, browser):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(60_000)  # the machine may be busy
    page.goto((site / "start" / "table.html").as_uri())
    page.locator("input.md-search__input").press_sequentially("levelling down")  # it listens to keys
    found = page.locator("a.md-search-result__link").first
    found.wait_for(state="attached")
    assert found.get_attribute("href").startswith((site / "").as_uri())
    context.close()
