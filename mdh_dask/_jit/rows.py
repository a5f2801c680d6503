"""Rows as the compiled loops take them, moments and ranges of their columns, and products of sparse rows."""

from collections.abc import Iterator

import numpy as np

from .._numba import jit
from .._typing import AnyArray
from .hashing import GOLDEN


def refuse_sparse(rows: object) -> None:
    """Raise a TypeError for blocks of SciPy's sparse rows in a Dask array that promises others."""
    if hasattr(rows, "tocsr"):
        raise TypeError(
            f"expected dense rows; got a sparse {type(rows).__name__} in a block of a Dask array: name the type of its "
            "blocks when the array is made, such as meta=scipy.sparse.csr_array((0, n_columns))"
        )


def loop_ready(block: AnyArray) -> AnyArray:
    """Return the rows in a layout and dtype that the compiled loops accept, without a copy where possible."""
    refuse_sparse(block)
    if block.dtype == np.bool_:
        block = block.view(np.uint8)
    elif block.dtype == np.float16:
        block = block.astype(np.float32)
    elif block.dtype == np.longdouble:
        block = block.astype(np.float64)
    elif not block.dtype.isnative:
        block = block.astype(block.dtype.newbyteorder("="))
    return np.ascontiguousarray(block)


SLAB = 64


@jit
def column_moments(rows, mean, deviations, low, high):
    """Write mean, sum of squared deviations, minimum and maximum of every column; return the number of rows.

    Slabs of rows that stay in the cache are summed twice, first for their mean and then about it, and merged.
    """
    n, d = rows.shape
    slab_mean = np.empty(d)
    for start in range(0, n, SLAB):
        size = SLAB if start + SLAB < n else n - start
        stop = start + size
        slab_mean[:] = 0.0
        for i in range(start, stop):
            for j in range(d):
                slab_mean[j] += rows[i, j]
        for j in range(d):
            slab_mean[j] /= size
        for i in range(start, stop):
            for j in range(d):
                x = rows[i, j]
                deviation = x - slab_mean[j]
                deviations[j] += deviation * deviation
                low[j] = x if x < low[j] else low[j]
                high[j] = x if x > high[j] else high[j]
        for j in range(d):
            delta = slab_mean[j] - mean[j]
            deviations[j] += delta * delta * (start * size / stop)
            mean[j] += delta * (size / stop)
    return n


@jit
def count_beyond(rows, low, high, below, above):
    """Add the number of values up to `low` in every column to `below`, and of those from `high` to `above`."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            below[j] += rows[i, j] <= low[j]
            above[j] += rows[i, j] >= high[j]


@jit
def certainly_distinct(words, enough, n_bits):
    """Return whether hashes of `n_bits` bits show more than `enough` distinct words in each column.

    Different words may have the same hash, so other columns may have as many distinct words, too.
    """
    out = np.empty(words.shape[1], dtype=np.bool_)
    seen = np.empty(1 << n_bits, dtype=np.bool_)
    for j in range(words.shape[1]):
        seen[:] = False
        out[j], found = False, 0
        for i in range(words.shape[0]):
            place = (np.uint64(words[i, j]) * np.uint64(GOLDEN)) >> np.uint64(64 - n_bits)
            found += not seen[place]
            seen[place] = True
            if found > enough:
                out[j] = True
                break
    return out


@jit
def project_sparse(data, columns, starts, matrix, out):
    """Add the products of sparse rows with a matrix (columns x components) to `out` (rows x components).

    Row i has the values ``data[starts[i]:starts[i + 1]]`` in those columns, which ascend; they are added in this order.
    """
    for i in range(out.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            x = data[k]
            row = matrix[columns[k]]
            for c in range(out.shape[1]):
                out[i, c] += x * row[c]


def few_at_once(n: int, size: int = 8192) -> Iterator[slice]:
    """Yield slices of at most `size` that cover `n` rows, for arrays that would be too large for all of them."""
    for first in range(0, n, size):
        yield slice(first, first + size)
