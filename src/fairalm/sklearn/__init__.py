"""Algorithm 1 and the frontier on scikit-learn."""

from fairalm.sklearn.classifier import FairALMClassifier
from fairalm.sklearn.frontier import FrontierClassifier

__all__ = ["FairALMClassifier", "FrontierClassifier"]
