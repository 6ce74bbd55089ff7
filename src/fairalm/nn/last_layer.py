"""Algorithm 1 on the last layer of a trained net: the net stays, its head becomes fair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm.arrays import FloatArray
from fairalm.cells import Rows
from fairalm.constraints import Constraint, as_constraint, check_cells
from fairalm.datasets import stratified_folds
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.game import Game, play
from fairalm.methods import Method, Unconstrained, as_method
from fairalm.nn.checks import check_count, check_positive, usable_device
from fairalm.nn.features import Features, compute_features
from fairalm.nn.head import Linear, find_head, with_head
from fairalm.nn.head_learner import HeadFitter, HeadLearner
from fairalm.progress import progress_bar
from fairalm.signals import CrossfitSignal, Fold, HeldoutSignal, Signal


@dataclass(frozen=True, eq=False)
class RefittedNet:
    """A net with a fair head, and how it was found.

    Attributes
    ----------
    model : nn.Module
        A copy of the net with the new head, in eval mode; deterministic, and it needs no group to predict.
    head : str
        Name of the new layer.
    error, gap : float
        Error and largest gap of the model, on the rows that moved the multipliers.
    dual : array of shape (events, rows of C)
        The multipliers that its head was fitted with.
    optimality_gap, saddle_gap : float
        The cost of the model, and of the average play, less a lower bound on that of any mixture of the heads found;
        NaN for PredictiveParity.
    history : DataFrame
        One row per round: lambda, error, gap, Lagrangian and saddle gap.
    game : Game
        Every head found, with its error and gaps; the first is the plain one.
    """

    model: nn.Module
    head: str
    error: float
    gap: float
    dual: FloatArray
    optimality_gap: float
    saddle_gap: float
    history: pd.DataFrame
    game: Game


def refit_last_layer(
    model: nn.Module,
    train: Iterable[Any] | Features,
    heldout: Iterable[Any] | Features | None = None,
    *,
    head: str | None = None,
    constraint: Constraint | str | None = None,
    method: Method | str | None = None,
    n_groups: int = 2,
    n_folds: int = 0,
    l2: float = 0.1,
    max_iter: int = 50,
    bound: float = 1.0,
    cache: AnyPath | None = None,
    progress: bool = False,
    device: torch.device | str | None = None,
) -> RefittedNet:
    """Refit the last layer of a net under a fairness constraint.

    The features are computed once; each round of Algorithm 1 is then a logistic regression on them. Of the heads found,
    the one with the smallest error within the tolerance goes back into a copy of the net.

    Parameters
    ----------
    model : nn.Module
        A trained or pretrained net whose last layer is an `nn.Linear` with one output (the logit) or two.
    train : loader of (x, y, group), or Features
        The rows the head is fitted on. Labels are 0 or 1, groups 0..n_groups-1.
    heldout : loader or Features, optional
        Rows to measure errors and gaps on instead of the training rows. Pass them for a head with many features, or a
        net that was trained on the same rows: its training gap says little about new rows.
    head : str, optional
        Name of the last layer; the only `nn.Linear` with one or two outputs if left out.
    constraint : Constraint or str, optional
        The constraint with its tolerance, or its name; ``EqualOpportunity()`` if left out.
    method : Method or str, optional
        How the multipliers move; :class:`fairalm.SecantALM` if left out.
    n_groups : int
        Number of groups.
    n_folds : int
        If 2 or more: errors and gaps from heads that were fitted without the row, which costs that many further fits a
        round. Meaningful only if the net itself was not trained on these rows.
    l2 : float
        Penalty on the head's weights, per standardised feature; log-loss is a mean.
    max_iter : int
        Rounds at most.
    bound : float
        B of the certificate: multipliers up to this size.
    cache : folder, optional
        Keep the features there; see :func:`compute_features`.
    progress : bool
        Show progress bars.
    device : device, optional
        Where to run net and fits; where the net is if left out.

    Examples
    --------
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> _ = torch.manual_seed(0)
    >>> group = torch.randint(2, (2000,))
    >>> y = (torch.rand(2000) < 0.3 + 0.4 * group).long()
    >>> x = torch.stack([y + torch.randn(2000), group + 0.3 * torch.randn(2000)], dim=1)
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    >>> fair = refit_last_layer(net, DataLoader(TensorDataset(x, y, group), batch_size=500))
    >>> bool(fair.gap <= 0.01 < abs(fair.history["gap"][0]))
    True
    """
    constraint, method = as_constraint(constraint), as_method(method, "last-layer")
    name = find_head(model, head)
    _check(constraint, n_groups, n_folds, l2, max_iter, bound)
    if n_folds and heldout is not None:
        raise InputError("Pass held-out rows or `n_folds`, not both: each says where gaps are measured.")
    where = usable_device(model, device)
    settings: Any = {"head": name, "progress": progress, "device": where}
    fitted, measured = both_features(model, train, heldout, [constraint], n_groups, cache, **settings)
    signal = _signal(fitted, measured, constraint, n_groups, n_folds, l2, where)
    with progress_bar(max_iter, shown=progress, text="fitting") as update:
        game = play(
            signal,
            method,
            tol=constraint.tol,
            max_iter=max_iter,
            bound=bound,
            resolution=0.5 / signal.smallest_cell,
            is_linear=signal.fitted.cells.is_linear,
            rows=signal.measured,
            on_round=lambda t, now: update(t, f"error {100 * now.error:.1f} %, gap {100 * now.moments.max_gap:.1f}"),
        )
    result = game.result("last" if isinstance(method, Unconstrained) else "single")
    if not isinstance(method, Unconstrained):
        result.warn(signal.smallest_cell)
    assert isinstance(signal.learner, HeadLearner)
    chosen = signal.learner.shifted(result.models[0], float(result.shifts[0]))
    fair, sign = signal.learner.fitter.folded(chosen), _sign(constraint)
    return RefittedNet(
        model=with_head(model, name, Linear(sign * fair.weight, sign * fair.bias)).eval(),
        head=name,
        error=result.error,
        gap=result.gap,
        dual=result.dual,
        optimality_gap=result.optimality_gap,
        saddle_gap=result.saddle_gap,
        history=result.history,
        game=game,
    )


def _sign(constraint: Constraint) -> float:
    """The head is fitted for the target; its sign turns where the target is class 0."""
    return -1.0 if constraint.target == 0 else 1.0


def _signal(
    fitted: Features,
    heldout: Features | None,
    constraint: Constraint,
    n_groups: int,
    n_folds: int,
    l2: float,
    where: Any,
) -> Signal:
    """Where errors and gaps are measured."""

    def rows_of(features: Features) -> Rows:
        return constraint.rows((features.y == 1) == (_sign(constraint) > 0), features.group, n_groups)

    rows = rows_of(fitted)
    fitter = HeadFitter(fitted.x.to(where), rows.positive, l2)
    learner = HeadLearner(fitter)
    if heldout is not None:
        return HeldoutSignal(rows, learner, rows_of(heldout), fitter.standardised(heldout.x.to(where)))
    if not n_folds:
        return Signal(rows, learner)
    fold, folds = stratified_folds(fitted.y, fitted.group, n_folds, np.random.default_rng(0)), []
    for k in range(n_folds):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        folds.append(Fold(HeadLearner(fitter, inside), inside, outside, fitter.x[outside]))
    return CrossfitSignal(rows, learner, folds)


def _check(constraint: Constraint, n_groups: Any, n_folds: Any, l2: Any, max_iter: Any, bound: Any) -> None:
    check_count("n_groups", n_groups, 2)
    check_count("max_iter", max_iter, 1)
    check_positive("l2", l2)
    check_positive("bound", bound)
    check_count("n_folds", n_folds, 0)
    if n_folds == 1:
        raise InputError("`n_folds` must be 0, or 2 or more; got 1.")
    check_target(constraint)


def check_target(constraint: Constraint) -> None:
    """Refuse a target that is no label of a net."""
    if constraint.target not in (None, 0, 1):
        raise InputError(f"The target of the constraint must be 0 or 1, as the labels are; got {constraint.target!r}.")


def both_features(
    model: nn.Module,
    train: Iterable[Any] | Features,
    heldout: Iterable[Any] | Features | None,
    constraints: Sequence[Constraint],
    n_groups: int,
    cache: AnyPath | None,
    **settings: Any,
) -> tuple[Features, Features | None]:
    """The features of both parts, checked; `settings` are those of :func:`compute_features`."""
    width = int(model.get_submodule(settings["head"]).in_features)  # type: ignore[arg-type]

    def features_of(rows: Iterable[Any] | Features, part: str) -> Features:
        if not isinstance(rows, Features):
            folder = None if cache is None else Path(cache) / part
            rows = compute_features(model, rows, cache=folder, **settings)
        for constraint in constraints:
            _check_rows(rows, part, constraint, n_groups, width)
        return rows

    return features_of(train, "train"), None if heldout is None else features_of(heldout, "heldout")


def _check_rows(rows: Features, part: str, constraint: Constraint, n_groups: int, width: int) -> None:
    if rows.x.shape[1] != width:
        wrong = f"The {part} features have {rows.x.shape[1]} columns, the head takes {width}"
        raise InputError(f"{wrong}: compute them again.")
    if rows.group.max() >= n_groups:
        allowed = f"0..{n_groups - 1} (n_groups={n_groups})"
        raise InputError(f"Groups must lie in {allowed}; got {rows.group.max()} in {part}.")
    positive = rows.y == (1 if constraint.target is None else constraint.target)
    if positive.all() or not positive.any():
        raise InputError(f"The {part} rows have one label only ({rows.y[0]}): there is nothing to learn.")
    check_cells(constraint, positive, rows.group, tuple(f"{code} ({part})" for code in range(n_groups)), (0, 1))
