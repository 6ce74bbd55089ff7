"""Softmax heads on the features of a net: classifiers of the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import nn

from fairalm.arrays import FloatArray, IntArray
from fairalm.nn.head import Linear
from fairalm.nn.head_learner import HeadFitter


def fit_softmax(
    fitter: HeadFitter, codes: IntArray, n_classes: int, rows: IntArray, start: Sequence[Linear] | None = None
) -> list[Linear]:
    """One linear score per class, for standardised features: multinomial logistic regression on some rows.

    Minimises mean(log-loss) + l2 |V|² over the weights V of all classes, with free intercepts. The classes are treated
    alike; for two of them, the difference of the scores is the logit of a :class:`HeadFitter` with the same `l2`.

    Parameters
    ----------
    fitter : HeadFitter
        Has the features of all rows, and the penalty.
    codes : int array of shape (n,)
        The class of each row, 0..n_classes-1.
    n_classes : int
        Number of classes.
    rows : int array
        The rows to fit.
    start : list of Linear, optional
        Heads to begin with, such as those of other rows.
    """
    x = fitter.x[torch.from_numpy(rows).to(fitter.x.device)]
    is_class = nn.functional.one_hot(torch.from_numpy(codes[rows]), n_classes).to(x)

    def cost(point: FloatArray) -> tuple[float, FloatArray]:
        u, bias = point.reshape(-1, n_classes)[:-1], point.reshape(-1, n_classes)[-1]
        v = fitter.weights_of(u)
        scores = x @ torch.from_numpy(v).to(x) + torch.from_numpy(bias).to(x)
        logs = nn.functional.log_softmax(scores, dim=1)
        pull = logs.exp() - is_class  # derivative of each loss by its scores
        loss = -float((logs * is_class).sum(1).double().mean())
        slope = fitter.slopes_of((x.T @ pull).cpu().numpy().astype(float) / len(x) + 2 * fitter.l2 * v)
        return loss + fitter.l2 * float((v * v).sum()), np.append(slope, pull.double().mean(0).cpu().numpy())

    point = np.zeros((x.shape[1] + 1, n_classes))
    if start is not None:
        point[:-1] = fitter.point_of(np.column_stack([head.weight for head in start]))
        point[-1] = [head.bias for head in start]
    options: Any = {"maxiter": 1000, "gtol": 1e-5, "ftol": 1e-10}
    best = minimize(cost, point.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(-1, n_classes)
    weights = fitter.weights_of(best[:-1])
    return [Linear(np.ascontiguousarray(weights[:, k]), float(best[-1, k])) for k in range(n_classes)]
