"""The methods that the paper compares with, each as a scikit-learn classifier for equal opportunity.

Those whose `needs_group_to_predict` is True take `sensitive_features` in `predict` too.
"""

from fairalm.sklearn.comparators.agarwal import AgarwalClassifier
from fairalm.sklearn.comparators.donini import DoniniClassifier
from fairalm.sklearn.comparators.hardt import HardtClassifier
from fairalm.sklearn.comparators.zafar import ZafarClassifier

__all__ = ["AgarwalClassifier", "DoniniClassifier", "HardtClassifier", "ZafarClassifier"]
