"""The consensus of labels of the same rows from any methods, by votes or by a mixture of the tuples of labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from .._numbering import largest_first
from .._typing import AnyArray, Floats, Integers, RowArray
from ..chunks import Pass, Plan, map_rows, run, work_through
from ..growth.passes import sample_limit
from ..metrics.contingency import check_labels
from .consensus import SAMPLED_ROWS, Consensus, Found, find_consensus
from .mixture import LabelTuples, Mixture, Tally, Tuples, categorical_tally, fit_components, fits, words_of_labels
from .votes import LabelVotes, Votes

MOST_TUPLES = 2**16

MOST_VALUES = 2**22
"""Most tuples times labels of all clusterings: an iteration takes time in proportion."""

MOST_CLUSTERS = 100
"""Most components that are tried; the search ends earlier, soon after the least criterion."""


@dataclass(frozen=True)
class LabelMixture:
    """Components with the probabilities of the labels of each clustering.

    words: the labels of each clustering as words, ascending; see `words_of_labels`.
    cluster (n_components,): the cluster of each component; the largest cluster is 0.
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
        number = largest_first(counts)
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
    # Words ascend as unsigned numbers, labels as signed ones: negative labels are the last words, but the first labels.
    orders = [np.argsort(own.view(np.int64)) for own in mixture.words]
    names = tuple(own.view(np.int64)[order] for own, order in zip(mixture.words, orders))
    clusters = tuple(own[order] for own, order in zip(np.split(of_label, ends[:-1]), orders))
    consensus = Consensus(names, clusters, mixture.n_clusters)
    labels = list(tuples.words.view(np.int64).T)
    votes, n, m = consensus.votes(labels), tuples.counts.sum(), len(names)
    chosen = [own[np.searchsorted(known, j)] for own, known, j in zip(consensus.clusters, names, labels)]
    others = [tuples.counts @ (np.take_along_axis(votes, own[:, None], axis=1)[:, 0] - 1) for own in chosen]
    label = mixture.labels(mixture.votes(labels))
    agreeing = np.take_along_axis(votes, label[:, None], axis=1)[:, 0]
    confidence = np.zeros(m + 1, dtype=np.int64)
    np.add.at(confidence, agreeing, tuples.counts)
    sizes = np.zeros(mixture.n_clusters, dtype=np.int64)
    np.add.at(sizes, label, tuples.counts)
    return Found(consensus, np.array(others) / (n * (m - 1)), confidence, sizes if n == tuples.n_rows else None)


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


class ConsensusLabels(NamedTuple):
    """The result of `consensus`, with lazy row-aligned arrays for lazy labels.

    labels (n_rows,) int32: from 0 to ``n_clusters - 1``, the largest cluster first.
    confidence (n_rows,) float64: the share of the clusterings that agree with the label.
    shares (n_rows, n_clusters) float64: the shares of the votes for each cluster.
    """

    labels: RowArray
    confidence: RowArray
    shares: RowArray
    n_clusters: int


def consensus(
    *labels: Any,
    n_clusters: int | None = None,
    n_init: int = 10,
    random_state: int = 0,
    method: Literal["votes", "mixture"] = "votes",
) -> ConsensusLabels:
    """Return the clustering that several clusterings of the same rows agree on most.

    Parameters
    ----------
    *labels : arrays of shape (n_rows,), integers, booleans or strings
        At least two NumPy or Dask arrays or sequences, from any methods. Negative integers do not vote.
    n_clusters : int, optional
        If there are more clusters, those that the clusterings join most often are merged. By default the number of
        labels in the clustering with the most labels.
    n_init : int
        Number of random orders in which the labels are matched; the best result is returned.
    random_state : int
        Seed of these orders.
    method : {"votes", "mixture"}
        ``"votes"``: labels are matched to maximise their agreement. ``"mixture"``: tuples of labels follow a mixture of
        products of categorical distributions, each a cluster, whose number is that of the least Bayesian information
        criterion unless `n_clusters` is given (Topchy, Jain and Punch 2005). Shares and confidence are probabilities,
        `n_init` is the number of starts, and a negative integer is one more label. Of more than 65,536 different
        tuples, a random sample of as many is used.

    Returns
    -------
    ConsensusLabels
        Labels, the share of the clusterings that agree with them, and the shares of the votes for every cluster.

    Raises
    ------
    TypeError
        If labels are not integers, booleans or strings.
    ValueError
        If there are fewer than two arrays, one has another length or shape, or no label at all, or an option is
        invalid.

    Notes
    -----
    One pass counts the contingency tables of all pairs of clusterings, from which the labels are matched exactly, for
    any number of rows; computing lazy results takes another. The result does not depend on the chunks or the names of
    labels. Source: E. Dimitriadou, A. Weingessel and K. Hornik, A combination scheme for fuzzy clustering,
    International Journal of Pattern Recognition and Artificial Intelligence 16(7), 2002; thesis (Yates 2017), eq.
    6.2.5.

    Examples
    --------
    >>> found = consensus([0, 0, 1, 1, 2], [5, 5, 3, 3, 3], ["a", "a", "b", "b", "b"])
    >>> found.labels, found.confidence.round(2)
    (array([1, 1, 0, 0, 0], dtype=int32), array([1.  , 1.  , 1.  , 1.  , 0.67]))
    """
    for name, value in (("n_clusters", n_clusters), ("n_init", n_init)):
        if not (isinstance(value, int) and value >= 1) and not (name == "n_clusters" and value is None):
            none = "None or " if name == "n_clusters" else ""
            raise ValueError(f"{name} must be {none}an integer of at least 1; got {value!r}")
    if method not in ("votes", "mixture"):
        raise ValueError(f"method must be 'votes' or 'mixture'; got {method!r}")
    if len(labels) < 2:
        raise ValueError(f"expected at least 2 arrays of labels; got {len(labels)}: pass one for each clustering")
    checked = [check_labels(f"labels_{j}", own) for j, own in enumerate(labels, start=1)]
    for j, own in enumerate(checked[1:], start=2):
        if len(own) != len(checked[0]):
            raise ValueError(
                f"labels_1 and labels_{j} must label the same rows; got {len(checked[0])} and {len(own)} labels"
            )
    mixed = method == "mixture"
    plan = label_mixture(n_clusters, n_init, random_state) if mixed else _plan(
        len(checked[0]), n_clusters, n_init, random_state
    )  # fmt: skip
    found = run(plan, *checked).result
    return ConsensusLabels(
        map_rows(_labels, *checked, dtype="int32", shared=found),
        map_rows(_confidence, *checked, dtype="float64", shared=found),
        map_rows(_shares, *checked, dtype="float64", n_columns=found.n_clusters, shared=found),
        found.n_clusters,
    )


def _plan(n_rows: int, n_clusters: int | None, n_init: int, seed: int) -> Plan[Consensus]:
    votes: Votes = yield Pass("counting votes", LabelVotes(seed, sample_limit(SAMPLED_ROWS, n_rows)))
    for j, names in enumerate(votes.names, start=1):
        if len(names) == 0:
            raise ValueError(f"labels_{j} has no label, as all its numbers are negative: leave it out")
    return find_consensus(votes, n_clusters=n_clusters, n_init=n_init, seed=seed).consensus


def _labels(found: Any, *labels: AnyArray) -> AnyArray:
    return found.labels(found.votes(labels))


def _confidence(found: Any, *labels: AnyArray) -> AnyArray:
    return found.confidence(found.votes(labels))


def _shares(found: Any, *labels: AnyArray) -> AnyArray:
    return found.shares(found.votes(labels))
