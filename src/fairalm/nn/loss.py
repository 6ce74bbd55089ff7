"""A loss that carries a fairness criterion: swap it in, pass the group, train as before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.methods import DEFAULT_METHOD, Dual, Method
from fairalm.moments import Array, Moments
from fairalm.nn.batch import Rows, check_shapes
from fairalm.nn.distributed import everyone, n_ranks
from fairalm.nn.label_cells import LabelCells, label_sums
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
    method : Method, optional
        The rule; :class:`fairalm.PIControl` if left out, which needs no tuning. Not `SecantALM`: it is for full fits.
    n_groups : int
        Groups are integers 0..n_groups-1.
    surrogate : {"sigmoid", "log", "hinge"}
        What the criterion's means are taken of. "sigmoid" lies between 0 and 1 like the error.
    window : int, optional
        0: means of the batch at hand, as the paper has it. Else the sums and counts of the last steps, each step
        weighing (1 - 1/window) times the next; a ratio of sums is less noisy, and less biased, than a mean of ratios.
        If left out, the rule's own choice: 20 for the default, 0 for the paper's rules.
    dual_from : {"forward", "observe"}
        Which batches move the multipliers: those of the primal step, or only those passed to :meth:`observe`
        (held-out data, or the same batch after the primal step, which is Algorithm 2 as written).
    validate : bool
        Check every batch for NaN and groups out of range also where that costs a device sync. On the CPU it is always
        done; elsewhere, on the first batch.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> model = nn.Linear(3, 2)
    >>> criterion = ConstrainedLoss(
    ...     nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), n_groups=2
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
    dual_sums: Tensor

    def __init__(
        self,
        loss: Any,
        constraint: Constraint,
        method: Method | None = None,
        *,
        n_groups: int,
        surrogate: str = "sigmoid",
        window: int | None = None,
        dual_from: DualFrom = "forward",
        validate: bool = False,
    ) -> None:
        super().__init__()
        method = DEFAULT_METHOD["nn"]() if method is None else method
        if not isinstance(method, Method) or method.only_for == "full fits":
            raise InputError(f"`method` must be a rule for mini-batches, such as PIControl(); got {method!r}.")
        window = method.window if window is None else window
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
        self._cells = {"host": LabelCells.of(constraint)}
        self._live = _Live()
        self._needs_means = not (method.weights_are_multipliers and self._cells["host"].is_fixed)
        nobody = np.zeros((4, n_groups), dtype=np.float32)
        start = method.start(self._cells["host"].moments(nobody), constraint.tol)
        self._memory = [f"memory_{i}" for i in range(len(start.memory))]
        for name, value in zip(self._memory, start.memory, strict=True):
            self.register_buffer(name, torch.as_tensor(value).clone())
        self.register_buffer("dual", torch.as_tensor(start.value).clone())
        self.register_buffer("primal_sums", torch.tensor(nobody))
        self.register_buffer("dual_sums", torch.tensor(nobody))

    @property
    def t(self) -> int:
        """The round to come, from 1."""
        return self._live.t

    @property
    def last(self) -> Last | None:
        """The last batch; None before the first."""
        if self._live.batch is None:
            return None
        loss, moments, multiplier = self._live.batch
        gap, dual = torch.as_tensor(moments.gap), torch.as_tensor(multiplier)
        return Last(loss, gap, dual, loss + (dual * gap).sum())

    def forward(self, logits: Tensor, y: Tensor, group: Tensor) -> Tensor:
        """The scalar to back-propagate.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1) or (n, classes)
        y : tensor
            Labels as `loss` takes them.
        group : integer tensor of shape (n,)
        """
        host = _on_host(logits)
        margin, rows = self._rows(logits, y, group, host)
        each = self.loss(logits, y).reshape(-1)
        if len(each) != len(margin):
            raise InputError(
                f"The loss gave {len(each)} numbers for {len(margin)} rows: it must give one number per row"
                ' (reduction="none").'
            )
        ranks = n_ranks()
        batch, signal = everyone(*self._sums(rows), ranks)
        seen = batch
        if self.window:
            kept = self._array("primal_sums", host)
            seen = kept + batch
            if self.training:
                kept += batch
        if self.training and self.dual_from == "forward":
            self._feed(signal, host)
        cells, state = self._find_cells(host), self._state(host)
        moments = cells.moments(seen)
        n = len(margin) if ranks == 1 else batch[2:].sum()
        spread = cells.spread(self.method.weights(moments, state), moments, n)
        pull = rows.slope * spread.T.reshape(-1)[rows.code]  # the penalty's gradient by the margins
        mean = torch.dot(each, self._live.shares(each)) if host and ranks == 1 else each.sum() / n
        self._live.batch = mean.detach(), moments, self.method.multiplier(state) + 0.0
        scalar: Tensor = mean + torch.dot(margin, torch.as_tensor(pull))
        return scalar if ranks == 1 else ranks * scalar  # DDP will average the gradients of the ranks

    @torch.no_grad()
    def observe(self, logits: Tensor, y: Tensor, group: Tensor) -> None:
        """Feed a batch to the next dual step and to nothing else."""
        host = _on_host(logits)
        _, rows = self._rows(logits, y, group, host)
        self._feed(everyone(*self._sums(rows), n_ranks())[1], host)

    def step(self) -> None:
        """The dual step, from everything fed since the last one."""
        if not self._live.has_news:
            fed = "forward() in training mode" if self.dual_from == "forward" else "observe()"
            raise InputError(f"step() has nothing to go by: call {fed} first.")
        host = _on_host(self.dual)
        sums, state = self._array("dual_sums", host), self._state(host)
        after = self.method.update(self._find_cells(host).moments(sums), state)
        state.value[...] = after.value
        for kept, new in zip(state.memory, after.memory, strict=True):
            kept[...] = new
        keep = 1.0 - 1.0 / self.window if self.window else 0.0
        sums *= keep
        if self.window:
            primal = self._array("primal_sums", host)
            primal *= keep
        self._live.t, self._live.has_news = after.t, False

    def attach(self, optimizer: torch.optim.Optimizer) -> Any:
        """Make the dual step after every step of the optimiser; returns a handle whose ``remove()`` undoes it."""
        return optimizer.register_step_post_hook(lambda *_: self.step())

    def get_extra_state(self) -> dict[str, int]:
        """The round, which schedules of eta go by, and whether a dual step is due."""
        return {"t": self._live.t, "has_news": int(self._live.has_news)}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Take the round up again."""
        self._live.t, self._live.has_news = int(state["t"]), bool(state["has_news"])

    def _array(self, name: str, host: bool) -> Array:
        """A buffer, to be changed in place."""
        tensor: Any = self._buffers[name]
        return tensor.numpy() if host else tensor

    def _find_cells(self, host: bool) -> LabelCells:
        where = "host" if host else str(self.dual.device)
        if where not in self._cells:
            self._cells[where] = self._cells["host"].to(self.dual.device)
        return self._cells[where]

    def _state(self, host: bool) -> Dual:
        memory = tuple(self._array(name, host) for name in self._memory)
        return Dual(self._array("dual", host), self.constraint.tol, self._live.t, memory)

    def _rows(self, logits: Tensor, y: Tensor, group: Tensor, host: bool) -> tuple[Tensor, Rows]:
        classes = check_shapes(logits, y, group, self.n_groups)
        if not 0 <= self.target < classes:
            raise InputError(f"The target is class {self.target}, but logits have {classes} classes.")
        if not (host and self.dual.is_cpu) and logits.device != self.dual.device:
            raise InputError(
                f"logits are on {logits.device}, the multipliers on {self.dual.device}: call"
                f" .to({str(logits.device)!r}) on the criterion."
            )
        margin = target_margin(logits, self.target)
        rows = Rows.of(margin, y, group, target=self.target, surrogate=self.surrogate, host=host)
        if host or self.validate or not self._live.is_checked:
            rows.check(classes, self.n_groups)
            self._live.is_checked = True
        return margin, rows

    def _sums(self, rows: Rows) -> tuple[Array, Array]:
        """Sums that the weights are taken at, and those that move the multipliers; of the surrogate or 0/1 errors."""
        if not self.method.strict_dual:
            soft = label_sums(rows.loss, rows.code, self.n_groups)
            return soft, soft
        strict = label_sums(rows.wrong, rows.code, self.n_groups)
        if self._needs_means:
            return label_sums(rows.loss, rows.code, self.n_groups), strict
        return strict, strict

    def _feed(self, signal: Array, host: bool) -> None:
        sums = self._array("dual_sums", host)
        sums += signal
        self._live.has_news = True


@dataclass
class _Live:
    """What changes with every batch and is no tensor; apart from the module, which is slow to set attributes."""

    t: int = 1
    has_news: bool = False
    is_checked: bool = False
    batch: tuple[Tensor, Moments, Array] | None = None
    even: Tensor | None = None

    def shares(self, each: Tensor) -> Tensor:
        """1/n for every row: a dot product with it is a mean at half the price."""
        if self.even is None or self.even.shape != each.shape or self.even.dtype != each.dtype:
            self.even = torch.full_like(each, 1.0 / len(each), requires_grad=False)
        return self.even


def _on_host(tensor: Tensor) -> bool:
    """Whether the tables are numpy's, which on a CPU is several times faster than small tensors."""
    return tensor.is_cpu and not torch.compiler.is_compiling()
