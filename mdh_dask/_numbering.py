"""The numbers of clusters, which all models give them in one way."""

from typing import Any

import numpy as np
import numpy.typing as npt


def largest_first(n_rows: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the numbers of clusters by their numbers of rows: 0 for the largest, the first of equal ones.

    Examples
    --------
    >>> largest_first(np.array([5, 9, 5, 7]))
    array([2, 0, 3, 1])
    """
    number = np.empty(np.size(n_rows), dtype=np.int64)
    number[np.argsort(-np.asarray(n_rows), kind="stable")] = np.arange(np.size(n_rows))
    return number
