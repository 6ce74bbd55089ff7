"""Folders appear whole or not at all, one process writes them at a time, and nothing of another's is lost."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairalm.exceptions import InputError
from fairalm.folders import check_new_folder, leftovers, locked, new_folder

WRITE = """
import sys, time
from fairalm.folders import new_folder
with new_folder(sys.argv[1], overwrite=True) as part:
    (part / "metrics.json").write_text("theirs")
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def write_run(path, text):
    with new_folder(path, overwrite=True) as part:
        (part / "metrics.json").write_text(text)


def content(path):
    return (path / "metrics.json").read_text()


@pytest.fixture
def other(tmp_path):
    """Another process that is writing a folder; it is killed at the end if it still runs."""
    started = []

    def start(path, seconds=60):
        process = subprocess.Popen([sys.executable, "-c", WRITE, str(path), str(seconds)], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"writing\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def interrupted(path):
    path.write_text("x")
    raise KeyboardInterrupt


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "runs" / "deep" / "one"
    with pytest.raises(KeyboardInterrupt), new_folder(target) as folder:
        interrupted(folder / "half")
    assert list(tmp_path.iterdir()) == []
    with new_folder(target) as folder:
        (folder / "metrics.json").write_text("1")
        assert not target.exists()
    assert content(target) == "1"
    with pytest.raises(InputError, match="exists"), new_folder(target):
        pass
    with pytest.raises(ZeroDivisionError), new_folder(target, overwrite=True) as folder:
        1 / 0  # noqa: B018
    assert content(target) == "1"
    write_run(target, "2")
    assert content(target) == "2"
    assert [p.name for p in target.parent.iterdir()] == ["one"]


def test_only_runs_are_overwritten(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "wedding.jpg").write_text("x")
    with pytest.raises(InputError, match="not a run"), new_folder(tmp_path / "photos", overwrite=True):
        pass
    assert (tmp_path / "photos" / "wedding.jpg").exists()


def test_the_current_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(InputError, match="current folder"):
            check_new_folder(".", overwrite=overwrite)


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="file/deep/run"):
        check_new_folder(tmp_path / "file" / "deep" / "run")
    check_new_folder(tmp_path / "deep" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_appears_in_the_meantime_is_kept(tmp_path):
    target = tmp_path / "run"

    def appear(part):
        (part / "metrics.json").write_text("ours")
        target.mkdir()
        (target / "thesis.tex").write_text("theirs")

    with pytest.raises(InputError, match=r"run appeared .* the result is in .*run-2"), new_folder(target) as part:
        appear(part)
    assert (target / "thesis.tex").read_text() == "theirs"
    assert content(tmp_path / "run-2") == "ours"


def test_a_second_process_is_refused(tmp_path, other):
    process = other(tmp_path / "run", 1.0)
    with pytest.raises(InputError, match=f"being written by process {process.pid}"), new_folder(tmp_path / "run"):
        pass
    assert process.wait() == 0
    assert content(tmp_path / "run") == "theirs"
    write_run(tmp_path / "run", "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_process_that_waits_finds_the_folder_of_the_other(tmp_path, other):
    other(tmp_path / "run", 0.5)
    with pytest.raises(InputError, match="exists"), new_folder(tmp_path / "run", wait=True):
        pass
    assert content(tmp_path / "run") == "theirs"


def test_what_a_killed_process_left_does_not_stay(tmp_path, other):
    process = other(tmp_path / "run")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert leftovers(tmp_path / "run")
    with locked(tmp_path / "run"):
        assert not leftovers(tmp_path / "run")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, OSError])
def test_the_old_folder_survives_an_end_between_the_two_renames(tmp_path, monkeypatch, fatal):
    target, rename = tmp_path / "run", Path.rename
    write_run(target, "old")

    def fails(self, to):
        if to == target and not self.name.endswith(".old"):
            raise fatal
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(fatal):
        write_run(target, "new")
    assert content(target) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_old_folder_is_put_back_after_a_kill_between_the_two_renames(tmp_path):
    target = tmp_path / "run"
    write_run(target, "old")
    target.rename(tmp_path / f".run.{'0' * 32}.old")
    (tmp_path / f".run.{'0' * 32}").mkdir()
    with pytest.raises(InputError, match="exists"), new_folder(target):
        pass
    assert content(target) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
