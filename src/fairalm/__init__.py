"""fairalm: fair models with an augmented Lagrangian.

Name the protected attribute, keep your model, and get one model that meets the criterion, with numbers
you can defend.
"""

from fairalm.constraints import (
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorParity,
    PredictiveEquality,
    PredictiveParity,
)
from fairalm.exceptions import (
    ConstantModelWarning,
    FairALMWarning,
    InputError,
    SmallCellWarning,
    ToleranceWarning,
)
from fairalm.methods import (
    AugmentedLagrangian,
    FairALM,
    FairALMLinear,
    L2Penalty,
    Lagrangian,
    Method,
    PIControl,
    ProxyLagrangian,
    Reweight,
    SecantALM,
    Unconstrained,
)
from fairalm.models_io import load, save
from fairalm.selection import nvp, pareto_front, select_nvp
from fairalm.sklearn import FairALMClassifier

__version__ = "0.1.0.dev0"

__all__ = [
    "AugmentedLagrangian",
    "ConstantModelWarning",
    "Constraint",
    "DemographicParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "ErrorParity",
    "FairALM",
    "FairALMClassifier",
    "FairALMLinear",
    "FairALMWarning",
    "InputError",
    "L2Penalty",
    "Lagrangian",
    "Method",
    "PIControl",
    "PredictiveEquality",
    "PredictiveParity",
    "ProxyLagrangian",
    "Reweight",
    "SecantALM",
    "SmallCellWarning",
    "ToleranceWarning",
    "Unconstrained",
    "__version__",
    "load",
    "nvp",
    "pareto_front",
    "save",
    "select_nvp",
]
