"""The paper's theory, checked by running: its lemmas, its theorem, and what the theorem leaves open."""

from reproduction.theory.checks import Check
from reproduction.theory.families import Family, Models, adult_models, random_game, slow_game, smooth_family
from reproduction.theory.findings import Finding
from reproduction.theory.rates import saddle_curves, slopes
from reproduction.theory.study import Study, run_study

__all__ = [
    "Check",
    "Family",
    "Finding",
    "Models",
    "Study",
    "adult_models",
    "random_game",
    "run_study",
    "saddle_curves",
    "slopes",
    "slow_game",
    "smooth_family",
]
