"""Number of rows with each label and sums of their first columns, in one sweep."""

from .._numba import jit


@jit
def add_to_labels(labels, rows, sizes, sums):
    """Add each row to `sizes` and `sums` (n_labels x columns) by label; `sums` takes the first columns of `rows`."""
    for i in range(labels.shape[0]):
        label = labels[i]
        sizes[label] += 1
        for j in range(sums.shape[1]):
            sums[label, j] += rows[i, j]
