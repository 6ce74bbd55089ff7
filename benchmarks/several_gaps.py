"""Several gaps at once: the dual step that finds a single model within the tolerance.

    python benchmarks/several_gaps.py [--rows 6000]

For several gaps SecantALM uses a fixed step. Here it is compared with other step lengths and with two methods as
written, on training data only. A secant for each gap was tried first: each gap also responds to the multipliers of the
others, so it stalled above the tolerance wherever the fixed step reached it.
"""

from __future__ import annotations

import numpy as np
from common import start

from fairalm import (
    AugmentedLagrangian,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FairALMClassifier,
    InputError,
    Lagrangian,
)
from fairalm.datasets import load, preprocess
from fairalm.methods import SecantALM, secant

PROBLEMS = {
    "adult, sex, equalized odds": ("adult", ("sex",), EqualizedOdds()),
    "adult, race, equal opportunity": ("adult", ("race",), EqualOpportunity()),
    "adult, race, equalized odds": ("adult", ("race",), EqualizedOdds()),
    "adult, sex × race, demographic parity": ("adult", ("sex", "race"), DemographicParity()),
    "compas, equalized odds": ("compas", ("race",), EqualizedOdds()),
    "law, equalized odds": ("law", ("race",), EqualizedOdds()),
}
STEPS = (2.0, 4.0, 8.0)


def fit(X, y, groups, constraint, method):
    model = FairALMClassifier(constraint=constraint, method=method, merge_below=100, max_iter=50, random_state=0)
    model.fit(X, y, sensitive_features=groups)
    mixture = FairALMClassifier(
        constraint=constraint, method=method, merge_below=100, max_iter=50, predictor="mixture", random_state=0
    )
    mixture.fit(X, y, sensitive_features=groups)
    return (
        f"single: error {100 * model.error_:5.2f}, gap {100 * model.gap_:5.2f}, fits {model.n_oracle_calls_:3d};"
        f"  mixture: error {100 * mixture.error_:5.2f}, gap {100 * mixture.gap_:5.2f}"
    )


def main():
    parser = start(__doc__, rows=6000)
    options = parser.parse_args()
    for title, (name, protected, constraint) in PROBLEMS.items():
        try:
            data = load(name).protect(*protected)
        except InputError as error:
            print(f"{title} left out: {error}")
            continue
        rows = np.random.RandomState(0).permutation(len(data.y))[: options.rows]
        X = data.features_frame(with_protected=True).iloc[rows]
        X, y, groups = preprocess(X).fit_transform(X), data.y[rows], data.groups.iloc[rows]
        print(f"\n{title}")
        for step in STEPS:
            secant.SHARED_STEP = step
            mark = " (ours)" if step == 4.0 else ""
            print(f"  step {step:g}{mark}: {fit(X, y, groups, constraint, SecantALM())}", flush=True)
        secant.SHARED_STEP = 4.0
        for method in (Lagrangian(), AugmentedLagrangian()):
            print(f"  {method.name}: {fit(X, y, groups, constraint, method)}", flush=True)


if __name__ == "__main__":
    main()
