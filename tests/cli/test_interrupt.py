"""An interrupt at any moment ends in one line and exit code 130."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
QUESTION = ("--target", "hired", "--protected", "sex")
#: What an interrupt can meet within a command, before the line that ends the command by itself.
MOMENTS = {
    "a destructor that swallows it": """
class Held:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
Held()
time.sleep(5)
""",
    "a compiled module that turns it into another error": """
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    raise ImportError("numpy.core.multiarray failed to import")
""",
    "its own cleanup, once more": """
try:
    signal.raise_signal(signal.SIGINT)
finally:
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
        print("cleaned")
""",
}


def test_while_libraries_are_imported(console, tmp_path):
    (tmp_path / "typer").mkdir()
    (tmp_path / "typer" / "__init__.py").write_text(INTERRUPT)
    assert console("list", PYTHONPATH=tmp_path) == (130, "", "Interrupted.\n")


def test_while_a_command_works(console, table, tmp_path):
    (tmp_path / "mine.py").write_text(INTERRUPT)
    before = sorted(tmp_path.rglob("*"))
    options = (*QUESTION, "--constraint", "mine:Mine", "-o", "r")
    code, out, err = console("train", table, *options, PYTHONDONTWRITEBYTECODE="1")
    assert (code, out, err) == (130, "", "Interrupted.\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("moment", MOMENTS)
def test_whatever_it_meets(moment):
    code = "import signal, time\nfrom fairalm.interrupts import interruptible, uninterrupted\n"
    code += "def work():\n" + MOMENTS[moment].replace("\n", "\n    ") + "\nwith interruptible():\n    work()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
    assert ("cleaned" in done.stdout) == ("cleanup" in moment)


def test_while_the_process_exits(console, table, tmp_path):
    (tmp_path / "mine.py").write_text(f"import atexit\natexit.register(lambda: exec({INTERRUPT!r}))\n")
    code, _, err = console("train", table, *QUESTION, "--constraint", "mine:Mine", "-o", "r")
    assert (code, err.splitlines()[-1], "Traceback" in err) == (130, "Interrupted.", False)


def test_while_an_experiment_is_imported(tmp_path):
    (tmp_path / "threadpoolctl.py").write_text(INTERRUPT)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "theory"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_heat_maps_without_torch_say_what_to_install(console, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no torch here')\n")
    code, _, err = console("cam", "r", "-o", "maps", PYTHONPATH=tmp_path)
    assert (code, err) == (2, 'Error: fairalm.vision needs PyTorch: pip install "fairalm[torch]".\n')


@pytest.mark.parametrize("processes", ["abc", "", "-1"])
def test_a_broken_variable_of_torchrun_is_named(run, table, monkeypatch, processes):
    monkeypatch.setenv("WORLD_SIZE", processes)
    code, _, err = run("train", table, *QUESTION, "-o", "r")
    assert code == 2
    assert "WORLD_SIZE" in err
