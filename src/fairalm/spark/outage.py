"""What to do when Spark stops in the middle of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

#: Errors of a driver that is gone, and of a job that Spark gave up after it had lost executors.
LOST = (Py4JError, PySparkException, ConnectionError)


@contextmanager
def advise_after_loss(checkpoint: str | None) -> Iterator[None]:
    """Say after an error of Spark's how to go on; what is in the folder `checkpoint` is not lost."""
    try:
        yield
    except LOST as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        if checkpoint is None:
            advice = "With checkpointDir, a fit that is started again goes on after the last fit that was finished"
        else:
            advice = (
                f"The finished fits are in {checkpoint}: start a session, and fit again with the same checkpointDir to"
                " go on after them"
            )
        raise RuntimeError(f"Spark stopped during the fit ({reason}). {advice}.") from error
