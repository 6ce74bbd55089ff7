"""Choose the tolerance by cross-validation, with scikit-learn's own tools and metadata routing."""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklearn
from fairalm import FairALMClassifier
from fairalm.datasets import load_compas, preprocess
from fairalm.measures import make_gap_scorer

sklearn.set_config(enable_metadata_routing=True)
try:
    data = load_compas()
    X = data.features_frame(with_protected=True)
    model = FairALMClassifier(make_pipeline(preprocess(X), LogisticRegression()), constraint="equal-opportunity")
    search = GridSearchCV(
        model.set_fit_request(sensitive_features=True),
        {"constraint__tol": [0.01, 0.05, 0.2]},
        scoring={"accuracy": "accuracy", "deo": make_gap_scorer("deo")},
        refit="accuracy",
        cv=3,
    )
    search.fit(X, data.y, sensitive_features=data.groups)
    for tol, accuracy, gap in zip(
        search.cv_results_["param_constraint__tol"],
        search.cv_results_["mean_test_accuracy"],
        search.cv_results_["mean_test_deo"],
        strict=True,
    ):
        print(f"tol {tol:4}: accuracy {accuracy:.3f}, DEO {-gap:.3f}")
finally:
    sklearn.set_config(enable_metadata_routing=False)
