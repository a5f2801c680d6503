"""Drawings of one node: the density along its direction, also of new rows, and its rows beside the split."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, Floats
from .._words import depth_text, full_count
from ..summaries.drift import Drift
from ..summaries.tables import change_text
from ..tree.editing import checked_node, nodes_below
from ..tree.structure import NodeDensity, Tree
from .parts import (
    GREY,
    INK,
    LEFT,
    RIGHT,
    check_drawn,
    has_valley,
    new_axes,
    node_name,
    node_title,
    tree_in,
    window,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LEGEND = 12
"""Most labels in a legend; more labels have colours only."""

MANY_ROWS = 3000
"""With this many rows or more, dots are tiny and rasterised in vector formats."""

NEW = "#c2185b"
"""Colour of the new rows."""


def plot_density(tree: Any, node: int, ax: "Axes | None" = None) -> "Axes":
    """Draw the density of a node's rows along the direction of its split, the two sides in two colours.

    Parameters
    ----------
    tree : Tree or estimator
        A tree, or a fitted model of one.
    node : int
        A leaf shows its best rejected valley as a dotted line, or a note that there is none.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Notes
    -----
    No pass: the tree holds the histograms. The axes leave out 0.05 % of the density at either end.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 7}], n_features=2)
    >>> print(plot_density(tree, 0).get_title())
    cluster 0: 7 rows
    no valley was found
    """
    tree = tree_in(tree)
    checked_node(tree, node)
    ax = new_axes(ax, (6.4, 3.2))
    density = tree.density(node)
    _draw_densities(ax, tree, node, node_title(tree, node), () if density is None else (density,))
    return ax


def plot_scatter(
    tree: Any, rows: AnyArray, node: int = 0, labels: AnyArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the rows of a node beside its split, against the direction of most variance within the separator.

    Parameters
    ----------
    tree : Tree or estimator
        A tree, or a fitted model of one.
    rows : ndarray or frame in memory of shape (n_rows, n_features)
        A sample of rows; those that reach the node are drawn. Of a model with a feature map, rows before the map.
    node : int
    labels : array of shape (n_rows,), optional
        Labels to colour the rows by; by default the two sides of the split.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Returns
    -------
    matplotlib Axes
        The split is a vertical line, dotted at a leaf.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> leaf = {"left": -1, "right": -1, "n_rows": 1}
    >>> root = {"left": 1, "right": 2, "n_rows": 2, "plane": [1.0, 0.0], "threshold": 0.5, "relative_depth": 1.0}
    >>> tree = tree_from_nodes([root, leaf, leaf], n_features=2)
    >>> ax = plot_scatter(tree, np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left', 'right']
    """
    model, mapped, tree = tree, getattr(tree, "feature_map_", None), tree_in(tree)
    checked_node(tree, node)
    if model is not tree:
        if not hasattr(model, "feature_names_in_") and hasattr(rows, "to_numpy"):
            rows = rows.to_numpy()  # of a model without names
        rows = model._read(rows).array  # a frame by its names, with dates and levels as numbers
        if model.missing == "drop":
            whole = ~np.isnan(np.asarray(rows, dtype=np.float64)).any(axis=1)
            rows, labels = rows[whole], None if labels is None else np.asarray(labels)[whole]
        rows = model._clustered(rows) if mapped is not None else rows
    _check_rows(tree, rows, labels)
    plane = tree.planes[node]
    if not plane.any():
        raise ValueError(f"node {node} has no direction, as no valley was found there; choose a node that is split")
    reached = nodes_below(tree, node)[tree.apply(rows)]
    if not reached.any():
        raise ValueError(f"none of the {len(rows)} rows reaches node {node}; take a larger sample")
    points = np.asarray(rows[reached], dtype=np.float64)
    along = points @ plane
    sides = np.where(along <= tree.thresholds[node], "left", "right")
    ax = new_axes(ax, (6.4, 4.8))
    _draw_groups(ax, along, _widest_within(points, plane), sides if labels is None else np.asarray(labels)[reached])
    _draw_threshold(ax, tree, node)
    ax.set_title(node_title(tree, node), fontsize="medium")
    ax.set(xlabel="projection on the direction of the split", ylabel="most variance within the separator")
    return ax


def _draw_threshold(ax: Any, tree: Tree, node: int) -> None:
    if has_valley(tree, node):
        split = tree.left[node] >= 0
        ax.axvline(tree.thresholds[node], color=INK, linewidth=1.5, linestyle="-" if split else ":", zorder=3)


def _check_rows(tree: Tree, rows: AnyArray, labels: AnyArray | None) -> None:
    if not isinstance(rows, np.ndarray):
        found = f"{type(rows).__module__}.{type(rows).__name__}"
        raise TypeError(f"rows are a sample, a NumPy array; got {found}: take some rows and compute them")
    if rows.ndim != 2 or rows.shape[1] != tree.n_features:
        raise ValueError(f"rows have shape (n_rows, {tree.n_features}) as those of the tree; got {rows.shape}")
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        raise ValueError("expected finite values; got NaN or infinity: drop these rows or fill in the values first")
    if labels is not None and np.shape(labels) != (len(rows),):
        raise ValueError(f"labels have shape ({len(rows)},), one for each row; got {np.shape(labels)}")


