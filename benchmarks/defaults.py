"""Where the default `eta` of each rule comes from: a sweep on validation data of the four tables.

    python benchmarks/defaults.py [--seeds 3] [--rows 8000]

For each rule and eta: error plus the gap beyond the tolerance (the price at multiplier 1), on a validation part that
was not fitted, averaged over tables and seeds. The test part is not touched. The default is the eta with the smallest
mean.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import start
from sklearn.linear_model import LogisticRegression

from fairalm import EqualOpportunity, FairALMClassifier, InputError
from fairalm.datasets import load, names, preprocess, split
from fairalm.methods import METHODS

GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
RULES = ("fairalm-linear", "fairalm", "augmented", "lagrangian", "proxy-lagrangian", "l2")
TOL = 0.01


def problems(seeds, rows):
    """Train and validation parts; the third part stays unseen."""
    for name in names():
        for seed in range(seeds):
            try:
                data = load(name)
            except InputError as error:
                print(f"{name} left out: {error}")
                break
            chosen = np.random.RandomState(seed).permutation(len(data.y))[:rows]
            X, y = data.features_frame(with_protected=True).iloc[chosen], data.y[chosen]
            s = data.groups.to_numpy()[chosen]
            rest, _ = split(y, s, test_size=0.3, random_state=seed)
            fit, valid = split(y[rest], s[rest], test_size=0.4, random_state=seed)
            fit, valid = rest[fit], rest[valid]
            table = preprocess(X.iloc[fit]).fit(X.iloc[fit])
            parts = [(table.transform(X.iloc[i]), y[i], s[i]) for i in (fit, valid)]
            yield name, seed, parts


def cost(model, part):
    X, y, s = part
    wrong = model.predict(X) != y
    rates = [wrong[(y == 1) & (s == g)].mean() for g in np.unique(s)]
    return wrong.mean() + max(0.0, abs(rates[0] - rates[1]) - TOL)


def main():
    parser = start(__doc__, seeds=3, rows=8000)
    options = parser.parse_args()
    rows = []
    for name, seed, (fit, valid) in problems(options.seeds, options.rows):
        settings = [(rule, eta, METHODS[rule](eta=eta)) for rule in RULES for eta in GRID]
        settings += [(rule, np.nan, METHODS[rule]()) for rule in ("secant", "reweight", "unconstrained")]
        for rule, eta, method in settings:
            model = FairALMClassifier(
                LogisticRegression(max_iter=1000), constraint=EqualOpportunity(tol=TOL), method=method
            ).fit(fit[0], fit[1], sensitive_features=fit[2])
            rows.append(
                {"table": name, "rule": rule, "eta": eta, "cost": cost(model, valid), "fits": model.n_oracle_calls_}
            )
        print(f"{name}, seed {seed}: done", flush=True)
    runs = pd.DataFrame(rows)
    runs["cost"] *= 100
    swept, fixed = runs[runs["eta"].notna()], runs[runs["eta"].isna()]
    table = swept.pivot_table(index="rule", columns="eta", values="cost", sort=False)
    print("\nmean cost in points\n" + table.round(2).to_string())
    print("\nrules without eta\n" + fixed.groupby("rule", sort=False)["cost"].mean().round(2).to_string())
    by_table = runs.fillna({"eta": "-"}).pivot_table(index=["rule", "eta"], columns="table", values="cost", sort=False)
    print("\nby table\n" + by_table.round(2).to_string())
    for rule in RULES:
        print(f"{rule}: eta = {table.loc[rule].idxmin()}")


if __name__ == "__main__":
    main()
