"""The paper's table of standard data sets, made again with every method it names."""

from fairalm.experiments.tabular.cell import TABLES, Cell, all_cells, run_cell
from fairalm.experiments.tabular.paper import PAPER
from fairalm.experiments.tabular.rows import ROWS, Row
from fairalm.experiments.tabular.summary import summarise

__all__ = [
    "PAPER",
    "ROWS",
    "TABLES",
    "Cell",
    "Row",
    "all_cells",
    "run_cell",
    "summarise",
]
