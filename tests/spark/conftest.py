import pytest


@pytest.fixture(scope="session")
def spark():
    """A small Spark on this machine."""
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    builder = sql.SparkSession.builder.master("local[2]").appName("fairalm")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # no Java, or one that is too old
        pytest.skip(f"Spark does not start: {str(error).splitlines()[0]}")
    yield session
    session.stop()
