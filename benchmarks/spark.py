"""Algorithm 1 on Spark by the number of rows: time in plain fits, and what the driver holds.

    python -m benchmarks.spark                     # 10^5, 10^6 and 10^7 rows; writes docs/how-to/spark.md
    python -m benchmarks.spark --rows 100000       # one size, printed

Each size runs in a process of its own, so that its peak memory is its own. Spark makes the rows: two groups, one of
which is better off, twelve features.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import start, write_between

SIZES = (10**5, 10**6, 10**7)
FEATURES, PARTITIONS, ROUNDS = 12, 8, 4
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.files.maxPartitionBytes": "1g",
    "spark.sql.files.minPartitionNum": str(PARTITIONS),  # as many tasks at every size
    "spark.driver.memory": "6g",
}


def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def make_rows(spark, n, path):
    """Rows whose first feature, and so the label, goes with the group."""
    from pyspark.sql import functions as F

    names = [f"x{j}" for j in range(FEATURES)]
    drawn = spark.range(n, numPartitions=PARTITIONS).select(
        (F.rand(0) < 0.4).cast("int").alias("group"),
        F.rand(1).alias("u"),
        *(F.randn(j + 2).alias(name) for j, name in enumerate(names)),
    )
    score = 0.7 * F.col("group") + sum(F.col(name) * (1.0 - 0.15 * j) for j, name in enumerate(names[:6]))
    noise = F.log(F.col("u") / (1 - F.col("u")))
    rows = drawn.withColumn("x0", F.col("x0") + 0.7 * F.col("group"))
    rows.withColumn("label", (score + noise > 1).cast("int")).drop("u").write.parquet(path)
    return names


def result_bytes(spark):
    """Bytes that tasks have returned to the driver so far."""
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc.sc()
    quantiles = spark.sparkContext._gateway.new_array(jvm.double, 0)
    stages = context.statusStore().stageList(None, False, False, quantiles, jvm.java.util.ArrayList())
    return sum(stages.apply(i).resultSize() for i in range(stages.size()))


def live_heap(spark):
    """Bytes of the JVM's heap in use after a collection."""
    spark.sparkContext._jvm.java.lang.System.gc()
    runtime = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()
    return runtime.totalMemory() - runtime.freeMemory()


def measure(n, folder):
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    from fairalm.spark import FairALMEstimator

    spark = session()
    path = str(Path(folder) / "rows")
    names = make_rows(spark, n, path)
    frame = VectorAssembler(inputCols=names, outputCol="features").transform(spark.read.parquet(path))
    frame = frame.select("features", "label", "group")
    classifier = LogisticRegression(maxIter=5)
    classifier.fit(frame.limit(1000))  # starts the JVM's compilers
    heap = live_heap(spark)
    plain, plain_sent, _ = timed(spark, lambda: classifier.fit(frame))
    estimator = FairALMEstimator(classifier, groupCols=["group"], maxIter=ROUNDS, earlyStop=False)
    seconds, sent, model = timed(spark, lambda: estimator.fit(frame))
    again, _, _ = timed(spark, lambda: classifier.fit(frame))
    return {
        "rows": n,
        "fits": model.numFits,
        "plain": (plain + again) / 2,
        "seconds": seconds,
        "gap_plain": 100 * abs(model.history["gap"][0]),
        "gap": 100 * model.gap,
        "python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "heap_mb": (live_heap(spark) - heap) / 2**20,
        "sent_kb": sent / 1024,
        "plain_sent_kb": plain_sent / 1024,
    }


def timed(spark, fit):
    """Seconds, bytes sent to the driver, and what was fitted."""
    sent, before = result_bytes(spark), time.perf_counter()
    fitted = fit()
    return time.perf_counter() - before, result_bytes(spark) - sent, fitted


HEADER = (
    "| rows | plain fit | Algorithm 1 | in plain fits | gap, plain → fair | sent to the driver (plain fit) |"
    " Python's peak | JVM heap kept |\n|---|---|---|---|---|---|---|---|"
)


def line(row):
    return (
        f"| {row['rows']:,} | {row['plain']:.1f} s | {row['seconds']:.1f} s ({row['fits']} fits) |"
        f" {row['seconds'] / row['plain']:.1f} | {row['gap_plain']:.1f} → {row['gap']:.1f} points |"
        f" {row['sent_kb']:,.0f} KB ({row['plain_sent_kb']:,.0f} KB) | {row['python_mb']:.0f} MB |"
        f" {row['heap_mb']:+.0f} MB |"
    )


def main():
    parser = start(__doc__, rows=0)
    arguments = parser.parse_args()
    if arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(arguments.rows, folder)))
        return
    rows = []
    for n in SIZES:
        command = [sys.executable, "-m", "benchmarks.spark", "--rows", str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(line(rows[-1]), flush=True)
    page = Path(__file__).parents[1] / "docs" / "how-to" / "spark.md"
    write_between(page, "rows", "\n".join([HEADER, *map(line, rows)]))


if __name__ == "__main__":
    main()
