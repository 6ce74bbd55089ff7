"""Algorithm 1, the frontier and measures on Spark: only counts and small tables reach the driver."""

try:
    import pyspark  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.spark needs PySpark: pip install "fairalm[spark]".') from error

from fairalm.spark.estimator import FairALMEstimator
from fairalm.spark.frontier import FrontierEstimator
from fairalm.spark.frontier_model import FrontierModel
from fairalm.spark.measures import count_rows, measure_all
from fairalm.spark.model import FairALMModel

__all__ = ["FairALMEstimator", "FairALMModel", "FrontierEstimator", "FrontierModel", "count_rows", "measure_all"]
