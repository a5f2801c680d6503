"""Conversion of blocks of rows for the compiled loops."""

import numpy as np

from .._typing import AnyArray


def refuse_sparse(rows: object) -> None:
    """Raise an error for blocks of SciPy's sparse rows in a Dask array that promises others.

    Raises
    ------
    TypeError
    """
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
