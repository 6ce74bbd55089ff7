"""A loss that carries a fairness criterion: swap it in, pass the group, train as before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.methods import Dual, Method, SecantALM
from fairalm.nn.cell_sums import cell_sums, moments_of
from fairalm.nn.distributed import everyone, n_ranks
from fairalm.nn.surrogates import find_surrogate, target_margin

DualFrom = Literal["forward", "observe"]


@dataclass(frozen=True)
class Last:
    """What the last batch looked like, detached: to log, not to back-propagate.

    Under ``torch.distributed`` the gaps are those of all ranks, the loss is this rank's part of the mean.
    """

    loss: Tensor
    gap: Tensor
    dual: Tensor
    lagrangian: Tensor


class ConstrainedLoss(nn.Module):
    """A per-sample loss plus the rule's answer to the criterion.

    The scalar's gradient is that of mean loss plus penalty; its value is not the penalty's (see :attr:`last`). Call
    :meth:`step` after each optimiser step, or :meth:`attach` the optimiser once. Under ``torch.distributed`` the cells
    are summed over all ranks, one all-reduce a batch, and every rank holds the same multipliers.

    Parameters
    ----------
    loss : callable
        Per-sample loss of (logits, y), for example ``nn.CrossEntropyLoss(reduction="none")``.
    constraint : Constraint
        The criterion; its `target` is a class index, 1 if left out.
    method : Method
        The rule. Not `SecantALM`, which needs full fits.
    n_groups : int
        Groups are integers 0..n_groups-1.
    surrogate : {"sigmoid", "log", "hinge"}
        What the criterion's means are taken of. "sigmoid" lies between 0 and 1 like the error.
    window : int
        0: means of the batch at hand. Else the sums and counts of the last steps, each step weighing (1 - 1/window)
        times the next; a ratio of sums is less noisy, and less biased, than a mean of ratios.
    dual_from : {"forward", "observe"}
        Which batches move the multipliers: those of the primal step, or only those passed to :meth:`observe`
        (held-out data, or the same batch after the primal step, which is Algorithm 2 as written).
    validate : bool
        Check every batch for NaN and groups out of range also where that costs a device sync. On the CPU it is always
        done; elsewhere, on the first batch.

    Examples
    --------
    >>> from fairalm import EqualOpportunity, FairALM
    >>> model = nn.Linear(3, 2)
    >>> criterion = ConstrainedLoss(
    ...     nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), FairALM(eta=0.1), n_groups=2
    ... )
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> handle = criterion.attach(optimizer)
    >>> x, y, group = torch.randn(8, 3), torch.tensor([0, 1] * 4), torch.tensor([0, 0, 1, 1] * 2)
    >>> criterion(model(x), y, group).backward()
    >>> optimizer.step()
    >>> criterion.dual.shape
    torch.Size([1, 1])
    """

    dual: Tensor
    primal_sums: Tensor
    primal_total: Tensor
    dual_sums: Tensor
    dual_total: Tensor

    def __init__(
        self,
        loss: Any,
        constraint: Constraint,
        method: Method,
        *,
        n_groups: int,
        surrogate: str = "sigmoid",
        window: int = 0,
        dual_from: DualFrom = "forward",
        validate: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(method, SecantALM) or not isinstance(method, Method):
            raise InputError(
                f"`method` must be a rule for mini-batches, such as AugmentedLagrangian(); got {method!r}."
            )
        if n_groups < 2:
            raise InputError(f"`n_groups` must be 2 or more; got {n_groups!r}.")
        if window < 0:
            raise InputError(f"`window` must be 0 or more steps; got {window!r}.")
        if dual_from not in ("forward", "observe"):
            raise InputError(f"`dual_from` must be 'forward' or 'observe'; got {dual_from!r}.")
        self.loss, self.constraint, self.method = loss, constraint, method
        self.n_groups, self.window, self.dual_from, self.validate = n_groups, window, dual_from, validate
        self.target = 1 if constraint.target is None else int(constraint.target)
        self.surrogate = find_surrogate(surrogate)
        self.last: Last | None = None
        self.t = 1
        self._checked = self._has_news = False
        blank = cell_sums(self.constraint.events(torch.zeros(1, dtype=torch.bool)), *self._nobody(), n_groups)
        self.register_buffer("dual", method.start(moments_of(blank, 1), constraint.tol).value)
        for name in ("primal", "dual"):
            self.register_buffer(f"{name}_sums", torch.zeros_like(blank))
            self.register_buffer(f"{name}_total", torch.zeros(()))

    @staticmethod
    def _nobody() -> tuple[Tensor, Tensor]:
        return torch.zeros(1), torch.zeros(1, dtype=torch.long)

    def forward(self, logits: Tensor, y: Tensor, group: Tensor) -> Tensor:
        """The scalar to back-propagate.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1) or (n, classes)
        y : tensor
            Labels as `loss` takes them.
        group : integer tensor of shape (n,)
        """
        self._check(logits, y, group)
        each = self.loss(logits, y)
        if each.numel() != len(logits):
            raise InputError(
                f"The loss gave {tuple(each.shape)} for {len(logits)} rows: it must give one number per row"
                ' (reduction="none").'
            )
        soft, signal = self._sums(logits, y, group)
        batch_soft, signal, n = everyone(soft.detach(), signal, len(logits))
        seen, total = batch_soft, n
        if self.window:
            seen, total = self.primal_sums + batch_soft, self.primal_total + n
        if self.training:
            self._feed(batch_soft, signal, n)
        moments = moments_of(seen, total)
        weights = self.method.weights(moments, self._state()).detach()
        # (top - mu bottom) / count has the gradient of the cell's mean at mu, also where the count depends on the loss
        present = moments.counts > 0
        count = torch.where(present, moments.counts * (n / total), 1.0)
        moved = torch.where(present, (soft[0] - moments.mu * soft[1]) / count, 0.0)
        mean = each.sum() / n
        gap, dual = moments.gap, self.method.multiplier(self._state())
        self.last = Last(mean.detach(), gap, dual.detach().clone(), mean.detach() + (dual * gap).sum())
        scalar: Tensor = n_ranks() * (mean + (weights * moved).sum())  # DDP will average the gradients of the ranks
        return scalar

    @torch.no_grad()
    def observe(self, logits: Tensor, y: Tensor, group: Tensor) -> None:
        """Feed a batch to the next dual step and to nothing else."""
        self._check(logits, y, group)
        _, signal, n = everyone(*self._sums(logits, y, group), len(logits))
        self.dual_sums += signal
        self.dual_total += n
        self._has_news = True

    @torch.no_grad()
    def step(self) -> None:
        """The dual step, from everything fed since the last one."""
        if not self._has_news:
            fed = "forward() in training mode" if self.dual_from == "forward" else "observe()"
            raise InputError(f"step() has nothing to go by: call {fed} first.")
        after = self.method.update(moments_of(self.dual_sums, self.dual_total), self._state())
        self.dual.copy_(after.value)
        self.t = after.t
        keep = 1.0 - 1.0 / self.window if self.window else 0.0
        for kept in (self.primal_sums, self.primal_total, self.dual_sums, self.dual_total):
            kept.mul_(keep)
        self._has_news = False

    def attach(self, optimizer: torch.optim.Optimizer) -> Any:
        """Make the dual step after every step of the optimiser; returns a handle whose ``remove()`` undoes it."""
        return optimizer.register_step_post_hook(lambda *_: self.step())

    def get_extra_state(self) -> dict[str, int]:
        """The round, which schedules of eta go by."""
        return {"t": self.t}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Take the round up again."""
        self.t = int(state["t"])

    def _state(self) -> Dual:
        return Dual(self.dual, self.constraint.tol, self.t)

    def _feed(self, soft: Tensor, signal: Tensor, n: Tensor) -> None:
        with torch.no_grad():
            if self.window:
                self.primal_sums += soft
                self.primal_total += n
            if self.dual_from == "forward":
                self.dual_sums += signal
                self.dual_total += n
                self._has_news = True

    def _sums(self, logits: Tensor, y: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        """Cell sums of the surrogate, differentiable, and of what moves the multipliers: the same, or 0/1 errors."""
        positive = y.reshape(-1) == self.target
        margin = target_margin(logits, self.target)
        right = torch.where(positive, margin, -margin)
        events = self.constraint.events(positive)
        soft = cell_sums(events, self.surrogate(right), group, self.n_groups)
        if not self.method.strict_dual:
            return soft, soft.detach()
        with torch.no_grad():
            wrong = (positive != (margin > 0)).to(soft.dtype)
            return soft, cell_sums(events, wrong, group, self.n_groups)

    def _check(self, logits: Tensor, y: Tensor, group: Tensor) -> None:
        n = len(logits) if logits.ndim else 0
        if logits.ndim not in (1, 2) or n == 0:
            raise InputError(f"logits must have shape (n,) or (n, classes), n > 0; got {tuple(logits.shape)}.")
        if y.numel() != n or group.shape != (n,):
            raise InputError(
                f"logits has {n} rows, y {tuple(y.shape)}, group {tuple(group.shape)}: pass one label and one group"
                " per row."
            )
        if group.is_floating_point() or group.dtype == torch.bool:
            raise InputError(f"group must hold integers 0..{self.n_groups - 1}; got {group.dtype}.")
        classes = logits.shape[1] if logits.ndim == 2 and logits.shape[1] > 1 else 2
        if not 0 <= self.target < classes:
            raise InputError(f"The target is class {self.target}, but logits have {classes} classes.")
        if logits.device.type == "cpu" or self.validate or not self._checked:
            if bool(logits.isnan().any()):
                raise InputError(
                    f"logits has {int(logits.isnan().sum())} NaN: the net has diverged, or its input has NaN."
                )
            if bool(((group < 0) | (group >= self.n_groups)).any()):
                raise InputError(
                    f"group must lie in 0..{self.n_groups - 1} (n_groups={self.n_groups}); got"
                    f" {int(group.min())}..{int(group.max())}."
                )
            if bool(((y < 0) | (y >= classes)).any()):
                raise InputError(f"y must lie in 0..{classes - 1}; got {float(y.min()):g}..{float(y.max()):g}.")
            self._checked = True
