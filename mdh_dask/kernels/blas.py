"""Matrix products whose rows have the same bits wherever a row is in its block.

BLAS treats rows differently by the height of the matrix and their position in it, so rows are multiplied in blocks of
one height. On one thread OpenBLAS then treats all rows alike, except in single precision on some processors
(Haswell, Zen), where `exact_dtype` detects this and returns float64.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._blas import one_blas_thread
from .._random import generator
from .._typing import AnyArray, Floats

HEIGHT = 192
"""Rows per block: a multiple of the heights of all micro-kernels, small enough for a block to stay in the cache."""

PROBES = 4


def project_blocks(
    rows: AnyArray,
    fill: Callable[[AnyArray, Floats], None],
    projection: Floats,
    intercept: Floats,
    multiply: Callable[..., Any] = np.dot,
) -> Floats:
    """Return ``codes @ projection + intercept`` with the same bits for a row whatever other rows are in the block.

    Parameters
    ----------
    rows : array of shape (n, n_features)
    fill : callable
        Write the codes of `HEIGHT` rows into an array of shape (HEIGHT, n_codes); those of a row depend on no other.
    projection : array of shape (n_codes, n_components)
        Codes have its dtype, one of `exact_dtype`.
    intercept : array of shape (n_components,)
    multiply : callable
        Write a matrix product to ``out``.

    Returns
    -------
    array of shape (n, n_components), float32
    """
    out = np.empty((len(rows), projection.shape[1]), dtype=np.float32)
    codes = np.empty((HEIGHT, len(projection)), projection.dtype)
    features = np.empty((HEIGHT, projection.shape[1]), projection.dtype)
    with one_blas_thread():
        for start in range(0, len(rows), HEIGHT):
            some = rows[start : start + HEIGHT]
            n = len(some)
            # Fill the block up with a real row, for which every code is defined.
            fill(some if n == HEIGHT else np.concatenate([some, np.repeat(some[:1], HEIGHT - n, axis=0)]), codes)
            multiply(codes, projection, out=features)
            np.add(features, intercept, out=features)
            out[start : start + n] = features[:n]
    return out


def exact_dtype(dtype: type[np.floating], *shapes: tuple[int, int]) -> type[np.floating]:
    """Return `dtype` if blocks times matrices of these shapes treat all rows of a block alike, else float64."""
    return dtype if all(_rows_are_alike(np.dtype(dtype).name, *shape) for shape in shapes) else np.float64


@lru_cache(maxsize=256)
def _rows_are_alike(dtype: str, depth: int, width: int) -> bool:
    rng = generator(0, depth, width)
    matrix = rng.standard_normal((depth, width)).astype(dtype)
    for row in rng.standard_normal((PROBES, depth)).astype(dtype):
        product = np.dot(np.repeat(row[None], HEIGHT, axis=0), matrix)
        if (product != product[0]).any():
            return False
    return True
