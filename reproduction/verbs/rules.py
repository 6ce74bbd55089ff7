"""The rules that are compared, each with the settings that the validation pictures choose among."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Setting = Mapping[str, float]
EPSILON = 0.05  # the appendix's tolerance of the two Lagrangians
SWEEP: tuple[Setting, ...] = tuple({"eta": eta} for eta in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0))  # three decades
FEW = SWEEP[1:6]  # of which one is chosen
PENALTIES = (0.1, 0.3, 1.0, 3.0)  # half of it times the squares of the weights is added to the loss, on Waterbirds
SWEPT_PENALTY = 1.0  # with every eta of the sweep


@dataclass(frozen=True)
class Rule:
    """How a head is trained.

    Parameters
    ----------
    title : str
        In tables.
    method : str
        By its name on the command line; "" for the fair head of :func:`fairalm.nn.refit_last_layer`.
    settings : tuple of mappings
        What the choice is among; on Waterbirds, each with every penalty.
    tol : float
        The criterion's tolerance; 0 but for the Lagrangians, as in the paper.
    is_heldout : bool
        Whether held-out pictures move the multipliers; only where there are any to spare.
    """

    title: str
    method: str
    settings: tuple[Setting, ...] = ({},)
    tol: float = 0.0
    is_heldout: bool = False


#: The paper's seven, in its order.
SEVEN = {
    "unconstrained": Rule("Unconstrained", "unconstrained"),
    "l2": Rule("l2 penalty", "l2", FEW),
    "reweight": Rule("Reweight", "reweight"),
    "adversarial": Rule("Adversarial", "adversarial", tuple({"alpha": alpha} for alpha in (0.1, 0.3, 1.0, 3.0, 10.0))),
    "lagrangian": Rule("Lagrangian", "lagrangian", FEW, EPSILON),
    "proxy-lagrangian": Rule("Proxy-Lagrangian", "proxy-lagrangian", FEW, EPSILON),
    "fairalm": Rule("FairALM", "fairalm", FEW),
}
#: What Waterbirds has pictures for.
HELDOUT = {
    "lagrangian-heldout": Rule("Lagrangian, held-out", "lagrangian", FEW, EPSILON, True),
    "proxy-lagrangian-heldout": Rule("Proxy-Lagr., held-out", "proxy-lagrangian", FEW, EPSILON, True),
    "fairalm-heldout": Rule("FairALM, held-out", "fairalm", FEW, 0.0, True),
    "fair-head": Rule("fair head, held-out", "", is_heldout=True),
}
RULES = SEVEN | HELDOUT
#: The rules with a dual step, whose size the paper says FairALM minds less.
STEPPED = ("lagrangian", "proxy-lagrangian", "fairalm")
SWEPT = tuple(name for name, rule in RULES.items() if rule.method in STEPPED)
