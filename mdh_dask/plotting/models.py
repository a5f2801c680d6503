"""Drawings of whole models: trees, agreement of clusterings, merges and landmarks of density trees."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats, Integers
from .._words import depth_text, full_count, short_count
from ..tree.structure import Tree
from ..valleys.structure import MOST_EVIDENCE
from .parts import (
    GREY,
    INK,
    LEFT,
    RIGHT,
    check_drawn,
    discriminants,
    has_valley,
    new_axes,
    node_name,
    tree_in,
    two_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..density_trees.model import DensityModel

WIDEST_EDGE, NARROWEST_EDGE = 14.0, 0.4
"""Widths in points of an edge that all rows take and of one that hardly any row takes."""

SMALLEST_TEXT = 4.5
"""Least size of text in points; nodes are dots where text would be smaller."""

KEY = "rows\n↕ relative depth of the split\n# label of the cluster"
"""Legend below drawings with text."""

ROOM_FOR_KEY = 0.7
"""Space below the last level, in levels."""


def plot_tree(tree: Any, ax: "Axes | None" = None, max_nodes: int = 401) -> "Axes":
    """Draw the tree: nodes with their rows and relative depths, edges as wide as their shares of rows.

    Parameters
    ----------
    tree : Tree or estimator
        A tree, or a fitted model of one.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot, as large as the tree needs.
    max_nodes : int
        Most nodes to draw: the splits with the most rows. The title says if nodes are left out; a square
        marks a node whose own splits are left out.

    Returns
    -------
    matplotlib Axes
        Nodes have text where there is room for it; elsewhere they are dots whose size shows their rows.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 7}], n_features=2)
    >>> plot_tree(tree).get_title()
    '1 cluster, 7 rows'
    """
    if not isinstance(max_nodes, Integral) or max_nodes < 1:
        raise ValueError(f"expected max_nodes as a whole number from 1; got {max_nodes!r}")
    tree = tree_in(tree)
    # A parent has at least as many rows as its children and comes before them, so the choice is connected.
    inner = np.flatnonzero(tree.left >= 0)
    split = inner[np.argsort(-tree.n_rows[inner], kind="stable")[: (max_nodes - 1) // 2]]
    drawn = np.append(0, np.concatenate([tree.left[split], tree.right[split]])).astype(int)
    drawn.sort()
    across, down = _layout(tree, split, drawn), tree.level
    n_columns, n_levels = across[drawn].max() + 1, int(down[drawn].max()) + 1
    ax = new_axes(
        ax, (float(np.clip(0.62 * n_columns, 3, 20)), float(np.clip(0.75 * (n_levels + ROOM_FOR_KEY) + 0.4, 1.6, 14)))
    )
    ax.set_title(_title(tree, len(drawn)), fontsize="medium")
    ax.set_axis_off()
    ax.set(xlim=(-0.6, n_columns - 0.4), ylim=(n_levels - 0.4 + ROOM_FOR_KEY, -0.6))
    _draw_edges(ax, tree, split, across, down)
    size = _text_size(ax, n_columns, n_levels + ROOM_FOR_KEY)
    if size >= SMALLEST_TEXT:
        _write_nodes(ax, tree, split, drawn, across, down, size)
        ax.text(0, 0, KEY, transform=ax.transAxes, size=size, color=INK, va="bottom")
    else:
        _dot_nodes(ax, tree, split, drawn, across, down)
    return ax


def _title(tree: Tree, n_drawn: int) -> str:
    title = f"{full_count(tree.n_clusters, 'cluster')}, {full_count(int(tree.n_rows[0]), 'row')}"
    return title if n_drawn == tree.n_nodes else f"{title}; the largest {n_drawn:,} of {tree.n_nodes:,} nodes"


def _layout(tree: Tree, split: Integers, drawn: Integers) -> Floats:
    """Place the ends of the drawing side by side, and every split above the middle of its children."""
    across = np.full(tree.n_nodes, np.nan)
    ends = np.setdiff1d(drawn, split)
    across[ends] = np.arange(len(ends))
    for node in np.sort(split)[::-1]:
        across[node] = (across[tree.left[node]] + across[tree.right[node]]) / 2
    return across


def _draw_edges(ax: Any, tree: Tree, split: Integers, across: Floats, down: Integers) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    paths, widths, colours = [], [], []
    for children, colour in ((tree.left, LEFT), (tree.right, RIGHT)):
        for node in split:
            child = children[node]
            top, bottom, middle = down[node], down[child], down[node] + 0.5
            corners = [(across[node], top), (across[node], middle), (across[child], middle), (across[child], bottom)]
            paths.append(Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]))
            widths.append(max(WIDEST_EDGE * tree.n_rows[child] / tree.n_rows[0], NARROWEST_EDGE))
            colours.append(colour)
    edges = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths, alpha=0.5, zorder=1)
    edges.set_capstyle("butt")
    ax.add_collection(edges, autolim=False)


def _text_size(ax: Any, n_columns: float, n_levels: float) -> float:
    """Return the size in points at which the texts of neighbouring nodes do not touch."""
    room = ax.get_window_extent()
    column = 72 * room.width / ax.figure.dpi / (n_columns + 0.2)
    level = 72 * room.height / ax.figure.dpi / (n_levels + 0.2)
    return min(9.0, column / 4.4, level / 4)


def _write_nodes(
    ax: Any, tree: Tree, split: Integers, drawn: Integers, across: Floats, down: Integers, size: float
) -> None:
    for node in drawn:
        inner, cut = node in split, tree.left[node] >= 0
        rows = short_count(int(tree.n_rows[node]))
        if inner:
            text = f"{rows}\n↕ {depth_text(tree.relative_depth[node])}" if has_valley(tree, node) else rows
        else:
            text = f"{rows}\n…" if cut else f"{rows}\n#{node_name(tree, node).split()[-1]}"
        shape = "square" if cut and not inner else "round"
        box = {"boxstyle": shape, "facecolor": "white", "edgecolor": GREY, "lw": 0.6}
        ax.text(
            across[node], down[node], text, size=size, ha="center", va="center", color=INK, bbox=box, zorder=3,
            weight="normal" if cut else "bold",
        )  # fmt: skip


def _dot_nodes(ax: Any, tree: Tree, split: Integers, drawn: Integers, across: Floats, down: Integers) -> None:
    area = np.clip(250 * tree.n_rows / tree.n_rows[0], 5, 120)
    leaf = drawn[tree.left[drawn] < 0]
    hidden = np.setdiff1d(drawn[tree.left[drawn] >= 0], split)
    for nodes, marker, colour in ((split, "o", "white"), (leaf, "o", INK), (hidden, "s", GREY)):
        style = {"marker": marker, "color": colour, "edgecolors": INK, "linewidths": 0.5, "zorder": 2}
        ax.scatter(across[nodes], down[nodes], s=area[nodes], **style)


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
    given, rows = rows, getattr(getattr(rows, "state_", rows), "confidence", rows)
    is_it = isinstance(rows, np.ndarray) and rows.ndim == 1 and len(rows) > 1
    check_drawn(given, "a fitted ConsensusClustering, or an array of at least two numbers of rows", is_it)
    ax = new_axes(ax, (5.0, 2.8))
    shares = np.arange(len(rows)) / (len(rows) - 1)
    total = max(int(rows.sum()), 1)
    ax.bar(100 * shares, 100 * rows / total, width=80 / (len(rows) - 1), color=LEFT)
    ax.set(xlabel="clusterings that agree with the label of a row, %", ylabel="rows, %")
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
    No pass. Only the merges with the most evidence are drawn, at most 60; that of groups far apart is out of the axes.

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
        known = model.evidence[model.evidence < MOST_EVIDENCE]  # bars of groups that are far apart leave the axes
        ax.set_ylim(0, 1.2 * max(model.threshold, known.max(initial=0)))
    ax.set(xlabel="merge", ylabel="evidence, standard errors")
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
        at, axes = model.points * unit + model.centre, two_names(names)
    else:
        at = model.points @ discriminants(model.points, label, weight)
        axes = ["discriminant 1", "discriminant 2" if model.n_features > 1 else ""]
        at = np.pad(at, ((0, 0), (0, 2 - at.shape[1])))
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
    found: DensityModel = getattr(getattr(model, "state_", model), "model", model)
    check_drawn(model, "a fitted DensityTree", hasattr(found, "separates"))
    return found
