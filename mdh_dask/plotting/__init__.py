"""Drawings of trees, of the densities of their nodes, and of rows beside a split.

Every function draws on a given Matplotlib axes and returns it. Without one it makes a `matplotlib.figure.Figure` of
its own, never one of pyplot's, so that it also works on threads and worker processes: save it by
``ax.figure.savefig(...)``, or name ``ax.figure`` at the end of a notebook cell after ``%matplotlib inline``.
Matplotlib is loaded on the first call.
"""

from .nodes import plot_density, plot_scatter
from .trees import plot_tree

__all__ = ["plot_density", "plot_scatter", "plot_tree"]
