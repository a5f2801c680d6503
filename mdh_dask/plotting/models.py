"""Drawings of models other than trees: agreement of clusterings, merges and landmarks of density trees."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._words import full_count
from .parts import LEFT, RIGHT, check_drawn, discriminants, new_axes, state_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..density_trees.model import DensityModel

DRAWN = 60
"""Most merges in a picture, those with the most evidence."""

MOST_NUMBERED = 30
"""With more clusters, they are not numbered."""


def plot_agreement(rows: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw how many rows have a label on which how many clusterings agree.

    Parameters
    ----------
    rows : ConsensusClustering or array of shape (n_clusterings + 1,)
        A fitted model, or numbers of rows by the number of clusterings that agree with their label.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Examples
    --------
    >>> plot_agreement(np.array([0, 0, 10, 30])).get_title()
    'On average 92 % agree, 40 rows'
    """
    given, rows = rows, getattr(state_in(rows), "confidence", rows)
    check_drawn(given, "a fitted ConsensusClustering, or numbers of rows", isinstance(rows, np.ndarray))
    ax = new_axes(ax, (5.0, 2.8))
    shares = np.arange(len(rows)) / (len(rows) - 1)
    total = max(int(rows.sum()), 1)
    ax.bar(100 * shares, 100 * rows / total, width=80 / (len(rows) - 1), color=LEFT)
    ax.set_xlabel("clusterings that agree with the label of a row, %")
    ax.set_ylabel("rows, %")
    ax.spines[["top", "right"]].set_visible(False)
    mean = 100 * float(shares @ rows) / total
    ax.set_title(f"On average {mean:.0f} % agree, {full_count(int(rows.sum()), 'row')}", fontsize="medium")
    return ax


def plot_merges(model: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence of the merges of a density tree, the largest first, and the least that separates clusters.

    Parameters
    ----------
    model : DensityTree
        A fitted model.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Notes
    -----
    No pass. Only the merges with the most evidence are drawn, at most 60.

    Examples
    --------
    >>> from mdh_dask import DensityTree
    >>> x = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [7]], 300, axis=0)
    >>> plot_merges(DensityTree().fit(x)).get_title()
    '2 clusters'
    """
    model, ax = _density_in(model), new_axes(ax, (5.0, 2.8))
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


def plot_landmarks(model: Any, ax: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw the landmarks of a density tree, each cluster in a colour of its own, the larger the more rows are near.

    Two columns are drawn as they are. Of more, the axes are the two directions along which the means of the clusters
    differ most in relation to the spread in the clusters (linear discriminants), in units of this spread.

    Parameters
    ----------
    model : DensityTree
        A fitted model.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.
    names : sequence of two str, optional
        Names of two columns.

    Examples
    --------
    >>> from mdh_dask import DensityTree
    >>> x = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat([[0], [7]], 300, axis=0)
    >>> plot_landmarks(DensityTree().fit(x)).get_xlabel()
    'discriminant 1'
    """
    names = getattr(model, "_names", None) if names is None else names
    model, ax = _density_in(model), new_axes(ax, (5.4, 4.6))
    label, weight = model.clusters[model.cells], np.maximum(model.counts, 1)
    if model.n_features == 2:
        unit = np.divide(1.0, model.scale, out=np.zeros(2), where=model.scale > 0)
        at, axes = model.points * unit + model.centre, ["column 0", "column 1"] if names is None else list(names)
    else:
        at = model.points @ discriminants(model.points, label, weight)
        axes = ["discriminant 1", "discriminant 2"][: at.shape[1]]
        at, axes = (at, axes) if at.shape[1] == 2 else (np.column_stack([at, np.zeros(len(at))]), [*axes, ""])
    ax.scatter(at[:, 0], at[:, 1], s=4 * np.sqrt(weight / weight.mean()), c=[f"C{c % 10}" for c in label], linewidths=0)
    if 1 < model.n_clusters <= MOST_NUMBERED:
        for c in np.unique(label):
            middle = np.median(at[label == c], axis=0)
            nearest = at[label == c][((at[label == c] - middle) ** 2).sum(axis=1).argmin()]
            ax.annotate(str(c), nearest, ha="center", va="center", fontweight="bold")
    ax.set(xlabel=axes[0], ylabel=axes[1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(full_count(model.n_clusters, "cluster"), fontsize="medium")
    return ax


def _density_in(model: Any) -> "DensityModel":
    """Return the density tree of a fitted `DensityTree`, or what is one as it is."""
    found: DensityModel = getattr(state_in(model), "model", model)
    check_drawn(model, "a fitted DensityTree", hasattr(found, "separates"))
    return found
