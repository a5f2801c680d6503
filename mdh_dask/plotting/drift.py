"""A drawing of the densities of old and new rows at a node."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._words import depth_text, full_count
from ..summaries.drift import Drift
from ..summaries.tables import change_text
from ..tree.structure import NodeDensity
from .parts import GREY, INK, bare_axes, check_node, fill_sides, has_valley, new_axes, node_name, window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEW = "#c2185b"
"""Colour of the new rows."""


def plot_drift(drift: Drift, node: int, ax: "Axes | None" = None) -> "Axes":
    """Draw the density of a node's old rows, filled, and of the new rows that reach it, as a line.

    Parameters
    ----------
    drift : Drift
    node : int
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    IndexError
        If the tree has no such node.
    ImportError
        If Matplotlib is missing.

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
    tree = drift.old
    check_node(tree, node)
    ax = new_axes(ax, (6.4, 3.2))
    ax.set_title(_title(drift, node), fontsize="medium")
    bare_axes(ax)
    densities = drift.densities(node)
    if densities is None:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no density to show", transform=ax.transAxes, ha="center", color=GREY)
        return ax
    old, new = densities
    if tree.left[node] >= 0:
        fill_sides(ax, *old)
    else:
        ax.fill_between(old.position, old.density, color=GREY, alpha=0.45, linewidth=0)
    ax.plot(old.position, old.density, color=INK, linewidth=0.8, label="old rows")
    ax.plot(new.position, new.density, color=NEW, linewidth=1.8, label="new rows")
    if has_valley(tree, node):
        ax.axvline(
            tree.thresholds[node], color=INK, linewidth=1.5, linestyle="-" if tree.left[node] >= 0 else ":", zorder=3
        )
    ax.set_xlim(*joint_window(old, new))
    ax.locator_params(axis="x", nbins=6)
    ax.set_ylim(0, 1.05 * float(max(old.density.max(), new.density.max())) or 1.0)
    ax.set_xlabel("projection on the direction of the split")
    ax.legend(loc="best", framealpha=0.6, edgecolor="none")
    return ax


def joint_window(old: NodeDensity, new: NodeDensity) -> tuple[float, float]:
    """Return the limits of the horizontal axis for two densities."""
    shown = [window(density) for density in (old, new) if density.density.any()] or [window(old)]
    low, high = min(low for low, _ in shown), max(high for _, high in shown)
    # The positions of new rows beyond the bins are unknown.
    return max(low, float(old.position[0])), min(high, float(old.position[-1]))


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
