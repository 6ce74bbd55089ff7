"""Where nets look: leak and focus of an unconstrained net and of FairALM's, on pictures made up and real."""

from reproduction.looks.cell import Cell, all_cells, run_cell
from reproduction.looks.sets import SETS

__all__ = ["SETS", "Cell", "all_cells", "run_cell"]
