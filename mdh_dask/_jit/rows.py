"""Rows as the compiled loops take them, moments and ranges of their columns, products in one order, and rotations."""

import math
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


@jit
def inner(a, b):
    """Return the inner product of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@jit
def add_multiple(sums, share, vector):
    """Add a multiple of a vector to `sums`."""
    for j in range(sums.shape[0]):
        sums[j] += share * vector[j]


@jit
def combine_rows(weights, rows, sums):
    """Write ``weights @ rows`` to `sums`, each summed over the rows in order."""
    n, j = rows.shape[0], 0
    sums[:] = 0.0
    while j + 4 <= n:
        a, b, c, e = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(sums.shape[0]):  # the parentheses keep the order of sums, and so the bits, of one row at a time
            sums[i] = (((sums[i] + a * rows[j, i]) + b * rows[j + 1, i]) + c * rows[j + 2, i]) + e * rows[j + 3, i]
        j += 4
    while j < n:
        for i in range(sums.shape[0]):
            sums[i] += weights[j] * rows[j, i]
        j += 1


@jit
def diagonalise(matrices, axes, smallest_angle, max_sweeps):
    """Rotate the matrices (k x k x number of matrices) until they are as diagonal as possible; return the sweeps.

    The rows of `axes` are rotated too. The last sweep is the one that turns no pair by more than `smallest_angle`.
    """
    k = axes.shape[0]
    for sweep in range(max_sweeps):
        largest = 0.0
        for p in range(k - 1):
            for q in range(p + 1, k):
                angle = best_angle(matrices[p, p], matrices[q, q], matrices[p, q])
                largest = max(largest, abs(angle))
                cosine, sine = math.cos(angle), math.sin(angle)
                for i in range(k):
                    turn(matrices[i, p], matrices[i, q], cosine, sine)
                for i in range(k):
                    turn(matrices[p, i], matrices[q, i], cosine, sine)
                turn(axes[p], axes[q], cosine, sine)
        if largest <= smallest_angle:
            return sweep + 1
    return max_sweeps


@jit
def best_angle(first, second, off):
    """Return the angle in the plane of two axes that minimises their off-diagonal entries in all matrices.

    A rotation by t turns (difference of the diagonal entries, twice the other) of a matrix by 2 t; the squares of the
    second, summed over the matrices, are least if the first axis is the one along which these points vary most.
    """
    spread = tilt = 0.0
    for m in range(off.shape[0]):
        across, beside = first[m] - second[m], 2 * off[m]
        spread += across * across - beside * beside
        tilt += 2 * across * beside
    return 0.25 * math.atan2(tilt, spread) if spread != 0 or tilt != 0 else 0.0


@jit
def turn(first, second, cosine, sine):
    """Rotate pairs of numbers in place."""
    for m in range(first.shape[0]):
        a, b = first[m], second[m]
        first[m], second[m] = cosine * a + sine * b, cosine * b - sine * a


@jit
def align_columns(entries, squares, turns):
    """Rotate each pair of columns by the best of some angles, in place, and return the mean cost of the rows.

    The cost of a row is the sum of its squares, given, over its largest square: one if all other entries are zero.
    `turns` are cosines and sines, the first of no turn.
    """
    n, k = entries.shape
    others = np.empty(n)
    total = 0.0
    for p in range(k - 1):
        for q in range(p + 1, k):
            largest_beside(entries, p, q, others)
            best, total = 0, math.inf
            for t in range(len(turns)):
                cost = 0.0
                for i in range(n):
                    first = turns[t, 0] * entries[i, p] + turns[t, 1] * entries[i, q]
                    second = turns[t, 0] * entries[i, q] - turns[t, 1] * entries[i, p]
                    cost += squares[i] / max(others[i], first * first, second * second)
                if cost < total * (1 - 1e-9):
                    best, total = t, cost
            for i in range(n):
                first, second = entries[i, p], entries[i, q]
                entries[i, p] = turns[best, 0] * first + turns[best, 1] * second
                entries[i, q] = turns[best, 0] * second - turns[best, 1] * first
    return total / n


@jit
def largest_beside(entries, p, q, largest):
    """Write the largest square of each row outside of two columns, and at least a tiny number."""
    for i in range(entries.shape[0]):
        largest[i] = 1e-300
        for j in range(entries.shape[1]):
            if j != p and j != q:
                largest[i] = max(largest[i], entries[i, j] * entries[i, j])


@jit
def order_of(values):
    """Return the places of values in ascending order of these, equal ones in the order in which they are.

    NumPy's `argsort` and `partition` would take seconds to compile.
    """
    n, width = values.shape[0], 1
    order, merged = np.arange(n), np.empty(n, np.int64)
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for at in range(start, end):
                if j == end or (i < middle and values[order[i]] <= values[order[j]]):
                    merged[at] = order[i]
                    i += 1
                else:
                    merged[at] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order


@jit
def quantile_of(values, share):
    """Return a quantile of values, between the two nearest of them; see `order_of`."""
    values = values.copy()
    first = int((values.shape[0] - 1) * share)
    beyond = (values.shape[0] - 1) * share - first
    low, high = 0, values.shape[0] - 1
    while low < high:  # values before `low` are none of the larger ones, those after `high` none of the smaller ones
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if j < first < i:
            break
        low, high = (low, j) if first <= j else (i, high)
    if beyond == 0:
        return values[first]
    following = np.inf
    for i in range(first + 1, values.shape[0]):
        following = min(following, values[i])
    return values[first] * (1 - beyond) + following * beyond
