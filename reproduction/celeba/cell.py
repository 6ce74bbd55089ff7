"""The two kinds of cells: nets that are trained, and fair last layers on a net that is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Frozen features: the settings that benchmarks/celeba_last_layer.py chose on the validation part.
FEATURES: dict[str, Any] = {"net": "efficientnet-lite0-grid", "size": 96, "l2": 0.1, "n_folds": 3}
TOLS = (0.06, 0.01)

#: How each net is trained; the small one as the paper trains it.
TRAINING: dict[str, dict[str, Any]] = {
    "relu3": {"size": 28, "optimizer": "sgd", "lr": 0.01, "cosine": False, "flip": False},
    "resnet18": {"size": 64, "optimizer": "adam", "lr": 1e-3, "cosine": True, "flip": True},
}
BATCH_SIZE = 64


@dataclass(frozen=True)
class NetCell:
    """A net trained by a rule, measured on the validation and the test part after every epoch.

    Parameters
    ----------
    net : str
        A key of ``TRAINING``.
    rule : str
        Name of the rule: "unconstrained", "l2", "fairalm" or "pi-control".
    eta : float, optional
        Of the rule; its own default if left out.
    accumulates : bool
        Never set the gradients to zero, as the authors' code does not for l2.
    seed, epochs : int
        Of weights and order; passes over the faces.
    limit : int, optional
        Faces of each part; all if left out.
    folder : str, optional
        Where the net is saved.
    """

    net: str
    rule: str
    eta: float | None = None
    accumulates: bool = False
    seed: int = 0
    epochs: int = 5
    limit: int | None = None
    folder: str | None = None

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        eta = "" if self.eta is None else f"-{self.eta:g}"
        return f"{self.net}-{self.rule}{eta}{'-accumulating' * self.accumulates}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        return {
            "net": self.net,
            "rule": self.rule,
            "eta": self.eta,
            "accumulates": self.accumulates,
            "seed": self.seed,
            "epochs": self.epochs,
            "limit": self.limit,
            "batch_size": BATCH_SIZE,
            **TRAINING[self.net],
        }


@dataclass(frozen=True)
class HeadCell:
    """A plain and some fair last layers on the same frozen features.

    Parameters
    ----------
    limit : int, optional
        Faces of each part; all if left out.
    folder : str, optional
        Where the features are kept.
    """

    limit: int | None = None
    folder: str | None = None

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        return "heads"

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        return {**FEATURES, "tols": list(TOLS), "limit": self.limit}


def run_cell(cell: NetCell | HeadCell, data_dir: str | None = None) -> dict[str, Any]:
    """Train and measure.

    Returns
    -------
    dict
        `config` and, of a net, ``history``: one row per epoch with what :func:`judge` says of either part, and
        ``diverged``, the step at which the net gave no number, or None; of the last layers, ``heads``: one row each.
        A net or layer that was tested to the end has an ``entry`` of the test part for the page.
    """
    if isinstance(cell, HeadCell):
        from reproduction.celeba.heads import fit_heads

        return {"config": cell.config, "heads": fit_heads(cell, data_dir)}
    from reproduction.celeba.training import train

    return {"config": cell.config, **train(cell, data_dir)}
