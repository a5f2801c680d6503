"""The consensus of labels of the same rows from any methods."""

from typing import Any, Literal, NamedTuple

from .._typing import AnyArray, RowArray
from ..chunks import Pass, Plan, map_rows, run
from ..growth.passes import sample_limit
from ..metrics.contingency import check_labels
from .consensus import SAMPLED_ROWS, Consensus, find_consensus
from .label_mixture import label_mixture
from .votes import LabelVotes, Votes


class ConsensusLabels(NamedTuple):
    """The result of `consensus`, with lazy row-aligned arrays for lazy labels.

    Attributes
    ----------
    labels : array of shape (n_rows,), int32
        From 0 to ``n_clusters - 1``, the largest cluster first.
    confidence : array of shape (n_rows,), float64
        The share of the clusterings that agree with the label.
    shares : array of shape (n_rows, n_clusters), float64
        The shares of the votes for each cluster.
    n_clusters : int
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
