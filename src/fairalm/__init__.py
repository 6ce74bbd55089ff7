"""fairalm: fair models with an augmented Lagrangian.

Name the protected attribute, keep your model, and get one model that meets the constraint, with numbers
you can defend.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# modules are imported when a name is first used; __init__.pyi lists the same names for type checkers and editors
_PUBLIC = {
    "fairalm.constraints": "Constraint DemographicParity EqualOpportunity EqualizedOdds ErrorParity PredictiveEquality"
    " PredictiveParity",
    "fairalm.exceptions": "ConstantModelWarning FairALMWarning InputError LevellingDownWarning"
    " NoBetterThanConstantWarning NoStepWarning OptimalityWarning SmallCellWarning ToleranceWarning",
    "fairalm.methods": "AugmentedLagrangian FairALM FairALMLinear L2Penalty Lagrangian Method PIControl ProxyLagrangian"
    " Reweight SecantALM Unconstrained",
    "fairalm.models_io": "load save",
    "fairalm.selection": "nvp pareto_front select_nvp",
    "fairalm.sklearn": "FairALMClassifier FrontierClassifier",
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'fairalm' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
