"""Kernels from the user: a function or a matrix."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._state import checked_array
from .._typing import AnyArray, Floats, Integers
from .base import Filler, Kernel


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A function ``(rows, landmarks) -> matrix`` of shape (n_rows, n_landmarks), symmetric and positive definite."""

    function: Callable[[Floats, Floats], Any]

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the kernel with these landmarks."""

        def fill(rows: Floats, out: Floats) -> None:
            matrix = np.asarray(self.function(rows, landmarks))
            if matrix.shape != out.shape or matrix.dtype.kind not in "biuf":
                raise ValueError(
                    f"expected numbers of shape {out.shape} from the kernel function, one for each row and landmark; "
                    f"got shape {matrix.shape} and dtype {matrix.dtype}"
                )
            if not np.isfinite(matrix).all():
                raise ValueError("expected finite numbers from the kernel function; got NaN or infinities")
            out[...] = matrix

        return fill

    def gram(self, landmarks: Floats) -> Floats:
        """Return the kernel among the landmarks, or raise an error if it is not symmetric."""
        return symmetric(self.matrix(landmarks, landmarks), "the kernel function")

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        return np.array([self.matrix(row[None], row[None])[0, 0] for row in rows])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A precomputed kernel: the columns of a row are its kernel with all rows of `fit`.

    Parameters
    ----------
    columns : array of shape (n_landmarks,), optional
        Numbers of the rows of `fit` that are landmarks; set by `among`.
    """

    columns: Integers | None = field(default=None, repr=False, compare=False)
    uses_columns: ClassVar[bool] = False

    def among(self, numbers: Integers) -> Self:
        """Return the kernel for landmarks with these global row numbers."""
        return replace(self, columns=np.asarray(numbers, dtype=np.int64))

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that picks the columns of the landmarks."""
        columns = np.arange(len(landmarks)) if self.columns is None else self.columns

        def fill(rows: Floats, out: Floats) -> None:
            np.take(rows, columns, axis=1, out=out)

        return fill

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        """Raise an error if the columns of the landmarks are not among those of the rows."""
        columns = np.arange(n_landmarks) if self.columns is None else self.columns
        checked_array("columns", columns, (n_landmarks,), 0)
        if columns.dtype.kind != "i" or (columns >= n_features).any():
            raise ValueError(f"expected numbers of columns below {n_features} in the array columns, got others")

    def gram(self, landmarks: Floats) -> Floats:
        """Return the kernel among the landmarks, or raise an error if it is not symmetric."""
        return symmetric(self.matrix(landmarks, landmarks), "a precomputed kernel")

    def stored_landmarks(self, landmarks: Floats) -> AnyArray:
        """Return an array without columns, as only the number of landmarks is needed."""
        return np.empty((len(landmarks), 0))


def symmetric(matrix: Floats, source: str) -> Floats:
    """Return the matrix made exactly symmetric, or raise an error if it differs by more than rounding."""
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-5 * np.abs(matrix).max(initial=0.0):
        raise ValueError(f"expected a symmetric matrix from {source}; got one in which k(x, y) differs from k(y, x)")
    return (matrix + matrix.T) / 2
