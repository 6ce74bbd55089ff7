"""What is kept on disk is whole, is found again, and is never another's."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from fairalm.datasets.images import cache as image_cache
from fairalm.datasets.images import read_images
from fairalm.datasets.images.cache import read_cached
from fairalm.exceptions import InputError

Image = pytest.importorskip("PIL.Image")

READ = """
import signal
import sys
from pathlib import Path
from fairalm.datasets.images import cache as image_cache
from fairalm.datasets.images.cache import read_cached
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if the tests run in a shell's background
image_cache.WORTH = float(sys.argv[2])
files = sorted(Path(sys.argv[1]).glob("*.png"))
found = read_cached([(str(file),) for file in files], size=16, kind="grey", progress=False)
print(found.pixels[:, 0, 0, 0].astype(int).sum(), len(found.pixels))
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Several chunks of images."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(9 * image_cache.CHUNK + 7):
        Image.new("L", (16, 16), i % 251).save(folder / f"{i:05d}.png")
    return folder


def jobs_of(folder):
    return [(str(file),) for file in sorted(folder.glob("*.png"))]


def start(folder, worth, **options):
    command = [sys.executable, "-c", READ, str(folder), worth]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **options)


def test_workers_keep_the_order_and_the_second_time_nothing_is_decoded(many, cache, monkeypatch):
    monkeypatch.setattr(image_cache, "WORTH", 0.0)  # workers, however few images
    (many / "00300.png").write_bytes(b"broken")
    jobs = jobs_of(many)
    first = read_cached(jobs, size=16, kind="grey", progress=False)
    expected = [i % 251 for i in range(len(jobs)) if i != 300]
    assert first.pixels[:, 0, 0, 0].tolist() == expected
    assert first.kept.tolist() == [i for i in range(len(jobs)) if i != 300]
    assert first.reasons == {300: "it is not an image"}
    assert isinstance(first.pixels, np.memmap)
    assert not first.pixels.flags.writeable
    assert [entry.name for entry in cache.iterdir()] == [next(cache.iterdir()).name]

    monkeypatch.setattr(image_cache, "_fill", None)  # would be called if anything were decoded
    again = read_cached(jobs, size=16, kind="grey", progress=False)
    assert (again.pixels == first.pixels).all()
    assert again.reasons == first.reasons
    Image.new("L", (16, 16), 300 % 251).save(many / "00300.png")


def test_a_changed_file_another_size_or_order_is_read_anew(faces, cache):
    def reds(**options):
        options = {"image_column": "image", "target": "over30", "protected": "gender", "size": 8, **options}
        return read_images(faces, **options).pixels[:, 0, 0, 0].tolist()

    assert reds() == list(range(12))
    assert len(list(cache.iterdir())) == 1
    Image.new("RGB", (40, 40), (99, 0, 0)).save(faces.parent / "images" / "3.png")
    assert reds()[3] == 99
    lines = faces.read_text().splitlines()
    faces.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert reds()[-1] == 0
    assert len(reds(size=9)) == 12
    assert len(list(cache.iterdir())) == 4


def test_a_damaged_cache_is_made_again(many, cache):
    jobs = jobs_of(many)[:40]
    whole = read_cached(jobs, size=16, kind="grey", progress=False).pixels.tolist()
    (folder,) = cache.iterdir()
    size = (folder / "pixels.npy").stat().st_size

    def cut():
        os.truncate(folder / "pixels.npy", size - 1)

    def flip():
        content = bytearray((folder / "pixels.npy").read_bytes())
        content[size // 2] ^= 1
        (folder / "pixels.npy").write_bytes(content)

    damages = [
        cut,
        flip,
        (folder / "images.json").unlink,
        lambda: (folder / "images.json").write_text("[1]"),
        lambda: (folder / "images.json").write_text('{"0": "x"}'),
        (folder / "pixels.npy").unlink,
        lambda: (folder / "pixels.npy").write_bytes(b""),
    ]
    for damage in damages:
        damage()
        assert read_cached(jobs, size=16, kind="grey", progress=False).pixels.tolist() == whole
        assert (folder / "pixels.npy").stat().st_size == size


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_leaves_nothing_that_counts(many, cache, number):
    for _ in range(5):
        process = start(many, "0", stderr=subprocess.DEVNULL, start_new_session=True)
        while not list(cache.glob(".*/*/pixels.npy")) and process.poll() is None:
            time.sleep(0.005)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        process.communicate()
        if process.returncode:
            break
        shutil.rmtree(cache)  # on a busy machine it may have finished before the signal: once more
        cache.mkdir()
    assert process.returncode != 0
    assert not list(cache.glob("[!.]*"))
    assert len(list(cache.glob(".*"))) == (2 if number == signal.SIGKILL else 0)  # the half-written folder, its lock
    assert len(read_cached(jobs_of(many), size=16, kind="grey", progress=False).pixels) == len(jobs_of(many))
    assert len(list(cache.iterdir())) == 1


def test_two_processes_may_want_the_same(many, cache):
    processes = [start(many, "inf"), start(many, "inf")]
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    n = len(jobs_of(many))
    assert said == [f"{sum(i % 251 for i in range(n))} {n}\n"] * 2
    assert len(list(cache.iterdir())) == 1


def test_what_killed_processes_left_is_cleared_away_after_a_day(many, cache):
    old, young = cache / f".{'a' * 32}.{'b' * 32}", cache / f".{'c' * 32}.{'d' * 32}"
    foreign = cache / ".ssh"
    for folder in (old, young, foreign):
        (folder / "x").mkdir(parents=True)
        (folder / "x" / "pixels.npy").write_bytes(b"half")
    yesterday = time.time() - 2 * image_cache.STALE
    for folder in (old, foreign):
        os.utime(folder / "x" / "pixels.npy", (yesterday, yesterday))
    read_cached(jobs_of(many)[:3], size=16, kind="grey", progress=False)
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


def test_a_cache_that_cannot_be_written_is_one_sentence(many, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("FAIRALM_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"could not be cached in .*file \(.*FAIRALM_CACHE"):
        read_cached(jobs_of(many)[:3], size=16, kind="grey", progress=False)


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRALM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert image_cache.cache_folder() == tmp_path / "fairalm" / "images"


def test_progress_goes_to_stderr(many, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, as far as rich is concerned
    read_cached(jobs_of(many)[:3], size=16, kind="grey", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading images" in err
