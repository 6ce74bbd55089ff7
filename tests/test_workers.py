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
