"""The clusters that several clusterings agree on: tuples of labels, joined by average linkage.

Two rows are as similar as the share of the clusterings that give both the same label (evidence accumulation: Fred and
Jain 2005). Average linkage of this similarity needs only the number of rows of each group with each label, so that its
cost does not depend on the number of rows. Of all the partitions on the way, the one that shares the most information
with the clusterings is taken (Strehl and Ghosh 2002), so nothing has to be chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .consensus import Elected, Joined, join
from .votes import Tuples, words_of_labels

MOST_LINKED = 2048
"""Tuples with the most rows, which are joined; the time is in proportion to the square of their number."""


TOO_FEW = 1 / 5
"""Share of the clusterings that is too few to show clusters, if no more have several labels. A test that finds no
cluster is no evidence that there is none. If a share s of tests, however dependent, rejects at the level p, this
happens by chance with a probability of p / s at most (Rueger 1978): for two of nine trees, .225 at worst, and ``python
-m tests.benchmarks honesty --method ConsensusClustering`` counts far less."""


class Tally(NamedTuple):
    """Distinct tuples of labels, the largest first: their rows, and where their labels stand among all labels.

    rows (n_tuples,) int64; places (n_tuples, n_clusterings) int64; starts (n_clusterings + 1,): of each clustering's
    labels.
    """

    rows: Integers
    places: Integers
    starts: Integers

    def counts(self, group: Integers | None = None) -> Integers:
        """Return the rows with each label in each group of tuples, or in each tuple, shape (n_groups, n_labels)."""
        group = np.arange(len(self.rows)) if group is None else group
        counts = np.zeros((int(group.max()) + 1, self.starts[-1]), dtype=np.int64)
        np.add.at(counts, (group[:, None], self.places), self.rows[:, None])
        return counts


def tally_of(tuples: Tuples) -> tuple[Tally, tuple[Integers, ...]]:
    """Return the counted tuples, the largest first, and the labels of each clustering as words, ascending.

    Of tuples with as many rows, that of the first row comes first, so that the order does not depend on the labels.
    """
    order = np.lexsort((tuples.first, -tuples.counts))
    words, places = zip(*(np.unique(own, return_inverse=True) for own in tuples.words[order].T))
    starts = np.cumsum([0, *map(len, words)])
    return Tally(tuples.counts[order], np.stack(places, axis=1) + starts[:-1], starts), words


def information_shared(counts: Integers, starts: Integers, joined: Joined) -> Floats:
    """Return how much information the groups share with each clustering, before the first merge and after each.

    It is the mutual information as a share of the mean of both entropies, shape (n_groups, n_clusterings). `counts` are
    those of `Tally`.
    """
    of_label, rows = counts.sum(axis=0), counts[:, : starts[1]].sum(axis=1)
    # Rows are one more clustering, the last one, in which each group has a label of its own.
    counts, n = np.column_stack([counts, rows]).astype(np.float64), float(rows.sum())
    sums = [np.add.reduceat(_x_log_x(counts).sum(axis=0), starts)]
    for one, other in zip(joined.kept.tolist(), joined.gone.tolist()):
        both = counts[one] + counts[other]
        change = _x_log_x(both) - _x_log_x(counts[one]) - _x_log_x(counts[other])
        sums.append(sums[-1] + np.add.reduceat(change, starts))
        counts[one] = both
    entropy = np.log(n) - np.array(sums) / n
    of_groups, of_both = entropy[:, -1:], entropy[:, :-1]
    of_labels = np.log(n) - np.add.reduceat(_x_log_x(of_label), starts[:-1]) / n
    mean = (of_groups + of_labels) / 2
    return np.where(mean > TINY, (of_groups + of_labels - of_both) / np.maximum(mean, TINY), 1.0)


TINY = 1e-12
"""Entropies below this are of a single group, but for rounding errors."""

DECIMALS = 9
"""Information is compared by so many decimals: its sums are rounded differently in another order of the labels."""


def _x_log_x(x: AnyArray) -> Floats:
    return np.asarray(x * np.log(np.maximum(x, 1)))


def agreed_groups(tally: Tally, n_clusters: int | None = None) -> Integers:
    """Return the groups of tuples that share the most information with the clusterings, or so many groups.

    There are at most as many as in the clustering with the most labels: more are pieces between the borders of several.
    Of partitions that share as much, the one with the fewest groups is taken. Clusterings with one label only count
    where few have more.
    """
    counts, n_labels = tally.counts(), np.diff(tally.starts)
    joined = join(counts, len(n_labels))
    if n_clusters is None and (n_labels > 1).mean() <= TOO_FEW:
        n_clusters = 1
    most = int(n_labels.max()) if n_clusters is None else n_clusters
    n_merges = max(len(tally.rows) - most, 0)
    if n_clusters is None:
        shared = information_shared(counts, tally.starts, joined)[n_merges:, n_labels > 1].mean(axis=1).round(DECIMALS)
        n_merges += len(shared) - 1 - int(shared[::-1].argmax())
    return joined.groups(n_merges)


@dataclass(frozen=True)
class LabelLinkage(Elected):
    """Clusters by the labels of their rows: a row is in the cluster with whose rows it shares the most labels.

    words: the labels of each clustering as words, ascending; see `words_of_labels`.
    rows (n_clusters, n_labels) int64: rows of each cluster with each label, one clustering after another; the largest
        cluster is 0.
    """

    words: tuple[Integers, ...]
    rows: Integers

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.rows)

    def votes(self, labels: Sequence[AnyArray]) -> Floats:
        """Return the mean share of the clusterings in which a row has the label of a row of each cluster."""
        shares = self.rows / self.rows[:, : len(self.words[0])].sum(axis=1, keepdims=True)
        votes = np.zeros((len(labels[0]), self.n_clusters))
        start = 0
        for own, known in zip(labels, self.words):
            found = words_of_labels(own)
            place = np.minimum(np.searchsorted(known, found), len(known) - 1)
            # A label that no row of the fit had is shared with none.
            votes += np.where(known[place] == found, shares[:, start + place], 0).T
            start += len(known)
        return votes / len(self.words)

    def merged(self, group: Integers, tuples: Tuples, least: int = 1) -> "LabelLinkage":
        """Return the clusters in groups, without those of fewer than `least` rows, one at least."""
        rows = np.zeros((int(group.max()) + 1, self.rows.shape[1]), dtype=np.int64)
        np.add.at(rows, group, self.rows)
        while True:  # until the numbers settle, as a row that is as near to several clusters is in the first
            found = LabelLinkage(self.words, rows)
            label = found.by_votes(found.labels, [*tuples.words.view(np.int64).T])
            counts = np.bincount(label, weights=tuples.counts, minlength=len(rows))
            order = np.argsort(-counts, kind="stable")
            order = order[counts[order] >= min(least, counts.max())]
            if np.array_equal(order, np.arange(len(rows))):
                return found
            rows = rows[order]

    def confidence(self, votes: Floats) -> Floats:
        """Return the share of the votes for the label, shape (n_rows,)."""
        return self.shares(votes).max(axis=1)


def linkage_of(tuples: Tuples, n_clusters: int | None = None) -> LabelLinkage:
    """Return the clusters that the clusterings agree on most, from the counted tuples of their labels.

    Clusters with fewer rows than any of the clusterings has are pieces between the borders of several, and left out
    unless their number is given.
    """
    tally, words = tally_of(tuples)
    largest = tally._replace(rows=tally.rows[:MOST_LINKED], places=tally.places[:MOST_LINKED])
    rows = largest.counts(agreed_groups(largest, n_clusters))
    of_labels = tally.counts(np.zeros(len(tally.rows), dtype=np.int64))
    least = int(of_labels.min()) if n_clusters is None else 1
    return LabelLinkage(words, rows).merged(np.arange(len(rows)), tuples, least)
