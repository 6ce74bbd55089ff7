"""``python -m tools.attack.spark_fit ROWS CHECKPOINT OUT``: a fit on Spark with a checkpoint, to be killed."""

from __future__ import annotations

import sys
import warnings

from fairalm.interrupts import interruptible, run_command

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main() -> None:
    """Fit, and write the figures."""
    with interruptible():
        warnings.simplefilter("ignore")
        fit(*sys.argv[1:])


def fit(rows: str, checkpoint: str, out: str) -> None:
    """Fit with a checkpoint, and write the figures."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from fairalm.files import write_json
    from fairalm.spark import FairALMEstimator

    builder = SparkSession.builder.master("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = VectorAssembler(inputCols=["x"], outputCol="features").transform(session.read.parquet(rows))
    learner = LogisticRegression(maxIter=5)
    estimator = FairALMEstimator(learner, groupCols=["sex"], maxIter=3, earlyStop=False, checkpointDir=checkpoint)
    model = estimator.fit(frame)
    write_json(out, {"gap": round(model.gap, 9), "error": round(model.error, 9), "fits": model.numFits})
    session.stop()


if __name__ == "__main__":
    run_command(lambda: main)
