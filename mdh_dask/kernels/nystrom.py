"""Nyström maps of rows to coordinates along kernel principal components of landmarks.

The features of a row have the same bits wherever the row is in its block. BLAS treats rows differently by the height
of the matrix and their position in it, so rows are multiplied in blocks of one height. On one thread OpenBLAS then
treats all rows alike, except in single precision on some processors (Haswell, Zen), where `exact_dtype` detects this
and returns float64.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._blas import one_blas_thread
from .._jit.affinities import sparse_product
from .._levels import LevelFeatures
from .._random import generator
from .._state import FeatureMap, checked_array
from .._storable import storable
from .._typing import AnyArray, Floats
from .base import Kernel

HEIGHT = 192
"""Rows per block: a multiple of the heights of all micro-kernels, small enough for a block to stay in the cache."""


def full_blocks(rows: AnyArray, height: int = HEIGHT) -> Iterator[tuple[slice, AnyArray]]:
    """Yield the places of consecutive rows, and blocks of one height that begin with them and repeat some of them."""
    for first in range(0, len(rows), height):
        some = rows[first : first + height]
        full = some if len(some) == height else np.resize(some, (height, rows.shape[1]))
        yield slice(first, first + len(some)), full


def project_blocks(
    rows: AnyArray,
    fill: Callable[[AnyArray, Floats], None],
    projection: Floats,
    intercept: Floats,
    multiply: Callable[..., Any] = np.dot,
) -> Floats:
    """Return ``codes @ projection + intercept`` with the same bits for a row whatever other rows are in the block.

    rows (n, n_features).
    fill: write the codes of `HEIGHT` rows into an array of shape (HEIGHT, n_codes); those of a row depend on no other.
    projection (n_codes, n_components): codes have its dtype, one of `exact_dtype`.
    intercept (n_components,).
    multiply: write the product of its first two arguments to the third.
    Returns (n, n_components) float32.
    """
    out = np.empty((len(rows), projection.shape[1]), dtype=np.float32)
    codes = np.empty((HEIGHT, len(projection)), projection.dtype)
    features = np.empty((HEIGHT, projection.shape[1]), projection.dtype)
    with one_blas_thread():
        for at, block in full_blocks(rows):
            fill(block, codes)
            multiply(codes, projection, features)
            np.add(features, intercept, out=features)
            out[at] = features[: at.stop - at.start]
    return out


def exact_dtype(dtype: type[np.floating], *shapes: tuple[int, int]) -> type[np.floating]:
    """Return `dtype` if blocks times matrices of these shapes treat all rows of a block alike, else float64."""
    return dtype if all(_rows_are_alike(np.dtype(dtype).name, *shape) for shape in shapes) else np.float64


@lru_cache(maxsize=256)
def _rows_are_alike(dtype: str, depth: int, width: int) -> bool:
    rng = generator(0, depth, width)
    matrix = rng.standard_normal((depth, width)).astype(dtype)
    for row in rng.standard_normal((4, depth)).astype(dtype):
        product = np.dot(np.repeat(row[None], HEIGHT, axis=0), matrix)
        if (product != product[0]).any():
            return False
    return True


@storable
@dataclass(frozen=True)
class NystromMap(FeatureMap):
    """Maps rows to features whose inner products approximate the centred kernel.

    Parameters
    ----------
    kernel : Kernel
        Fitted to the landmarks.
    landmarks : ndarray of shape (n_landmarks, n_features)
        Standardised, as ``(x - centre) * scale``.
    centre, scale : ndarray of shape (n_features,), float64
        Of the raw columns.
    projection : ndarray of shape (n_landmarks, n_components), float32 or float64
        Features are ``kernel(x, landmarks) @ projection + intercept``, computed in this dtype.
    intercept : ndarray of shape (n_components,)
        Puts the origin at the mean of the landmarks in feature space.
    spectrum : ndarray of shape (at least n_components,), float64
        Positive variances of the landmarks in feature space, in descending order.
    """

    kernel: Kernel
    landmarks: AnyArray
    centre: Floats
    scale: Floats
    projection: Floats
    intercept: Floats
    spectrum: Floats

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def n_components(self) -> int:
        return self.projection.shape[1]

    @property
    def raw_landmarks(self) -> Floats:
        """Return the landmarks as they were before they were standardised."""
        return self.landmarks / np.where(self.scale > 0, self.scale, 1.0) + self.centre

    @property
    def points(self) -> Callable[[AnyArray], Floats] | None:
        """Return the standardisation of rows if the kernel compares columns of numbers, as most do, otherwise None."""
        return self.standardised if self.kernel.uses_columns and not self.kernel.typed else None

    @property
    def levels(self) -> LevelFeatures | None:
        return self.kernel.levels(self.landmarks, self.projection)

    @property
    def missing(self) -> bool:
        return self.kernel.typed

    def standardised(self, rows: AnyArray) -> Floats:
        """Return raw rows as the kernel takes them."""
        return (rows - self.centre) * self.scale

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the features of raw rows, shape (n, n_components), float32.

        On processors of one kind, the features of a row have the same bits whatever other rows are mapped with it.
        """
        with one_blas_thread():
            widths = [(len(self.centre), len(self.landmarks)), self.projection.shape]
            dtype = exact_dtype(self.projection.dtype.type, *widths[: 1 if self.kernel.sparse else 2])
            evaluate = self.kernel.bind(self.landmarks.astype(dtype, copy=False))
            projection, intercept = (x.astype(dtype, copy=False) for x in (self.projection, self.intercept))
            block = np.empty((HEIGHT, len(self.centre)), dtype)

            def fill(some: AnyArray, affinities: Floats) -> None:
                with np.errstate(over="ignore"):  # rows may be infinitely far in float32
                    np.multiply(some - self.centre, self.scale, out=block, casting="same_kind")
                evaluate(block, affinities)

            if self.kernel.sparse:
                return project_blocks(rows, fill, projection, intercept, sparse_product)
            return project_blocks(rows, fill, projection, intercept)

    def facts(self) -> dict[str, str]:
        return {"Kernel": repr(self.kernel), "Landmarks": f"{len(self.landmarks):,}"}

    def check(self) -> None:
        n_landmarks, n_features = len(self.landmarks), self.centre.size
        width = n_features if self.kernel.uses_columns else 0
        n_components = self.intercept.size
        for name, shape in {
            "landmarks": (n_landmarks, width),
            "centre": (n_features,),
            "scale": (n_features,),
            "projection": (n_landmarks, n_components),
            "intercept": (n_components,),
            "spectrum": (max(self.spectrum.size, n_components),),
        }.items():
            missing = name == "landmarks" and self.kernel.typed
            checked_array(name, getattr(self, name), shape, missing=missing)
            if getattr(self, name).dtype.kind != "f":
                raise ValueError(f"expected floating-point numbers in the array {name}")
        if not n_landmarks or not n_components:
            raise ValueError("expected at least one landmark and one component in the array projection")
        self.kernel.check_fitted(n_landmarks, n_features)


@dataclass(frozen=True)
class BasedMap(FeatureMap):
    """A map of the features, or the kernel, of another one."""

    base: NystromMap

    @property
    def n_features(self) -> int:
        return self.base.n_features

    @property
    def n_components(self) -> int:
        return self.base.n_components

    @property
    def missing(self) -> bool:
        return self.base.missing

    @property
    def eigenvalues(self) -> Floats:
        """Variances of the landmarks along the components of the other map."""
        return self.base.eigenvalues

    @property
    def total_variance(self) -> float:
        return self.base.total_variance
