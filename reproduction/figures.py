"""What the pictures of all experiments share."""

from __future__ import annotations

from typing import Any

#: Of a rule, in every picture; colour-blind safe (Okabe and Ito), with a marker of its own where points are drawn.
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
    """An empty matplotlib figure, in inches; what to install if there is no matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('The picture needs matplotlib: pip install "fairalm[report]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Any) -> None:
    """No frame above and to the right, a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
