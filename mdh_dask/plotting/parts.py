"""Helpers of all drawings: axes, limits of densities, images, and titles."""

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from .._typing import AnyArray, Floats, Integers
from .._words import depth_text, full_count
from ..tree.structure import NodeDensity, Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT, RIGHT, GREY, INK = "#2a6fbb", "#e07b1a", "#9aa3ad", "#333a42"
"""Colours of the two sides of a split, of unsplit nodes and of lines; safe for colour-blind readers."""

REST = 1e-6
"""Weight of the spread of all points beside that of the clusters: it chooses directions among those without any."""

MANY_ROWS = 200
"""Rows for each column with which a covariance need not be shrunk."""

TAIL = 0.0005
"""Share of the rows that a drawing leaves out at either end."""

DRAWINGS = {
    "ConsensusClustering": "plot_agreement",
    "DensityTree": "plot_landmarks or plot_merges",
    "SupportVectorClustering": "plot_contours or plot_sweep",
}
"""What draws models that are no tree."""


def new_figure(size: tuple[float, float]) -> Any:
    """Return a new figure of that size in inches, made without pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('drawing needs Matplotlib: pip install "mdh_dask[plot]"') from error
    return Figure(figsize=size, layout="constrained")


def new_axes(ax: "Axes | None", size: tuple[float, float]) -> Any:
    """Return the given axes, or the axes of a new figure of that size in inches, which notebooks show."""
    if ax is None:
        return shown(new_figure(size).add_subplot())
    if not hasattr(ax, "get_figure"):
        raise TypeError(f"expected Matplotlib axes for ax; got {type(ax).__name__}")
    return ax


def shown(ax: Any) -> Any:
    """Return axes as what a notebook shows as their figure."""
    ax._repr_png_ = partial(png_of, ax)
    return ax


def tree_in(model: Any) -> Tree:
    """Return a tree, or that of a fitted model."""
    tree = getattr(model, "tree_", model)
    check_drawn(model, "a tree, or a fitted model of one tree", isinstance(tree, Tree))
    return tree


def check_drawn(model: Any, expected: str, is_it: bool) -> None:
    """Raise an error if a drawing is not one of a model, which names those that are."""
    if not is_it:
        if hasattr(model, "fit"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(model)
        name = type(model).__name__
        own = DRAWINGS.get(name, "plot_tree" if hasattr(model, "tree_") else "")
        raise TypeError(f"expected {expected}; got {name}{own and f', which {own} draws'}")


def two_names(names: Sequence[Any] | None) -> list[str]:
    """Return the names of two columns, which are checked, or numbers for them."""
    if names is None:
        return ["column 0", "column 1"]
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"expected names=... of two columns; got {names!r:.99}: give two, or none")
    return [*names]


def png_of(ax: Any) -> bytes:
    """Return the figure of axes as a PNG image."""
    buffer = BytesIO()
    ax.figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def has_valley(tree: Tree, node: int) -> bool:
    """Return whether a valley of the node's density is known, split or not."""
    return bool(np.isfinite(tree.thresholds[node]) and not np.isnan(tree.relative_depth[node]))


def window(density: NodeDensity, *new: NodeDensity) -> tuple[float, float]:
    """Return limits for the horizontal axis that leave out the tails of densities but include the threshold."""
    if not new:
        return _window(density)
    shown = [_window(one) for one in (density, *new) if one.density.any()] or [_window(density)]
    low, high = min(low for low, _ in shown), max(high for _, high in shown)
    # The positions of new rows beyond the bins are unknown.
    return max(low, float(density.position[0])), min(high, float(density.position[-1]))


def _window(density: NodeDensity) -> tuple[float, float]:
    position, height, threshold = density
    mass = np.cumsum(height)
    first, last = np.searchsorted(mass, [TAIL * mass[-1], (1 - TAIL) * mass[-1]])
    low, high = position[first], position[last]
    if np.isfinite(threshold):
        low, high = min(low, threshold), max(high, threshold)
    step = position[1] - position[0] if len(position) > 1 else 1.0
    margin = max(0.03 * (high - low), step)
    return float(low - margin), float(high + margin)


def node_name(tree: Tree, node: int) -> str:
    """Return the name of a node; a leaf is named by the label of its cluster."""
    return f"node {node}" if tree.left[node] >= 0 else f"cluster {tree.cluster[node]}"


def node_title(tree: Tree, node: int) -> str:
    """Return two lines on a node: its rows, and its split or rejected valley."""
    rows = f"{node_name(tree, node)}: {full_count(int(tree.n_rows[node]), 'row')}"
    if not has_valley(tree, node):
        return f"{rows}\nno valley was found"
    depth = depth_text(tree.relative_depth[node])
    if tree.left[node] < 0:
        return f"{rows}\nvalley of relative depth {depth}, not split"
    left, right = (int(tree.n_rows[child[node]]) for child in (tree.left, tree.right))
    return f"{rows}, relative depth {depth}\n{left:,} left, {right:,} right"


def discriminants(points: AnyArray, label: Integers, weight: AnyArray | None = None) -> Floats:
    """Return the two directions along which the means of clusters differ most, shape (n_features, at most 2).

    Means are compared in units of the spread in the clusters, as in Fisher's discriminants, so that a thin gap between
    long clusters is seen. With one cluster they are the principal components. `weight` counts rows for each point.
    """
    weight = np.ones(len(points)) if weight is None else weight
    weight = (weight / weight.sum())[:, None]
    points = points - (weight * points).sum(axis=0)
    means = np.zeros_like(points)
    for c in np.unique(label):
        own = label == c
        means[own] = (weight[own] * points[own]).sum(axis=0) / weight[own].sum()
    within, spread = points - means, (weight * points).T @ points
    inside, outside = np.eye(points.shape[1]), spread
    if means.any():  # more than one cluster
        inside = np.asarray(_covariance(within, weight))
        inside += (REST * np.trace(inside) / len(inside) + np.finfo(np.float64).tiny) * np.eye(len(inside))
        outside = (weight * means).T @ means + REST * spread
    n = len(inside)
    directions: Floats = eigh(outside, inside, subset_by_index=(max(n - 2, 0), n - 1))[1][:, ::-1]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return directions * np.where(largest < 0, -1.0, 1.0)


def _covariance(within: Floats, weight: Floats) -> Floats:
    """Return the covariance of centred points, shrunk where they are few."""
    if len(within) >= MANY_ROWS * within.shape[1]:
        return (weight * within).T @ within
    from sklearn.covariance import ledoit_wolf  # an import of .2 s

    return np.asarray(ledoit_wolf(np.sqrt(len(weight) * weight) * within, assume_centered=True)[0])
