"""Algorithm 1 on scikit-learn."""

from fairalm.sklearn.classifier import FairALMClassifier

__all__ = ["FairALMClassifier"]
