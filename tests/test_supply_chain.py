"""The files that name versions agree with one another."""

import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")


def pins(path):
    lines = re.findall(r"^([\w.-]+)==([^\s;\\]+)", path.read_text(), re.M)
    return {name.lower().replace("_", "-"): version for name, version in lines}


def lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in ("docs", "bench")}
    for line in [*project["dependencies"], *chain.from_iterable(extras.values())]:
        if found := re.fullmatch(r"([\w.-]+)>=([\d.]+)", line):
            yield found.groups()


def release(version):
    """Without the zeros at the end: 2.2 is 2.2.0."""
    return re.sub(r"(\.0)+$", "", version)


def test_the_oldest_versions_are_the_lower_bounds():
    oldest = pins(ROOT / "constraints-oldest.txt")
    bounds = {name.lower(): version for name, version in lower_bounds()}
    wrong = {
        name: (oldest[name], bounds[name])
        for name in oldest.keys() & bounds.keys()
        if release(oldest[name]) != release(bounds[name])
    }
    assert wrong == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {line.partition(">=")[0] for line in project["dependencies"]} <= oldest.keys()


@pytest.mark.skipif(not LOCK.exists(), reason="make lock has not been run")
def test_the_lock_has_the_pinned_versions_with_hashes():
    locked, pinned = pins(LOCK), pins(ROOT / "constraints.txt")
    shared = locked.keys() & pinned.keys()
    assert len(shared) > 40
    assert {name: locked[name] for name in shared} == {name: pinned[name] for name in shared}
    text = LOCK.read_text()
    assert "://" not in text
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", text.strip()))
