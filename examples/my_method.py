"""A method of your own: see docs/how-to/extending.md."""

from dataclasses import dataclass
from typing import ClassVar

from fairalm import Method
from fairalm.methods import Traits
from fairalm.moments import namespace


@dataclass(frozen=True)
class L1Penalty(Method):
    """Penalty eta |d|: the weights are eta C' sign(d)."""

    eta: float = 0.05

    summary: ClassVar[str] = "the absolute gap as a penalty of fixed weight"
    traits: ClassVar[Traits] = Traits(has_dual=False)

    def weights(self, moments, dual):
        """The derivative of the penalty by mu, one number per event and group."""
        xp = namespace(moments.gap)  # numpy, or torch in a training loop on a GPU
        return self.eta * moments.pull(xp.sign(moments.gap))
