"""Writer of the page."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from .._locations import all_redacted, hiding_credentials, redacted
from .._state import FeatureMap
from .._typing import AnyArray, Integers
from .._words import full_count
from ..io.paths import local_path
from ..io.staging import check_file, write_file
from ..summaries.drift import Drift
from ..summaries.history import History
from ..summaries.profiles import Profiles
from ..tree.html import tiles_of
from ..tree.structure import Tree
from .differences import differences_of, river_of
from .entries import MAX_NESTING, MAX_PICTURES, clusters_of, clusters_of_tree, entries_of, sides_of
from .pictures import SceneTable, Segments, Sizes, all_embedded, embedded_segments, spectrum_of
from .profiles import overview_of, scatter_of

MAP_LEVELS, THINNEST = 40, 0.0008
"""Most levels on the map, and least share of the rows for a tile: about a pixel."""


def with_depths_of(tree: Tree, drift: Drift) -> Tree:
    """Return the tree with the relative depths that the table of drift gives for the old rows."""
    depth = tree.relative_depth.copy()
    for split in drift.splits:
        if split.valley is not None:
            depth[split.node] = split.valley.depth[0]
    return replace(tree, relative_depth=depth)


def contents_of_tree(
    tree: Tree, colours: AnyArray | None, profiles: Profiles | None, mapped: bool, merges: AnyArray | None
) -> dict[str, Any]:
    """Return what the page shows of a tree; see `write_report`. `mapped`: its directions are for features."""
    entries = entries_of(tree, _checked(colours, tree.n_clusters), sides_of(tree, profiles, mapped), merges)
    tiles, n_levels = tiles_of(tree, MAP_LEVELS, THINNEST)
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


def contents_of_clusters(sizes: Sizes | None, profiles: Profiles | None, colours: AnyArray | None) -> dict[str, Any]:
    """Return what the page shows of clusters without a tree."""
    if sizes is None:
        if profiles is None:
            raise ValueError("expected a tree or profiles of clusters for a report; got neither: give profiles=...")
        sizes = Sizes(profiles.n_rows.tolist(), profiles.lowest, len(profiles.names))
    n_clusters = len(sizes.n_rows) + sizes.lowest
    return {
        "n_rows": sum(sizes.n_rows),
        "n_rows_of_tree": 0,
        "n_features": sizes.n_features,
        "n_clusters": n_clusters,
        "clusters": clusters_of(sizes, _checked(colours, n_clusters)),
    }


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


MAX_LIT = 60
"""Most clusters that can be lit up by a click, as the page has a style for each."""


@hiding_credentials()
def write_report(
    path: str | PathLike[str],
    tree: Tree | None,
    *,
    title: str,
    facts: Mapping[str, str | Mapping[str, str]],
    feature_map: FeatureMap | None = None,
    profiles: Profiles | None = None,
    drift: Drift | None = None,
    images: Mapping[str, bytes | str | PathLike[str]] | None = None,
    segments: Segments | None = None,
    colours: AnyArray | None = None,
    sample: tuple[AnyArray, Integers] | None = None,
    scenes: SceneTable | None = None,
    sizes: Sizes | None = None,
    unit: str = "row",
    history: History | None = None,
    merges: AnyArray | None = None,
    overwrite: bool = False,
) -> Path | str:
    """Write a report of clusters as one HTML file that needs no other file and no network.

    Parameters
    ----------
    path : path or URL
        Path of the file; a missing local folder is created.
    tree : Tree or None
        None for a model without a tree: then the clusters come from `profiles` or `sizes`.
    title : str
    facts : mapping of str to (str or mapping of str to str)
        Shown in this order: the input, the method, passes over the data, run times. A mapping is shown folded.
    feature_map : FeatureMap, optional
        The map of the rows before clustering; its spectrum is shown.
    profiles : Profiles, optional
        Profiles of the clusters; see `mdh_dask.cluster_profiles`. Rows in no cluster are in no report of a tree.
    drift : Drift, optional
        Drift of new rows; see `mdh_dask.drift`.
    images : mapping of str to (bytes or path), optional
        PNG or JPEG images and their captions, shown side by side.
    segments : Segments, optional
        Pictures of a segmented image, shown before the others, with a mask for each cluster.
    colours : integer array of shape (n_clusters, 3), optional
        Red, green and blue of every cluster from 0 to 255; by default neighbours in the tree have similar colours.
    sample : (array of shape (n, n_features), array of shape (n,)), optional
        Some rows and their labels, for a picture of the clusters; needs `profiles`.
    scenes : SceneTable, optional
        A table of the scenes that a model has labelled.
    sizes : Sizes, optional
        Sizes of the clusters, where there is neither a tree nor profiles.
    unit : str
        What a row is, for the page.
    history : History, optional
        What became of the clusters in each night; drawn from the second night on.
    merges : array of records, optional
        Merges of the tree's leaves, as of `merges_`; p-values are adjusted for them, too.
    overwrite : bool
        Whether to replace an existing file.

    Returns
    -------
    Path or str
        Path or URL of the file, which appears under its name only when it is complete.

    Notes
    -----
    No pass: the tree holds the histograms. The densities of the 150 nodes with the most rows are drawn.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 7}], n_features=2)
    >>> with TemporaryDirectory() as folder:
    ...     written = write_report(f"{folder}/report.html", tree, title="Seven rows", facts={"Passes": "1"})
    ...     "<h1>Seven rows</h1>" in written.read_text(encoding="utf-8")
    True
    """
    check_file(path, overwrite, "report.html")
    if tree is None:
        shown = contents_of_clusters(sizes, profiles, colours)
    else:
        tree = tree if drift is None else with_depths_of(tree, drift)
        profiles = profiles if profiles is None else in_clusters(tree, profiles)
        shown = contents_of_tree(tree, colours, profiles, mapped=feature_map is not None, merges=merges)
    clusters = shown["clusters"]
    ids = None if history is None else history.ids.tolist()
    paint = {ids[one.label]: one.colour for one in clusters if ids and one.label is not None and one.label >= 0}
    html = _template().render(
        shown,
        title=redacted(title),
        facts=all_redacted(facts),
        feature_map=feature_map,
        spectrum=None if feature_map is None or feature_map.spectrum is None else spectrum_of(feature_map),
        images=all_embedded(images or {}),
        segments=None if segments is None else embedded_segments(segments, shown["n_clusters"]),
        scenes=scenes,
        tree=tree,
        own_colours=colours is not None,
        unit=unit,
        scatter=None if profiles is None or sample is None else scatter_of(*sample, profiles, clusters),
        lit=[entry for entry in clusters if entry.label is not None] if 1 < len(clusters) <= MAX_LIT else [],
        n_new_rows=None if drift is None else drift.n_rows[1],
        drift=None if drift is None else differences_of(drift),
        profiles=None if profiles is None else overview_of(profiles, clusters),
        ids=None if history is None or history.night == 0 else ids,
        river=None if history is None else river_of(history, paint),
    )
    write_file(path, html, overwrite)
    return fspath(path) if local_path(path) is None else Path(path)


def _template() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError('reports need Jinja2: pip install "mdh_dask[report]"') from error
    environment = Environment(
        loader=PackageLoader("mdh_dask.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"max_pictures": MAX_PICTURES, "max_nesting": MAX_NESTING, "count": full_count}
    return environment.get_template("report.html.jinja")
