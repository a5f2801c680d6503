"""Multidimensional scaling of landmarks, with a rule for all other rows."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy

from .._blas import one_blas_thread
from .._levels import LevelFeatures
from .._state import checked_array
from .._typing import AnyArray, Floats, cached_property
from .base import Kernel
from .gower import Gower
from .landmarks import components_about
from .levels import levels_by_change
from .nystrom import HEIGHT, BasedMap, NystromMap, full_blocks

Squares = Literal["kernel", "complement", "given"]
"""Dissimilarities are distances in the feature space of a kernel, one minus the kernel, or the given values."""


@dataclass(frozen=True)
class ScalingMap(BasedMap):
    """Maps rows to places whose distances to those of the landmarks fit the dissimilarities.

    base: kernel, landmarks, shift and scale of the columns. Its features, for ``-D^2 / 2`` instead of the kernel, are
        the places of metric scaling.
    squares: how dissimilarities follow from the kernel; see `Squares`.
    own (n_landmarks,): kernel of every landmark with itself.
    places (n_landmarks, n_components): places of the landmarks in non-metric scaling; without rows for metric scaling.
    start (n_components, n_components): the linear map of places in metric scaling that comes nearest to `places`.
    knots (2, n_knots): dissimilarities, ascending, and the distances that fit them.
    """

    squares: Squares
    own: Floats
    places: Floats
    start: Floats
    knots: Floats

    @cached_property
    def levels(self) -> LevelFeatures | None:
        """Return the mean places of the levels of single columns, or None for columns of numbers."""
        kernel = self.base.kernel
        if not isinstance(kernel, Gower):
            return None
        landmarks = self.base.landmarks.astype(np.float64)
        return levels_by_change(self, landmarks, kernel.categorical > 0, kernel.shares > 0, self.n_components)

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the places of a block of rows, shape (n, n_components), float32."""
        out = np.empty((len(rows), self.n_components), dtype=np.float32)
        landmarks = self.base.landmarks.astype(np.float64)
        with one_blas_thread():
            fill = self.base.kernel.bind(landmarks)
            values = np.empty((HEIGHT, len(landmarks)))
            for at, block in full_blocks(rows):
                standard = (block - self.base.centre) * self.base.scale
                fill(standard, values)
                squared = squares_of(self.squares, values, self.base.kernel.diagonal(standard, landmarks), self.own)
                start = (-squared / 2) @ self.base.projection + self.base.intercept
                found = self._settled(start, np.sqrt(squared)) if len(self.places) else start
                out[at] = found[: at.stop - at.start]
        return out

    def _settled(self, found: Floats, dissimilarities: Floats) -> Floats:
        """Return the places after majorising steps, each of which lowers the stress of every row."""
        wanted = np.interp(dissimilarities, *self.knots)
        found, total, lengths = found @ self.start, self.places.sum(axis=0), np.square(self.places).sum(axis=1)
        for _ in range(30):
            squared = np.square(found).sum(axis=1)[:, None] + lengths - 2 * (found @ self.places.T)
            weights = np.divide(wanted, np.sqrt(squared.clip(0)), out=np.zeros_like(wanted), where=squared > 1e-20)
            found = (total + weights.sum(axis=1)[:, None] * found - weights @ self.places) / len(self.places)
        return found

    def facts(self) -> dict[str, str]:
        kind = "Non-metric" if len(self.places) else "Metric"
        return {"Map": f"{kind} multidimensional scaling", "Landmarks": f"{len(self.own):,}"}

    def check(self) -> None:
        m, p, n = len(self.base.projection), self.n_components, np.shape(self.knots)[-1]
        if self.squares not in ("kernel", "complement", "given"):
            raise ValueError(f"expected kernel, complement or given for squares, got {self.squares!r}")
        checked_array("own", self.own, (m,))
        checked_array("places", self.places, (m if len(self.places) else 0, p))
        checked_array("start", self.start, (p, p))
        checked_array("knots", self.knots, (2, n))
        if n == 0 or (np.diff(self.knots[0]) <= 0).any() or (np.diff(self.knots[1]) < 0).any():
            raise ValueError("expected ascending numbers in the array knots; got others")


def squares_of(squares: Squares, values: Floats, diagonal: Floats, own: Floats) -> Floats:
    """Return squared dissimilarities from a kernel between rows and landmarks and of each with itself."""
    if squares == "given":
        return np.square(values)
    if squares == "complement":
        return np.square((1 - values).clip(0))
    return (diagonal[:, None] + own - 2 * values).clip(0)


