"""The numbers of the paper's table "Quantitative Results on CelebA", in percent."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """One column of the table, without intervals; the first two are quoted there from their authors."""

    error: float
    deo: float
    fnr_women: float
    fnr_men: float


#: Fairness GAN: Sattigeri et al. 2018; Quadrianto et al. 2019; the paper: its FairALM
PAPER = {
    "Fairness GAN": Printed(26.6, 22.5, 21.2, 43.7),
    "Quadrianto": Printed(24.1, 12.4, 12.8, 25.2),
    "the paper": Printed(24.5, 10.4, 6.6, 17.0),
}
