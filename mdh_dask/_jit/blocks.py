"""Blocks of rows as the compiled loops take them."""

import numpy as np

from .._typing import AnyArray


def loop_ready(block: AnyArray) -> AnyArray:
    """Return the rows in a layout and dtype that the compiled loops take, without a copy where they already are."""
    if block.dtype == np.bool_:
        block = block.view(np.uint8)
    elif block.dtype == np.float16:
        block = block.astype(np.float32)
    elif block.dtype == np.longdouble:
        block = block.astype(np.float64)
    elif not block.dtype.isnative:
        block = block.astype(block.dtype.newbyteorder("="))
    return np.ascontiguousarray(block)
