"""Lightning: a small net on COMPAS that misses both groups equally often, beside the same net without a constraint."""

import logging

import lightning.pytorch as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fairalm import EqualOpportunity, PIControl, Unconstrained
from fairalm.datasets import load_compas, preprocess, split
from fairalm.measures import measure_all
from fairalm.nn import ConstrainedLoss
from fairalm.nn.lightning import DualStepCallback

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
data = load_compas()
X = data.features_frame(with_protected=True)
train, test = split(data.y, data.groups, random_state=0)
features = torch.tensor(preprocess(X).fit(X.iloc[train]).transform(X), dtype=torch.float32)
labels = torch.tensor(data.y, dtype=torch.float32)
groups = torch.tensor((data.groups == "Caucasian").to_numpy(dtype=int))


class Module(lightning.LightningModule):
    """A net with its loss."""

    def __init__(self, method):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features.shape[1], 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
        loss = nn.BCEWithLogitsLoss(reduction="none")
        self.criterion = ConstrainedLoss(loss, EqualOpportunity(), method, n_groups=2)

    def training_step(self, batch, batch_idx):
        """One batch."""
        x, y, group = batch
        return self.criterion(self.net(x), y, group)

    def configure_optimizers(self):
        """Optimise the net; the loss has no parameters of its own."""
        return torch.optim.Adam(self.net.parameters(), lr=0.003)


for name, method in (("plain", Unconstrained()), ("fair", PIControl())):
    lightning.seed_everything(0, verbose=False)
    module = Module(method)
    trainer = lightning.Trainer(
        max_epochs=15,
        accelerator="cpu",
        callbacks=[DualStepCallback()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    rows = TensorDataset(features[train], labels[train], groups[train])
    trainer.fit(module, DataLoader(rows, batch_size=256, shuffle=True))
    predicted = (module.net(features[test]) > 0).int().numpy()
    measures = measure_all(data.y[test], predicted, sensitive_features=data.groups.iloc[test])
    print(f"{name:6} error {measures['error']}   DEO {measures['deo']}")
