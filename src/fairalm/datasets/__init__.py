"""Data sets with their label, protected columns and features told apart.

Adult, COMPAS and German are shipped in the package; their loaders read the official files instead if a folder
is passed as `data_dir`. Law is not shipped: it is looked for in `data_dir`, else in the folder named by the
environment variable FAIRALM_DATA, else in the cache.

>>> from fairalm.datasets import load
>>> data = load("adult")
>>> data.X.shape, data.y.shape, data.groups.unique().tolist()
((48842, 11), (48842,), ['Male', 'Female'])
"""

from fairalm.datasets._adult import load_adult
from fairalm.datasets._batches import FrameTable, Table
from fairalm.datasets._checks import name_of
from fairalm.datasets._compas import load_compas
from fairalm.datasets._dataset import Dataset, one_against_rest
from fairalm.datasets._german import load_german
from fairalm.datasets._kinds import plain_columns, with_column
from fairalm.datasets._law import load_law
from fairalm.datasets._parquet_table import ParquetTable
from fairalm.datasets._preprocess import MOST_CATEGORIES, preprocess
from fairalm.datasets._registry import LOADERS, load, names
from fairalm.datasets._split import split, stratified_folds
from fairalm.datasets._table import open_table, read_table

__all__ = [
    "LOADERS",
    "MOST_CATEGORIES",
    "Dataset",
    "FrameTable",
    "ParquetTable",
    "Table",
    "load",
    "load_adult",
    "load_compas",
    "load_german",
    "load_law",
    "name_of",
    "names",
    "one_against_rest",
    "open_table",
    "plain_columns",
    "preprocess",
    "read_table",
    "split",
    "stratified_folds",
    "with_column",
]
