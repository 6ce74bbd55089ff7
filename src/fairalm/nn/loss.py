"""A loss that carries a fairness criterion: swap it in, pass the group, train as before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.methods import DEFAULT_METHOD, Dual, Method
from fairalm.moments import Array, Moments
from fairalm.nn.batch import Rows, check_shapes
from fairalm.nn.distributed import n_ranks, sum_over_ranks
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
    sums: Tensor
    held: Tensor

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
        if not isinstance(method, Method) or method.traits.only_for == "full fits":
            raise InputError(f"`method` must be a rule for mini-batches, such as PIControl(); got {method!r}.")
        window = method.traits.window if window is None else window
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
        self._is_plain_log_loss = (
            type(loss) is nn.BCEWithLogitsLoss
            and loss.reduction == "none"
            and loss.weight is None
            and loss.pos_weight is None
        )
        self._cells = LabelCells.of(constraint, n_groups)
        self._live = _Live()
        # a rule whose weights are its multipliers asks for no means, unless the criterion is linearised at them
        takes_means = not (method.traits.weights_are_multipliers and self._cells.is_fixed)
        self._needs_loss = takes_means or not method.traits.strict_dual
        nobody = np.zeros((2, 2, 2 * n_groups), dtype=np.float32)
        start = method.start(self._cells.moments(nobody[0]), constraint.tol)
        # over a window, weights hardly change from one dual step to the next, and are taken anew at these only
        self._holds = method.traits.every > 1 and window > 0
        for name, value in (("dual", start.value), ("sums", nobody), ("held", nobody[0, 0])):
            self.register_buffer(name, torch.tensor(value))
        self._memory = [f"memory_{i}" for i in range(len(start.memory))]
        for name, value in zip(self._memory, start.memory, strict=True):
            self.register_buffer(name, torch.tensor(value))

    @property
    def t(self) -> int:
        """The round to come, from 1."""
        return self._live.t

    @property
    def multiplier(self) -> Tensor:
        """The multipliers as one lambda per gap, detached; `dual` holds them as the rule keeps them."""
        return torch.as_tensor(self.method.multiplier(self._tables(_on_host(self.dual)).state)).clone()

    @property
    def last(self) -> Last | None:
        """The last batch; None before the first."""
        if self._live.batch is None:
            return None
        loss, fed, state = self._live.batch
        gap = torch.as_tensor(self._tables(_on_host(self.dual)).cells.moments(fed).gap)
        dual = torch.as_tensor(self.method.multiplier(state)).clone()
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
        if torch.compiler.is_compiling():
            scalar: Tensor = _run_eagerly(self, logits, y, group)
            return scalar
        host, live, ranks = _on_host(logits), self._live, n_ranks()
        margin, rows = self._rows(logits, y, group, host)
        mean = self._mean_loss(logits, y, len(rows.code))
        loss, slope = self.surrogate(rows.margin, rows.positive, loss=self._needs_loss)
        batch, signal = sum_over_ranks(*self._sums(rows, loss))
        tables = self._tables(host)
        fed = self._feed(tables, batch, signal)
        n = len(rows.code) if ranks == 1 else batch[1].sum()
        mean = mean if ranks == 1 else mean * (len(rows.code) / n)
        live.batch = mean.detach(), fed, tables.state
        if self._holds:
            spread = tables.held
        else:
            moments = tables.cells.moments(fed)
            spread = self._spread(tables, moments)
            if self.training and signal is batch and self.dual_from == "forward" and not live.has_observed:
                live.moments = moments if self.window or (live.n_fed == 1 and self.method.traits.every == 1) else None
        pull = slope * (spread / n)[rows.code]  # the penalty's gradient by the margins
        scalar = mean + torch.dot(margin, torch.from_numpy(pull) if host else pull)
        return scalar if ranks == 1 else ranks * scalar  # DDP will average the gradients of the ranks

    def _spread(self, tables: _Tables, moments: Moments) -> Array:
        return tables.cells.spread(self.method.weights(moments, tables.state), moments)

    def _mean_loss(self, logits: Tensor, y: Tensor, n: int) -> Tensor:
        if self._is_plain_log_loss and logits.shape == y.shape:
            return nn.functional.binary_cross_entropy_with_logits(logits, y)  # the same in one call
        each: Tensor = self.loss(logits, y)
        if each.numel() != n:
            raise InputError(
                f"The loss gave {each.numel()} numbers for {n} rows: it must give one number per row"
                ' (reduction="none").'
            )
        each = each if each.ndim == 1 else each.reshape(-1)
        return torch.dot(each, self._live.shares(each)) if each.is_cpu else each.mean()

    @torch.no_grad()
    def observe(self, logits: Tensor, y: Tensor, group: Tensor) -> None:
        """Feed a batch to the next dual step and to nothing else."""
        host, live = _on_host(logits), self._live
        _, rows = self._rows(logits, y, group, host)
        loss, _ = self.surrogate(rows.margin, rows.positive, loss=True)
        moved = self._tables(host).moved
        moved += sum_over_ranks(*self._sums(rows, loss))[1]
        live.n_fed, live.has_observed, live.moments = live.n_fed + 1, True, None

    def step(self) -> None:
        """The dual step, from everything fed since the last one."""
        live = self._live
        if not live.n_fed:
            fed = "forward() in training mode" if self.dual_from == "forward" else "observe()"
            raise InputError(f"step() has nothing to go by: call {fed} first.")
        tables = self._tables(_on_host(self._buffers["dual"]))
        is_due = live.t % self.method.traits.every == 1 % self.method.traits.every
        if is_due:
            self._move(tables, live.moments or tables.cells.moments(tables.moved))
        sums = tables.sums
        if self.window:
            sums *= 1.0 - 1.0 / self.window
        elif is_due:
            sums[...] = 0.0
        live.t, live.n_fed, live.moments = live.t + 1, 0, None

    def _move(self, tables: _Tables, moments: Moments) -> None:
        """Update the multipliers in place."""
        value, tol, memory = tables.state.value, tables.state.tol, tables.state.memory
        after = self.method.update(moments, Dual(value, tol, self._live.t, memory))
        if self._live.batch is not None:  # its multipliers are about to change in place
            self._live.batch = *self._live.batch[:2], Dual(value + 0.0, tol, self._live.t, memory)
        value[...] = after.value
        for kept, new in zip(memory, after.memory, strict=True):
            if new is not kept:
                kept[...] = new
        self._live.tables = tables = tables._replace(state=Dual(value, tol, after.t, memory))
        if self._holds:
            is_one = self.dual_from == "forward" and not self._needs_loss and not self._live.has_observed
            tables.held[...] = self._spread(tables, moments if is_one else tables.cells.moments(tables.seen))

    def attach(self, optimizer: torch.optim.Optimizer) -> Any:
        """Make the dual step after every step of the optimiser; returns a handle whose ``remove()`` undoes it."""
        return optimizer.register_step_post_hook(lambda *_: self.step())

    def get_extra_state(self) -> dict[str, int]:
        """The round, which schedules of eta go by, and what was fed."""
        return {"t": self._live.t, "n_fed": self._live.n_fed, "has_observed": int(self._live.has_observed)}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Take the round up again."""
        self._live = _Live(int(state["t"]), int(state["n_fed"]), bool(state["has_observed"]))

    def _apply(self, fn: Any, recurse: bool = True) -> ConstrainedLoss:
        """Move with the net, but stay in float32 when it is cast."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, tensor in self._buffers.items():
            self._buffers[name] = None if tensor is None else tensor.float()
        return self

    def _tables(self, host: bool) -> _Tables:
        """The buffers as the rules see them; made anew when they were moved to another device."""
        live, dual = self._live, self._buffers["dual"]
        if live.tables is None or live.tables.dual is not dual or live.tables.host is not host:
            found: list[Any] = [self._buffers[name] for name in ("dual", "sums", "held", *self._memory)]
            value, sums, held, *memory = (tensor.numpy() for tensor in found) if host else found
            state = Dual(value, self.constraint.tol, live.t, tuple(memory))
            cells = self._cells if host else self._cells.to(self.dual.device)
            live.tables = _Tables(found[0], host, cells, sums, sums[0], sums[1], held, state)
        return live.tables

    def _rows(self, logits: Tensor, y: Tensor, group: Tensor, host: bool) -> tuple[Tensor, Rows]:
        classes = check_shapes(logits, y, group, self.n_groups)
        if not 0 <= self.target < classes:
            raise InputError(f"The target is class {self.target}, but logits have {classes} classes.")
        if self._tables(host).dual.device != logits.device:
            raise InputError(
                f"logits are on {logits.device}, the multipliers on {self.dual.device}: call"
                f" .to({str(logits.device)!r}) on the criterion."
            )
        margin = target_margin(logits, self.target)
        rows = Rows.of(margin, y, group, target=self.target, host=host)
        is_due = not rows.looks_fine(self.target) if host else self.validate or not self._live.is_checked
        if is_due:
            rows.check(classes, self.n_groups)
            self._live.is_checked = True
        return margin, rows

    def _sums(self, rows: Rows, loss: Array | None) -> tuple[Array, Array]:
        """Sums that the weights are taken at, and those that move the multipliers; of the surrogate or 0/1 errors."""
        try:
            first = label_sums(loss if self._needs_loss else rows.wrong, rows.code, self.n_groups)
        except ValueError:  # a code beyond the last, or below 0
            rows.check(2, self.n_groups)
            raise
        is_one = not (self._needs_loss and self.method.traits.strict_dual)
        return first, first if is_one else label_sums(rows.wrong, rows.code, self.n_groups)

    def _feed(self, tables: _Tables, batch: Array, signal: Array) -> Array:
        """Keep the sums of a batch, in training; what the weights are taken at."""
        if self.training:
            both, seen, moved = tables.sums, tables.seen, tables.moved
            if self.dual_from == "forward":
                self._live.n_fed += 1
                if signal is batch:
                    both += batch
                else:
                    seen += batch
                    moved += signal
            else:
                seen += batch
            return seen if self.window else batch
        return tables.seen + batch if self.window else batch


class _Tables(NamedTuple):
    """The buffers, to be changed in place: views of numpy's on the host, else the tensors themselves."""

    dual: Tensor  # whose views they are
    host: bool
    cells: LabelCells
    sums: Array  # both of the next
    seen: Array  # sums that the weights are taken at
    moved: Array  # sums that move the multipliers
    held: Array  # weights per code until the next dual step, of rules that keep them
    state: Dual


