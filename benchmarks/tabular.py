"""The plain model, two of fairlearn's methods and ours, untuned, on four tables: errors, gaps, fit times and fits.

    python benchmarks/tabular.py [--seeds 5] [--tables adult,compas] [--write docs/benchmarks.md]

Times are processor times, which other programs on the machine do not count in, as multiples of one plain fit on the
same rows in the same run; set OMP_NUM_THREADS=1. Test figures of fairlearn's randomised
predictors are expectations over their draws. Law is read from the folder named by FAIRALM_DATA.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import start, tables, write_between
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity
from sklearn.linear_model import LogisticRegression

from fairalm import EqualOpportunity, FairALMClassifier
from fairalm.datasets import preprocess, split

TOL = 0.01
MODELS = ("plain", "ExponentiatedGradient", "ThresholdOptimizer", "fairalm")


def fit_plain(X, y, s):
    model = LogisticRegression(max_iter=1000).fit(X, y)
    return lambda X, s: model.predict(X), 1


def fit_exponentiated_gradient(X, y, s):
    parity = TruePositiveRateParity(difference_bound=TOL)
    model = ExponentiatedGradient(LogisticRegression(max_iter=1000), parity)
    model.fit(X, y, sensitive_features=s)
    return lambda X, s: model._pmf_predict(X)[:, 1], model.n_oracle_calls_


def fit_threshold_optimizer(X, y, s):
    model = ThresholdOptimizer(
        estimator=LogisticRegression(max_iter=1000),
        constraints="true_positive_rate_parity",
        predict_method="predict_proba",
    )
    model.fit(X, y, sensitive_features=s)
    return lambda X, s: model._pmf_predict(X, sensitive_features=s)[:, 1], 1


def fit_ours(X, y, s):
    model = FairALMClassifier(LogisticRegression(max_iter=1000), constraint=EqualOpportunity(tol=TOL), random_state=0)
    model.fit(X, y, sensitive_features=s)
    return lambda X, s: model.predict(X), model.n_oracle_calls_


FITTERS = dict(zip(MODELS, (fit_plain, fit_exponentiated_gradient, fit_threshold_optimizer, fit_ours), strict=True))


def score(chosen, y, s):
    """Expected error and expected difference of true positive rates."""
    rates = [chosen[(y == 1) & (s == g)].mean() for g in np.unique(s)]
    return np.abs(chosen - y).mean(), abs(rates[0] - rates[1])


def chance_gap(chosen, y, s):
    """Mean absolute difference of true positive rates that sampling alone gives a model whose true gap is 0."""
    cells = [(y == 1) & (s == g) for g in np.unique(s)]
    rate = chosen[y == 1].mean()
    variance = rate * (1 - rate) * sum(1 / cell.sum() for cell in cells)
    return np.sqrt(2 / np.pi * variance)


def timed(fit, X, y, s, repeats):
    """The fit, and the median of its processor times."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fitted = fit(X, y, s)
        times.append(time.process_time() - start)
    return fitted, float(np.median(times))


def run_table(name, data, seed):
    """One row per model."""
    X, y, s = data.features_frame(with_protected=True), data.y, data.groups.to_numpy()
    train, test = split(y, s, test_size=0.3, random_state=seed)
    table = preprocess(X.iloc[train]).fit(X.iloc[train])
    X_train, X_test = table.transform(X.iloc[train]), table.transform(X.iloc[test])
    half_person = 0.5 / min(((y[train] == 1) & (s[train] == g)).sum() for g in np.unique(s))
    rows = []
    for model in MODELS:
        (predict, calls), seconds = timed(
            FITTERS[model], X_train, y[train], s[train], 1 if model == "ExponentiatedGradient" else 5
        )
        train_error, train_gap = score(predict(X_train, s[train]), y[train], s[train])
        test_error, test_gap = score(predict(X_test, s[test]), y[test], s[test])
        row = {"table": name, "seed": seed, "model": model, "train gap": train_gap, "test gap": test_gap}
        row |= {"train error": train_error, "test error": test_error, "seconds": seconds, "fits": calls}
        chance = chance_gap(predict(X_test, s[test]), y[test], s[test])
        rows.append(row | {"half a person": half_person, "chance": chance})
    plain = rows[0]["seconds"]
    return [row | {"× plain": row["seconds"] / plain} for row in rows]


def summary(runs):
    """Means over the seeds, in percent where they are rates."""
    keys = ["train gap", "test gap", "train error", "test error", "× plain", "fits", "half a person", "chance"]
    mean = runs.groupby(["table", "model"], sort=False)[keys].mean()
    spread = runs.groupby(["table", "model"], sort=False)[["test gap", "test error"]].std()
    mean[["test gap sd", "test error sd"]] = spread
    rates = [key for key in mean.columns if key not in ("× plain", "fits")]
    mean[rates] *= 100
    return mean


def verdicts(mean):
    """Whether the figures meet our limits, table by table."""
    lines = []
    for name, block in mean.groupby(level="table", sort=False):
        block = block.droplevel("table")
        ours, theirs = block.loc["fairalm"], block.loc["ExponentiatedGradient"]
        limit = max(theirs["train gap"], ours["half a person"])
        faster = theirs["× plain"] / ours["× plain"]
        lines.append(
            f"{name}: training gap {ours['train gap']:.2f} (at most {limit:.2f}:"
            f" {_mark(ours['train gap'] <= limit)}); test error {ours['test error'] - theirs['test error']:+.2f}"
            f" against ExponentiatedGradient (at most +0.30:"
            f" {_mark(ours['test error'] <= theirs['test error'] + 0.3)});"
            f" {faster:.0f} × faster (at least 10: {_mark(faster >= 10)});"
            f" a true gap of 0 shows as {ours['chance']:.1f} on the test part"
        )
        if name == "adult":
            lines[-1] += f"; {ours['× plain']:.2f} × a plain fit (at most 3: {_mark(ours['× plain'] <= 3)})"
    return lines


def _mark(holds):
    return "met" if holds else "NOT MET"


def markdown(mean):
    """The summary as a table for the docs."""
    head = ["table", "model", "train gap", "test gap", "train error", "test error", "× plain fit", "fits"]
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * 6]
    for (name, model), row in mean.iterrows():
        cells = [f"{row['train gap']:.2f}", f"{row['test gap']:.1f} ± {row['test gap sd']:.1f}"]
        cells += [f"{row['train error']:.2f}", f"{row['test error']:.2f} ± {row['test error sd']:.2f}"]
        cells += [f"{row['× plain']:.1f}", f"{row['fits']:.1f}"]
        lines.append(f"| {name} | {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = start(__doc__, seeds=5)
    parser.add_argument("--tables", default="adult,compas,german,law")
    parser.add_argument("--write", type=Path, help="a page with <!-- tabular --> markers")
    options = parser.parse_args()
    rows = []
    for name, data in tables(options.tables.split(",")):
        for seed in range(options.seeds):
            rows += run_table(name, data, seed)
            print(f"{name}, seed {seed}: done", flush=True)
    mean = summary(pd.DataFrame(rows))
    print("\n" + mean.round(2).to_string() + "\n")
    lines = verdicts(mean)
    print("\n".join(lines))
    if options.write:
        text = markdown(mean) + "\n\n" + "\n".join(f"- {line}" for line in lines)
        write_between(options.write, "tabular", text)


if __name__ == "__main__":
    main()
