"""Type aliases of arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.integer[Any]]
Booleans = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

RowArray = Any
"""Rows on axis 0: a NumPy array, or a Dask array with one block of columns."""
