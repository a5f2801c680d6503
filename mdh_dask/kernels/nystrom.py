"""The Nyström map from rows to coordinates along the kernel principal components of landmarks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh

from .._blas import one_blas_thread
from .._jit.affinities import sparse_product
from .._levels import LevelFeatures
from .._state import FeatureMap, checked_array
from .._storable import storable
from .._typing import AnyArray, Floats
from .base import Kernel
from .blas import HEIGHT, exact_dtype, project_blocks
from .saving import KERNEL_FIELD, kernel_from_arrays, kernel_to_arrays

RANK_TOLERANCE = 1e-6
"""Components below this share of the first one's variance are left out: they are lost in single precision."""


@storable
@dataclass(frozen=True)
class NystromMap(FeatureMap):
    """Maps rows to features whose inner products approximate the centred kernel.

    Parameters
    ----------
    kernel : Kernel
        Fitted to the landmarks.
    landmarks : array of shape (n_landmarks, n_features)
        Standardised, as ``(x - centre) * scale``.
    centre, scale : arrays of shape (n_features,), float64
    projection : array of shape (n_landmarks, n_components), float32 or float64
        Features are ``kernel(x, landmarks) @ projection + intercept``, computed in this dtype.
    intercept : array of shape (n_components,)
        Puts the origin at the mean of the landmarks in feature space.
    spectrum : array of shape (at least n_components,), float64
        Positive variances of the landmarks in feature space, in descending order.
    """

    kind = "nystrom"
    kernel: Kernel
    landmarks: AnyArray
    centre: Floats
    scale: Floats
    projection: Floats
    intercept: Floats
    spectrum: Floats

    @property
    def n_features(self) -> int:
        """Number of columns that rows must have."""
        return len(self.centre)

    @property
    def n_components(self) -> int:
        """Number of features."""
        return self.projection.shape[1]

    @property
    def eigenvalues(self) -> Floats:
        """Variances of the features over the landmarks."""
        return self.spectrum[: self.n_components]

    @property
    def total_variance(self) -> float:
        """Variance of the landmarks in feature space."""
        return float(self.spectrum.sum())

    @property
    def points(self) -> Callable[[AnyArray], Floats] | None:
        """Return the standardisation of rows if the kernel compares columns of numbers, as most do, otherwise None."""
        return self._standardised if self.kernel.uses_columns and not self.kernel.typed else None

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels of single columns lie among the features, or None for columns of numbers."""
        return self.kernel.levels(self.landmarks, self.projection)

    @property
    def missing(self) -> bool:
        """Return whether the kernel accepts missing values."""
        return self.kernel.typed

    def _standardised(self, rows: AnyArray) -> Floats:
        return (rows - self.centre) * self.scale

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the features of raw rows, shape (n, n_components), float32.

        On processors of one kind, the features of a row have the same bits whatever other rows are mapped with it.
        """
        with one_blas_thread():
            widths = [(len(self.centre), len(self.landmarks)), self.projection.shape]
            dtype = exact_dtype(self.projection.dtype.type, *widths[: 1 if self.kernel.sparse else 2])
            against = self.kernel.against(self.landmarks.astype(dtype, copy=False))
            projection, intercept = (x.astype(dtype, copy=False) for x in (self.projection, self.intercept))
            block = np.empty((HEIGHT, len(self.centre)), dtype)

            def fill(some: AnyArray, affinities: Floats) -> None:
                with np.errstate(over="ignore"):  # rows may be infinitely far in float32
                    np.multiply(some - self.centre, self.scale, out=block, casting="same_kind")
                against(block, affinities)

            return project_blocks(rows, fill, projection, intercept, _sparse if self.kernel.sparse else np.dot)

    def facts(self) -> dict[str, str]:
        """Return what reports say about the map."""
        return {"Kernel": repr(self.kernel), "Landmarks": f"{len(self.landmarks):,}"}

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings of the map, which JSON can represent, and its arrays by name.

        Raises
        ------
        TypeError
            If the kernel is a function or a class that is not in `KERNELS`.

        Examples
        --------
        >>> from . import RBF
        >>> rows = np.random.default_rng(0).normal(size=(50, 2))
        >>> feature_map = nystrom_map(rows, RBF(), np.zeros(2), np.ones(2))
        >>> settings, arrays = feature_map.to_arrays()
        >>> settings["kernel"], sorted(arrays)
        ('rbf', ['centre', 'intercept', 'landmarks', 'projection', 'scale', 'spectrum'])
        >>> again = NystromMap.from_arrays(settings, arrays)
        >>> bool((again(rows) == feature_map(rows)).all())
        True
        """
        settings, arrays = kernel_to_arrays(self.kernel)
        return settings, {f.name: getattr(self, f.name) for f in fields(self) if f.name != "kernel"} | arrays

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the map from the settings and arrays of `to_arrays`.

        Raises
        ------
        ValueError
            If no fitted map has such settings or arrays; the message names the array.
        """
        own = {name: array for name, array in arrays.items() if not name.startswith(KERNEL_FIELD)}
        names = {f.name for f in fields(cls)} - {"kernel"}
        if own.keys() != names:
            raise ValueError(f"expected the arrays {', '.join(sorted(names))} of a map; got {', '.join(sorted(own))}")
        made = cls(kernel_from_arrays(settings, arrays), **own)
        made.check()
        return made

    def check(self) -> None:
        """Raise an error unless the map could have been fitted: compiled loops do not check shapes."""
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


