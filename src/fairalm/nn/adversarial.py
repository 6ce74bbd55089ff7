"""Adversarial debiasing: a second network predicts the group from the net's output, and the net learns to prevent that.

Zhang, Lemoine and Mitchell, "Mitigating unwanted biases with adversarial learning", 2018: the paper's baseline
"adversarial". It trains a second network, so it is not a `Method`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fairalm.constraints import Constraint, DemographicParity, EqualizedOdds, EqualOpportunity, PredictiveEquality
from fairalm.exceptions import InputError
from fairalm.nn.batch import check_groups, check_shapes
from fairalm.nn.checks import check_count, check_positive
from fairalm.nn.distributed import n_ranks, sum_over_ranks
from fairalm.nn.surrogates import target_margin

SUPPORTED = (DemographicParity, EqualOpportunity, PredictiveEquality, EqualizedOdds)


class LinearAdversary(nn.Module):
    """The 2018 paper's: linear in s = sigmoid((1 + |c|) margin), and in s y and s (1 - y) if it sees the label y.

    All weights start at 0, so the order of the groups does not matter and no random number is drawn.
    """

    def __init__(self, n_groups: int, *, sees_label: bool) -> None:
        super().__init__()
        self.c = nn.Parameter(torch.ones(()))  # not 0, where the gradient of |c| is 0
        self.weight = nn.Parameter(torch.zeros(n_groups, 3 if sees_label else 1))
        self.bias = nn.Parameter(torch.zeros(n_groups))

    def forward(self, seen: Tensor) -> Tensor:
        """Logits of the groups, from each row's margin, or margin and label."""
        s = torch.sigmoid((1 + self.c.abs()) * seen[:, :1])
        label = seen[:, 1:]
        columns = torch.cat([s, s * label, s * (1 - label)], dim=1) if label.shape[1] else s
        return nn.functional.linear(columns, self.weight, self.bias)