@dataclass
class _Live:
    """What changes with every batch and is no tensor; apart from the module, which is slow to set attributes."""

    t: int = 1
    n_fed: int = 0  # batches since the last dual step
    has_observed: bool = False
    is_checked: bool = False
    tables: _Tables | None = None
    moments: Moments | None = None  # of what the next dual step sees, if they are known
    batch: tuple[Tensor, Array, Dual] | None = None  # mean loss, sums, multipliers
    even: Tensor | None = None

    def __reduce__(self) -> tuple[type[_Live], tuple[int, int, bool]]:
        """A copy makes its own views."""
        return _Live, (self.t, self.n_fed, self.has_observed)

    def shares(self, each: Tensor) -> Tensor:
        """1/n for every row: a dot product with it is a mean at half the price."""
        if self.even is None or self.even.numel() != each.numel() or self.even.dtype != each.dtype:
            self.even = torch.full_like(each, 1.0 / each.numel(), requires_grad=False)
        return self.even


def _on_host(tensor: Any) -> bool:
    """Whether the tables are numpy's, which on a CPU is several times faster than small tensors."""
    return bool(tensor.is_cpu)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _run_eagerly(criterion: ConstrainedLoss, *batch: Tensor) -> Tensor:
    """The loss between two compiled graphs: its state is not the compiler's business."""
    return criterion.forward(*batch)
