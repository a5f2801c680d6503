"""Kernels of the inner product."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import Floats
from .base import Filler, Kernel, checked_number, single_or_double


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel ``(gamma x.y + coef0)^degree``.

    Parameters
    ----------
    degree : int
    coef0 : float
        Non-negative.
    gamma : float, optional
        One over the number of features by default.
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        checked_number("degree", self.degree, 0, int)
        if self.coef0 != 0:
            checked_number("coef0", self.coef0, 0)
        if self.gamma is not None:
            checked_number("gamma", self.gamma, 0)

    @property
    def _gamma(self) -> float:
        assert self.gamma is not None
        return self.gamma

    def fit(self, landmarks: Floats) -> Self:
        """Set gamma."""
        return replace(self, gamma=1 / landmarks.shape[1]) if self.gamma is None else self

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the kernel with these landmarks."""
        transposed = np.ascontiguousarray(landmarks.T * self._gamma)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(rows, transposed, out=out)
            out += self.coef0
            np.power(out, self.degree, out=out)

        return fill

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        """Raise an error if there is no gamma."""
        checked_number("gamma", self.gamma, 0)

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        return np.power(self._gamma * np.square(rows).sum(axis=1) + self.coef0, self.degree)


@dataclass(frozen=True)
class Quadratic(Kernel):
    """The kernel ``x.y + (x.y)^2`` of the general quadratic map: all columns and all products of two columns.

    Notes
    -----
    Exact with more landmarks than the map has distinct coordinates. Source: Rome, Miasnikov and Haralick, CUNY
    TR-2003009, section 6.1.

    Examples
    --------
    >>> x, y = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    >>> mapped = [np.concatenate([z[0], np.outer(z, z).ravel()]) for z in (x, y)]
    >>> float(Quadratic().matrix(x, y)[0, 0]), float(mapped[0] @ mapped[1])
    (2.0, 2.0)
    """

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the kernel with these landmarks."""
        transposed = np.ascontiguousarray(landmarks.T)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(rows, transposed, out=out)
            out *= 1 + out

        return fill

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        squares: Floats = np.square(rows).sum(axis=1)
        return np.multiply(squares, 1 + squares)


@dataclass(frozen=True)
class Cosine(Kernel):
    """Cosine of the angle between rows; zero for a row of zeros."""

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the kernel with these landmarks."""
        transposed = np.ascontiguousarray((landmarks / _lengths(landmarks)).T)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(rows, transposed, out=out)
            out /= _lengths(rows)

        return fill

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        return np.asarray(rows.any(axis=1), dtype=np.float64)

    def dtype(self, landmarks: Floats) -> type[np.floating]:
        """Return float32 unless the squares of the rows exceed its range."""
        return single_or_double(landmarks, np.inf)


def _lengths(rows: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths == 0, lengths.dtype.type(1), lengths)
