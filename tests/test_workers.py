"""Worker processes end with the process that started them, and Ctrl-C is one line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.utils.parallel import delayed

from fairalm.workers import run_jobs

WORK = """
import os, sys, time
from pathlib import Path
from sklearn.utils.parallel import delayed
from fairalm.interrupts import interruptible
from fairalm.workers import run_jobs

def work(k):
    Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["PLACE"], f"{os.getpid()}").touch()
    time.sleep(120)

with interruptible():
    list(run_jobs((delayed(work)(k) for k in range(4)), 2))
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, number):
    environment = {**os.environ, "PLACE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, start_new_session=True) as parent:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        if number == signal.SIGINT:
            os.killpg(parent.pid, number)  # as a terminal does
            assert parent.stderr.read() == b"Interrupted.\n"
        else:
            parent.kill()
        parent.wait()
        workers = [int(path.name) for path in tmp_path.iterdir()]
        assert len(workers) == 2
        deadline = time.monotonic() + 10
        while any(map(is_alive, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(is_alive, workers))


def test_results_come_in_the_order_of_the_jobs():
    assert list(run_jobs((delayed(abs)(-k) for k in range(5)), 1)) == list(range(5))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_do_not_see_an_interrupt_while_they_start(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True) as parent:
        deadline, masks = time.monotonic() + 60, {}
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            masks |= blocked_in_workers(parent.pid)
        os.killpg(parent.pid, signal.SIGKILL)
    assert len(masks) >= 2
    assert all(mask >> (signal.SIGINT - 1) & 1 for mask in masks.values())


def blocked_in_workers(session):
    """The signals that each of joblib's workers in a session blocks, as bits."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                own = (entry / "stat").read_text().rpartition(")")[2].split()[3]
                is_worker = b"popen_loky" in (entry / "cmdline").read_bytes()
                status = (entry / "status").read_text()
            except OSError:
                continue
            if int(own) == session and is_worker:
                line = next(line for line in status.splitlines() if line.startswith("SigBlk"))
                found[entry.name] = int(line.split()[1], 16)
    return found
