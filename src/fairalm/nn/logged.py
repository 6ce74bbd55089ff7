"""What a constrained loss has to tell a logger."""

from __future__ import annotations

from torch import Tensor

from fairalm.nn.distributed import n_ranks
from fairalm.nn.loss import ConstrainedLoss


def to_log(criterion: ConstrainedLoss) -> dict[str, Tensor]:
    """Loss, Lagrangian, and every gap and multiplier of the last batch, each one number; empty before the first.

    Under ``torch.distributed`` the loss is this rank's own mean, as other losses log it.

    Examples
    --------
    >>> import torch
    >>> from fairalm import EqualizedOdds, FairALM
    >>> criterion = ConstrainedLoss(
    ...     torch.nn.BCEWithLogitsLoss(reduction="none"), EqualizedOdds(), FairALM(eta=0.1), n_groups=2
    ... )
    >>> value = criterion(torch.zeros(4), torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0, 0, 1, 1]))
    >>> list(to_log(criterion))
    ['loss', 'lagrangian', 'gap_0', 'gap_1', 'dual_0', 'dual_1']
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
