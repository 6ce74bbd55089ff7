import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fairalm import InputError

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'fairalm[spark]'")

from pyspark.ml.classification import LogisticRegression

from fairalm.spark import FairALMEstimator
from tests.spark.conftest import write_parquet

CHILD = """
from pathlib import Path
from pyspark.ml.feature import VectorAssembler
from tests.spark.conftest import start_session
from tests.spark.test_checkpoint import estimator
rows = start_session().read.parquet({rows!r})
frame = VectorAssembler(inputCols=["x0", "x1", "x2"], outputCol="features").transform(rows)
estimator({folder!r}).fit(frame)
Path({done!r}).touch()
"""


SETTINGS = {"groupCols": ["sex"], "dualSignal": "heldout", "maxIter": 3, "earlyStop": False}


def estimator(folder=None, **settings):
    return FairALMEstimator(LogisticRegression(maxIter=5), checkpointDir=folder, **SETTINGS | settings)


@pytest.fixture(scope="module")
def rows(spark, people, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    write_parquet(people, path)
    return path


def kill_after_two_fits(rows, folder):
    """Start the fit in a process of its own, and kill that and its JVM once the second fit is written down."""
    done = Path(folder).with_name("done")
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD.format(rows=rows, folder=folder, done=str(done))],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 240
        while not Path(folder, "fit-1", "answer", "_SUCCESS").exists():
            assert child.poll() is None, "the fit ended by itself"
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert not done.exists()


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")  # of three rounds
def test_a_killed_fit_goes_on(frame, rows, tmp_path):
    folder = str(tmp_path / "checkpoint")
    kill_after_two_fits(rows, folder)
    kept = sorted(path.parent.name for path in Path(folder).glob("fit-*/answer"))
    written = {path: path.stat().st_mtime_ns for path in Path(folder).glob("fit-[01]/**/*") if path.is_file()}
    resumed, whole = estimator(folder).fit(frame), estimator().fit(frame)
    assert 2 <= len(kept) < whole.numFits == resumed.numFits
    assert all(path.stat().st_mtime_ns == at for path, at in written.items()), "a fit was made again"
    np.testing.assert_allclose(resumed.history, whole.history, atol=1e-9)
    np.testing.assert_allclose(resumed.estimatorModel.coefficients, whole.estimatorModel.coefficients, atol=1e-6)
    assert (resumed.gap, resumed.error) == pytest.approx((whole.gap, whole.error), abs=1e-12)
    for other, settings in [(frame.where("x2 < 2"), {}), (frame, {"bound": 2.0})]:
        with pytest.raises(
            InputError, match=f"belongs to another fit .it differs in: {'settings' if settings else 'data'}"
        ):
            estimator(folder, **settings).fit(other)


OUTAGE = """
import os, signal, subprocess
from pyspark.ml.feature import VectorAssembler
from tests.spark.conftest import start_session
from tests.spark.test_checkpoint import estimator
from fairalm.spark import signals

session = start_session()
frame = VectorAssembler(inputCols=["x0", "x1", "x2"], outputCol="features").transform(session.read.parquet({rows!r}))
java = session.sparkContext._gateway.proc.pid
answer, asked = signals.FrameSignal.__call__, []

def dies_at_the_second(self, *arguments):
    asked.append(1)
    if len(asked) == 2:
        os.kill(java, signal.SIGKILL)
    return answer(self, *arguments)

signals.FrameSignal.__call__ = dies_at_the_second
try:
    estimator({folder!r}).fit(frame)
except RuntimeError as error:
    print(error, flush=True)
os._exit(0)
"""


def test_a_driver_that_dies_says_how_to_go_on(rows, tmp_path):
    folder = str(tmp_path / "checkpoint")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OUTAGE.format(rows=rows, folder=folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert "Spark stopped during the fit" in done.stdout, done.stderr[-2000:]
    assert f"The finished fits are in {folder}: start a session" in done.stdout
    assert Path(folder, "fit-0", "answer", "_SUCCESS").exists()
