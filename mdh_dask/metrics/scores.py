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

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask; or one ContingencyTable in place of both.

    Notes
    -----
    One pass; none for a table. It is the harmonic mean of homogeneity and completeness.
    Source: Rosenberg and Hirschberg, EMNLP-CoNLL 2007.

    Examples
    --------
    >>> v_measure([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return _shared(as_table(labels_true, labels_pred), lambda a, b: (a + b) / 2)


def adjusted_rand_index(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the share of pairs of rows on which two labellings agree, corrected for chance.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask; or one ContingencyTable in place of both.

    Returns
    -------
    float
        1 if and only if the labellings are equal up to the names of the labels, 0 on average for random ones; may be
        negative, but never below -0.5.

    Notes
    -----
    One pass; none for a table. Pairs are counted in exact integers, for any number of rows.
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

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask; or one ContingencyTable in place of both.

    Notes
    -----
    One pass; none for a table. Splitting clusters never lowers it: one cluster for each row has purity 1.
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

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask; or one ContingencyTable in place of both. The numbers of labels may differ; labels without a
        partner count as errors.

    Notes
    -----
    One pass; none for a table. Source: Rome, Miasnikov and Haralick, CUNY TR-2003009, section 4.1; the search over
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
