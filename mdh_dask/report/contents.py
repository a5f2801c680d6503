"""What the page shows of a tree, or of clusters without one."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import AnyArray
from ..summaries.drift import Drift
from ..summaries.profiles import Profiles
from ..tree.structure import Tree
from .entries import MAP_LEVELS, clusters_of, clusters_of_tree, entries_of, map_of
from .segments import Sizes
from .sides import sides_of


def with_depths_of(tree: Tree, drift: Drift) -> Tree:
    """Return the tree with the relative depths that the table of drift gives for the old rows."""
    depth = tree.relative_depth.copy()
    for split in drift.splits:
        if split.valley is not None:
            depth[split.node] = split.valley.depth[0]
    return replace(tree, relative_depth=depth)


def contents_of_tree(tree: Tree, colours: AnyArray | None, profiles: Profiles | None, mapped: bool) -> dict[str, Any]:
    """Return what the page shows of a tree; see `write_report`. `mapped`: its directions are for features."""
    entries = entries_of(tree, _checked(colours, tree.n_clusters), sides_of(tree, profiles, mapped))
    tiles, n_levels = map_of(tree, entries)
    n_levels_all = max(entry.level for entry in entries) + 1
    rows = tree.cluster_rows if profiles is None else profiles.n_rows
    return {
        "n_rows": int(rows.sum()),
        "n_rows_of_tree": entries[0].rows,
        "n_features": tree.n_features,
        "n_clusters": tree.n_clusters,
        "entries": entries,
        "clusters": clusters_of_tree(rows, entries),
        "tiles": tiles,
        "n_levels": n_levels,
        "n_splits_deep": n_levels_all - 1,
        "n_left_out": int(np.count_nonzero(np.diff(tree.first_bin))) - sum(e.picture is not None for e in entries),
        "map_is_cut": n_levels_all > MAP_LEVELS or len(tiles) < len(entries),
    }


def contents_of_clusters(sizes: Sizes, colours: AnyArray | None) -> dict[str, Any]:
    """Return what the page shows of clusters without a tree."""
    n_clusters = len(sizes.n_rows) + sizes.lowest
    return {
        "n_rows": sum(sizes.n_rows),
        "n_rows_of_tree": 0,
        "n_features": sizes.n_features,
        "n_clusters": n_clusters,
        "clusters": clusters_of(sizes, _checked(colours, n_clusters)),
    }


def sizes_of(profiles: Profiles | None) -> Sizes:
    """Return the sizes of clusters without a tree."""
    if profiles is None:
        raise ValueError("expected a tree or profiles of clusters for a report; got neither: give profiles=...")
    return Sizes(profiles.n_rows.tolist(), profiles.lowest, len(profiles.names))


def in_clusters(tree: Tree, profiles: Profiles) -> Profiles:
    """Return profiles without rows in no cluster, such as those with missing values: they are in no tree."""
    profiles = profiles.in_clusters
    if profiles.n_clusters != tree.n_clusters:
        raise ValueError(
            f"expected profiles of the {tree.n_clusters} clusters of the tree; got those of {profiles.n_clusters}: "
            "make them with the model of this tree"
        )
    return profiles


def _checked(colours: AnyArray | None, n_clusters: int) -> AnyArray | None:
    if colours is None:
        return None
    colours = np.asarray(colours)
    if colours.shape != (n_clusters, 3):
        raise ValueError(f"colours have shape ({n_clusters}, 3), a row for each cluster; got {colours.shape}")
    if colours.dtype.kind not in "iu" or colours.min() < 0 or colours.max() > 255:
        raise ValueError(
            f"colours are integers from 0 to 255; got {colours.dtype} from {colours.min()} to {colours.max()}"
        )
    return colours
