"""Fitted trees in words and pictures."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._words import depth_text, full_count
from ..density.histograms import Histograms
from ..splits.null import unimodal_p_value
from ..splits.rules import THRESHOLD_RULES
from ..tree.export import direction_text
from ..tree.structure import Tree
from ..tree.words import cluster_in_words
from .base import ClusterEstimator
from .validation import rows_of_share

COMES_TO_ITS_TURN = ("scatter", "eigenvalue")
"""Orders that examine a cluster only when its turn comes to be split."""


class Explaining(ClusterEstimator):
    """A mixin for estimators of one tree that explains the clusters."""

    tree_: Tree
    feature_map_: Any
    min_cluster_size: float | None
    min_relative_depth: float
    threshold_rule: str
    stop_rule: str
    quantile: float
    n_candidates: int
    max_levels: int | None
    order: str | None

    def why(self, cluster: int | None = None) -> str:
        """Return in words which splits bound each cluster, and why it is not split further.

        Parameters
        ----------
        cluster : int, optional
            Label of the only cluster to explain; all by default.

        Returns
        -------
        str
            Of the best valley that was not split: its relative depth, its evidence in standard errors, and the share of
            samples from the closest distribution with a single mode that have one as deep there. No pass.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there is no such cluster.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> print(RandomProjectionTree(100).fit(X).why().split(":")[0])
        1 cluster of 500 rows
        """
        check_is_fitted(self)
        if cluster is not None and not 0 <= cluster < self.n_clusters_:
            raise ValueError(f"expected a cluster from 0 to {self.n_clusters_ - 1}, got {cluster}")
        tree, lines = self.tree_, []
        for label in range(self.n_clusters_) if cluster is None else [cluster]:
            bounds = cluster_in_words(tree, label, self._column_names())
            rows = full_count(int(tree.cluster_rows[label]), "row")
            lines.append(f"cluster {label}, {rows}: {' | or '.join(bounds)}" if bounds != [""] else "")
            leaves = tree.leaves[tree.cluster[tree.leaves] == label]
            lines += [f"    {self._why_not(int(leaf))}" for leaf in leaves]
        said = f"{full_count(self.n_clusters_, 'cluster')} of {full_count(int(tree.n_rows[0]), 'row')}"
        if limit := self._limit():
            said += f", {limit}"
        if self.n_clusters_ == 1:
            return f"{said}: {self._why_not(self._best_failed())}"
        return "\n".join([said, *lines])

    def _best_failed(self) -> int:
        """Return the leaf with the best valley that was not split, or the first one."""
        leaves = self.tree_.leaves
        evidence = [self.tree_.evidence(int(leaf)) for leaf in leaves]
        return int(leaves[int(np.argmax(np.nan_to_num(evidence, nan=-1.0)))])

    def _why_not(self, leaf: int) -> str:
        """Return why a leaf was not split."""
        tree, n_rows = self.tree_, int(self.tree_.n_rows[leaf])
        least = rows_of_share(self.min_cluster_size, int(tree.n_rows[0]))
        if self.n_clusters_ < len(tree.leaves) and np.sum(tree.cluster[tree.leaves] == tree.cluster[leaf]) > 1:
            n_leaves = int(np.sum(tree.cluster[tree.leaves] == tree.cluster[leaf]))
            return f"{n_leaves} leaves were united, as the density of the rows shows no valley between them"
        if n_rows < 2 * least:
            return f"not split: it has {full_count(n_rows, 'row')}, fewer than twice min_cluster_size, {least:,}"
        if np.isnan(tree.relative_depth[leaf]) or len(tree.histogram(leaf)) == 0:
            return f"not split: {self._why_no_valley(leaf, full_count(least, 'row'))}"
        depth, at_least = depth_text(tree.relative_depth[leaf]), self._least_depth()
        valley = (
            f"not split: the best valley, along {direction_text(tree, leaf, self._column_names())} at "
            f"{tree.thresholds[leaf]:.3g}, has relative depth {depth}"
        )
        if at_least and tree.relative_depth[leaf] <= at_least:
            return f"{valley}, and a split needs more than min_relative_depth={at_least:g}"
        valley += f", {tree.evidence(leaf):.1f} standard errors"
        merges = bool(getattr(self, "merge", False))
        if not self.stop_rule.startswith("hold-out"):
            rules = [f"stop_rule={self.stop_rule!r}"] * (self.stop_rule != "none") + ["merging"] * merges
            return f"{valley}, and {' or '.join(rules) or 'a limit of the parameters'} rejected it"
        allowed, share = (1 - self.quantile) / self.n_candidates, self._p_value(leaf)
        said = f"{valley}; {share:.2g} of samples with a single mode have one as deep there, and a split needs "
        if merges and share <= allowed:
            return f"{said}{allowed:.2g}, but merging united its sides: around them the density shows no valley"
        return f"{said}{allowed:.2g} on rows that did not choose it"

    def _why_no_valley(self, leaf: int, least: str) -> str:
        """Return why no valley of a leaf is known: it may not have been examined at all."""
        if self.max_levels is not None and self.tree_.level[leaf] >= self.max_levels:
            return f"it lies under max_levels={self.max_levels} splits"
        if self.order in COMES_TO_ITS_TURN:
            return f"its turn did not come, or no split with {least} on both sides was possible"
        return f"no valley with {least} on both sides was found"

    def _why_fewer(self) -> str:
        """Return why no further cluster could be split."""
        least = rows_of_share(self.min_cluster_size, int(self.tree_.n_rows[0]))
        levels = "" if self.max_levels is None else f", or lies under max_levels={self.max_levels} splits"
        return (
            f"every cluster has too few rows or no valley of min_relative_depth={self._least_depth():g} with "
            f"{least:,} rows (min_cluster_size) on both sides{levels}. Lower them, or ask for fewer"
        )

    def _least_depth(self) -> float:
        """Return the least relative depth of the splits of the tree, zero if they need no valley."""
        return self.min_relative_depth if THRESHOLD_RULES[self.threshold_rule].limits_depth else 0.0

    def _column_names(self) -> list[str] | None:
        """Return names for the features of a map, which have none."""
        return None if self.feature_map_ is None else [f"feature {j}" for j in range(self.tree_.n_features)]

    def _p_value(self, leaf: int) -> float:
        tree = self.tree_
        histogram = Histograms(
            tree.histogram(leaf)[None], tree.origin[[leaf]], tree.width[[leaf]], self._bandwidth_rule(), np.zeros(1),
            known_bandwidth=tree.bandwidth[[leaf]],
        )  # fmt: skip
        k = histogram.bin_of(float(tree.thresholds[leaf]), 0)
        return unimodal_p_value(histogram, k, generator(0, leaf))

    @abstractmethod
    def _bandwidth_rule(self) -> Any:
        """Return the rule for the bandwidth along a direction."""

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and a map of the tree if there is one."""
        diagram = str(super()._html_repr())
        tree = getattr(self, "tree_", None)
        return diagram if tree is None else f"{diagram}{tree._repr_html_()}"
