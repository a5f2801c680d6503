"""The base class of kernels: inner products of rows and landmarks in a feature space."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from .._levels import LevelFeatures
from .._state import checked_array
from .._storable import storable
from .._typing import AnyArray, Floats, Integers

Filler = Callable[[Floats, Floats], None]
"""Write the kernel between rows, shape (n, n_features), and landmarks into an array of shape (n, n_landmarks)."""

TINY = float(np.finfo(np.float64).tiny)


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

    sparse: ClassVar[bool] = False
    """Whether most values are zero."""

    of_neighbours: ClassVar[bool] = False
    """Whether landmarks are linked to their nearest others, which equal landmarks would all be."""

    uses_columns: ClassVar[bool] = True
    """Whether rows are coordinates, and so may be scaled."""

    typed: ClassVar[bool] = False
    """Whether columns may be categorical, and values missing; rows are then no points, and are not scaled."""

    def fit(self, landmarks: Floats) -> Self:
        """Return the kernel with the widths that the landmarks, shape (n_landmarks, n_features), suggest."""
        return self

    @abstractmethod
    def against(self, landmarks: Floats) -> Filler:
        """Return the function that writes the kernel between rows and these landmarks, both of one dtype."""

    def matrix(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the kernel between rows and landmarks, shape (n_rows, n_landmarks)."""
        out = np.empty((len(rows), len(landmarks)), dtype=landmarks.dtype)
        self.against(landmarks)(rows, out)
        return out

    def gram(self, landmarks: Floats) -> Floats:
        """Return the kernel among the landmarks, symmetric to the last bit."""
        products = self.matrix(landmarks, landmarks)
        return (products + products.T) / 2

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        return np.ones(len(rows))

    def fading(self, ratios: Floats) -> Floats:
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
        """Return the part of the landmarks that `against` needs, as models save it."""
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
