"""Where the first step and the aim of SecantALM come from: how many fits it takes to close one gap.

    python benchmarks/first_step.py [--seeds 3] [--rows 8000]

Counts fits and reports training gap and error on training parts of the four tables, under three constraints. No test
part is used. `benchmarks/speed.py` reports on the same tables, so "untuned" there means that nothing was chosen per
table.
"""

from __future__ import annotations

import pandas as pd
from common import samples, start

from fairalm import DemographicParity, EqualOpportunity, FairALMClassifier, PredictiveEquality
from fairalm.datasets import preprocess, split
from fairalm.methods import secant

STEPS, AIMS = (3.0, 4.0, 6.0, 8.0), (0.0025, 0.005, 0.0075)
CONSTRAINTS = (EqualOpportunity(), DemographicParity(), PredictiveEquality())


def problems(seeds, rows):
    for _, seed, X, y, s in samples(seeds, rows):
        train, _ = split(y, s, test_size=0.3, random_state=seed)
        yield preprocess(X).fit_transform(X.iloc[train]), y[train], s[train]


def main():
    options = start(__doc__, seeds=3, rows=8000).parse_args()
    tables = list(problems(options.seeds, options.rows))
    rows = []
    for step in STEPS:
        for aim in AIMS:
            secant.FIRST_STEP, secant.INSIDE = step, aim
            for constraint in CONSTRAINTS:
                for X, y, s in tables:
                    model = FairALMClassifier(constraint=constraint, dual_signal="train").fit(
                        X, y, sensitive_features=s
                    )
                    figures = {"fits": model.n_oracle_calls_, "gap": 100 * model.gap_, "error": 100 * model.error_}
                    rows.append({"first step": step, "inside": aim, **figures})
    print(pd.DataFrame(rows).groupby(["first step", "inside"]).mean().round(2).to_string())


if __name__ == "__main__":
    main()
