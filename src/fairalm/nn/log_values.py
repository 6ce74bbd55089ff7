"""The numbers of a constrained loss that are worth logging."""

from __future__ import annotations

from torch import Tensor

from fairalm.nn.distributed import n_ranks
from fairalm.nn.loss import ConstrainedLoss


def log_values(criterion: ConstrainedLoss) -> dict[str, Tensor]:
    """Loss, Lagrangian, and every gap and multiplier of the last batch, as numbers; empty before the first batch.

    Under ``torch.distributed`` the loss is the mean over this rank's rows, as for other losses.
    """
    last = criterion.last
    if last is None:
        return {}
    own = last.loss * n_ranks()  # the criterion's is this rank's share of the mean over all ranks
    logged = {"loss": own, "lagrangian": last.lagrangian - last.loss + own}
    for name, values in (("gap", last.gap.flatten()), ("dual", last.dual.flatten())):
        alone = len(values) == 1
        logged |= {name if alone else f"{name}_{i}": value for i, value in enumerate(values)}
    return logged
