"""Number of rows with each label and sums of their first columns, in one sweep."""

from .._numba import jit


@jit
def add_to_labels(labels, rows, sizes, sums):
    """Add each row to `sizes` and `sums` (n_labels x columns) by label; `sums` takes the first columns of `rows`.

    Rows with a label of `n_labels` or more are left out.
    """
    for i in range(labels.shape[0]):
        label = labels[i]
        if label >= sizes.shape[0]:
            continue
        sizes[label] += 1
        for j in range(sums.shape[1]):
            sums[label, j] += rows[i, j]
