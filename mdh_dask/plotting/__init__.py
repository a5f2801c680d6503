"""Drawings of trees, densities of nodes, drift, rows beside a split, contours, merges and agreement.

Every function takes a fitted model, draws on the given Matplotlib axes and returns them. Without axes it makes a
`matplotlib.figure.Figure` without pyplot, so that it also works on threads and worker processes. A notebook shows the
axes at the end of a cell; save them by ``ax.figure.savefig(...)``. Matplotlib is loaded on the first call.
"""

from .contours import plot_contours, plot_sweep
from .models import plot_agreement, plot_landmarks, plot_merges, plot_tree
from .nodes import plot_density, plot_drift, plot_scatter

__all__ = [
    "plot_agreement",
    "plot_contours",
    "plot_density",
    "plot_drift",
    "plot_landmarks",
    "plot_merges",
    "plot_scatter",
    "plot_sweep",
    "plot_tree",
]
