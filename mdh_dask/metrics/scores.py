"""Scores of a clustering against known labels, all of them functions of one contingency table.

Every score takes two labellings of the same rows, which costs one pass over the labels, or the `ContingencyTable` of
an earlier pass, which costs none::

    table = contingency_table(y, model.labels_)
    normalized_mutual_information(table), adjusted_rand_index(table)

To add a score, write a function ``name(labels_true, labels_pred=None)`` that starts with ``as_table``.
"""

from collections.abc import Callable
from math import fsum, sqrt
from typing import Any

import numpy as np
import scipy

from .._typing import Integers, RowArray
from .contingency import ContingencyTable, Labelling, as_table


def normalized_mutual_information(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the mutual information of two labellings over the geometric mean of their entropies.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask; or one ContingencyTable in place of both.

    Returns
    -------
    float
        Between 0 and 1; 1 if and only if the labellings are equal up to the names of the labels, 0 if they are
        independent or if just one of them has a single cluster.

    Raises
    ------
    ValueError
        If the labels are empty or of unequal length.

    Notes
    -----
    One pass; none for a table. Source: Yates, PhD thesis, Lancaster 2017, section 4.4.2.

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    return _shared(as_table(labels_true, labels_pred), lambda a, b: sqrt(a * b))


def v_measure(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the mutual information of two labellings over the mean of their entropies, between 0 and 1.

    Labels and passes are those of `normalized_mutual_information`.

    Notes
    -----
    It is the harmonic mean of homogeneity and completeness.
    Source: Rosenberg and Hirschberg, EMNLP-CoNLL 2007.

    Examples
    --------
    >>> v_measure([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return _shared(as_table(labels_true, labels_pred), lambda a, b: (a + b) / 2)


def adjusted_rand_index(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the share of pairs of rows on which two labellings agree, corrected for chance.

    Labels and passes are those of `normalized_mutual_information`.

    Returns
    -------
    float
        1 if and only if the labellings are equal up to the names of the labels, 0 on average for random ones; may be
        negative, but never below -0.5.

    Notes
    -----
    Pairs are counted in exact integers, for any number of rows.
    Source: Hubert and Arabie, Journal of Classification 2, 1985.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    counts = as_table(labels_true, labels_pred).counts
    together = _pairs(counts[counts > 0])
    true, predicted, total = _pairs(counts.sum(axis=1)), _pairs(counts.sum(axis=0)), _pairs(counts.sum())
    above_chance = together * total - true * predicted
    best = (true + predicted) * total - 2 * true * predicted
    return 2 * above_chance / best if best else 1.0


def purity(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the share of rows that belong to the most frequent class of their cluster.

    Labels and passes are those of `normalized_mutual_information`.

    Notes
    -----
    Splitting clusters never lowers it: one cluster for each row has purity 1.
    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 16.3.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    counts = as_table(labels_true, labels_pred).counts
    return int(counts.max(axis=0).sum()) / int(counts.sum())


def matching_accuracy(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the share of rows classified correctly under the best one-to-one matching of clusters to classes.

    Labels and passes are those of `normalized_mutual_information`. The numbers of labels may differ; labels without a
    partner count as errors.

    Notes
    -----
    Source: Rome, Miasnikov and Haralick, CUNY TR-2003009, section 4.1; the search over
    all permutations is replaced by the assignment problem.

    Examples
    --------
    >>> matching_accuracy([0, 0, 1, 1], [7, 7, 7, 3])
    0.75
    """
    counts = as_table(labels_true, labels_pred).counts
    return int(counts[scipy.optimize.linear_sum_assignment(counts, maximize=True)].sum()) / int(counts.sum())


def _shared(table: ContingencyTable, average: Callable[[float, float], float]) -> float:
    """Return the mutual information over an average of both entropies; 1 if both are zero."""
    information, *entropies = _information(table.counts)
    most = average(*entropies)
    return min(max(information / most, 0.0), 1.0) if most else float(not any(entropies))


def _information(counts: Integers) -> tuple[float, float, float]:
    """Return the mutual information and the entropies of the row and the column labels, in nats."""
    n = float(counts.sum())
    rows, columns = np.nonzero(counts)
    cells = counts[rows, columns].astype(float)
    row_sums, column_sums = counts.sum(axis=1).astype(float), counts.sum(axis=0).astype(float)
    # In this form equal labellings have exactly their entropy as information, and independent ones exactly zero.
    information = _expected_log(cells, cells * n / (row_sums[rows] * column_sums[columns]), n)
    return information, _expected_log(row_sums, n / row_sums, n), _expected_log(column_sums, n / column_sums, n)


def _expected_log(weights: Any, ratios: Any, total: float) -> float:
    return fsum((weights / total * np.log(ratios)).tolist())


def _pairs(sizes: Any) -> int:
    # Python integers: the pairs of 1e10 rows do not fit into 64 bits.
    exact = np.atleast_1d(sizes).astype(object)
    return int((exact * (exact - 1) // 2).sum())


def success_ratio(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return how well two clusters separate the majority of at least one class from the rest.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask, `labels_pred` with at most two distinct labels; or one ContingencyTable in place of both.

    Returns
    -------
    float
        Between 0 and 1: successes over successes and errors. 0 if one cluster holds most rows of every class.

    Raises
    ------
    ValueError
        If there are more than two clusters, or the labels are empty or of unequal length.

    Notes
    -----
    One pass; none for a table. The source states a score of zero for clusters that separate no class, which equation
    28 alone does not give; it is set here. An evenly divided class joins the smaller cluster; between clusters of equal
    size, the one with fewer rows of other classes merged into it; beyond that the choice changes nothing.
    Source: Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, equations 27 to 29.

    Examples
    --------
    >>> success_ratio([0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 1])
    0.6666666666666666
    """
    merged = _merge_classes(as_table(labels_true, labels_pred))
    if merged is None:
        return 0.0
    error = min(merged[0, 1] + merged[1, 0], merged[0, 0] + merged[1, 1])
    success = merged.max(axis=0).min()
    return float(success / (success + error))


def binary_v_measure(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the V-measure of two clusters against the classes merged into two.

    Labels, errors and merged classes are those of `success_ratio`. It is 1 if no class is divided, 0 if one cluster
    holds most rows of every class.

    Notes
    -----
    Source: Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, section 5.1.

    Examples
    --------
    >>> binary_v_measure([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1])
    1.0
    """
    merged = _merge_classes(as_table(labels_true, labels_pred))
    if merged is None:
        return 0.0
    return v_measure(ContingencyTable(np.arange(2), np.arange(2), merged))


def _merge_classes(table: ContingencyTable) -> Integers | None:
    """Return the counts (2, 2) of the aggregate classes in the clusters; class i has its majority in cluster i.

    None if one cluster holds most rows of every class.
    """
    counts = table.counts
    if counts.shape[1] > 2:
        raise ValueError(
            f"a binary score needs at most two predicted labels; got {counts.shape[1]}: score one split of the tree, "
            "or use a score for any number of clusters such as normalized_mutual_information"
        )
    counts = np.pad(counts, ((0, 0), (0, 2 - counts.shape[1])))
    first, second = counts[:, 0] > counts[:, 1], counts[:, 0] < counts[:, 1]
    sizes = counts.sum(axis=0)
    if (sizes[0], counts[first].sum()) <= (sizes[1], counts[second].sum()):
        first = ~second
    merged = np.stack([counts[first].sum(axis=0), counts[~first].sum(axis=0)])
    return merged if merged.sum(axis=1).all() else None
