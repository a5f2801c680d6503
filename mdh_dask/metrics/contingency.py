"""The contingency table of two labellings, from which all scores are computed after one pass over the labels."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._storable import storable
from .._typing import AnyArray, Integers, RowArray
from .._words import full_count
from ..chunks import Statistic, is_dask, reduce_rows
from ..columns.types import hidden_labels

MAX_CELLS = 2**27
"""Cells of the largest table: a gigabyte of counts."""


@storable
class ContingencyTable(NamedTuple):
    """The number of rows with each pair of a true and a predicted label.

    Attributes
    ----------
    true_labels : ndarray of shape (n_true,)
        Distinct true labels in ascending order: the rows of the table.
    predicted_labels : ndarray of shape (n_predicted,)
        Distinct predicted labels in ascending order: the columns of the table.
    counts : ndarray of shape (n_true, n_predicted), int64
        Rows of data in each cell.
    """

    true_labels: AnyArray
    predicted_labels: AnyArray
    counts: Integers


Labelling = RowArray | ContingencyTable
"""Labels of all rows, or the table of both labellings."""


class Pairs(NamedTuple):
    """The state of `Contingency`: three aligned arrays with one entry for each distinct pair of labels."""

    true: AnyArray
    predicted: AnyArray
    counts: Integers


@dataclass(frozen=True)
class Contingency(Statistic):
    """The contingency table of two row-aligned label arrays (integers, booleans or strings).

    The state lists only the pairs of labels that occur, so it is small beside a chunk however many labels there are,
    and it merges exactly.
    """

    def chunk(self, start: int, *blocks: AnyArray) -> Pairs:
        return _count_pairs(*blocks)

    def combine(self, left: Pairs, right: Pairs) -> Pairs:
        return _count_pairs(*(np.concatenate(both) for both in zip(left, right)))

    def finalise(self, state: Pairs) -> ContingencyTable:
        true_labels, rows = np.unique(state.true, return_inverse=True)
        predicted_labels, columns = np.unique(state.predicted, return_inverse=True)
        shape = len(true_labels), len(predicted_labels)
        if shape[0] * shape[1] > MAX_CELLS:
            raise ValueError(
                f"a contingency table of {shape[0]} true and {shape[1]} predicted labels has more than {MAX_CELLS} "
                "cells; check that both arrays hold cluster labels, not row numbers or measurements"
            )
        counts = np.zeros(shape, dtype=np.int64)
        counts[rows, columns] = state.counts
        return ContingencyTable(true_labels, predicted_labels, counts)


def contingency_table(labels_true: RowArray, labels_pred: RowArray) -> ContingencyTable:
    """Cross-tabulate two labellings of the same rows.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_rows,), integers, booleans or strings
        NumPy or Dask arrays or sequences; lazy labels are computed chunk by chunk and never held in memory at once. A
        label of -1 is one like all others: leave out rows that should not count.

    Returns
    -------
    ContingencyTable
        One row for each true label, one column for each predicted label, both ascending.

    Raises
    ------
    TypeError
        If the labels are not integers, booleans or strings, or strings and others.
    ValueError
        If an array is not one-dimensional, has unknown chunk sizes, missing labels or no rows, or if the lengths
        differ.

    Notes
    -----
    One pass.

    Examples
    --------
    >>> contingency_table([1, 1, 2, 2], [-1, 7, 7, 7]).counts
    array([[1, 1],
           [0, 2]])
    """
    true = check_labels("labels_true", labels_true)
    predicted = check_labels("labels_pred", labels_pred)
    if len(true) != len(predicted):
        raise ValueError(
            f"labels_true and labels_pred must label the same rows; got {len(true)} and {len(predicted)} labels"
        )
    return reduce_rows(Contingency(), true, predicted)


def as_table(labels_true: Labelling, labels_pred: RowArray | None = None) -> ContingencyTable:
    """Return the table of two labellings, or the table that was passed in their place."""
    given = isinstance(labels_true, ContingencyTable)
    if given == (labels_pred is not None):
        raise TypeError(
            "a score takes two arrays of labels or one ContingencyTable; got "
            + ("a table and an array" if given else "one array: pass labels_pred too")
        )
    return labels_true if given else contingency_table(labels_true, labels_pred)


def check_labels(name: str, labels: Any) -> RowArray:
    """Return labels as a NumPy array or a Dask array with known chunks, if they are integers, booleans or strings."""
    lazy = is_dask(labels)
    if not lazy:  # masks stay, and lists become objects: NumPy makes the text "nan" of NaN beside texts
        labels = np.asanyarray(labels, dtype=object if isinstance(labels, list | tuple) else None)
    if labels.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {labels.shape}: pass one label for each row")
    labels = labels if lazy else _without_gaps(name, labels)
    if labels.dtype.kind not in "biuUS":
        raise TypeError(
            f"{name} must hold integers, booleans or strings; got {labels.dtype}: convert it, for example with "
            f"{name}.astype(int)"
        )
    if np.isnan(labels.shape[0]):
        raise ValueError(f"{name} has unknown chunk sizes: call {name}.compute_chunk_sizes() first")
    if len(labels) == 0:
        raise ValueError(f"{name} is empty; a score needs at least one row")
    return labels.map_blocks(_block_without_gaps, name, dtype=labels.dtype) if lazy else labels


def _block_without_gaps(labels: AnyArray, name: str, block_info: Any = None) -> AnyArray:
    """Return a block of lazy labels, if none is masked; Dask says which rows it has."""
    return _without_gaps(name, labels, block_info[0]["array-location"][0][0] if block_info else 0)


def _without_gaps(name: str, labels: AnyArray, start: int = 0) -> AnyArray:
    """Return labels of one type, if none is missing or masked; the first is that of row `start`."""
    hidden = hidden_labels(labels)
    if hidden.any():
        raise ValueError(
            f"expected a label of every row in {name}; got {full_count(int(hidden.sum()), 'missing label')}, the "
            f"first in row {start + hidden.argmax()}: leave such rows out of all labellings, or give them a label of "
            "their own"
        )
    labels = np.ma.getdata(labels)
    # pandas and OpenML store strings as objects.
    return _of_one_type(name, labels.tolist()) if labels.dtype.kind == "O" else labels


def _of_one_type(name: str, labels: list[Any]) -> AnyArray:
    """Return objects as an array of their common type, which for strings is that of all: NumPy makes "1" of 1."""
    found = np.asarray(labels)
    own = {"U": str, "S": bytes}.get(found.dtype.kind, object)
    if (other := next((one for one in labels if not isinstance(one, own)), None)) is not None:
        raise TypeError(
            f"expected labels of one type in {name}; got {other!r:.99} beside strings: convert all, for example with "
            f"[str(label) for label in {name}]"
        )
    return found


def _count_pairs(true: AnyArray, predicted: AnyArray, counts: Integers | None = None) -> Pairs:
    true_labels, rows = factorise(true)
    predicted_labels, columns = factorise(predicted)
    width = len(predicted_labels)
    cells, members = factorise(rows * width + columns)
    sums = np.bincount(members, minlength=len(cells))
    if counts is not None:  # np.add.at adds integers; the weights of np.bincount are floats, inexact beyond 2**53
        sums = np.zeros(len(cells), dtype=np.int64)
        np.add.at(sums, members, counts)
    # Without rows there are no pairs, and the width may be zero.
    width = max(width, 1)
    return Pairs(true_labels[cells // width], predicted_labels[cells % width], sums)


def factorise(labels: AnyArray) -> tuple[AnyArray, Integers]:
    """Return the distinct labels, ascending, and the position of each label among them."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low <= len(labels):  # few enough values to mark each one, in linear time instead of sorting
            # Modulo 2**64, so that neither int8 nor the largest uint64 overflows.
            base = np.uint64(low % 2**64)
            shifted = (labels.astype(np.uint64) - base).astype(np.int64)
            present = np.bincount(shifted) > 0
            values = (np.flatnonzero(present).astype(np.uint64) + base).astype(labels.dtype)
            return values, (np.cumsum(present) - 1)[shifted]
    return np.unique(labels, return_inverse=True)
