"""The consensus of several clusterings of the same rows, with the share of the votes for every row and cluster.

Labels are matched so that the most rows have equal ones. With P the share of the clusterings that put a row into a
cluster, the mean square of the distances from P to the memberships is smallest where the sum over pairs of clusterings
of the rows with equal matched labels is largest (thesis eq. 6.2.5). This sum needs only the contingency tables of the
pairs, so everything is exact in integers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy

from .._jit.rows import few_at_once
from .._jit.sums import count_votes
from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..tree.clusters import largest_first
from .votes import NO_LABEL, Votes


class Joined(NamedTuple):
    """Merges of groups in turn, the most similar first; a group is named by its first tuple."""

    kept: Integers
    gone: Integers
    similarity: Floats
    """Mean share of the clusterings that give a row of one group and a row of the other the same label."""

    def groups(self, n_merges: int) -> Integers:
        """Return the group of each tuple after so many merges, numbered by their first tuples."""
        group = np.arange(len(self.kept) + 1)
        for one, other in zip(self.kept[:n_merges].tolist(), self.gone[:n_merges].tolist()):
            group[group == other] = one
        return np.unique(group, return_inverse=True)[1]


def join(counts: Integers, n_clusterings: int) -> Joined:
    """Return the merges of groups by average linkage, along chains of nearest neighbours (Murtagh 1983).

    SciPy's average linkage takes no weights, and so a row for each row, not for each distinct tuple of labels. Numbers
    of pairs of rows are whole, so that equal similarities are equal for any order of the labels.

    counts (n_groups, n_labels) int64: rows of each group with each label of all clusterings.
    """
    sums = scipy.sparse.csr_array(counts.astype(np.float64))  # whose products are added in order, unlike those of BLAS
    pairs, rows = (sums @ sums.T).toarray(), counts.sum(axis=1) / n_clusterings
    left, found = np.ones(len(rows), dtype=bool), np.full(len(rows), np.inf)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    while len(merges) < len(rows) - 1:
        tip = chain[-1] if chain else int(left.argmax())
        similar = np.where(left, pairs[tip] / (rows * rows[tip]), -1.0)
        similar[tip] = -1.0
        near = int(similar.argmax())
        if len(chain) > 1 and similar[chain[-2]] >= similar[near]:
            one, other = sorted((chain.pop(), chain.pop()))
            # Rounding errors, of more than 2^53 pairs, must not put a merge before those that it follows.
            found[one] = min(similar[near] / n_clusterings, found[one], found[other])
            merges.append((found[one], one, other))
            pairs[one] += pairs[other]
            pairs[:, one] += pairs[:, other]
            rows[one] += rows[other]
            left[other] = False
        else:
            chain = [*(chain or [tip]), near]
    similarity, kept, gone = (np.array(own) for own in zip(*merges)) if merges else np.empty((3, 0))
    order = np.argsort(-similarity, kind="stable")
    return Joined(kept[order].astype(np.int64), gone[order].astype(np.int64), similarity[order])


SAMPLED_ROWS = 2**16
"""Sample rows that show which clusters are the first choice of any row."""


@dataclass
class Matching:
    """A matching of the labels of several clusterings to columns, with different columns for the labels of each.

    tables (n_places, n_places) int64: symmetric: numbers of rows with both labels. The diagonal blocks belong to single
        clusterings.
    starts (n_clusterings + 1,): index of the first label of each clustering.
    """

    tables: Integers
    starts: Integers
    column: Integers = field(init=False)
    """The column of every label; -1 if it is not matched yet."""
    shared: Integers = field(init=False)
    """Labels of a column that rows of a label have, one for each matched clustering, shape (n_columns, n_places)."""

    def __post_init__(self) -> None:
        self.column = np.full(len(self.tables), -1)
        self.shared = np.zeros((int(np.diff(self.starts).max()), len(self.tables)), dtype=np.int64)

    def match(self, j: int) -> bool:
        """Match the labels of a clustering optimally to those of the others; return whether this is better."""
        own = slice(self.starts[j], self.starts[j + 1])
        before, agreeing = self.column[own], self.shared[:, own].copy()
        matched = before[0] >= 0
        if matched:
            agreeing[before] -= self.tables[own, own]
        column, place = scipy.optimize.linear_sum_assignment(agreeing, maximize=True)
        new, here = column[np.argsort(place)], np.arange(len(before))
        if matched:
            if agreeing[new, here].sum() <= agreeing[before, here].sum():
                return False
            self.shared[before] -= self.tables[own]
        self.shared[new] += self.tables[own]
        self.column[own] = new
        return True

    @property
    def agreement(self) -> Integers:
        """Number of rows with the label of another clustering, summed over the others, shape (n_clusterings,)."""
        held = np.diagonal(self.tables)
        equal = self.shared[self.column, np.arange(len(held))] - held
        return np.add.reduceat(equal, self.starts[:-1])


def match_labels(tables: Integers, starts: Integers, order: Integers) -> Matching:
    """Return a matching that cannot be improved by a rematch of any single clustering.

    order (n_clusterings,): order of the clusterings: each is first matched with those before it (voting, Dimitriadou,
        Weingessel and Hornik 2002), and then with all others, in turn, until nothing changes.
    """
    matching = Matching(tables, starts)
    for j in order:
        matching.match(int(j))
    while any([matching.match(int(j)) for j in order]):  # a list, so that every clustering has its turn
        pass
    return matching


class Elected(ABC):
    """Base of what labels rows by votes for clusters, of which the largest is the first."""

    @abstractmethod
    def votes(self, labels: Sequence[AnyArray]) -> AnyArray:
        """Return the votes for each cluster by the labels of each clustering, shape (n_rows, n_clusters)."""

    def by_votes(self, of: Callable[[AnyArray], AnyArray], labels: Sequence[AnyArray]) -> AnyArray:
        """Return a function of the votes for few rows at a time, as votes take more memory than labels."""
        parts = few_at_once(max(len(labels[0]), 1))
        return np.concatenate([of(self.votes([own[part] for own in labels])) for part in parts])

    def labels(self, votes: AnyArray) -> Integers:
        """Return the cluster with the most votes, shape (n_rows,), int32; the largest one among several."""
        return votes.argmax(axis=1).astype(np.int32)

    def shares(self, votes: AnyArray) -> Floats:
        """Return the shares of the votes for each cluster, which are equal for a row without votes."""
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1), 1 / votes.shape[1])


@dataclass(frozen=True)
class Consensus(Elected):
    """The cluster that each label of each clustering votes for.

    names: the labels of each clustering, ascending.
    clusters: the cluster that each of them votes for; -1 for a cluster that is the first choice of no row.
    """

    names: tuple[AnyArray, ...]
    clusters: tuple[Integers, ...]
    n_clusters: int

    def votes(self, labels: Sequence[AnyArray]) -> Integers:
        """Return the number of clusterings that put each row into each cluster, shape (n_rows, n_clusters), int32."""
        chosen = np.empty((len(labels[0]), len(labels)), dtype=np.int32)
        for j, (own, names, clusters) in enumerate(zip(labels, self.names, self.clusters)):
            # A label that no row of the fit had does not vote.
            place = np.minimum(np.searchsorted(names, own), len(names) - 1)
            chosen[:, j] = np.where(names[place] == own, clusters[place], NO_LABEL)
        return counted_votes(chosen, self.n_clusters)

    def confidence(self, votes: Integers) -> Floats:
        """Return the share of the clusterings that agree with the label of a row, shape (n_rows,)."""
        return votes.max(axis=1) / len(self.names)


class Found(NamedTuple):
    """A consensus and the agreement of the clusterings.

    agreement (n_clusterings,): mean share of the rows to which a clustering gives the matched label of another.
    confidence (n_clusterings + 1,) int64: sample rows by the number of clusterings that agree with their label.
    sizes (n_clusters,) int64: rows in each cluster, if all rows were counted; otherwise None.
    """

    consensus: Consensus
    agreement: Floats
    confidence: Integers
    sizes: Integers | None

    def merged(self, group: Integers, votes: Votes) -> "Found":
        """Return the consensus with its clusters in groups, numbered from 0."""
        cluster = np.append(group, NO_LABEL)[np.concatenate(self.consensus.clusters)]
        cluster = _numbered(cluster, np.diagonal(votes.tables), votes.sample.rows)
        tables = np.maximum(votes.tables, votes.tables.T)
        ones = cluster[:, None] == np.arange(int(cluster.max()) + 1)
        equal = (ones * (tables @ ones)).sum(axis=1) - np.where(cluster >= 0, np.diagonal(tables), 0)
        return _found(votes, cluster, np.add.reduceat(equal, votes.starts[:-1]))


def find_consensus(votes: Votes, *, n_clusters: int | None = None, n_init: int = 10, seed: int = 0) -> Found:
    """Return the consensus of clusterings from their counted votes; see `mdh_dask.consensus`.

    The result does not depend on the names of labels or the order of chunks: labels are ordered by size, and then by
    their first rows. All sums are integers.
    """
    clustering = np.repeat(np.arange(len(votes.names)), [len(names) for names in votes.names])
    order = np.lexsort((votes.first, -np.diagonal(votes.tables), clustering))
    upper = votes.tables[np.ix_(order, order)]
    tables = np.maximum(upper, upper.T)  # a pair is in one of the triangles, with zero in the other
    m = len(votes.names)
    orders = (generator(seed, start).permutation(m) for start in range(n_init))
    best = max((match_labels(tables, votes.starts, own) for own in orders), key=lambda found: found.agreement.sum())
    cluster = np.empty_like(best.column)
    cluster[order] = best.column
    sampled = np.append(cluster, NO_LABEL)[votes.sample.rows].astype(np.int32)
    of_column = _clusters_of_columns(best, sampled, n_clusters)
    return _found(votes, of_column[cluster], best.agreement)


def _found(votes: Votes, cluster: Integers, agreement: Integers) -> Found:
    """Return the consensus in which each label votes for a cluster, and clusterings agree in so many rows."""
    m = len(votes.names)
    own = tuple(cluster[a:b].astype(np.int32) for a, b in pairwise(votes.starts))
    consensus = Consensus(votes.names, own, int(cluster.max()) + 1)
    chosen, agreeing = _first_choices(cluster, votes.sample.rows)
    labelled = np.add.reduceat(np.diagonal(votes.tables), votes.starts[:-1])
    share = agreement / np.maximum(labelled * (m - 1), 1)
    sizes = np.bincount(chosen, minlength=consensus.n_clusters) if len(chosen) == labelled[0] else None
    return Found(consensus, share, np.bincount(agreeing, minlength=m + 1), sizes)


def _clusters_of_columns(matching: Matching, sampled: Integers, n_clusters: int | None) -> Integers:
    """Return the cluster of every column, the largest first; -1 for one that no sample row chooses first."""
    held = np.diagonal(matching.tables)
    weight = np.zeros(len(matching.shared), dtype=np.int64)
    np.add.at(weight, matching.column, held)
    cluster = _numbered(np.arange(len(weight)), weight, sampled)
    if n_clusters is None or cluster.max() < n_clusters:
        return cluster
    sums = np.zeros((cluster.max() + 1, len(held)), dtype=np.int64)
    np.add.at(sums, cluster[cluster >= 0], matching.shared[cluster >= 0])
    merged = np.append(join(sums, len(matching.starts) - 1).groups(len(sums) - n_clusters), NO_LABEL)[cluster]
    return _numbered(merged, weight, sampled)


def _numbered(cluster: Integers, weight: Integers, sampled: Integers) -> Integers:
    """Return the clusters of columns, numbered by the sample rows whose first choice they are, without those of none.

    They are numbered by the sums of the columns' weights before. A row with as many votes for several is in the first,
    so new numbers move it to a larger cluster. The sum of the squared sizes grows with every turn that moves a row, so
    the numbers settle.
    """
    total = np.zeros(int(cluster.max()) + 1, dtype=np.int64)
    np.add.at(total, cluster[cluster >= 0], weight[cluster >= 0])
    cluster = np.append(largest_first(total), NO_LABEL)[cluster]
    while True:
        counts = np.bincount(_first_choices(cluster, sampled)[0], minlength=int(cluster.max()) + 1)
        number = np.where(counts > 0, largest_first(counts), NO_LABEL)
        if (number == np.arange(len(number))).all():
            return cluster
        cluster = np.append(number, NO_LABEL)[cluster]


def _first_choices(cluster: Integers, sampled: Integers) -> tuple[Integers, Integers]:
    """Return the cluster with the most votes of every sample row, the first among several, and its number of votes."""
    clusters = np.append(cluster, NO_LABEL)[sampled].astype(np.int32)
    chosen, most = np.empty((2, len(clusters)), dtype=np.int64)
    for part in few_at_once(len(clusters)):
        votes = counted_votes(clusters[part], int(cluster.max()) + 1)
        chosen[part], most[part] = votes.argmax(axis=1), votes.max(axis=1)
    return chosen, most


def counted_votes(clusters: Integers, n_clusters: int) -> Integers:
    """Return how many clusterings put each row into each cluster; a negative cluster is no vote."""
    votes = np.zeros((len(clusters), n_clusters), dtype=np.int32)
    count_votes(clusters, votes)
    return votes
