"""The methods that the paper compares with, each as a scikit-learn classifier.

Those whose `needs_group_to_predict` is True take `sensitive_features` in `predict` too.

>>> from fairalm.datasets import load_compas, preprocess
>>> from fairalm.measures import deo
>>> from fairalm.sklearn.comparators import HardtClassifier
>>> data = load_compas()
>>> X = preprocess(data.X).fit_transform(data.X)
>>> model = HardtClassifier(random_state=0).fit(X, data.y, sensitive_features=data.groups)
>>> labels = model.predict(X, sensitive_features=data.groups)
>>> print(deo(data.y, labels, sensitive_features=data.groups, train=True))
0.1 % (train)
"""

from fairalm.sklearn.comparators.fairlearn import AgarwalClassifier, HardtClassifier
from fairalm.sklearn.comparators.linear import DoniniClassifier, ZafarClassifier

__all__ = ["AgarwalClassifier", "DoniniClassifier", "HardtClassifier", "ZafarClassifier"]
