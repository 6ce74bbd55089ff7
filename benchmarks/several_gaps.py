"""Several gaps at once: the dual step that finds a single model within the tolerance, on training data only.

    python benchmarks/several_gaps.py [--rows 6000]

SecantALM gives each gap a step of its own, which doubles while the gap persists and halves when it changes sign. Here
it is compared with other first steps, with the fixed step that it replaced, and with two methods as written. Anderson
acceleration and a Broyden step with a trust region were tried in scripts that are not kept, on Adult and on tables of
the American Community Survey: the first was about as good on some problems and worse on others, the second worse.
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
from fairalm.methods.base import Dual, Method, Traits, soft

PROBLEMS = {
    "adult, sex, equalized odds": ("adult", ("sex",), EqualizedOdds()),
    "adult, race, equal opportunity": ("adult", ("race",), EqualOpportunity()),
    "adult, race, equalized odds": ("adult", ("race",), EqualizedOdds()),
    "adult, sex × race, demographic parity": ("adult", ("sex", "race"), DemographicParity()),
    "compas, equalized odds": ("compas", ("race",), EqualizedOdds()),
    "law, equalized odds": ("law", ("race",), EqualizedOdds()),
}
STEPS = (2.0, 4.0, 8.0)


class FixedStep(Method):
    """Weights C'lambda; lambda ← soft(lambda + eta d, eta tol / 2), eta = 4 / sqrt(t) in plain weights."""

    traits = Traits(only_for="full fits")

    def weights(self, moments, dual):
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments, dual):
        """The fixed step."""
        eta = 4.0 / np.sqrt(dual.t) * moments.row_share
        return Dual(soft(dual.value + eta * moments.gap, eta * dual.tol / 2), dual.tol, dual.t)


def fit(X, y, groups, constraint, method):
    figures = []
    for predictor in ("single", "mixture"):
        settings = {"constraint": constraint, "method": method, "predictor": predictor, "dual_signal": "train"}
        model = FairALMClassifier(**settings, merge_below=100, random_state=0).fit(X, y, sensitive_features=groups)
        error, gap, fits = 100 * model.error_, 100 * model.gap_, model.n_oracle_calls_
        figures.append(f"{predictor}: error {error:5.2f}, gap {gap:5.2f}, fits {fits:3d}")
    return ";  ".join(figures)


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
        for method in (FixedStep(), Lagrangian(), AugmentedLagrangian()):
            print(f"  {method.name}: {fit(X, y, groups, constraint, method)}", flush=True)


if __name__ == "__main__":
    main()
