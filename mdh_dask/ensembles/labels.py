"""The consensus of labels of the same rows from any methods, by votes or by linkage of the tuples of labels."""

from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np

from .._typing import AnyArray, RowArray, cached_property
from ..chunks import fit_chunks, map_rows, reduce_rows
from ..growth.passes import sample_limit
from ..metrics.contingency import check_labels
from .consensus import SAMPLED_ROWS, Consensus, Elected, Found, find_consensus
from .linkage import LabelLinkage, linkage_of
from .votes import LabelTuples, LabelVotes, Tuples, Votes, check_number_of_labels

MOST_TUPLES = 2**16


def most_tuples(n_labels: int) -> int:
    """Return how many tuples are counted at most, by the number of labels of all clusterings."""
    return max(min(MOST_TUPLES, 2**22 // n_labels), 1024)  # memory and time are in proportion


def found_by(linkage: LabelLinkage, tuples: Tuples) -> Found:
    """Return the cluster with the most rows of each label, and how well these clusters agree in the counted rows."""
    of_label = linkage.rows.argmax(axis=0).astype(np.int32)
    ends = np.cumsum([len(own) for own in linkage.words])
    # Words ascend as unsigned numbers, labels as signed ones: negative labels are the last words, but the first labels.
    orders = [np.argsort(own.view(np.int64)) for own in linkage.words]
    names = tuple(own.view(np.int64)[order] for own, order in zip(linkage.words, orders))
    clusters = tuple(own[order] for own, order in zip(np.split(of_label, ends[:-1]), orders))
    consensus = Consensus(names, clusters, linkage.n_clusters)
    labels = list(tuples.words.view(np.int64).T)
    votes, n, m = consensus.votes(labels), tuples.counts.sum(), len(names)
    chosen = [own[np.searchsorted(known, j)] for own, known, j in zip(consensus.clusters, names, labels)]
    others = [tuples.counts @ (np.take_along_axis(votes, own[:, None], axis=1)[:, 0] - 1) for own in chosen]
    label = linkage.labels(linkage.votes(labels))
    agreeing = np.take_along_axis(votes, label[:, None], axis=1)[:, 0]
    confidence = np.zeros(m + 1, dtype=np.int64)
    np.add.at(confidence, agreeing, tuples.counts)
    sizes = np.zeros(linkage.n_clusters, dtype=np.int64)
    np.add.at(sizes, label, tuples.counts)
    return Found(consensus, np.array(others) / (n * (m - 1)), confidence, sizes if n == tuples.n_rows else None)


@dataclass(frozen=True, eq=False)
class ConsensusLabels:
    """The result of `consensus`, with lazy row-aligned arrays for lazy labels.

    labels (n_rows,) int32: from 0 to ``n_clusters - 1``: the cluster with the most rows first, of all rows or of the
        sample that `consensus` counts.
    confidence (n_rows,) float64: the share of the clusterings that agree with the label; with
        ``method="linkage"``, the share that its cluster has in the similarities of the row to all.
    """

    labels: RowArray
    confidence: RowArray
    n_clusters: int
    _rule: Elected = field(repr=False)
    _given: tuple[RowArray, ...] = field(repr=False)

    @cached_property
    def shares(self) -> RowArray:
        """The shares of the votes for each cluster, shape (n_rows, n_clusters), float64.

        They are computed when they are first asked for, as they take more memory than all labels.
        """
        given = [fit_chunks(own, 8 * self.n_clusters) for own in self._given]
        of_votes = partial(_of_votes, "shares")
        return map_rows(of_votes, *given, dtype="float64", n_columns=self.n_clusters, shared=self._rule)


def consensus(
    *labels: Any,
    n_clusters: int | None = None,
    n_init: int = 10,
    random_state: int = 0,
    method: Literal["votes", "linkage"] = "votes",
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
    method : {"votes", "linkage"}
        ``"votes"``: labels are matched to maximise their agreement. ``"linkage"``: rows are as similar as the share of
        the labels that they share, average linkage joins them, and of all the partitions on the way the one is taken
        that shares the most information with the clusterings, or has `n_clusters`. It is better where the numbers of
        labels differ. A negative integer is one more label. Of more than 65,536 different tuples, a random sample of
        as many is used.

    Returns
    -------
    ConsensusLabels
        Labels, the share of the clusterings that agree with them, and the shares of the votes for every cluster.

    Raises
    ------
    TypeError
        If labels are not integers, booleans or strings.
    ValueError
        If there are fewer than two arrays, one has another length or shape, or no label at all, all together have more
        than 8192 different labels, or an option is invalid.

    Notes
    -----
    One pass counts the contingency tables of all pairs of clusterings, from which the labels are matched exactly, for
    any number of rows; computing lazy results takes another. Clusters are numbered by their rows: with votes, by those
    of a sample of about 65,536 if there are more; with linkage, by those of the tuples that are used. The result does
    not depend on the chunks or the names of labels. Source: E. Dimitriadou, A. Weingessel and K. Hornik, A combination
    scheme for fuzzy clustering, International Journal of Pattern Recognition and Artificial Intelligence 16(7), 2002;
    thesis (Yates 2017), eq. 6.2.5.

    Examples
    --------
    >>> found = consensus([0, 0, 1, 1, 2], [5, 5, 3, 3, 3], ["a", "a", "b", "b", "b"])
    >>> found.labels, found.confidence.round(2)
    (array([1, 1, 0, 0, 0], dtype=int32), array([1.  , 1.  , 1.  , 1.  , 0.67]))
    """
    for name, value, least in (("n_clusters", n_clusters, 1), ("n_init", n_init, 1), ("random_state", random_state, 0)):
        if not (isinstance(value, Integral) and value >= least) and not (name == "n_clusters" and value is None):
            none = "None or " if name == "n_clusters" else ""
            raise ValueError(f"{name} must be {none}an integer of at least {least}; got {value!r}")
    if method not in ("votes", "linkage"):
        raise ValueError(f"method must be 'votes' or 'linkage'; got {method!r}")
    if len(labels) < 2:
        raise ValueError(
            f"expected at least 2 arrays of labels; got {len(labels)}: pass one for each clustering, as "
            "consensus(first, second)"
        )
    checked = [check_labels(f"labels_{j}", own) for j, own in enumerate(labels, start=1)]
    for j, own in enumerate(checked[1:], start=2):
        if len(own) != len(checked[0]):
            raise ValueError(
                f"labels_1 and labels_{j} must label the same rows; got {len(checked[0])} and {len(own)} labels"
            )
    found: Any
    if method == "linkage":
        tuples: Tuples = reduce_rows(LabelTuples(MOST_TUPLES), *checked)
        check_number_of_labels(sum(len(np.unique(own)) for own in tuples.words.T))
        found = linkage_of(tuples, n_clusters)
    else:
        votes: Votes = reduce_rows(LabelVotes(random_state, sample_limit(SAMPLED_ROWS, len(checked[0]))), *checked)
        if without := [j for j, names in enumerate(votes.names, start=1) if len(names) == 0]:
            raise ValueError(f"labels_{without[0]} has no label, as all its numbers are negative: leave it out")
        found = find_consensus(votes, n_clusters=n_clusters, n_init=n_init, seed=random_state).consensus
    of_rows, confidence = (
        map_rows(partial(_of_votes, what), *checked, dtype=dtype, shared=found)
        for what, dtype in (("labels", "int32"), ("confidence", "float64"))
    )
    return ConsensusLabels(of_rows, confidence, found.n_clusters, found, tuple(checked))


def _of_votes(what: str, found: Elected, *labels: AnyArray) -> AnyArray:
    return found.by_votes(getattr(found, what), labels)
