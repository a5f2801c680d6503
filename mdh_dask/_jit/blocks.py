"""Conversion of blocks of rows for the compiled loops."""

import numpy as np

from .._typing import AnyArray


def loop_ready(block: AnyArray) -> AnyArray:
    """Return the rows in a layout and dtype that the compiled loops accept, without a copy where possible."""
    if block.dtype == np.bool_:
        block = block.view(np.uint8)
    elif block.dtype == np.float16:
        block = block.astype(np.float32)
    elif block.dtype == np.longdouble:
        block = block.astype(np.float64)
    elif not block.dtype.isnative:
        block = block.astype(block.dtype.newbyteorder("="))
    return np.ascontiguousarray(block)
