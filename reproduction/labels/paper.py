"""The paper's table "Identifying Unfair Labels in CelebA dataset": DEO in percent."""

from __future__ import annotations

#: protected -> label -> DEO of the unconstrained net (U) and of FairALM (F)
PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "Male": {
        "Attractive": (28, 3),
        "Bangs": (4, 2),
        "High_Cheekbones": (18, 0),
        "Mouth_Slightly_Open": (11, 3),
        "Smiling": (10, 0),
    },
    "Young": {
        "Attractive": (8, 1),
        "Heavy_Makeup": (11, 1),
        "High_Cheekbones": (7, 0),
        "Male": (6, 0),
        "Wearing_Lipstick": (12, 4),
    },
}

LEAST_PRECISION, LEAST_DEO = 0.70, 0.04  # of the unconstrained net, for a label to be in the table
NEAR = 5.0  # points by which, it says, FairALM's precision differs at most