def nystrom_map(
    landmarks: Floats,
    kernel: Kernel,
    centre: Floats,
    scale: Floats,
    *,
    variance: float = 0.9,
    n_components: int | None = None,
    centred: bool = True,
) -> NystromMap:
    """Return the map to the kernel principal components of some landmarks.

    Parameters
    ----------
    landmarks : array of shape (n_landmarks, n_features), float64
        Standardised, as ``(x - centre) * scale``.
    kernel : Kernel
    centre, scale : arrays of shape (n_features,)
    variance : float
        Share of the landmarks' variance in feature space that the components explain, from 0 to 1.
    n_components : int, optional
        Number of components instead; fewer if fewer exceed `RANK_TOLERANCE`.
    centred : bool
        Whether the origin is the mean of the landmarks in feature space, not zero.

    Notes
    -----
    The kernel among the landmarks is centred: the origin is their mean, not that of all rows, which moves all features
    alike. With a shift, landmarks have the features of the shifted kernel, and other rows follow by the same linear
    map. If all rows are landmarks this is kernel principal component analysis; if not, the features of a row are the
    projection of its image on the span of the landmarks' images about their mean. Costs O(m^2 n_features + m^3) for m
    landmarks, on one thread, so that the map does not depend on the number of threads.
    """
    landmarks = np.ascontiguousarray(landmarks)
    with one_blas_thread():
        fitted = kernel.fit(landmarks)
        gram = fitted.gram(landmarks)
        mean = gram.mean(axis=0) if centred else np.zeros(len(gram))
        values, vectors = eigh(gram - mean - mean[:, None] + mean.mean(), driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
        # The first value is left unchanged, as only the others' ratios to it matter.
        fading = fitted.fading((values / values[0]).clip(0)) if values[0] > 0 else np.ones_like(values)
        n_kept, spectrum = dimension(values * fading, float(np.abs(gram).max()), variance, n_components)
        vectors = vectors[:, :n_kept] * signs_of(vectors[:, :n_kept])
        roots = np.sqrt(values[:n_kept].clip(0))
        fade = np.sqrt(fading[:n_kept])
        # BLAS rounds differently for another memory layout, and saved arrays are loaded in C order.
        projection = np.zeros((len(landmarks), n_kept))
        np.divide(vectors * fade, roots, out=projection, where=spectrum[0] > 0)
        # The number of components is that without the shift, which is equal noise in all directions: with it, a share
        # of the variance takes nearly as many components as there are landmarks.
        if spectrum[0] > 0 and (shift := fitted.eigenvalue_shift(float(values[-1]))):
            projection *= np.sqrt(1 + shift / values[:n_kept])
            spectrum = spectrum + shift
        intercept = -mean @ projection
    dtype = fitted.dtype(landmarks)
    return NystromMap(
        fitted, fitted.stored_landmarks(landmarks), centre, scale, projection.astype(dtype), intercept.astype(dtype),
        spectrum / len(landmarks),
    )  # fmt: skip


def dimension(values: Floats, largest: float, variance: float, n_components: int | None) -> tuple[int, Floats]:
    """Return the number of components, at least one, and all positive eigenvalues."""
    # A constant kernel has eigenvalues of about this size from rounding alone.
    if values[0] <= len(values) ** 2 * np.finfo(float).eps * largest:
        return 1, np.zeros(1)
    positive = values[values > 0]
    rank = int(np.count_nonzero(positive > RANK_TOLERANCE * values[0]))
    if n_components is None:
        n_components = int(np.searchsorted(np.cumsum(positive[:rank]), variance * positive.sum())) + 1
    return min(n_components, rank), positive


def signs_of(vectors: Floats) -> Floats:
    """Return the signs that make the largest entry of each column positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _sparse(rows: Floats, matrix: Floats, out: Floats) -> None:
    sparse_product(rows, matrix, out)
