"""What the figures of all experiments share."""

from __future__ import annotations

from typing import Any

#: The color of a method in every figure; colour-blind safe (Okabe and Ito).
COLORS = {
    "unconstrained": "#444444",
    "l2": "#E69F00",
    "reweight": "#56B4E9",
    "adversarial": "#CC79A7",
    "lagrangian": "#009E73",
    "proxy-lagrangian": "#D55E00",
    "fairalm": "#0072B2",
}


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches; without matplotlib, an error that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Figures need matplotlib: pip install "fairalm[report]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Any) -> None:
    """No frame above and to the right, a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
