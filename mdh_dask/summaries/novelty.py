"""Rows where a model had none: drift of rows that may mix the clusters of the model in any shares."""

import math
from typing import NamedTuple

import numpy as np

from .drift import Drift

SPARSE = 1e-3
"""Share of a node's old rows that lie where their density is least: there, new rows are novel."""


class Novelty(NamedTuple):
    """The node of a tree at which most new rows are novel."""

    share: float
    """Share of all new rows."""
    bound: float
    """A lower confidence bound of it."""
    node: int


def novelty_of(found: Drift) -> Novelty:
    """Return the largest share of new rows, among all nodes of a tree, that lie where the old rows were sparse.

    A scene may lack a cluster of its model, or hold nothing else, and has not drifted: only rows in valleys, between
    and beyond the clusters are new. `Drift` asks whether the shares are the same, too.

    Parameters
    ----------
    found : Drift
        Counts of old and new rows at the nodes of a tree.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": -1, "right": -1, "n_rows": 2000, "plane": [1.0], "threshold": 0.0, "relative_depth": 9.0}
    >>> root |= {"origin": -4.0, "width": 1.0, "bandwidth": 1.0, "bins": [0, 0, 0, 1000, 0, 0, 0, 0, 1000, 0, 0, 0]}
    >>> tree = tree_from_nodes([root], n_features=1)
    >>> novelty_of(Drift(tree, tree)).share
    0.0
    """
    n_rows, most = found.n_rows[1], Novelty(0.0, 0.0, 0)
    for node in range(found.old.n_nodes):
        old, new = found.old.histogram(node), found.new.histogram(node)
        if not (total := int(new.sum())) or not old.any():
            continue
        bandwidth = found.old.bandwidth[node] / found.old.width[node]
        reach = max(1, round(float(bandwidth))) if np.isfinite(bandwidth) else 1
        around = np.convolve(old, np.ones(2 * reach + 1, old.dtype))[reach : reach + len(old)]
        order = np.argsort(around, kind="stable")
        n_below = np.cumsum(old[order])
        sparse = around < around[order[np.searchsorted(n_below, SPARSE * n_below[-1], "right")]]
        share = float(new[sparse].sum()) / total
        error = math.sqrt(math.log(found.old.n_nodes / found.false_alarms) / (2 * total))  # Hoeffding's bound
        here = int(found.new.n_rows[node]) / n_rows
        most = max(most, Novelty(share * here, max(share - error, 0.0) * here, node), key=lambda one: one.bound)
    return most
