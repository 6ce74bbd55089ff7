"""A loss that carries a fairness constraint: swap it in, pass the group, train as before."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from fairalm.arrays import Array
from fairalm.cells import Cells
from fairalm.constraints import Constraint, as_constraint
from fairalm.exceptions import InputError, NoStepWarning
from fairalm.methods import Dual, Method, as_method
from fairalm.moments import namespace
from fairalm.nn.batch import Batch, check_shapes
from fairalm.nn.checks import check_count
from fairalm.nn.distributed import n_ranks, sum_over_ranks
from fairalm.nn.state import LossState, Sums, to_array
from fairalm.nn.surrogates import find_surrogate, target_margin

DualFrom = Literal["forward", "observe"]
STEP_EXPECTED = 100  # training batches by which step() should have been called; accumulated gradients need fewer


@dataclass(frozen=True)
class LastBatch:
    """The last batch in numbers, detached: to log, not to back-propagate.

    Under ``torch.distributed`` the gaps are those of all ranks, the loss is this rank's part of the mean.
    """

    loss: Tensor
    gap: Tensor
    dual: Tensor
    lagrangian: Tensor


def log_values(criterion: ConstrainedLoss) -> dict[str, Tensor]:
    """Loss, Lagrangian, and every gap and multiplier of the last batch, to log; empty before the first batch.

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


