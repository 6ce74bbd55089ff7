"""One small Spark session for all tests of this folder; they skip where Spark cannot run."""

import shutil

import numpy as np
import pandas as pd
import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # plans of small jobs are not improved by it
    "spark.driver.memory": "1g",
    "spark.pyspark.python": "no-python",  # everything runs in the JVM: no worker may ask for Python
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short-lived: compile fast
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"))


def start_session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'fairalm[spark]'")
    if shutil.which("java") is None:
        pytest.skip("needs Java 17 on the path")
    session = start_session()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def people():
    """Labels that depend on features of two groups, one of which is better off."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 3000)
    x = rng.normal(size=(3000, 3)) + 0.7 * group[:, None] * [1, 0, 0]
    label = (x @ [1, 0.5, -0.5] + rng.logistic(size=3000) > 0.3).astype(int)
    return pd.DataFrame(
        {"label": label, "sex": np.array(["f", "m"])[group], "x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2]}
    )


def write_parquet(table, path):
    """By polars, since PySpark does not bring pyarrow, which pandas would need."""
    polars = pytest.importorskip("polars")
    polars.DataFrame({name: table[name].to_numpy() for name in table}).write_parquet(path)


@pytest.fixture(scope="session")
def as_frame(spark, tmp_path_factory):
    """A pandas frame as a Spark frame with a vector of the features, through a parquet file."""
    from pyspark.ml.feature import VectorAssembler

    def convert(table, features):
        path = str(tmp_path_factory.mktemp("table") / "rows.parquet")
        write_parquet(table, path)
        return VectorAssembler(inputCols=list(features), outputCol="features").transform(spark.read.parquet(path))

    return convert


@pytest.fixture(scope="session")
def frame(people, as_frame):
    return as_frame(people, ["x0", "x1", "x2"])
