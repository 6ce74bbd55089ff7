"""Where the default `eta` of each method comes from: values of eta are compared on validation parts of the four tables.

    python benchmarks/defaults.py [--seeds 3] [--rows 8000]

For each method and eta: error plus the gap beyond the tolerance (its cost at multiplier 1) on a validation part,
averaged over tables and seeds. The test part is not used. The default is the eta with the smallest mean.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import samples, start
from sklearn.linear_model import LogisticRegression

from fairalm import EqualOpportunity, FairALMClassifier
from fairalm.datasets import preprocess, split
from fairalm.methods import METHODS

GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SWEPT = ("fairalm-linear", "fairalm", "augmented", "lagrangian", "proxy-lagrangian", "l2")
TOL = 0.01


def problems(seeds, rows):
    """Training and validation parts; the third part is not used."""
    for name, seed, X, y, s in samples(seeds, rows):
        rest, _ = split(y, s, test_size=0.3, random_state=seed)
        fit, valid = split(y[rest], s[rest], test_size=0.4, random_state=seed)
        fit, valid = rest[fit], rest[valid]
        table = preprocess(X.iloc[fit]).fit(X.iloc[fit])
        yield name, seed, [(table.transform(X.iloc[i]), y[i], s[i]) for i in (fit, valid)]


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
        settings = [(method, eta, METHODS[method](eta=eta)) for method in SWEPT for eta in GRID]
        settings += [(method, np.nan, METHODS[method]()) for method in ("secant", "reweight", "unconstrained")]
        for name_of_method, eta, method in settings:
            model = FairALMClassifier(
                LogisticRegression(max_iter=1000), constraint=EqualOpportunity(tol=TOL), method=method
            ).fit(fit[0], fit[1], sensitive_features=fit[2])
            figures = {"cost": cost(model, valid), "fits": model.n_oracle_calls_}
            rows.append({"table": name, "method": name_of_method, "eta": eta, **figures})
        print(f"{name}, seed {seed}: done", flush=True)
    runs = pd.DataFrame(rows)
    runs["cost"] *= 100
    swept, fixed = runs[runs["eta"].notna()], runs[runs["eta"].isna()]
    table = swept.pivot_table(index="method", columns="eta", values="cost", sort=False)
    print("\nmean cost in points\n" + table.round(2).to_string())
    print("\nmethods without eta\n" + fixed.groupby("method", sort=False)["cost"].mean().round(2).to_string())
    every = runs.fillna({"eta": "-"})
    by_table = every.pivot_table(index=["method", "eta"], columns="table", values="cost", sort=False)
    print("\nby table\n" + by_table.round(2).to_string())
    for method in SWEPT:
        print(f"{method}: eta = {table.loc[method].idxmin()}")


if __name__ == "__main__":
    main()
