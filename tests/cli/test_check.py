"""A run folder that can be trusted: damage is noticed, and what killed commands left can be removed."""

import numpy as np
import pytest

from fairalm.files import new_file
from fairalm.folders import locked
from fairalm.manifest import MANIFEST

pytestmark = pytest.mark.usefixtures("trained")


def test_a_sound_run_passes(run):
    code, out, _ = run("check", "r")
    assert code == 0
    assert "all as fairalm" in out


@pytest.mark.parametrize("name", ["model.skops", "metrics.json", "config.json", "history.csv"])
def test_every_flipped_bit_is_noticed(run, tmp_path, name):
    file = tmp_path / "r" / name
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(content), 25):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << int(place % 8)
        file.write_bytes(flipped)
        code, _, err = run("check", "r")
        assert (code, f"{name} is not as fairalm wrote it" in err) == (2, True)
        if name != "history.csv":  # which predict does not read
            assert run("predict", "r", "people.csv", "-o", "out.csv")[0] == 2
        if name == "metrics.json":
            assert run("report", "r", "-o", "r.html")[0] == run("card", "r", "-o", "r.md")[0] == 2
    file.unlink()
    assert f"{name} is missing" in run("check", "r")[2]


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"format": 2, "files": {}}', b"\xff"])
def test_a_run_without_its_manifest_is_refused(run, tmp_path, content):
    (tmp_path / "r" / MANIFEST).unlink()
    if content is not None:
        (tmp_path / "r" / MANIFEST).write_bytes(content)
    for command in (("check", "r"), ("predict", "r", "people.csv", "-o", "out.csv")):
        code, _, err = run(*command)
        assert code == 2
        assert MANIFEST in err
        assert len(err.strip().splitlines()) == 1


def test_leftovers_are_removed_and_nothing_else(run, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    assert "Nothing to remove" in run("clean", ".")[1]
    (tmp_path / f".r.{'a' * 32}").mkdir()
    (tmp_path / ".r.lock").touch()
    (tmp_path / ".gone.lock").touch()
    (tmp_path / f".table.csv.{'b' * 32}").touch()
    (tmp_path / ".bashrc").touch()
    with new_file(tmp_path / "other.csv") as living, locked(tmp_path / "locked"):
        code, out, _ = run("clean", ".")
        assert code == 0
        assert out.count("Removed") == 4
        there = sorted(path.name for path in tmp_path.iterdir())
        assert there == sorted([*before, ".bashrc", ".locked.lock", living.name])
    assert run("clean", "nowhere")[0] == 2
