"""Save small models in one environment and predict with them in another: the table of docs/how-to/saving.md.

    python tools/versions.py save FOLDER     # in the environment that saves
    python tools/versions.py check FOLDER    # in the environment that predicts

``tests/models/`` was made by the first, with the oldest versions that pyproject.toml allows.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

import sklearn
from fairalm import EqualOpportunity, FairALMClassifier, FrontierClassifier
from fairalm.datasets import load_german, preprocess
from fairalm.models_io import load, save
from fairalm.runs.choices import ESTIMATORS, WITH_PROBABILITIES

N_ROWS = 120
SMALLER = {"forest": {"n_estimators": 2}, "boosting": {"max_iter": 2, "min_samples_leaf": 10}}
MODELS = [
    *(("single", name) for name in ESTIMATORS),
    ("mixture", "logistic"),
    ("average", "logistic"),
    *(("frontier", name) for name in ESTIMATORS if name in WITH_PROBABILITIES),
    ("net", "mlp"),
]


def rows() -> tuple[pd.DataFrame, Any, Any]:
    """Some rows of German with numbers, text and missing values; labels and groups."""
    data = load_german()
    X = data.features_frame(with_protected=True).iloc[:N_ROWS, :8].copy()
    X.iloc[::7, 1] = np.nan
    return X, data.frame["credit"].to_numpy()[:N_ROWS], np.arange(N_ROWS) % 3 % 2


def make(predictor: str, name: str, X: pd.DataFrame) -> Any:
    """A classifier as the command line makes it, with fewer trees and epochs."""
    constraint = EqualOpportunity(tol=0.05, target="good")
    if predictor == "net":
        from fairalm.nn import NetClassifier  # the others need no torch

        return NetClassifier(constraint=constraint, transformer=preprocess(X), epochs=2, random_state=0)
    pipeline = make_pipeline(preprocess(X), ESTIMATORS[name][0](0).set_params(**SMALLER.get(name, {})))
    if predictor == "frontier":
        return FrontierClassifier(pipeline, constraint=constraint, random_state=0)
    return FairALMClassifier(pipeline, constraint=constraint, predictor=predictor, max_iter=2, random_state=0)


def scores(model: Any, X: pd.DataFrame) -> list[float]:
    """Probabilities, else decision values, else none."""
    if hasattr(model, "predict_proba"):
        return [float(share) for share in model.predict_proba(X)[:, 1]]
    return [float(value) for value in model.decision_function(X)] if hasattr(model, "decision_function") else []


def save_all(folder: Path) -> None:
    """Fit every model, and save it with its predictions."""
    X, y, groups = rows()
    for predictor, name in MODELS:
        model = make(predictor, name, X).fit(X, y, sensitive_features=groups)
        save(model, folder / f"{predictor}-{name}.skops")
        known = {"scikit-learn": sklearn.__version__, "predicted": model.predict(X).tolist()}
        text = json.dumps({**known, "scores": [round(score, 12) for score in scores(model, X)]})
        (folder / f"{predictor}-{name}.json").write_text(text + "\n", encoding="utf-8")


def compare(path: Path) -> float:
    """The largest change of a score since the model was saved; infinite if a prediction changed."""
    X, _, _ = rows()
    known, model = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), load(path)
    if model.predict(X).tolist() != known["predicted"]:
        return np.inf
    changes = np.abs(np.array(scores(model, X)) - np.array(known["scores"]))
    return float(changes.max(initial=0.0))


def main() -> None:
    """Save, or print a row of the table per model."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")  # small tables miss the tolerance
    if what == "save":
        save_all(folder)
        return
    for path in sorted(folder.glob("*.skops")):
        try:
            change = compare(path)
            outcome = "predictions differ" if np.isinf(change) else f"same; scores within {max(change, 1e-12):.0e}"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(f"| {path.stem} | {outcome} |")


if __name__ == "__main__":
    main()
