"""Boosting from inside: one model of LightGBM or XGBoost, whose multipliers move from round to round."""

from fairalm.boost.classifier import FairLGBMClassifier, FairXGBClassifier

__all__ = ["FairLGBMClassifier", "FairXGBClassifier"]
