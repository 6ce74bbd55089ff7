"""The data sets by name."""

from __future__ import annotations

from collections.abc import Callable

from fairalm._validation import check_choice
from fairalm.datasets._adult import load_adult
from fairalm.datasets._compas import load_compas
from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir
from fairalm.datasets._german import load_german
from fairalm.datasets._law import load_law

#: The data sets by name; add your own loader to give it a name on the command line.
LOADERS: dict[str, Callable[[DataDir], Dataset]] = {
    "adult": load_adult,
    "compas": load_compas,
    "german": load_german,
    "law": load_law,
}


def names() -> tuple[str, ...]:
    """The names that `load` accepts.

    >>> names()
    ('adult', 'compas', 'german', 'law')
    """
    return tuple(LOADERS)


def load(name: str, data_dir: DataDir = None) -> Dataset:
    """Load a data set by name, as its own ``load_`` function does by default.

    Examples
    --------
    >>> load("german").name
    'german'
    """
    check_choice("data set", name, LOADERS)
    return LOADERS[name](data_dir)
