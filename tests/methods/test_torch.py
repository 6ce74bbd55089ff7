"""The rules take torch tensors as they take numpy arrays."""

import numpy as np
import pytest

from fairalm.methods import METHODS
from fairalm.moments import Moments

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("rule", [name for name in METHODS if name != "secant"])
def test_torch_equals_numpy(rule, n_groups):
    rng = np.random.default_rng(0)
    method = METHODS[rule]()
    duals = {}
    for _ in range(4):
        mu = rng.uniform(0, 1, (2, n_groups))
        counts = rng.integers(1, 90, (2, n_groups)).astype(float)
        counts[0, 0] *= rng.random() < 0.5  # an empty cell now and then
        mu[counts == 0] = 0.0
        total = float(counts.sum())
        weights = {}
        for name, array in (("numpy", np.asarray), ("torch", torch.tensor)):
            moments = Moments(array(mu), array(counts), total)
            duals.setdefault(name, method.start(moments, 0.01))
            weights[name] = method.weights(moments, duals[name])
            duals[name] = method.update(moments, duals[name])
        assert isinstance(weights["torch"], torch.Tensor)
        assert weights["torch"].numpy() == pytest.approx(weights["numpy"])
        assert duals["torch"].value.numpy() == pytest.approx(duals["numpy"].value)
        assert method.multiplier(duals["torch"]).numpy() == pytest.approx(method.multiplier(duals["numpy"]))
