"""The last layer of a net at a point of its frontier: small heads for label and group, and a table of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairalm.arrays import FloatArray
from fairalm.frontier.mending import SMALLEST
from fairalm.frontier.rule import Rule
from fairalm.nn.head import Linear, shares

LEAST = math.log(SMALLEST)  # of the logarithm of a probability
LARGEST = math.log1p(-SMALLEST) - LEAST  # of log-odds


class FrontierHead(nn.Module):
    """A last layer whose logit is positive where predicting label 1 pays, the prices of the limits included.

    From the features it computes the probability of the target label and, for each population, of the groups; both are
    mended by a small layer. The table of weights prices them. All of this is in the state dict: to load one, make a
    head of the same shape first.

    Parameters
    ----------
    in_features : int
        Number of features.
    out_features : int
        1, or 2 for a net with two outputs: then their difference is the logit.
    n_groups : int
        Number of groups.
    populations : sequence of str
        Whose groups are weighed: "target" for equal opportunity, "other" for predictive equality, both for equalized
        odds and error parity, "everyone" for demographic parity.

    Examples
    --------
    >>> head = FrontierHead(8, 1, n_groups=2, populations=["target"])
    >>> head(torch.zeros(5, 8)).shape
    torch.Size([5, 1])
    """

    weights: Tensor
    costs: Tensor
    bias: Tensor
    threshold: Tensor
    sign: Tensor

    def __init__(self, in_features: int, out_features: int, n_groups: int, populations: Sequence[str]) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.populations = tuple(populations)
        self.label = nn.Linear(in_features, 1)
        self.members = nn.ModuleDict({name: nn.Linear(in_features, n_groups) for name in populations})
        self.mend_label = nn.Linear(1 + n_groups * len(self.populations), 1)
        self.mend_members = nn.ModuleDict({name: nn.Linear(n_groups + 1, n_groups) for name in populations})
        _set(self.mend_label, np.eye(1, self.mend_label.in_features), np.zeros(1))  # mends nothing
        for layer in self.mend_members.values():
            _set(layer, np.eye(n_groups, n_groups + 1), np.zeros(n_groups))
        self.register_buffer("weights", torch.zeros(len(self.populations), n_groups))
        self.register_buffer("costs", torch.ones(2))  # of false positives and of false negatives
        self.register_buffer("bias", torch.zeros(()))
        self.register_buffer("threshold", torch.zeros(()))
        self.register_buffer("sign", torch.ones(()))  # -1 where the target is label 0

    def set_heads(self, label: Linear, members: Mapping[str, Sequence[Linear]]) -> None:
        """Use these heads, which take features as they are."""
        _set(self.label, label.weight[None], np.array([label.bias]))
        for name, heads in members.items():
            weight, bias = np.stack([head.weight for head in heads]), np.array([head.bias for head in heads])
            _set(self.members[name], weight, bias)

    def set_mending(self, label: Any, members: Mapping[str, Any]) -> None:
        """Mend by these fitted logistic regressions; None, or none for a population, mends nothing."""
        if label is not None:
            weight = np.zeros((1, self.mend_label.in_features))
            weight[:, : label.coef_.shape[1]] = label.coef_
            _set(self.mend_label, weight, np.atleast_1d(label.intercept_))
        for name, model in members.items():
            coefficients, intercepts = model.coef_, model.intercept_
            if len(coefficients) == 1:  # of two groups, scikit-learn keeps the second's logit
                coefficients, intercepts = (np.concatenate([-each, each]) / 2 for each in (coefficients, intercepts))
            _set(self.mend_members[name], coefficients, intercepts)

    def set_rule(self, rule: Rule) -> None:
        """Use the weights of this rule; populations that it does not name weigh nothing."""
        with torch.no_grad():
            self.weights.zero_()
            for name, weights in zip(rule.populations, rule.weights, strict=True):
                self.weights[self.populations.index(name)] = torch.from_numpy(weights).to(self.weights)
            self.costs.copy_(torch.tensor([rule.cost_fp, rule.cost_fn]))
            self.bias.fill_(rule.bias)
            self.threshold.fill_(rule.threshold)

    def probabilities(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """P(target | x), shape (n,), and for each population P(group | x, population), shape (n, groups)."""
        logit = self.label(x).clamp(-LARGEST, LARGEST)
        logs = [nn.functional.log_softmax(self.members[name](x), 1).clamp(min=LEAST) for name in self.populations]
        centred = [each - each.mean(1, keepdim=True) for each in logs]
        odds = self.mend_label(torch.cat([logit, *centred], 1))
        members = {}
        for name, each in zip(self.populations, centred, strict=True):
            columns = torch.cat([each, odds.clamp(-LARGEST, LARGEST)], 1)
            members[name] = self.mend_members[name](columns).softmax(1)
        return odds[:, 0].sigmoid(), members

    def forward(self, x: Tensor) -> Tensor:
        """Logits, of shape (n, out_features): what label 1 saves over label 0."""
        target, members = self.probabilities(x.to(self.weights.dtype))
        part = {"other": 1 - target, "target": target, "everyone": torch.ones_like(target)}
        margin = self.costs[0] * (1 - target) - self.costs[1] * target + self.bias
        for weights, name in zip(self.weights, self.populations, strict=True):
            margin = margin + part[name] * (members[name] @ weights)
        logit = self.sign * (self.threshold - margin)
        return logit[:, None] * torch.tensor(shares(self.out_features), dtype=logit.dtype, device=logit.device)


def _set(layer: nn.Module, weight: FloatArray, bias: FloatArray) -> None:
    assert isinstance(layer, nn.Linear)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        layer.bias.copy_(torch.tensor(bias))
