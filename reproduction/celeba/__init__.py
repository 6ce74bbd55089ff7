"""CelebA, "Attractive" by gender: the paper's table, its training profiles and what eta does to them."""

from reproduction.celeba.cell import HeadCell, NetCell, run_cell
from reproduction.celeba.plan import Plan, choose_eta

__all__ = ["HeadCell", "NetCell", "Plan", "choose_eta", "run_cell"]