class Adversarial(nn.Module):
    """Trains an adversary beside your net and computes the net's gradients: ``g - proj_h(g) - alpha h``.

    g is the gradient of your loss, h that of the adversary's cross-entropy, both by all of the net's parameters
    together. The adversary sees the margin of the target: for all rows (`DemographicParity`), for the rows of the
    constraint's event (`EqualOpportunity`, `PredictiveEquality`), or with the label (`EqualizedOdds`).

    In a :class:`Trainer`, pass it as ``backward=``. In a loop of your own under ``torch.distributed``, start every rank
    from the same parameters and do not wrap the net in DistributedDataParallel: both gradients are summed over the
    ranks here, before the projection. Do not scale the loss (``GradScaler``): the scale would divide alpha.

    Parameters
    ----------
    constraint : Constraint
        One of the four above; its `target` is a class index, 1 if left out; its `tol` is not used.
    n_groups : int
        Groups are integers 0..n_groups-1.
    alpha : float
        Weight of the adversary's gradient; may be changed between steps.
    lr : float
        Learning rate of the adversary, trained by Adam without momentum. It should learn faster than the net.
    adversary : torch.nn.Module, optional
        Takes a tensor of shape (n, 1), the margin, or (n, 2), margin and label, and returns (n, n_groups) logits;
        by default :class:`LinearAdversary`.

    Attributes
    ----------
    last : Tensor or None
        The adversary's mean loss on its last batch; log(n_groups) is that of a random guess.

    Examples
    --------
    >>> from fairalm import DemographicParity
    >>> model, adversary = nn.Linear(3, 1), Adversarial(DemographicParity(), n_groups=2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> x, y, group = torch.randn(8, 3), torch.tensor([0.0, 1.0] * 4), torch.tensor([0, 0, 1, 1] * 2)
    >>> logits = model(x)[:, 0]
    >>> loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    >>> adversary.backward(loss, logits, y, group, model.parameters())  # in place of loss.backward()
    >>> optimizer.step()
    >>> print(f"{adversary.last:.3f}")
    0.693
    """

    def __init__(
        self,
        constraint: Constraint,
        *,
        n_groups: int,
        alpha: float = 1.0,
        lr: float = 0.1,
        adversary: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(constraint, SUPPORTED):
            supported = ", ".join(kind.__name__ for kind in SUPPORTED)
            raise InputError(f"Adversarial supports {supported}; got {constraint!r}: use ConstrainedLoss for others.")
        check_count("n_groups", n_groups, 2)
        if not 0 <= alpha < float("inf"):
            raise InputError(f"`alpha` must be 0 or more; got {alpha!r}.")
        check_positive("lr", lr)
        if adversary is not None and (not isinstance(adversary, nn.Module) or not _trainable(adversary)):
            raise InputError(f"`adversary` must be a network with parameters to train; got {adversary!r}.")
        self.constraint, self.n_groups, self.alpha = constraint, n_groups, alpha
        self.target = 1 if constraint.target is None else int(constraint.target)
        self.sees_label = isinstance(constraint, EqualizedOdds)
        self.adversary = LinearAdversary(n_groups, sees_label=self.sees_label) if adversary is None else adversary
        # without momentum, which makes the gap oscillate around 0
        self.optimizer = torch.optim.Adam(self.adversary.parameters(), lr=lr, betas=(0.0, 0.999))
        self.last: Tensor | None = None

    def backward(
        self, loss: Tensor, logits: Tensor, y: Tensor, group: Tensor, parameters: Iterable[nn.Parameter]
    ) -> None:
        """Add the net's gradients to ``.grad`` and take one step of the adversary, both from the same outputs.

        `loss` is the mean of your loss of the `logits`, neither detached; `parameters` are those of your optimiser, of
        which the adversary's own are skipped.
        """
        own = _trainable(self.adversary)
        ids = {id(parameter) for parameter in self.adversary.parameters()}
        net = [parameter for parameter in parameters if parameter.requires_grad and id(parameter) not in ids]
        self._check(loss, logits, y, group, net)
        guess = self._loss(logits, y, group)
        theirs: Sequence[Tensor | None] = [None] * len(own + net)
        if guess is not None:
            theirs = torch.autograd.grad(guess, own + net, retain_graph=True, allow_unused=True)
        ours = torch.autograd.grad(loss / n_ranks(), net, allow_unused=True)
        if all(gradient is None for gradient in ours):
            raise InputError("None of `parameters` takes part in the loss: pass those of the net that made the logits.")
        summed = sum_over_ranks(*_filled([*theirs, *ours], own + net + net))
        steps, h, g = summed[: len(own)], summed[len(own) : -len(net)], summed[-len(net) :]
        for parameter, gradient in zip(net, self._combine(g, h), strict=True):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        if guess is not None:
            for parameter, gradient in zip(own, steps, strict=True):
                parameter.grad = gradient
            self.optimizer.step()
            self.optimizer.zero_grad()  # the net's optimiser, if it holds these parameters too, must not step them

    def get_extra_state(self) -> dict[str, Any]:
        """The adversary's optimiser."""
        return {"optimizer": self.optimizer.state_dict()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Restore the adversary's optimiser."""
        self.optimizer.load_state_dict(state["optimizer"])

    def _combine(self, g: Sequence[Tensor], h: Sequence[Tensor]) -> list[Tensor]:
        """The update g - proj_h(g) - alpha h, with one coefficient for all parameters; g where h is 0."""
        along, length = _dot(g, h), _dot(h, h)
        share = torch.where(length > 0, along / torch.where(length > 0, length, 1.0), 0.0)
        return [a - ((share + self.alpha) * b).to(a.dtype) for a, b in zip(g, h, strict=True)]

    def _loss(self, logits: Tensor, y: Tensor, group: Tensor) -> Tensor | None:
        """The adversary's mean loss over the rows of all ranks, this rank's part of it; None without rows."""
        margin, positive = target_margin(logits, self.target), y.reshape(-1) == self.target
        seen = torch.stack([margin, positive.to(margin.dtype)], dim=1) if self.sees_label else margin[:, None]
        rows = torch.ones_like(positive)
        if isinstance(self.constraint, EqualOpportunity):
            rows = positive
        elif isinstance(self.constraint, PredictiveEquality):
            rows = ~positive
        (n,) = sum_over_ranks(rows.sum())
        if n == 0:
            return None
        seen = seen[rows]
        guess = self.adversary(seen)
        if guess.shape != (len(seen), self.n_groups):
            got = f"The adversary returned {tuple(guess.shape)} for {len(seen)} rows"
            raise InputError(f"{got}: it must return one logit for each of the {self.n_groups} groups.")
        loss: Tensor = nn.functional.cross_entropy(guess, group[rows].long(), reduction="sum") / n
        (self.last,) = sum_over_ranks(loss.detach())
        return loss

    def _check(self, loss: Tensor, logits: Tensor, y: Tensor, group: Tensor, net: list[nn.Parameter]) -> None:
        check_shapes(logits, y, group, n_groups=self.n_groups, target=self.target)
        check_groups(group, self.n_groups)
        if loss.ndim:
            raise InputError(f"loss must be one number; got {tuple(loss.shape)}: take the mean.")
        for name, value in (("loss", loss), ("logits", logits)):
            if not value.requires_grad:
                raise InputError(f"{name} carries no gradient: pass it as the net returned it, not detached.")
            if not bool(value.isfinite().all()):
                raise InputError(f"{name} is not finite: the net has diverged, or its input has NaN.")
        if not net:
            raise InputError("`parameters` is empty: pass model.parameters(), anew for each batch.")


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def _filled(gradients: Sequence[Tensor | None], parameters: Sequence[Tensor]) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for g, p in zip(gradients, parameters, strict=True)]


def _dot(left: Sequence[Tensor], right: Sequence[Tensor]) -> Tensor:
    """The inner product over all tensors together, summed in float32 or better."""
    total = torch.zeros((), device=left[0].device)
    for a, b in zip(left, right, strict=True):
        precise = torch.promote_types(a.dtype, torch.float32)
        total = total + (a.to(precise) * b.to(precise)).sum()
    return total
