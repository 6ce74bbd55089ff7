"""Post-processing by error-parity, OxonFair and LinearPost, in an interpreter that has them. Called by frontier.py.

    PEERS_PYTHON benchmarks/frontier_peers.py IN.npz OUT.npz --contender error-parity [--linearpost FOLDER]

Reads the probabilities of label and group of the rows to fit (out of fold) and of new rows, and writes for each
tolerance the probability that each new row is predicted as the target. Nothing of fairalm is imported: the peers' pins
are old, so they live in an environment of their own.

- error-parity 0.3: thresholds per group, mixed at random where that is better. Needs the group of new rows.
- OxonFair 0.3: thresholds per group, or per predicted group if the attribute is not a feature: rows whose likeliest
  group has less than 2/3 are a group of their own (its default).
- LinearPost (https://github.com/uiuctml/fair-classification): a linear program over all rows, through cvxpy and HiGHS.
  FOLDER is a copy of that repository. Needs the group of new rows only if it is a feature.
"""

import argparse
import importlib
import logging
import sys
import time
import warnings

import numpy as np

NAMES = {  # of the constraint: error-parity's, OxonFair's, LinearPost's
    "equal opportunity": ("true_positive_rate_parity", "recall.max_diff", "eopp"),
    "demographic parity": ("demographic_parity", "pos_pred_rate.max_diff", "sp"),
    "equalized odds": ("equalized_odds", "equalized_odds_max", "eo"),
}


def error_parity(data, constraint, tol):
    """Fit, and return a function of new rows."""
    from error_parity import RelaxedThresholdOptimizer

    model = RelaxedThresholdOptimizer(predictor=lambda p: p, constraint=NAMES[constraint][0], tolerance=tol)
    model.fit(data["p"], data["y"], group=data["s"], y_scores=data["p"])

    def predict(new):
        chosen = np.zeros(len(new["p"]))
        for group, part in model._realized_classifier.group_to_clf.items():
            rows = new["s"] == group
            chosen[rows] = expected(part, new["p"][rows])
        return chosen

    return predict


def expected(classifier, p):
    """Probability that error-parity's classifier predicts 1, instead of one random draw."""
    if hasattr(classifier, "classifiers"):
        parts = zip(classifier.probabilities, classifier.classifiers, strict=True)
        return sum(share * expected(part, p) for share, part in parts)
    if hasattr(classifier, "target_fpr"):
        return np.full(len(p), float(classifier.target_fpr))
    return classifier(p).astype(float)


class OxonFair:
    """One search for the whole frontier; a tolerance then chooses a point of it."""

    def __init__(self):
        self.model = None

    def __call__(self, data, constraint, tol):
        """Fit, and return a function of new rows."""
        from oxonfair import FairPredictor
        from oxonfair import group_metrics as metrics

        if self.model is None:
            rows = {"target": data["y"], "data": columns(data), "groups": data["s"]}
            inferred = False if data["aware"] else (lambda table: table[:, 1:])
            self.model = FairPredictor(lambda table: both(table[:, 0]), rows, inferred_groups=inferred)
        measure = metrics
        for name in NAMES[constraint][1].split("."):
            measure = getattr(measure, name)
        self.model.fit(metrics.accuracy, measure, tol, recompute=self.model.frontier is None)
        offset = self.model.offset

        def predict(new):
            self.model.offset = offset
            return self.model.predict({"target": np.zeros(len(new["p"])), "data": columns(new), "groups": new["s"]})

        return predict


def both(p):
    return np.column_stack([1 - p, p])


def columns(data):
    """The probability of the target, then that of each group."""
    return np.column_stack([data["p"], data["joint"].sum(axis=2)])


def linear_post(data, constraint, tol):
    """Fit, and return a function of new rows."""
    from postprocess import PostProcessor

    n_groups = data["joint"].shape[1]
    model = PostProcessor(2, n_groups, criterion=NAMES[constraint][2], alpha=tol, seed=0)
    model.fit(p_ay_x=data["joint"], solver="SCIPY", solve_kwargs={"scipy_options": {"method": "highs"}})
    return lambda new: model.predict(p_ay_x=new["joint"])


CONTENDERS = {
    "error-parity": ("error_parity", error_parity),
    "OxonFair": ("oxonfair", OxonFair()),
    "LinearPost": ("postprocess", linear_post),
}


def rows_of(file, suffix):
    joint = file["joint" + suffix]
    return {"joint": joint, "p": joint[:, :, 1].sum(axis=1), "s": file["s" + suffix], "aware": bool(file["aware"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--contender", choices=CONTENDERS, required=True)
    parser.add_argument("--linearpost", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.path.insert(0, options.linearpost)
    module, fit = CONTENDERS[options.contender]
    importlib.import_module(module)  # not part of the times
    file = np.load(options.source)
    data, new = rows_of(file, ""), rows_of(file, "_new")
    data["y"] = file["y"]
    chosen, seconds = [], []
    for tol in file["tolerances"]:
        begin = time.process_time()
        predict = fit(data, str(file["constraint"]), float(tol))
        seconds.append(time.process_time() - begin)
        chosen.append(np.asarray(predict(new), dtype=float))
    np.savez(options.target, chosen=np.array(chosen), seconds=np.array(seconds))


if __name__ == "__main__":
    main()
