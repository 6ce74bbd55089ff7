import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
#: Tests that start processes, train nets or open a browser: not part of `make check`.
SLOW = (
    "attack",
    "cli",
    "datasets/images",
    "nn/test_adversarial.py",
    "nn/test_distributed.py",
    "nn/test_features.py",
    "nn/test_frontier.py",
    "nn/test_huggingface.py",
    "nn/test_last_layer.py",
    "nn/test_lightning.py",
    "nn/test_resume.py",
    "nn/test_skorch.py",
    "nn/test_tabular.py",
    "nn/test_trainer.py",
    "report",
    "reproduction",
    "runs",
    "sklearn/comparators",
    "sklearn/test_frontier.py",
    "spark",
    "test_extension.py",
    "test_site.py",
    "test_workers.py",
    "vision",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(item.path.is_relative_to(HERE / place) for place in SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


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
