"""Nets for images: training, prediction and heat maps. Needs the extra `torch`."""

try:
    import torch  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.vision needs PyTorch: pip install "fairalm[torch]".') from error
