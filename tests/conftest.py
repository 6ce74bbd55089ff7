import os
import subprocess
import sys

import pytest


@pytest.fixture
def torchrun(tmp_path):
    """Two processes; once more if one was ended by a signal, as gloo's sockets were seen to do on a full machine."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

    def call(*arguments):
        for _ in range(2):
            done = subprocess.run(
                [*command, *map(str, arguments)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            if "(SIGABRT)" not in done.stderr:
                break
        return done

    return call
