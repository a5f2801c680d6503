"""Linear algebra: one thread of BLAS, as the last bits of products depend on their number, and leading eigenvectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import ThreadpoolController

from ._typing import AnyArray, Floats


class _Users:
    """The number of callers inside `one_blas_thread`, and the limit to lift after the last one."""

    lock = Lock()
    count = 0
    limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # which finds the BLAS of SciPy, as its module is loaded


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this process until the last caller leaves the context."""
    with _Users.lock:
        if _Users.count == 0:
            _disown()
            _Users.limiter = _controller().limit(limits=1, user_api="blas")
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                _disown()
                _Users.limiter.restore_original_limits()
                _disown()


def _disown() -> None:
    # threadpoolctl 3.8 and later ignore limits on OpenBLAS from any thread but the one that first set a limit.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def product(directions: AnyArray, rows: AnyArray) -> AnyArray:
    """Return the matrix product of finite numbers.

    OpenBLAS's products of few directions in float32 may read what lies beyond them, and flag it as invalid.
    """
    with np.errstate(invalid="ignore"):
        found: AnyArray = directions @ rows
    return found


TINY = float(np.finfo(np.float64).tiny)

POSITIVE = 1e-10
"""Eigenvalues up to this share of the first may be rounding errors of zero."""


class Normalised(NamedTuple):
    """Features divided by the roots of their degrees, and the eigenvectors of their second moments."""

    features: Floats
    """Shape (n, n_components); their inner products are the normalised affinities."""
    values: Floats
    """Eigenvalues in descending order, as shares of the first, shape (n_components,)."""
    vectors: Floats
    """Shape (n_components, n_components), one in each column."""

    def entries(self, n: int) -> Floats:
        """Return the entries of the rows in the leading eigenvectors of their affinities, shape (n_rows, n)."""
        return self.features @ (self.vectors[:, :n] / np.sqrt(self.values[:n]))


def normalised(features: Floats, total: Floats) -> Normalised:
    """Return features that are normalised in place, with the eigenvectors of the affinities.

    Affinities are inner products of `features`, shape (n, n_components), float64. The products of a row with `total`,
    shape (n_components,), the sum of the features of all rows, are its degree.
    """
    features /= np.sqrt(degrees_of(features, total))[:, None]
    values, vectors = eigh(features.T @ features, driver="evd")
    return Normalised(features, values[::-1] / max(values[-1], TINY), vectors[:, ::-1])


def degrees_of(features: Floats, total: Floats) -> Floats:
    """Return the sums of the affinities of rows, shape (n,); see `normalised`.

    They are at least the own affinity of a row: where affinities are approximate, sums may be less.
    """
    own = np.maximum(np.square(features).sum(axis=1), TINY)
    return np.maximum(features @ total, own)


def signs_of(vectors: Floats) -> Floats:
    """Return the signs that make the largest entry of each column positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
