"""The methods, one per file, and their registry."""

from fairalm.methods.augmented import AugmentedLagrangian
from fairalm.methods.base import Dual, Method, Traits
from fairalm.methods.fairalm import FairALM, FairALMLinear
from fairalm.methods.l2_penalty import L2Penalty
from fairalm.methods.lagrangian import Lagrangian, ProxyLagrangian
from fairalm.methods.pi_control import PIControl
from fairalm.methods.reweight import Reweight
from fairalm.methods.secant import SecantALM
from fairalm.methods.unconstrained import Unconstrained

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        SecantALM,
        PIControl,
        FairALMLinear,
        FairALM,
        AugmentedLagrangian,
        Lagrangian,
        ProxyLagrangian,
        L2Penalty,
        Reweight,
        Unconstrained,
    )
}

#: The method each backend uses if the user names none: the winner of `make bench`, without tuning.
DEFAULT_METHOD: dict[str, type[Method]] = {"sklearn": SecantALM, "last-layer": SecantALM, "nn": PIControl}

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "AugmentedLagrangian",
    "Dual",
    "FairALM",
    "FairALMLinear",
    "L2Penalty",
    "Lagrangian",
    "Method",
    "PIControl",
    "ProxyLagrangian",
    "Reweight",
    "SecantALM",
    "Traits",
    "Unconstrained",
]
