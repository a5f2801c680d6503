"""Products of sparse rows with a dense matrix."""

from .._numba import jit


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
