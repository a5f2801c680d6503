"""How many rows have each label, and the sums of their first columns, in one sweep."""

from .._numba import jit


@jit
def add_to_labels(labels, rows, sizes, sums):
    """Add 1 to `sizes` and as many columns of `rows` as `sums` has (n_labels x columns) to `sums`, by label."""
    for i in range(labels.shape[0]):
        label = labels[i]
        sizes[label] += 1
        for j in range(sums.shape[1]):
            sums[label, j] += rows[i, j]
