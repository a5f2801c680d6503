"""Kernels of distances and of inner products of rows."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .._blas import TINY
from .._jit.affinities import local_exponents, squares_from_products
from .._state import checked_array
from .._typing import Floats
from .base import Evaluator, FittedArray, Kernel, checked_number, single_or_double

NEIGHBOUR = 7
"""The neighbour whose distance sets the local scale (Zelnik-Manor and Perona 2004)."""

LEAST_SCALE = 0.1
"""Least local scale as a share of the median positive scale: duplicated rows would have a scale of zero."""


@dataclass(frozen=True)
class RBF(Kernel):
    """Gaussian kernel ``exp(-|x - y|^2 / (2 width^2))``.

    Parameters
    ----------
    width : float or "robust"
        In units of the columns after scaling; ``"robust"`` is `robust_width` of the landmarks.

    Examples
    --------
    >>> RBF(width=1.0).matrix(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607]])
    """

    width: float | str = "robust"
    affinity: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.width != "robust":
            checked_number("width", self.width, 0)

    def fit(self, landmarks: Floats) -> Self:
        return replace(self, width=robust_width(landmarks)) if self.width == "robust" else self

    def bind(self, landmarks: Floats) -> Evaluator:
        exponents = squared_distances_to(landmarks, times=-0.5 / float(self.width) ** 2)

        def fill(rows: Floats, out: Floats) -> None:
            exponents(rows, out)
            np.exp(out, out=out)

        return fill

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        checked_number("width", self.width, 0)

    def dtype(self, landmarks: Floats) -> type[np.floating]:
        """Return float32 unless the width is small beside the rows."""
        return single_or_double(landmarks, float(self.width))


@dataclass(frozen=True)
class LocalScaling(Kernel):
    """Gaussian kernel with a width for each row, ``exp(-|x - y|^2 / (s_x s_y))``.

    The scale s of a landmark is the distance to its k-th nearest other landmark. A row counts its nearest landmark as
    itself: its scale is the distance to the landmark after the k-th, so a landmark as a row has the same scale.

    Parameters
    ----------
    neighbour : int
        k.
    scales : array of shape (n_landmarks,), optional
        Set by `fit`, as is `floor`.
    floor : float
        Least scale: `LEAST_SCALE` times the median positive scale.

    Notes
    -----
    Source: Zelnik-Manor and Perona, Self-tuning spectral clustering (2004); thesis section 5.5.1.
    """

    neighbour: int = NEIGHBOUR
    scales: FittedArray = field(default=None, repr=False, compare=False)
    floor: float = field(default=0.0, repr=False, compare=False)
    affinity: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number("neighbour", self.neighbour, 0, int)

    def fit(self, landmarks: Floats) -> Self:
        distances = neighbour_distances(landmarks, self.neighbour)
        floor = least_scale(distances)
        return replace(self, scales=np.maximum(distances, floor), floor=floor)

    def bind(self, landmarks: Floats) -> Evaluator:
        squares = squared_distances_to(landmarks)
        inverse = (1 / self.scales).astype(landmarks.dtype)
        k = min(self.neighbour + 1, len(landmarks))

        def fill(rows: Floats, out: Floats) -> None:
            squares(rows, out)
            local_exponents(out, k, self.floor, inverse)
            np.exp(out, out=out)

        return fill

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        checked_number("floor", self.floor, 0)
        checked_array("scales", self.scales, (n_landmarks,), TINY)

    def dtype(self, landmarks: Floats) -> type[np.floating]:
        """Return float32 unless a scale is small beside its landmark."""
        return single_or_double(landmarks, self.scales)


def robust_width(landmarks: Floats) -> float:
    """Return twice the median positive distance of landmarks to their 7th neighbour, or 1 if none is positive."""
    distances = neighbour_distances(landmarks, NEIGHBOUR)
    positive = distances[distances > 0]
    return 2 * float(np.median(positive)) if positive.size else 1.0


def neighbour_distances(landmarks: Floats, k: int) -> Floats:
    """Return the distance of every landmark to its k-th nearest other one, or to the farthest if there are fewer."""
    k = min(k, len(landmarks) - 1)
    return np.sqrt(np.partition(squares_among(landmarks), k, axis=1)[:, k])


def least_scale(distances: Floats) -> float:
    """Return the least scale for landmarks with these distances to a neighbour; `LEAST_SCALE` if all are zero."""
    positive = distances[distances > 0]
    return LEAST_SCALE * (float(np.median(positive)) if positive.size else 1.0)


def squares_among(landmarks: Floats) -> Floats:
    """Return the squared distances among landmarks, with rounding errors between equal landmarks set to zero."""
    out = np.empty((len(landmarks), len(landmarks)), dtype=landmarks.dtype)
    squared_distances_to(landmarks)(landmarks, out)
    out[out <= 16 * np.finfo(out.dtype).eps * np.square(landmarks).sum(axis=1).max(initial=0.0)] = 0.0
    np.fill_diagonal(out, 0.0)
    return out


def squared_distances_to(landmarks: Floats, times: float = 1.0) -> Evaluator:
    """Return the function that writes the squared distances of rows to these landmarks, times a factor."""
    factor = landmarks.dtype.type(times)
    doubled = np.ascontiguousarray(-2 * landmarks.T)
    landmark_squares = np.square(landmarks).sum(axis=1)

    def fill(rows: Floats, out: Floats) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # rows may be infinitely far in float32
            np.dot(rows, doubled, out=out)
            row_squares = np.square(rows).sum(axis=1)
        squares_from_products(out, row_squares, landmark_squares, factor)

    return fill


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
        return replace(self, gamma=1 / landmarks.shape[1]) if self.gamma is None else self

    def bind(self, landmarks: Floats) -> Evaluator:
        transposed = np.ascontiguousarray(landmarks.T * self._gamma)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(rows, transposed, out=out)
            out += self.coef0
            np.power(out, self.degree, out=out)

        return fill

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        checked_number("gamma", self.gamma, 0)

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
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

    def bind(self, landmarks: Floats) -> Evaluator:
        transposed = np.ascontiguousarray(landmarks.T)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(rows, transposed, out=out)
            out *= 1 + out

        return fill

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        squares: Floats = np.square(rows).sum(axis=1)
        return np.multiply(squares, 1 + squares)


@dataclass(frozen=True)
class Cosine(Kernel):
    """Cosine of the angle between rows; zero for a row of zeros."""

    def bind(self, landmarks: Floats) -> Evaluator:
        transposed = np.ascontiguousarray(unit_rows(landmarks).T)

        def fill(rows: Floats, out: Floats) -> None:
            np.dot(unit_rows(rows), transposed, out=out)

        return fill

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        return np.asarray(rows.any(axis=1), dtype=np.float64)


def unit_rows(rows: Floats) -> Floats:
    """Return the rows scaled to length one; those of zeros stay.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]])).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]]
    """
    # Squares of large numbers would overflow, and those of small ones vanish.
    out = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), np.finfo(rows.dtype).tiny)
    lengths = np.sqrt(np.square(out).sum(axis=1, keepdims=True))
    np.divide(out, lengths, out=out, where=lengths > 0)
    return out
