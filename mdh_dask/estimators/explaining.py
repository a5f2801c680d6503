"""Why there are so many clusters, in words and as a table."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._journal import use_journal
from .._levels import has_levels
from .._words import depth_text, full_count, p_text, percent
from ..growth.crowds import CROWD, FEWEST_ROWS
from ..growth.passes import rows_held
from ..splits.dependence import N_PARTS
from ..summaries.evidence import Evidence, evidence_of
from ..summaries.words import MOST_COLUMNS, clusters_in_words, named, remedies
from ..tree.export import cluster_in_words, direction_text
from ..tree.structure import Tree
from .groups import FEWEST_GROUPS, are_too_few, groups_in_words, on_pixels
from .tables import column_names

FEW_KNOWN = 10
"""With fewer rows of a cluster, the ranges of eight in ten of them hardly describe it."""

MANY_ROWS = 20_000
"""Rows of hundreds of clusters of some hundred rows: so many clusters look like one along every line."""

IN_NONE = "rows in no cluster, where few others are near"
"""What the label -1 means where rows are left in no cluster."""

HIDDEN = "; hundreds of clusters would look like one along every line: DensityTree compares neighbourhoods"

LOOKED = "; lines through the neighbourhoods of rows were looked at, too"


def why(model: Any) -> str:
    """Return in words why there are so many clusters, and by how much the best valley for one more failed. No pass.

    A sentence or two; if the number of clusters was given, it says so. Then a line for each cluster, with the columns
    in which the remembered rows of the fit differ most.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SupportVectorClustering
    >>> print(SupportVectorClustering().fit(np.random.default_rng(0).normal(size=(300, 2))).why().split(";")[0])
    1 cluster of 300 rows: no valley shows among the rows that drew the contours
    """
    check_is_fitted(model)
    sizes = model.state_.sizes
    of = "" if sizes is None else f" of {full_count(int(sizes.sum()), 'row')}"
    groups = "" if model.n_groups_ is None else f" in {groups_in_words(model)}"
    said = f"{full_count(model.n_clusters_, 'cluster')}{of}{groups}: {model._limit() or model._reason()}"
    said += few_groups(model) if model.n_clusters_ == 1 else ""
    said = "\n".join([said, *clusters_of_remembered(model), *further_lines(model)])
    return f"{said}{along_one_column(model)}{next_steps(model)}" if model.n_clusters_ == 1 else said


def evidence(model: Any) -> Evidence:
    """Return the evidence for every split and merge that the model is known to have tested.

    Returns
    -------
    Evidence
        Arrays by name, one value for each split or merge; ``to_pandas()`` makes a frame of them. Without rows for
        methods that keep no tests. No pass. ``kind`` is split or merge, ``node`` that of a tree (-1 for merges),
        ``first`` and ``second`` are the children of a split, or the cells that a merge compares: leaves from left
        to right before they were merged, or the cells of a density tree. ``separates``: whether both are in
        different clusters; a node of a tree that was not split does not separate anything.
        ``statistic``: by how many standard errors the valley is lower. ``effect``: relative depth of the valley
        among all rows, with its limits of 95 percent, ``effect_low`` and ``effect_high``, which do not account for
        its choice. ``rows_first``, ``rows_second``, ``rows_valley``: rows on both sides, and under the kernel, or
        in the balls, in the valley. ``n_tested``: rows that tested, or parts of dependent rows.
        ``p_value``: of all tests of the node or pair together, on rows that did not choose; of a split between
        groups of cells, of which there are hundreds, those of cells in contact. ``p_family`` and
        ``p_fdr``: adjusted for the family-wise error rate (Holm) and the false discovery rate (Benjamini and
        Hochberg) of the table; of a split at least that of the splits above. NaN where nothing was tested, as by
        rules of papers or for a number of clusters that was given, where dependent rows allow no number, and of
        leaves that merging united, as valleys among features are none among rows: there the merges are the tests.

    Notes
    -----
    P-values are valid, not uniform: of 1080 fits of 30 kinds of clouds without clusters, by six methods, .6
    percent have one up to .05, where uniform ones would be 5 percent. The rows that test a valley did not
    choose it, so it is nowhere in particular among them; it is compared with the closest unimodal density, the
    hardest to reject; and p-values of several directions, or of several kinds of evidence for a merge, are
    multiplied by their number. They are uniform at the edge of the densities without a valley: at a place of a
    plateau that was not chosen, 5 percent are up to .05 and 10 percent up to .1. ``python -m tests.benchmarks
    evidence`` counts how often.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree
    >>> X = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat([[0.0], [6.0]], 300, axis=0)
    >>> evidence = RandomProjectionTree().fit(X).evidence()
    >>> evidence["kind"][0].item(), evidence["separates"].tolist(), bool(evidence["p_family"][0] < 1e-4)
    ('split', [True, False], True)
    """
    check_is_fitted(model)
    return evidence_of(getattr(model, "tree_", None), model.merges_, model.n_groups_ is None)


def why_clusters(model: Any, cluster: int | None) -> str:
    """Return in words which splits bound clusters, and why they are not split further; see `TreeEstimator.why`."""
    tree, lines = model.tree_, []
    is_number = isinstance(cluster, Integral) and not isinstance(cluster, bool)
    if cluster is not None and not (is_number and cluster in range(tree.n_clusters)):
        got = repr(cluster) if np.ndim(cluster) == 0 else f"a {type(cluster).__name__}"
        raise ValueError(f"expected a cluster from 0 to {tree.n_clusters - 1}, got {got}")
    features = None if model.feature_map_ is None else [f"feature {j}" for j in range(tree.n_features)]
    for label in range(tree.n_clusters) if cluster is None else [cluster]:
        bounds = named(model._words[label : label + 1], column_names(model))
        bounds = bounds or tuple(cluster_in_words(tree, label, features))
        rows = full_count(n := int(tree.cluster_rows[label]), "row")
        if n == 0 and tree.cluster_rows.sum() < tree.n_rows[0]:  # after `Tree.split`
            rows = "rows not counted (with_tree(model.tree_, X) counts them)"
        if (again := model._repeats) is not None:
            rows += f", in {again.found[label]} of {full_count(len(again.n_clusters), 'other fit')}"
        lines.append(f"cluster {label}, {rows}: {' | or '.join(bounds)}")
        leaves = tree.leaves[tree.cluster[tree.leaves] == label]
        lines += [f"    {why_not(model, int(leaf))}" for leaf in leaves]
    said = f"{full_count(tree.n_clusters, 'cluster')} of {full_count(int(tree.n_rows[0]), 'row')}"
    if (groups := groups_in_words(model)) is not None:
        said += f" in {groups}"
    if limit := model._limit():
        said += f", {limit}"
    if tree.n_clusters == 1:
        hidden = HIDDEN if tree.n_rows[0] >= MANY_ROWS and not limit else ""
        hint = f"; {CROWD}" if model._crowded else LOOKED if looked_near(model) else hidden
        return f"{said}: {why_not(model, strongest(tree)[0])}{few_groups(model)}{hint}{next_steps(model)}"
    if model._crowded:
        said += f", but {CROWD}"
    said += certainty(model)
    return "\n".join([said, *lines, *further_lines(model), *[ASK] * (model._repeats is None)])


def certainty(model: Any) -> str:
    """Return in words how certain the splits of a tree are; nothing if they were not tested."""
    table = model.evidence()
    tested = table["separates"] & ~np.isnan(table["p_value"])
    if not tested.any():
        return ""
    if (family := table["p_family"][tested].max()) < 1:
        return f"; the least certain split has {p_text(family)}, adjusted for all tests of the tree"
    # Of hundreds of splits, a few may be false: what is known is how many.
    return f"; at most {percent(table['p_fdr'][tested].max())} of the splits are expected to be false"


FROM_ALL = "Of more rows: print(cluster_profiles(model, X).to_text())"

ASK = "Whether fits with other seeds find the same clusters: print(model.repeats(X))"


def clusters_of_remembered(model: Any) -> list[str]:
    """Return a line for each cluster of a model without a tree: its name, or the ranges of rows that are remembered."""
    rows, k = model.history_.remembered, model.n_clusters_
    if not len(rows) and not model._words:
        return []
    siblings, words, of = [{*range(k)} - {own} for own in range(k)], model._words, [""] * k
    if not words:
        labels = model._block_labels()(rows)
        words = clusters_in_words(rows, labels, siblings, model.columns)
        counts = np.bincount(labels[labels >= 0], minlength=k).tolist()
        of = [f" (from {full_count(n, 'row')})" if n < FEW_KNOWN else "" for n in counts]
    lines = [f"cluster {own}: {text}{of[own]}" for own, text in enumerate(named(words, column_names(model))) if text]
    return [*lines, *[FROM_ALL] * (any(of) and bool(lines))]


def along_one_column(model: Any) -> str:
    """Return where the deepest valley along a single column lies, which a method that compares all columns missed.

    The remembered rows are tested as those of a tree in one column are; their columns share the level of the test.
    """
    from .trees import RandomProjectionTree  # a subclass of what is explained here

    rows, names, found = model.history_.remembered, column_names(model), []
    if settled(model) or model.n_groups_ is not None or not 1 < rows.shape[1] <= MOST_COLUMNS:
        return ""
    is_number = np.ones(rows.shape[1], bool) if model.columns is None else model.columns.mask("continuous")
    quantile = 1 - (1 - RandomProjectionTree.quantile) / rows.shape[1]
    for j in np.flatnonzero(is_number).tolist():
        column = rows[np.isfinite(rows[:, j].astype(np.float64)), j : j + 1]
        if len(np.unique(column)) > 2:  # two values of a column are no clusters of a tree
            with use_journal(None):  # these are no passes over the data
                tree = RandomProjectionTree(n_projections=1, quantile=quantile).fit(column).tree_
            if tree.n_clusters > 1:
                found.append((tree.relative_depth[0], tree.thresholds[0] / tree.planes[0, 0], names[j]))
    if not found:
        return ""
    depth, where, name = max(found)
    return (
        f"\nThe column {name} alone has a valley of relative depth {depth_text(depth)} at {where:.3g}, which the other "
        "columns hide from neighbourhoods: a tree looks along single columns, as "
        f"{call('RandomProjectionTree', model)}.fit(X)"
    )


def further_lines(model: Any) -> list[str]:
    """Return lines for the label -1, about pixels that were taken for independent, and about other fits."""
    n = model.missing_values_.n_incomplete if model.missing == "drop" else 0
    lines = [f"cluster -1, {full_count(n, 'row')} of fit: they lack values, and were left out"] if n else []
    lines += [f"cluster -1: {IN_NONE}"] * model._leaves_rows
    return [*lines, *on_pixels(model), *([] if model._repeats is None else [str(model._repeats)])]


OTHERS = {
    "HierarchicalMDH": "hyperplanes that are turned into the valleys",
    "DensityTree": "clusters of any shape, and hundreds of them",
}
"""Methods to try after one cluster, in this order."""


def next_steps(model: Any) -> str:
    """Return what to try when all rows are one cluster, each step as a line of code; empty if that is settled."""
    if settled(model):
        return ""
    name, of_frame = type(model).__name__, hasattr(model, "feature_names_in_")
    steps = remedies(model._notes, column_names(model), of_frame)
    if of_frame and model.columns is not None and (model.columns.mask("continuous")).any():
        steps.append(f'{name}().fit(X.select_dtypes("number").dropna())  # the numbers alone')
    steps += [f"{call(other, model)}.fit(X)  # {what}" for other, what in OTHERS.items() if other != name]
    is_tree = hasattr(model, "tree_") and "n_clusters" in model.get_params(deep=False)
    if is_tree and model.tree_.relative_depth[0] > (model._least_depth() or 0.0):
        steps.append(f"{call(name, model, n_clusters=2)}.fit(X)  # the best split, which the rows do not confirm")
    return "\nTo try next, in this order:" + "".join(f"\n    {step}" for step in steps)


def settled(model: Any) -> bool:
    """Return whether one cluster was asked for, or is a union of some that the rows confirm, as of `cut`."""
    confirmed = model.evidence()["p_family"] <= 1 - getattr(model, "quantile", 1.0)
    return bool(model._limit()) or bool(confirmed.any())


def call(name: str, model: Any, **settings: Any) -> str:
    """Return the call of a class with settings, and with those of a model without which its rows would be refused."""
    usual, own = type(model)().get_params(deep=False), model.get_params(deep=False)
    if model.uses_types and "feature_map" not in own:  # a consensus, whose trees have it
        from .consensus_members import turns_of  # of estimators that are explained here

        usual["feature_map"], own["feature_map"] = None, turns_of(model.estimator)[0].feature_map
    of_rows = ["missing", "column_types"] + ["feature_map"] * model.uses_types
    kept = {key: own[key] for key in of_rows if key in own and own[key] != usual[key]}
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in (kept | settings).items())})"


def few_groups(model: Any) -> str:
    """Return that there are few groups or tiles to show a second cluster, and what to do; empty if there are enough."""
    if (n := model.n_groups_) is None or n >= 2 * N_PARTS or model._limit():
        return ""
    what, remedy = "group", "more groups show more"
    if model.pixel_columns_ is not None:
        what, remedy = "tile", 'more scenes show more, and dependence="none" describes the pixels of these'
    few = f"{are_too_few(n)} to confirm any split" if n < FEWEST_GROUPS else "are few to confirm a split"
    return f"; {full_count(n, what)} {few}: {remedy}"


def looked_near(model: Any) -> bool:
    """Return whether growing looked at neighbourhoods, which show clusters that are too many for any other line."""
    tree = model.tree_
    held = 0 if model.sample_size is None else rows_held(model.sample_size, tree.n_features)
    alone = model.order is None and model.known_labels_ is None and model.n_groups_ is None
    sought = alone and (model.feature_map_ is None or not has_levels(model.feature_map_.levels))
    return bool(model._near_rows() and sought and min(held, tree.n_rows[0]) >= FEWEST_ROWS)


def strongest(tree: Tree) -> tuple[int, float]:
    """Return the leaf with the most evidence for a split, the first of several or without any, and this evidence."""
    evidence = np.nan_to_num([tree.evidence(int(leaf)) for leaf in tree.leaves], nan=-1.0)
    return int(tree.leaves[evidence.argmax()]), float(evidence.max())


def least_rows(model: Any) -> int:
    """Return the least number of rows of a cluster of a tree; those that are very many may be smaller than usual."""
    tree = model.tree_
    least = model._least_rows(int(tree.n_rows[0]))
    there = tree.n_rows[tree.leaves[tree.n_rows[tree.leaves] > 0]]
    return min(least, int(there.min())) if len(there) > 1 else least


def why_not(model: Any, leaf: int) -> str:
    """Return why a leaf was not split."""
    tree, n_rows, least = model.tree_, int(model.tree_.n_rows[leaf]), least_rows(model)
    n_leaves = int(np.sum(tree.cluster[tree.leaves] == tree.cluster[leaf]))
    if n_leaves > 1:
        return f"{n_leaves} leaves were united, as the density of the rows shows no valley between them"
    if n_rows == 0:
        return "not split: no rows were counted there"
    if n_rows < 2 * least:
        return f"not split: it has {full_count(n_rows, 'row')}, fewer than twice min_cluster_size, {least:,}"
    if np.isnan(tree.relative_depth[leaf]) or len(tree.histogram(leaf)) == 0:
        return f"not split: {model._why_no_valley(leaf, full_count(least, 'row'))}"
    depth, at_least = depth_text(tree.relative_depth[leaf]), model._least_depth()
    along = f"along {direction_text(tree, leaf)} at {tree.thresholds[leaf]:.3g}"
    if model.feature_map_ is not None:
        along = f"along a direction of the {full_count(tree.n_features, 'feature')} of the map"
    valley = f"not split: the best valley, {along}, has relative depth {depth}"
    if at_least and tree.relative_depth[leaf] <= at_least:
        return f"{valley}, and a split needs more than min_relative_depth={at_least:g}"
    return _why_rejected(model, leaf, f"{valley}, {tree.evidence(leaf):.1f} standard errors")


def _why_rejected(model: Any, leaf: int, valley: str) -> str:
    """Return why the valley of a leaf was rejected, though it is deep enough."""
    if model.stop_rule != "hold-out":
        rules = [f"stop_rule={model.stop_rule!r}"] * (model.stop_rule != "none") + ["merging"] * model.merge
        return f"{valley}, and {' or '.join(rules) or 'a limit of the parameters'} rejected it"
    allowed = (1 - model.quantile) / model.n_candidates
    if model.n_groups_ is not None:
        return (
            f"{valley}, and a split needs a valley in the groups that did not choose it, with a p-value of at most "
            f"{allowed:.2g}"
        )
    p_value = float(model.tree_.p_value[leaf])
    if np.isnan(p_value):
        return f"{valley}, and no valley that half of the rows chose could be tested on the others"
    said = f"{valley}; on rows that did not choose it, its tests have {p_text(p_value)} together"
    if p_value <= 1 - model.quantile:
        by = "merging, as around them the density shows no valley, or by cut()" if model.merge else "cut() or a limit"
        return f"{said}, but its sides were united by {by}"
    return f"{said}, and a split needs {1 - model.quantile:.2g} in one of them"
