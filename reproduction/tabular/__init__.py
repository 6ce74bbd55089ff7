"""The paper's table of standard data sets, made again with every method it names."""

from reproduction.tabular.cell import TABLES, Cell, all_cells, run_cell
from reproduction.tabular.paper import PAPER
from reproduction.tabular.rows import ROWS, Row
from reproduction.tabular.summary import summarise

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
