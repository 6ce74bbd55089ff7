"""What the paper says of where its nets look. It shows pictures and prints no number."""

from __future__ import annotations

from typing import NamedTuple


class Claim(NamedTuple):
    """A claim, as a sign of FairALM's figure less the unconstrained net's.

    Parameters
    ----------
    kind, measure : str
        Which figure.
    sign : {-1, 1}
        Which way it should go.
    words : str
        The claim in a few words.
    where, quote : str
        Where the paper makes it, and how.
    """

    kind: str
    measure: str
    sign: int
    words: str
    where: str
    quote: str


CLAIMS = (
    Claim(
        "leak",
        "excess",
        -1,
        "less leak",
        "Figure, Interpretable Models for CelebA",
        "The heatmaps of Unconstrained model overlaps with gender classification task indicating gender leak.",
    ),
    Claim(
        "focus",
        "inside",
        1,
        "more focus (faces: on the left)",
        "Figure, Interpretable Models for CelebA",
        "Interestingly, these regions are on the left side",
    ),
    Claim(
        "focus",
        "peak_outside",
        -1,
        "looks outside less often",
        "Limitations",
        "the number of such cases are far fewer for FairALM than the unconstrained setup.",
    ),
)
