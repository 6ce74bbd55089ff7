"""The methods in a PyTorch training loop. Needs the extra `torch`."""

try:
    import torch  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.nn needs PyTorch: pip install "fairalm[torch]".') from error

from fairalm.nn.adversarial import Adversarial
from fairalm.nn.features import Features, compute_features
from fairalm.nn.frontier import NetFrontier, PlugInNet, fit_frontier
from fairalm.nn.frontier_head import FrontierHead
from fairalm.nn.last_layer import RefittedNet, refit_last_layer
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.tabular import NetClassifier
from fairalm.nn.trainer import Trainer

__all__ = [
    "Adversarial",
    "ConstrainedLoss",
    "Features",
    "FrontierHead",
    "NetClassifier",
    "NetFrontier",
    "PlugInNet",
    "RefittedNet",
    "Trainer",
    "compute_features",
    "fit_frontier",
    "refit_last_layer",
]
