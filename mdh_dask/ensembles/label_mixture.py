"""A mixture of the tuples of labels that several clusterings, such as the leaves of trees, give to rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan, work_through
from .consensus import Consensus, Found
from .mixture import Mixture, Tally, categorical_tally, fit_components, fits
from .tuples import LabelTuples, Tuples, words_of_labels

MOST_TUPLES = 2**16

MOST_VALUES = 2**22
"""Most tuples times labels of all clusterings: an iteration takes time in proportion."""

MOST_CLUSTERS = 100
"""Most components that are tried; the search ends earlier, soon after the least criterion."""


@dataclass(frozen=True)
class LabelMixture:
    """Components with the probabilities of the labels of each clustering.

    Parameters
    ----------
    words : tuple of arrays
        The labels of each clustering as words, ascending; see `words_of_labels`.
    mixture : Mixture
    cluster : array of shape (n_components,)
        The cluster of each component; the largest cluster is 0.
    """

    words: tuple[Integers, ...]
    mixture: Mixture
    cluster: Integers

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    def votes(self, labels: Sequence[AnyArray]) -> Floats:
        """Return the log probabilities of the labels of each row and each cluster, shape (n_rows, n_clusters)."""
        joint = np.repeat(self.mixture.log_weights[None], len(labels[0]), axis=0)
        start = 0
        for own, known in zip(labels, self.words):
            found = words_of_labels(own)
            place = np.minimum(np.searchsorted(known, found), len(known) - 1)
            # A label that no row of the fit had is no evidence.
            seen = known[place] == found
            joint[seen] += self.mixture.log_probabilities[:, start + place[seen]].T
            start += len(known)
        return by_cluster(joint, self.cluster)

    def merged(self, group: Integers, tuples: Tuples) -> "LabelMixture":
        """Return the mixture with the clusters in groups, of which those that no tuple is likeliest in are left out."""
        found = replace(self, cluster=group[self.cluster])
        label = found.labels(found.votes([*tuples.words.view(np.int64).T]))
        counts = np.bincount(label, weights=tuples.counts, minlength=found.n_clusters)
        kept = np.flatnonzero(counts[found.cluster] > 0)
        number = np.argsort(np.argsort(-counts, kind="stable"))
        mixture = self.mixture if len(kept) == len(found.cluster) else self.mixture.of(kept)
        return LabelMixture(self.words, mixture, number[found.cluster[kept]])

    def labels(self, votes: Floats) -> Integers:
        """Return the most probable cluster, shape (n_rows,), int32."""
        return votes.argmax(axis=1).astype(np.int32)

    def shares(self, votes: Floats) -> Floats:
        """Return the probability of each cluster."""
        shares = np.exp(votes - votes.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def confidence(self, votes: Floats) -> Floats:
        """Return the probability of the most probable cluster, shape (n_rows,)."""
        return self.shares(votes).max(axis=1)


def by_cluster(joint: Floats, cluster: Integers) -> Floats:
    """Return the log probabilities of clusters from those of their components.

    Examples
    --------
    >>> np.exp(by_cluster(np.log([[0.1, 0.2, 0.7]]), np.array([0, 1, 0]))).round(1)
    array([[0.8, 0.2]])
    """
    found = np.full((len(joint), int(cluster.max()) + 1), -np.inf)
    for component, of in zip(joint.T, cluster):
        found[:, of] = np.logaddexp(found[:, of], component)
    return found


def most_tuples(n_labels: int) -> int:
    """Return how many tuples a mixture is fitted to at most, by the number of labels of all clusterings.

    Examples
    --------
    >>> most_tuples(60), most_tuples(400)
    (65536, 10485)
    """
    return max(min(MOST_TUPLES, MOST_VALUES // n_labels), 1024)


def label_mixture(n_clusters: int | None, n_init: int, seed: int) -> Plan[LabelMixture]:
    """Plan a mixture of row-aligned labels, in one pass; see `consensus`."""
    tuples: Tuples = yield Pass("counting tuples", LabelTuples(MOST_TUPLES))
    return mixture_of(tuples, n_clusters, n_init, seed)


def mixture_of(tuples: Tuples, n_clusters: int | None, n_init: int, seed: int) -> LabelMixture:
    """Return the mixture of counted tuples, with the number of components of the least BIC unless it is given."""
    known, codes = zip(*(np.unique(own, return_inverse=True) for own in tuples.words.T))
    tally = categorical_tally(np.stack(codes, axis=1), [len(own) for own in known], tuples.counts)
    found: list[Mixture] = []

    def find(tally: Tally) -> tuple[()]:
        found.append(_mixture(tally, n_clusters, n_init, seed))
        return ()

    # A single item of work, so that BLAS is limited to one thread: the last bits of products depend on the threads.
    work_through(find, [tally])
    mixture = _by_size(found[0], tally)
    return LabelMixture(known, mixture, np.arange(mixture.n_components))


def found_by(mixture: LabelMixture, tuples: Tuples) -> Found:
    """Return the most probable cluster of each label alone, and how well these clusters agree in the counted rows."""
    log_weights, log_probabilities = mixture.mixture.log_weights, mixture.mixture.log_probabilities
    of_label = by_cluster((log_probabilities + log_weights[:, None]).T, mixture.cluster).argmax(axis=1).astype(np.int32)
    ends = np.cumsum([len(own) for own in mixture.words])
    names = tuple(own.view(np.int64) for own in mixture.words)
    consensus = Consensus(names, tuple(np.split(of_label, ends[:-1])), mixture.n_clusters)
    labels = list(tuples.words.view(np.int64).T)
    votes, n, m = consensus.votes(labels), tuples.counts.sum(), len(names)
    chosen = [own[np.searchsorted(known, j)] for own, known, j in zip(consensus.clusters, names, labels)]
    others = [tuples.counts @ (np.take_along_axis(votes, own[:, None], axis=1)[:, 0] - 1) for own in chosen]
    agreeing = np.take_along_axis(votes, mixture.labels(mixture.votes(labels))[:, None], axis=1)[:, 0]
    confidence = np.zeros(m + 1, dtype=np.int64)
    np.add.at(confidence, agreeing, tuples.counts)
    return Found(consensus, np.array(others) / (n * (m - 1)), confidence)


def _mixture(tally: Tally, n_clusters: int | None, n_init: int, seed: int) -> Mixture:
    if n_clusters is not None:
        return fit_components(tally, min(n_clusters, len(tally.counts)), n_init, seed).mixture
    tried = fits(tally, MOST_CLUSTERS, n_init, seed, "bic")
    return min(tried, key=lambda fit: fit.score("bic", tally)).mixture


def _by_size(mixture: Mixture, tally: Tally) -> Mixture:
    """Return the components that are the most probable one of any tuple, the largest first."""
    counts = np.zeros(mixture.n_components)
    np.add.at(counts, mixture.log_joint(tally.ones).argmax(axis=1), tally.counts)
    order = np.argsort(-counts, kind="stable")
    return mixture.of(order[counts[order] > 0])
