"""The rules in a PyTorch training loop. Needs the extra `torch`."""

try:
    import torch  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.nn needs PyTorch: pip install "fairalm[torch]".') from error

from fairalm.nn.loss import ConstrainedLoss

__all__ = ["ConstrainedLoss"]
