"""Scores of a clustering into two clusters against any number of known classes.

Both merge the classes first: each class joins the cluster that holds most of its rows, which leaves two aggregate
classes to compare with the two clusters.
"""

import numpy as np

from .._typing import Integers, RowArray
from .contingency import ContingencyTable, Labelling, as_table
from .scores import v_measure


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
    if _is_undivided(merged):
        return 0.0
    error = min(merged[0, 1] + merged[1, 0], merged[0, 0] + merged[1, 1])
    success = merged.max(axis=0).min()
    return float(success / (success + error))


def binary_v_measure(labels_true: Labelling, labels_pred: RowArray | None = None) -> float:
    """Return the V-measure of two clusters against the classes merged into two.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask, `labels_pred` with at most two distinct labels; or one ContingencyTable in place of both.

    Returns
    -------
    float
        Between 0 and 1. 1 if no class is divided, 0 if one cluster holds most rows of every class.

    Raises
    ------
    ValueError
        If there are more than two clusters, or the labels are empty or of unequal length.

    Notes
    -----
    One pass; none for a table. Classes are merged as for `success_ratio`.
    Source: Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, section 5.1.

    Examples
    --------
    >>> binary_v_measure([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1])
    1.0
    """
    merged = _merge_classes(as_table(labels_true, labels_pred))
    if _is_undivided(merged):
        return 0.0
    return v_measure(ContingencyTable(np.arange(2), np.arange(2), merged))


def _merge_classes(table: ContingencyTable) -> Integers:
    """Return the counts (2, 2) of the aggregate classes in the clusters; class i has its majority in cluster i."""
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
    return np.stack([counts[first].sum(axis=0), counts[~first].sum(axis=0)])


def _is_undivided(merged: Integers) -> bool:
    return not merged.sum(axis=1).all()
