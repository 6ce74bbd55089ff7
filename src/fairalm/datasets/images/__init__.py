"""Images with a label and a protected attribute: four published sets, two synthetic ones, and a table of your own.

Image files are decoded once, by several processes, and kept as one array in ``~/.cache/fairalm/images`` (or the folder
named by the environment variable FAIRALM_CACHE), from which later runs read what they need. That folder can be deleted
at any time. Reading needs pillow: ``pip install "fairalm[vision]"``.

>>> from fairalm.datasets.images import scenes
>>> data = scenes(200, correlation=0.8, size=32)
>>> data.pixels.shape, data.pixels.dtype, data.masks.shape
((200, 32, 32, 3), dtype('uint8'), (200, 32, 32))
"""

from fairalm.datasets.images._celeba import load_celeba
from fairalm.datasets.images._csv import read_images
from fairalm.datasets.images._dataset import ImageDataset
from fairalm.datasets.images._imsitu import VERB_PAIRS, imsitu_counts, load_imsitu
from fairalm.datasets.images._synthetic import coloured_digits, scenes
from fairalm.datasets.images._waterbirds import load_waterbirds
from fairalm.datasets.images._xray import load_xray

__all__ = [
    "VERB_PAIRS",
    "ImageDataset",
    "coloured_digits",
    "imsitu_counts",
    "load_celeba",
    "load_imsitu",
    "load_waterbirds",
    "load_xray",
    "read_images",
    "scenes",
]
