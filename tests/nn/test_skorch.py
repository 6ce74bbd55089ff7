"""The recipe of docs/how-to/frameworks.md for skorch, against the plain loop on the same batches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
from skorch.helper import predefined_split  # noqa: E402
from torch import nn  # noqa: E402

from fairalm import AugmentedLagrangian, EqualizedOdds  # noqa: E402
from fairalm.nn import ConstrainedLoss  # noqa: E402

BATCH, BATCHES = 32, 8
SETTINGS = {
    "loss": nn.BCEWithLogitsLoss(reduction="none"),
    "constraint": EqualizedOdds(),
    "method": AugmentedLagrangian(eta=0.5),
    "n_groups": 2,
    "window": 5,
}


class ConstrainedNet(skorch.NeuralNet):
    def initialize_optimizer(self, *args, **kwargs):
        super().initialize_optimizer(*args, **kwargs)
        self.criterion_.attach(self.optimizer_)
        return self

    def get_loss(self, y_pred, y_true, *args, **kwargs):
        label, group = y_true.T
        return self.criterion_(y_pred[:, 0], label.float(), group)


def make_data():
    rng = np.random.default_rng(0)
    n = BATCH * BATCHES
    group = rng.integers(2, size=n)
    y = (rng.random(n) < 0.25 + 0.35 * group).astype(int)
    x = np.stack([1.2 * y + rng.normal(size=n), group + rng.normal(size=n)], axis=1).astype(np.float32)
    return x, np.stack([y, group], axis=1)


def make_layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))


def make_net():
    criterion = {f"criterion__{name}": value for name, value in SETTINGS.items()}
    return ConstrainedNet(
        make_layers(),
        ConstrainedLoss,
        **criterion,
        optimizer=torch.optim.Adam,
        lr=0.02,
        max_epochs=3,
        batch_size=BATCH,
        train_split=predefined_split(skorch.dataset.Dataset(*make_data())),  # validation must not count
        verbose=0,
    )


def plain_loop(epochs):
    layers, criterion = make_layers(), ConstrainedLoss(**SETTINGS)
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.02)
    criterion.attach(optimizer)
    x, y = (torch.tensor(part) for part in make_data())
    for _ in range(epochs):
        for rows in torch.arange(len(x)).split(BATCH):
            optimizer.zero_grad()
            criterion(layers(x[rows])[:, 0], y[rows, 0].float(), y[rows, 1]).backward()
            optimizer.step()
    return layers, criterion


def assert_same(net, layers, criterion):
    assert net.criterion_.t == criterion.t
    assert abs(criterion.dual).max() > 0.01, "the multipliers must have moved for this to mean anything"
    torch.testing.assert_close(net.criterion_.dual, criterion.dual, rtol=0, atol=1e-6)
    for ours, theirs in zip(net.module_.parameters(), layers.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_same_as_the_plain_loop():
    assert_same(make_net().fit(*make_data()), *plain_loop(3))


def test_saved_parameters_hold_the_multipliers(tmp_path):
    files = {f"f_{part}": tmp_path / f"{part}.pt" for part in ("params", "optimizer", "criterion")}
    make_net().fit(*make_data()).save_params(**files)
    again = make_net().initialize()
    again.load_params(**files)
    again.partial_fit(*make_data())
    assert_same(again, *plain_loop(6))
