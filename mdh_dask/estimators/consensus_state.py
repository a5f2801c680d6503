"""The state of a consensus: its trees, and the cluster that each of their leaves votes for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._state import State, checked_array
from .._typing import AnyArray, Floats, Integers
from ..ensembles.consensus import Consensus, Found
from ..ensembles.labels import found_by
from ..ensembles.linkage import LabelLinkage
from ..ensembles.votes import NO_LABEL, words_of_labels
from ..growth.exemplars import Exemplars, medoids
from ..growth.passes import Sample
from ..growth.scaling import robust_standardiser
from .density_state import DensityState
from .states import TreeState

MOST_TREES = 10_000

MemberState = TreeState | DensityState


@dataclass(frozen=True)
class ConsensusState(State):
    """Trees and the votes of their leaves."""

    trees: tuple[MemberState, ...]
    clusters: tuple[Integers, ...]
    """The cluster that each leaf votes for; -1 for a leaf that votes for none."""
    n_voted: int
    """Number of clusters that leaves vote for."""
    agreement: Floats
    """Shape (n_trees,), float64: mean share of the rows to which a tree gives the label of another."""
    confidence: Integers
    """Shape (n_trees + 1,), int64: numbers of sample rows by the number of trees that agree with their label."""
    linked: Integers | None = None
    """Shape (n_clusters, n_leaves), int64: rows of each cluster in the leaves of all trees, by which rows are labelled
    instead of by votes."""
    n_pieces: int = 1
    """Number of clusters before those without a valley between them were merged."""
    counts: Integers | None = None
    """Shape (n_clusters,), int64: rows in each cluster; None if a sample of them was counted."""

    @classmethod
    def of(
        cls, trees: tuple[MemberState, ...], combined: Found | LabelLinkage, counted: Any, n_pieces: int | None = None
    ) -> Self:
        """Return the state of a consensus, or of a linkage of the leaves that the counted rows reached."""
        linkage = combined if isinstance(combined, LabelLinkage) else None
        found: Any = combined if linkage is None else found_by(linkage, counted)
        clusters = []
        for tree, names, own in zip(trees, found.consensus.names, found.consensus.clusters):
            of_leaf = np.full(tree.n_clusters, NO_LABEL, dtype=np.int32)
            of_leaf[names] = own
            clusters.append(of_leaf)
        linked = None
        if linkage is not None:
            starts = np.cumsum([0, *(tree.n_clusters for tree in trees)])
            linked = np.zeros((linkage.n_clusters, starts[-1]), dtype=np.int64)
            reached = np.concatenate([start + names for start, names in zip(starts, found.consensus.names)])
            linked[:, reached] = linkage.rows
        n = found.consensus.n_clusters
        return cls(trees, tuple(clusters), n, found.agreement, found.confidence, linked, n_pieces or n, found.sizes)

    @property
    def n_clusters(self) -> int:
        return self.n_voted

    @property
    def sizes(self) -> Integers | None:
        return self.counts

    @property
    def n_features(self) -> int:
        return self.trees[0].n_features

    @property
    def representative(self) -> int:
        """Return the index of the tree that agrees most with the others."""
        return int(self.agreement.argmax())

    def named(self, names: tuple[str, ...]) -> Self:
        """Return the state with names for the columns, also in trees that split them."""
        trees = [
            replace(own, tree=replace(own.tree, feature_names=names))
            if isinstance(own, TreeState) and own.feature_map is None
            else own
            for own in self.trees
        ]
        return replace(self, trees=tuple(trees))

    @property
    def rule(self) -> Consensus | LabelLinkage:
        """Return what labels rows by the leaves of the trees."""
        leaves = [np.arange(len(own)) for own in self.clusters]
        if self.linked is None:
            return Consensus(tuple(leaves), self.clusters, self.n_clusters)
        return LabelLinkage(tuple(map(words_of_labels, leaves)), self.linked)

    def _by_votes(self, of: Callable[[AnyArray], AnyArray], rows: AnyArray) -> AnyArray:
        """Return a function of the votes of the trees, or of the similarity to each cluster."""
        return self.rule.by_votes(of, [tree.labels(rows) for tree in self.trees])

    @property
    def missing(self) -> bool:
        return all(tree.missing for tree in self.trees)

    def labels(self, rows: AnyArray) -> Integers:
        """Return the cluster with the most votes, the first, and so largest, among several."""
        return self._by_votes(self.rule.labels, rows)

    def shares(self, rows: AnyArray) -> Floats:
        """Return the shares of the votes for every cluster, equal for a row without votes."""
        return self._by_votes(self.rule.shares, rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the trees that agree with the label of every row, or the share of its similarities."""
        return self._by_votes(self.rule.confidence, rows)

    def prepared(self) -> Self:
        for tree in self.trees:
            tree.prepared()
        return self

    def rarity(self, rows: AnyArray) -> Floats:
        """Return twice the median of the trees of hyperplanes, the lower one of an even number; at most 1.

        If at most a share of p of the rows has less than p in each tree, at most a share of p has a lower value than p
        here, whatever the trees have in common (N. Meinshausen, L. Meier and P. Buehlmann, P-values for
        high-dimensional regression, JASA 104, 2009).
        """
        trees = [own for own in self.trees if isinstance(own, TreeState)]
        if not trees:
            raise ValueError(
                "expected a consensus of trees of hyperplanes, whose densities say how rare a row is; got density "
                "trees alone: fit one DensityTree, where boundary_distance(X) < 0 for rows outside the density level"
            )
        each = np.sort([np.minimum(tree.rarity(rows), 1.0) for tree in trees], axis=0)
        return np.minimum(2 * each[(len(each) - 1) // 2], 1.0)

    def exemplars_among(self, sample: Sample) -> Exemplars:
        """Return the medoids of sample rows, in the features of the representative tree if it has some."""
        feature_map, rows = self.trees[self.representative].feature_map, sample.rows
        points = robust_standardiser(rows, scale=True).exactly(rows) if feature_map is None else feature_map(rows)
        return medoids(sample, points, self.labels(rows), self.n_clusters)

    def check(self) -> None:
        m = len(self.trees)
        if not m or len(self.clusters) != m or self.n_voted < 1 or self.n_voted > sum(map(len, self.clusters)):
            raise ValueError(
                f"expected clusters for the leaves of at least one tree, got those of {len(self.clusters)}"
            )
        checked_array("agreement", self.agreement, (m,), least=0)
        checked_array("confidence", self.confidence, (m + 1,), least=0)
        if self.counts is not None:
            checked_array("counts", self.counts, (self.n_voted,), least=0)
        for j, (tree, clusters) in enumerate(zip(self.trees, self.clusters)):
            if tree.n_features != self.n_features:
                raise ValueError(f"expected {self.n_features} columns of the tree {j}, got {tree.n_features}")
            checked_array(f"clusters.{j}", clusters, (tree.n_clusters,), least=NO_LABEL)
            if clusters.dtype != np.int32 or (clusters >= self.n_voted).any():
                raise ValueError(f"expected int32 clusters below {self.n_voted} in the array clusters.{j}, got others")
        if self.linked is not None:
            checked_array("linked", self.linked, (self.n_voted, sum(map(len, self.clusters))), least=0)
            if self.linked.dtype != np.int64 or not self.linked[:, : len(self.clusters[0])].any(axis=1).all():
                raise ValueError("expected rows in every cluster of the array linked, got a cluster without rows")
        elif len(np.setdiff1d(np.arange(self.n_clusters), np.concatenate(self.clusters))):
            raise ValueError(f"expected votes for each of {self.n_clusters} clusters, got none for some")