class ConstrainedLoss(nn.Module):
    """A per-sample loss plus the method's answer to the constraint.

    The scalar's gradient is that of mean loss plus penalty; its value is not the penalty's (see :attr:`last`). Call
    :meth:`step` after each optimiser step, or :meth:`attach` the optimiser once. Under ``torch.distributed`` the cells
    are summed over all ranks, one all-reduce a batch, and every rank holds the same multipliers.

    Parameters
    ----------
    loss : callable
        Per-sample loss of (logits, y), for example ``nn.CrossEntropyLoss(reduction="none")``.
    constraint : Constraint or str
        The constraint, or its name; its `target` is a class index, 1 if left out.
    method : Method or str, optional
        How the multipliers move; :class:`fairalm.PIControl` if left out, which needs no tuning. Not `SecantALM`: it is
        for full fits.
    n_groups : int
        Groups are integers 0..n_groups-1.
    surrogate : {"sigmoid", "log", "hinge"}
        The differentiable loss that the constraint's means are taken of. "sigmoid" lies between 0 and 1 like the error.
    window : int, optional
        0: means of the current batch, as in the paper. Otherwise over the last steps, each weighing (1 - 1/window)
        times the next, which is less noisy. If left out, the method's own: 20 for the default, 0 for the paper's.
    dual_from : {"forward", "observe"}
        Which batches move the multipliers: those of the primal step, or only those passed to :meth:`observe`
        (held-out data, or the same batch after the primal step, which is Algorithm 2 as written).
    validate : bool
        Check every batch for NaN and groups out of range. On the CPU this is always done; elsewhere, where it makes the
        host wait for the device, on the first batch.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> model = nn.Linear(3, 2)
    >>> criterion = ConstrainedLoss(nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), n_groups=2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> handle = criterion.attach(optimizer)
    >>> x, y, group = torch.randn(8, 3), torch.tensor([0, 1] * 4), torch.tensor([0, 0, 1, 1] * 2)
    >>> criterion(model(x), y, group).backward()
    >>> optimizer.step()
    >>> criterion.dual.shape
    torch.Size([1, 1])
    """

    def __init__(
        self,
        loss: Any,
        constraint: Constraint | str,
        method: Method | str | None = None,
        *,
        n_groups: int,
        surrogate: str = "sigmoid",
        window: int | None = None,
        dual_from: DualFrom = "forward",
        validate: bool = False,
    ) -> None:
        super().__init__()
        constraint, method = as_constraint(constraint), as_method(method, "nn")
        window = method.traits.window if window is None else window
        check_count("n_groups", n_groups, 2)
        check_count("window", window, 0)
        if dual_from not in ("forward", "observe"):
            raise InputError(f"`dual_from` must be 'forward' or 'observe'; got {dual_from!r}.")
        self.loss, self.constraint, self.method = loss, constraint, method
        self.n_groups, self.window, self.dual_from, self.validate = n_groups, window, dual_from, validate
        self.target = 1 if constraint.target is None else int(constraint.target)
        self.surrogate = find_surrogate(surrogate)
        options = [getattr(loss, name, None) for name in ("reduction", "weight", "pos_weight")]
        self._is_log_loss = type(loss) is nn.BCEWithLogitsLoss and options == ["none", None, None]
        self._cells = Cells.of(constraint, n_groups).map(lambda array: array.astype(np.float32))
        # a method whose weights are its multipliers needs no means, unless the constraint is linearised at them
        needs_means = not (method.traits.weights_are_multipliers and self._cells.is_linear)
        self._needs_loss = needs_means or not method.traits.strict_dual
        # over a window, weights hardly change from one dual step to the next: they are computed at dual steps only
        self._keeps_weights = method.traits.every > 1 and window > 0
        empty = np.zeros((4, n_groups), dtype=np.float32)
        none = self._cells.moments(empty)
        dual = method.start(none, none.row_tolerance(constraint.tol))
        self._state = LossState(dual, Sums(empty, empty), empty[:2])
        self._last: tuple[Tensor, Array, Dual] | None = None  # mean loss, sums and multipliers of the last batch
        self._is_checked = False
        self._n_forwards = 0  # in training mode

    @property
    def t(self) -> int:
        """The round to come, from 1."""
        return self._state.dual.t

    @property
    def dual(self) -> Tensor:
        """The multipliers as the method keeps them; writing into this tensor changes them."""
        return torch.as_tensor(self._state.dual.value)

    @property
    def multiplier(self) -> Tensor:
        """The multipliers as one lambda per gap, detached."""
        return torch.as_tensor(self.method.multiplier(self._state.dual)).clone()

    @property
    def last(self) -> LastBatch | None:
        """The last batch; None before the first."""
        if self._last is None:
            return None
        loss, sums, state = self._last
        gap = torch.as_tensor(self._cells.moments(sums).gap)
        dual = torch.as_tensor(self.method.multiplier(state)).clone()
        return LastBatch(loss, gap, dual, loss + (dual * gap).sum())

    def forward(self, logits: Tensor, y: Tensor, group: Tensor) -> Tensor:
        """The scalar to back-propagate; logits of shape (n,), (n, 1) or (n, classes), labels as `loss` takes them."""
        if torch.compiler.is_compiling():
            scalar: Tensor = _run_eagerly(self, logits, y, group)
            return scalar
        ranks = n_ranks()
        margin, batch = self._read(logits, y, group)
        mean = self._mean_loss(logits, y, len(batch.code))
        loss, slope = self.surrogate(batch.margin, batch.positive, loss=self._needs_loss)
        sums = self._sums(batch, loss)
        n = len(batch.code)
        if ranks > 1:
            n, mean = sums.primal[:2].sum(), mean * (n / sums.primal[:2].sum())
        state = self._state
        seen = state.sums.primal + sums.primal if self.window else sums.primal
        row_weights = state.row_weights if self._keeps_weights else self._row_weights(seen, state.dual)
        self._last = mean.detach(), seen, state.dual
        if self.training:
            self._feed(sums)
            self._expect_step()
        # by the margin: the loss of a row falls with it where the label is the target
        by_margin = namespace(row_weights).concat([row_weights[0], -row_weights[1]]) / n
        pull = slope * by_margin[batch.code]  # the gradient of the penalty
        scalar = mean + torch.dot(margin, torch.as_tensor(pull, dtype=margin.dtype))
        return ranks * scalar  # DDP averages the gradients of the ranks

    @torch.no_grad()
    def observe(self, logits: Tensor, y: Tensor, group: Tensor) -> None:
        """Use a batch for the next dual step and for nothing else."""
        _, batch = self._read(logits, y, group)
        loss, _ = self.surrogate(batch.margin, batch.positive, loss=True)
        state, sums = self._state, self._sums(batch, loss)
        kept = Sums(state.sums.primal, state.sums.dual + sums.dual)
        self._state = replace(state, sums=kept, n_batches=state.n_batches + 1)

    def step(self) -> None:
        """The dual step, from every batch since the last one."""
        state = self._state
        if not state.n_batches:
            source = "forward() in training mode" if self.dual_from == "forward" else "observe()"
            raise InputError(f"step() was called before any batch was seen: call {source} first.")
        dual, sums, row_weights, every = state.dual, state.sums, state.row_weights, self.method.traits.every
        is_due = dual.t % every == 1 % every
        if is_due:
            dual = self.method.update(self._cells.moments(sums.dual), dual)
            if self._keeps_weights:
                row_weights = self._row_weights(sums.primal, dual)
        else:
            dual = replace(dual, t=dual.t + 1)
        if self.window:
            sums = sums * (1.0 - 1.0 / self.window)
        elif is_due:
            sums = sums * 0.0
        self._state = LossState(dual, sums, row_weights)

    def attach(self, optimizer: torch.optim.Optimizer) -> Any:
        """Make the dual step after every step of the optimiser; returns a handle whose ``remove()`` undoes it."""
        return optimizer.register_step_post_hook(lambda *_: self.step())

    def get_extra_state(self) -> dict[str, Any]:
        """The state, for ``state_dict``."""
        return self._state.to_dict()

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._state = self._state.from_dict(state)

    def _apply(self, fn: Any, recurse: bool = True) -> ConstrainedLoss:
        """Move with the net, but stay in float32 when it is cast."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._move(fn(self.dual).device)
        return self

    def _move(self, device: torch.device) -> None:
        host = _on_host(device)
        self._cells = self._cells.map(lambda array: to_array(array, device, host=host))
        self._state = self._state.map(lambda array: to_array(array, device, host=host))

    def _read(self, logits: Tensor, y: Tensor, group: Tensor) -> tuple[Tensor, Batch]:
        """The margins with their gradient, and the batch by label and group, checked."""
        classes = check_shapes(logits, y, group, n_groups=self.n_groups, target=self.target)
        if self.dual.device != logits.device:
            where = f"logits are on {logits.device}, the multipliers on {self.dual.device}"
            raise InputError(f"{where}: call .to({str(logits.device)!r}) on the criterion.")
        host = isinstance(self._state.sums.primal, np.ndarray)
        margin = target_margin(logits, self.target)
        batch = Batch.of(margin, y, group, target=self.target, n_groups=self.n_groups, host=host)
        if host or self.validate or not self._is_checked:
            batch.check(classes)
            self._is_checked = True
        return margin, batch

    def _mean_loss(self, logits: Tensor, y: Tensor, n: int) -> Tensor:
        if self._is_log_loss and logits.shape == y.shape:
            return nn.functional.binary_cross_entropy_with_logits(logits, y)  # the same in one call
        each: Tensor = self.loss(logits, y)
        if each.numel() != n:
            got = f"The loss gave {each.numel()} numbers for {n} rows"
            raise InputError(f'{got}: it must give one number per row (reduction="none").')
        return each.mean()

    def _sums(self, batch: Batch, loss: Array | None) -> Sums:
        """The sums of a batch over all ranks: of the surrogate, or of 0/1 errors where a method needs these only."""
        primal = batch.sums(loss if self._needs_loss else batch.errors)
        is_one = not (self._needs_loss and self.method.traits.strict_dual)
        return Sums(*sum_over_ranks(primal, primal if is_one else batch.sums(batch.errors)))

    def _feed(self, sums: Sums) -> None:
        """Keep the sums of a training batch."""
        state = self._state
        if self.dual_from == "forward":
            self._state = replace(state, sums=state.sums + sums, n_batches=state.n_batches + 1)
        else:
            self._state = replace(state, sums=Sums(state.sums.primal + sums.primal, state.sums.dual))

    def _expect_step(self) -> None:
        """Warn, once, if the multipliers have never moved although many batches were seen."""
        self._n_forwards += 1
        if self._n_forwards == STEP_EXPECTED and self.t == 1 and self.method.traits.has_dual:
            seen = f"The loss has seen {STEP_EXPECTED} training batches and no step(), so its multipliers are still 0"
            advice = "call criterion.step() after each optimiser step, or criterion.attach(optimizer) once"
            warnings.warn(NoStepWarning(f"{seen}: {advice}."), stacklevel=5)

    def _row_weights(self, sums: Array, dual: Dual) -> Array:
        """Weight of a row by label and group, as a multiple of its plain weight: shape (2, groups)."""
        moments = self._cells.moments(sums)
        return self._cells.loss_weights(self.method.weights(moments, dual) * moments.total, moments)


def _on_host(device: torch.device) -> bool:
    """Whether the small tables are numpy's."""
    return device.type == "cpu"


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _run_eagerly(criterion: ConstrainedLoss, *batch: Tensor) -> Tensor:
    """Run the loss between two compiled graphs: the compiler must not see its state."""
    return criterion.forward(*batch)