@dataclass
class Configuration:
    """Non-metric scaling: places, the distances that their dissimilarities ask for, and the stress of every step."""

    places: Floats
    disparities: Floats
    stresses: list[float] = field(default_factory=list)


def scaling_map(
    landmarks: Floats, kernel: Kernel, squares: Squares, centre: Floats, scale: Floats, *,
    variance: float, n_components: int | None, metric: bool, max_iter: int, tol: float,
) -> tuple[ScalingMap, Configuration | None]:  # fmt: skip
    """Return the map of metric or non-metric scaling of landmarks, and the course of the second."""
    landmarks = np.ascontiguousarray(landmarks)
    with one_blas_thread():
        fitted = kernel.fit(landmarks)
        own = fitted.diagonal(landmarks, landmarks) if squares == "kernel" else np.zeros(len(landmarks))
        squared = squares_of(squares, fitted.gram(landmarks), own, own)
        np.fill_diagonal(squared, 0.0)
        gram = -squared / 2
        mean = gram.mean(axis=0)
        values, vectors, projection, spectrum = components_about(mean, gram, variance, n_components, np.ones_like)
        n_kept = vectors.shape[1]
        stored = fitted.stored_landmarks(landmarks).astype(np.float64)
        base = NystromMap(fitted, stored, centre, scale, projection, -mean @ projection, spectrum / len(landmarks))
        metric_places = vectors * np.sqrt(values[:n_kept].clip(0))
        no_places = ScalingMap(base, squares, own, np.empty((0, n_kept)), np.eye(n_kept), np.zeros((2, 1)))
        if metric or spectrum[0] <= 0:
            return no_places, None
        found = non_metric(np.sqrt(squared), metric_places, max_iter, tol)
        start = np.linalg.lstsq(metric_places, found.places, rcond=None)[0]
        knots = _knots(_pairs(np.sqrt(squared)), found.disparities)
    return ScalingMap(base, squares, own, found.places, start, knots), found


def non_metric(dissimilarities: Floats, places: Floats, max_iter: int, tol: float) -> Configuration:
    """Return places whose distances are nearest to a monotone function of the dissimilarities (Kruskal's stress).

    Every step fits the function by isotonic regression, and moves all places by the majorising step of Guttman. Equal
    dissimilarities may have different distances (the primary approach).

    dissimilarities (m, m).
    places (m, n_components): where to start.
    tol: the steps end when the stress falls by less than this share.
    """
    pairs, m = _pairs(dissimilarities), len(places)
    stresses: list[float] = []
    while True:
        distances = _pairs(_distances(places))
        order = np.lexsort((distances, pairs))
        disparities = np.empty_like(distances)
        disparities[order] = scipy.optimize.isotonic_regression(distances[order]).x
        length = np.sqrt(np.square(distances).sum())
        disparities *= length / (np.sqrt(np.square(disparities).sum()) or 1.0)
        stresses.append(float(np.sqrt(np.square(disparities - distances).sum()) / (length or 1.0)))
        if len(stresses) > max_iter or (len(stresses) > 1 and stresses[-2] - stresses[-1] <= tol * stresses[-2]):
            return Configuration(places, disparities, stresses)
        ratios = np.divide(disparities, distances, out=np.zeros_like(distances), where=distances > 0)
        matrix = np.zeros((m, m))
        matrix[np.triu_indices(m, 1)] = ratios
        matrix += matrix.T
        places = (matrix.sum(axis=1)[:, None] * places - matrix @ places) / m


def _pairs(matrix: Floats) -> Floats:
    return matrix[np.triu_indices(len(matrix), 1)]


def _distances(places: Floats) -> Floats:
    lengths = np.square(places).sum(axis=1)
    return np.sqrt((lengths[:, None] + lengths - 2 * (places @ places.T)).clip(0))


def _knots(dissimilarities: Floats, disparities: Floats) -> Floats:
    """Return the mean disparity of some ascending dissimilarities, at most 257."""
    values, which = np.unique(dissimilarities, return_inverse=True)
    means = np.bincount(which, disparities) / np.bincount(which)
    some = np.unique(np.linspace(0, len(values) - 1, min(len(values), 257)).round().astype(int))
    return np.stack([values[some], np.maximum.accumulate(means[some])])
