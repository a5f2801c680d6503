"""Drawings of density trees: the evidence of every merge."""

from typing import TYPE_CHECKING

import numpy as np

from .._words import full_count
from .parts import LEFT, RIGHT, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..density_trees.model import DensityModel

DRAWN = 60
"""Most merges in a picture, those with the most evidence."""


def plot_merges(model: "DensityModel", ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence of the merges of a density tree, the largest first, and the least that separates clusters.

    Parameters
    ----------
    model : DensityModel
        As ``estimator.state_.model`` of a `DensityTree`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If Matplotlib is missing.

    Notes
    -----
    No pass. Only the merges with the most evidence are drawn, at most 60.

    Examples
    --------
    >>> from mdh_dask import DensityTree
    >>> x = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [7]], 300, axis=0)
    >>> plot_merges(DensityTree().fit(x).state_.model).get_title()
    '2 clusters'
    """
    ax = new_axes(ax, (5.0, 2.8))
    order = np.argsort(-model.evidence, kind="stable")[:DRAWN]
    colours = np.where(model.separates[order], RIGHT, LEFT)
    ax.bar(np.arange(1, len(order) + 1), np.maximum(model.evidence[order], 0), color=colours.tolist())
    if np.isfinite(model.threshold):
        ax.axhline(model.threshold, color="black", linewidth=0.8)
    ax.set_xlabel("merge")
    ax.set_ylabel("evidence, standard errors")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(full_count(model.n_clusters, "cluster"), fontsize="medium")
    return ax