def _widest_within(points: Floats, plane: Floats) -> Floats:
    """Project centred points on their first principal component within the hyperplane; zero without variance."""
    centred = points - points.mean(axis=0)
    within = centred - np.outer(centred @ plane, plane / (plane @ plane))
    _, directions = np.linalg.eigh(within.T @ within)
    # The direction itself has no variance left, so a single feature gives zeros.
    widest = directions[:, -1] - plane * (directions[:, -1] @ plane) / (plane @ plane)
    return within @ (widest * (np.sign(widest[np.abs(widest).argmax()]) or 1.0))


def _draw_groups(ax: Any, along: Floats, across: Floats, groups: AnyArray) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array
    from matplotlib.lines import Line2D

    names, place = np.unique(groups, return_inverse=True)
    if set(names.tolist()) <= {"left", "right"}:
        colours = to_rgba_array([{"left": LEFT, "right": RIGHT}[name] for name in names])
    elif len(names) <= 10:
        colours = to_rgba_array([f"C{i}" for i in range(len(names))])
    else:
        colours = colormaps["turbo"](np.linspace(0, 1, len(names)))
    many = len(groups) > MANY_ROWS
    ax.scatter(along, across, s=3 if many else 12, c=colours[place], alpha=0.7, linewidths=0, rasterized=many)
    if len(names) <= MAX_LEGEND:
        dots = [Line2D([], [], marker="o", linestyle="", color=c, label=str(n)) for n, c in zip(names, colours)]
        ax.legend(handles=dots, loc="best", framealpha=0.6, edgecolor="none")


def plot_drift(drift: Drift, node: int, ax: "Axes | None" = None) -> "Axes":
    """Draw the density of a node's old rows, filled, and of the new rows that reach it, as a line.

    Parameters
    ----------
    drift : Drift
    node : int
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Notes
    -----
    No pass. Each density integrates to one and both have the same bandwidth. The axes leave out 0.05 % of
    either density at either end.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 7}], n_features=2)
    >>> print(plot_drift(Drift(tree, tree), 0).get_title())
    cluster 0: 7 rows old, 7 rows new
    """
    check_drawn(drift, "the drift of a model, as drift(model, X) returns it", isinstance(drift, Drift))
    checked_node(drift.old, node)
    ax = new_axes(ax, (6.4, 3.2))
    _draw_densities(ax, drift.old, node, _title(drift, node), drift.densities(node) or ())
    return ax


def _draw_densities(ax: Any, tree: Tree, node: int, title: str, densities: tuple[NodeDensity, ...]) -> None:
    """Draw the density of a node, filled, and that of new rows as a line if there is one."""
    ax.set_title(title, fontsize="medium")
    ax.set_yticks([])  # only relative heights matter
    ax.spines[["top", "right", "left"]].set_visible(False)
    if not densities:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no density to show", transform=ax.transAxes, ha="center", color=GREY)
        return
    own, *new = densities
    if tree.left[node] >= 0:
        # Both sides end at the threshold itself, which need not be the centre of a bin.
        at = np.union1d(own.position, own.threshold)
        for side, colour in ((at <= own.threshold, LEFT), (at >= own.threshold, RIGHT)):
            height = np.interp(at[side], own.position, own.density)
            ax.fill_between(at[side], height, color=colour, alpha=0.55, linewidth=0)
    else:
        ax.fill_between(own.position, own.density, color=GREY, alpha=0.45, linewidth=0)
    ax.plot(own.position, own.density, color=INK, linewidth=0.8 if new else 1.2, label="old rows")
    for other in new:
        ax.plot(other.position, other.density, color=NEW, linewidth=1.8, label="new rows")
        ax.legend(loc="best", framealpha=0.6, edgecolor="none")
    _draw_threshold(ax, tree, node)
    ax.set_xlim(*window(own, *new))
    ax.locator_params(axis="x", nbins=6)
    ax.set_ylim(0, 1.05 * float(max(one.density.max() for one in densities)) or 1.0)
    ax.set_xlabel("projection on the direction of the split")


def _title(drift: Drift, node: int) -> str:
    rows = ", ".join(
        f"{full_count(int(tree.n_rows[node]), 'row')} {which}"
        for tree, which in ((drift.old, "old"), (drift.new, "new"))
    )
    title = f"{node_name(drift.old, node)}: {rows}"
    change = drift.at(node)
    facts = [] if np.isnan(change.distance.value) else [f"distance {change_text(change.distance)}"]
    valley: Any = getattr(change, "valley", None)
    if valley is not None:
        facts.insert(0, f"relative depth {depth_text(valley.depth[0])} old, {depth_text(valley.depth[1])} new")
    return f"{title}\n{', '.join(facts)}" if facts else title
