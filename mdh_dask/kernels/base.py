"""The base class of kernels, inner products of rows and landmarks in a feature space, and kernels from the user."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._levels import LevelFeatures
from .._state import checked_array
from .._storable import storable
from .._typing import AnyArray, Floats, Integers

Evaluator = Callable[[Floats, Floats], None]
"""Write the kernel between rows, shape (n, n_features), and landmarks into an array of shape (n, n_landmarks)."""

FittedArray = Any
"""Type of an array that `fit` sets, None before: checked by `Kernel.check_fitted` alone."""


class Kernel(ABC):
    """A Mercer kernel: a frozen dataclass whose fields are plain numbers and arrays.

    To add one, subclass it and add it to `KERNELS`. `fit` returns the kernel with all fields set that depend on the
    landmarks; models save this fitted kernel.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        storable(cls)

    shift_invariant: ClassVar[bool] = False
    """Whether translating all rows changes nothing, so that they may be centred."""

    affinity: ClassVar[bool] = False
    """Whether no value is negative."""

    sparse: ClassVar[bool] = False
    """Whether most values are zero."""

    of_neighbours: ClassVar[bool] = False
    """Whether landmarks are linked to their nearest others, which equal landmarks would all be."""

    uses_columns: ClassVar[bool] = True
    """Whether rows are coordinates, and so may be scaled."""

    given: ClassVar[str] = ""
    """What the user gave the kernel as, if it may not be symmetric."""

    typed: ClassVar[bool] = False
    """Whether columns may be categorical, and values missing; rows are then no points, and are not scaled."""

    def fit(self, landmarks: Floats) -> Self:
        """Return the kernel with the widths that the landmarks, shape (n_landmarks, n_features), suggest."""
        return self

    @abstractmethod
    def bind(self, landmarks: Floats) -> Evaluator:
        """Return the function that writes the kernel between rows and these landmarks, both of one dtype."""

    def matrix(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the kernel between rows and landmarks, shape (n_rows, n_landmarks)."""
        out = np.empty((len(rows), len(landmarks)), dtype=landmarks.dtype)
        self.bind(landmarks)(rows, out)
        return out

    def gram(self, landmarks: Floats) -> Floats:
        """Return the kernel among the landmarks, symmetric to the last bit."""
        products = self.matrix(landmarks, landmarks)
        if self.given and np.abs(products - products.T).max(initial=0.0) > 1e-5 * np.abs(products).max(initial=0.0):
            raise ValueError(
                f"expected a symmetric matrix from {self.given}; got one in which k(x, y) differs from k(y, x)"
            )
        return (products + products.T) / 2

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the kernel of every row with itself, as one of the landmarks to which `self` is fitted."""
        return np.ones(len(rows))

    def spectral_filter(self, ratios: Floats) -> Floats:
        """Return factors of the eigenvalues of the centred kernel, from their shares of the largest, which stays."""
        return np.ones_like(ratios)

    def eigenvalue_shift(self, smallest: float) -> float:
        """Return the constant to add to all eigenvalues of the centred kernel of the landmarks."""
        return 0.0

    def levels(self, landmarks: Floats, projection: Floats) -> LevelFeatures | None:
        """Return where the levels of single columns lie among features of this projection, or None without levels."""
        return None

    def dtype(self, landmarks: Floats) -> type[np.floating]:
        """Return the cheapest dtype in which products of rows with these landmarks are accurate enough."""
        return np.float64

    def among(self, numbers: Integers) -> Self:
        """Return the kernel for landmarks with these global row numbers."""
        return self

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        """Raise an error if `fit` could not have returned this kernel, as when it was loaded from a damaged file.

        Raises
        ------
        ValueError
            The message names the field.
        """
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                checked_array(name, value, value.shape)

    def stored_landmarks(self, landmarks: Floats) -> AnyArray:
        """Return the part of the landmarks that `bind` needs, as models save it."""
        return landmarks.astype(self.dtype(landmarks))


def single_or_double(landmarks: Floats, finest: float | Floats) -> type[np.floating]:
    """Return float32 if squared distances are then accurate to 1 % of `finest` squared, else float64.

    The error of ``|x|^2 + |y|^2 - 2 x.y`` near a landmark grows with the landmark's squared length.
    """
    largest = 4 * np.square(landmarks).sum(axis=1)
    exact = np.all(largest * np.finfo(np.float32).eps <= 0.01 * np.square(finest))
    return np.float32 if exact and 1e-20 < largest.max() < 1e30 else np.float64


def checked_number(name: str, value: object, least: float, kind: type | tuple[type, ...] = (int, float)) -> None:
    """Raise an error unless a parameter of a kernel is a number above `least`."""
    if isinstance(value, bool) or not isinstance(value, (kind, np.number)) or not least < value < np.inf:  # type: ignore[operator]
        raise ValueError(f"{name} must be a finite number greater than {least:g}, got {value!r}")


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A function ``(rows, landmarks) -> matrix`` of shape (n_rows, n_landmarks), symmetric and positive definite."""

    function: Callable[[Floats, Floats], Any]
    given: ClassVar[str] = "the kernel function"

    def bind(self, landmarks: Floats) -> Evaluator:

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

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
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
    given: ClassVar[str] = "a precomputed kernel"
    affinity: ClassVar[bool] = True
    uses_columns: ClassVar[bool] = False

    def among(self, numbers: Integers) -> Self:
        return replace(self, columns=np.asarray(numbers, dtype=np.int64))

    def bind(self, landmarks: Floats) -> Evaluator:
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

    def stored_landmarks(self, landmarks: Floats) -> AnyArray:
        """Return an array without columns, as only the number of landmarks is needed."""
        return np.empty((len(landmarks), 0))
