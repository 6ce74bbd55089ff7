"""The methods, one per file, and their registry."""

from typing import Literal

from fairalm._validation import by_name
from fairalm.exceptions import InputError
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

Backend = Literal["sklearn", "last-layer", "spark", "nn", "boost"]

#: The method each backend uses if the user names none: the winner of `make bench`, without tuning.
DEFAULT_METHOD: dict[str, type[Method]] = {
    "sklearn": SecantALM,
    "last-layer": SecantALM,
    "spark": SecantALM,
    "nn": PIControl,
    "boost": AugmentedLagrangian,
}


def as_method(which: Method | str | None, backend: Backend) -> Method:
    """A method that the backend can use: as given, by its name, or the backend's default if left out.

    >>> as_method("lagrangian", "sklearn"), as_method(None, "nn")
    (Lagrangian(eta=0.1), PIControl(eta=1.0))
    """
    default = DEFAULT_METHOD[backend]
    method = default() if which is None else by_name("method", which, METHODS)() if isinstance(which, str) else which
    rounds = "mini-batches" if backend in ("nn", "boost") else "full fits"
    if not isinstance(method, Method) or method.traits.only_for not in ("", rounds):
        raise InputError(
            f"`method` must be a Method for {rounds}, such as {default.__name__}(), or the name of one; got {which!r}."
        )
    return method


__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "AugmentedLagrangian",
    "Backend",
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
    "as_method",
]
