"""Conversion of blocks of rows for the compiled loops."""

import numpy as np

from .._typing import AnyArray


def refuse_sparse(rows: object) -> None:
    """Raise an error for sparse rows of SciPy.

    Raises
    ------
    TypeError
    """
    if hasattr(rows, "tocsr"):
        raise TypeError(
            f"expected dense rows; got a sparse {type(rows).__name__}: map them to a few hundred columns first, such "
            "as by sklearn.decomposition.TruncatedSVD, or block by block by "
            "sklearn.random_projection.SparseRandomProjection(n_components=200, dense_output=True)"
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
