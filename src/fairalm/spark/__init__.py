"""Algorithm 1 and the frontier on Spark ML. Needs the extra `spark`, and Java 17."""

try:
    import pyspark  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.spark needs PySpark: pip install "fairalm[spark]".') from error

from fairalm.spark.estimator import FairALMEstimator
from fairalm.spark.frontier import FrontierEstimator
from fairalm.spark.frontier_model import FrontierModel
from fairalm.spark.model import FairALMModel

__all__ = ["FairALMEstimator", "FairALMModel", "FrontierEstimator", "FrontierModel"]
