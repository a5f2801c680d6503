"""Sums of vectors, in the order of their entries or rows.

The compiler needs a fraction of the time that products of BLAS take it, and the last bits do not depend on the library.
"""

from .._numba import jit


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
