"""The contours of support vector clustering as a model, and the passes that count all rows at their landmarks."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from .._jit.hashing import in_first_half
from .._jit.landmarks import count_nearest, nearest_points, totals_of_widths
from .._jit.rows import loop_ready
from .._state import State, checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..growth.discrete import Discrete
from ..growth.nearest import near_points
from ..growth.passes import hashes_of
from ..tree.clusters import largest_first
from .dual import SLACK

LOWEST = -30
"""Totals below two to this power count as equal to it, as such a distant kernel is negligible."""

STEPS = 4096
"""Number of bins between a power of two and the next. The sum of kernels is flat inside contours: with few bins, many
of the rows are in one, and the share outside is far from the requested one."""

N_BINS = (1 - LOWEST) * STEPS


@dataclass(frozen=True)
class LandmarkCounts(Statistic):
    """Rows nearest to each landmark, and rows of the first half nearest to each landmark of the first half."""

    seed: int
    """Seed of the rows' hashes."""
    centre: Floats
    scale: Floats
    """Both of shape (n_features,), float64: rows become ``(x - centre) * scale``."""
    columns: Floats
    """Shape (n_features, n_landmarks), float64: coordinates of the landmarks, column by column."""
    first: Booleans
    """Shape (n_landmarks,), bool: landmarks of the first half."""
    discrete: Discrete = field(default_factory=Discrete)
    """Columns whose values are jittered."""
    parts_at: int | None = None
    """Index of the array with the parts of dependent rows; see `mdh_dask.growth.passes.hashes_of`."""

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (2, n_landmarks)."""
        rows = loop_ready(blocks[0])
        counts = np.zeros((2, self.columns.shape[1]), dtype=np.int64)
        hashes = hashes_of(self.seed, start, blocks, self.parts_at)
        rows = self.discrete.jittered(rows, hashes)
        halves = in_first_half(hashes)
        count_nearest(rows, self.centre, self.scale, self.columns, self.first, halves, counts)
        return counts


@dataclass(frozen=True)
class LevelCounts(Statistic):
    """Histograms of the totals of all rows, for several spheres around the same points."""

    centre: Floats
    scale: Floats
    """Both of shape (n_features,), float64."""
    columns: Floats
    """Shape (n_features, n_points), float64: coordinates of the points, column by column."""
    coefficients: Floats
    """Shape (n_spheres, n_points), float64."""
    widths: Floats
    """Shape (n_spheres,), float64."""

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (n_spheres, N_BINS)."""
        frame = self.centre, self.scale, self.columns
        totals = totals_of_widths(loop_ready(blocks[0]), *frame, self.coefficients, self.widths)
        return np.stack([np.bincount(bin_of(column), minlength=N_BINS) for column in totals.T])


def bin_of(totals: Floats) -> Integers:
    """Return the bins of totals, with `STEPS` equal bins between two powers of two."""
    mantissa, exponent = np.frexp(totals.clip(2.0**LOWEST, 1.0))
    return (exponent - 1 - LOWEST) * STEPS + ((mantissa - 0.5) * 2 * STEPS).astype(np.int64)


def lower_edge(bins: Integers) -> Floats:
    """Return the lower edges of bins."""
    exponent, step = np.divmod(bins, STEPS)
    return np.ldexp(0.5 + step / (2 * STEPS), exponent + 1 + LOWEST)


def level_of_counts(counts: Integers, outliers: float) -> float:
    """Return the level below which a share `outliers` of the rows lies, with rows spread evenly over their bins."""
    under = np.cumsum(counts) - counts
    allowed = outliers * counts.sum() * (1 + 1e-12)
    last = np.flatnonzero((under <= allowed) & (counts > 0))[-1]
    low, high = lower_edge(np.array([last, last + 1]))
    return float(low + (high - low) * min((allowed - under[last]) / counts[last], 1))


SWEEP_DTYPE = np.dtype(
    [("width", "f8"), ("outliers", "f8"), ("n_support", "i8"), ("n_bounded", "i8"), ("n_components", "i8"),
     ("smallest", "f8"), ("n_clusters", "i8"), ("n_confirmed", "i8"), ("persistence", "f8"), ("level", "f8"),
     ("chosen", "?")]
)  # fmt: skip
"""Columns of the table of a sweep."""

N_COLUMNS = len(SWEEP_DTYPE.names or ())


@dataclass(frozen=True)
class Contours(State):
    """The contour of support vector clustering, and points that identify the clusters of its components."""

    noise = True
    centre: Floats
    scale: Floats
    """Both of shape (n_features,), float64: rows become ``(x - centre) * scale``."""
    points: Floats
    """Shape (n_points, n_features), float64: standardised points; a row has the label of the nearest one."""
    point_labels: Integers
    """Shape (n_points,), int32: labels of the points; -1 for points in no cluster."""
    vectors: Floats
    """Shape (n_vectors, n_features), float64: the support vectors, standardised."""
    coefficients: Floats
    """Shape (n_vectors,), float64: their weights in the sum of kernels."""
    width: float
    """q of the kernel ``exp(-q |x - y|^2)``."""
    level: float
    """Level of the contour: rows with a smaller sum of kernels are outside."""
    leaves_outside: bool
    """Whether rows outside are labelled -1."""
    sweep: Floats
    """Shape (n_steps, n_columns), float64: the table of the sweep that chose the width, in the columns of
    `SWEEP_DTYPE`; no steps if it was given."""
    failed: Floats = field(default_factory=lambda: np.empty(0))
    """Shape (3,), float64: of the best valley that failed in the sweep: whether held-out rows tested it, its evidence
    in standard deviations, and what it needed."""
    counts: Integers | None = None
    """Shape (n_clusters,), int64: rows in each cluster; None if a sample of them was labelled."""

    @property
    def sizes(self) -> Integers | None:
        """Return the number of rows in every cluster, if all were labelled."""
        return self.counts

    @property
    def n_clusters(self) -> int:
        return int(self.point_labels.max(initial=-1)) + 1

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def table(self) -> AnyArray:
        """Table of the sweep, as an array of `SWEEP_DTYPE`."""
        return np.array([tuple(step) for step in self.sweep], dtype=SWEEP_DTYPE)

    def labels(self, rows: AnyArray) -> Integers:
        """Return the labels of raw rows, shape (n,), int32."""
        nearest = nearest_points(loop_ready(rows), self.centre, self.scale, np.ascontiguousarray(self.points.T))
        labels = self.point_labels[nearest].astype(np.int32)
        if self.leaves_outside:
            labels[self.totals(rows) < self.level * (1 - SLACK)] = -1
        return labels

    def numbered_by(self, rows: AnyArray) -> Self:
        """Return the contours with the clusters of all rows, the largest first, and their sizes."""
        label = self.labels(rows)
        counts = np.bincount(label[label >= 0], minlength=self.n_clusters)
        number = np.append(largest_first(counts), -1).astype(np.int32)
        return replace(self, point_labels=number[self.point_labels], counts=np.sort(counts)[::-1])

    def totals(self, rows: AnyArray) -> Floats:
        """Return the sum of kernels at raw rows, shape (n,): from nearly 0, far outside, to at most 1."""
        frame = self.centre, self.scale, np.ascontiguousarray(self.vectors.T)
        return totals_of_widths(loop_ready(rows), *frame, self.coefficients[None], np.array([self.width]))[:, 0]

    def distances(self, rows: AnyArray) -> Floats:
        """Return the share by which the sum of kernels at raw rows exceeds the level, shape (n,)."""
        return self.totals(rows) / (self.level * (1 - SLACK)) - 1

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the nearest points that have the label of the one nearest to each raw row, shape (n,)."""
        each, cluster = np.arange(len(self.points)), self.point_labels.astype(np.int64)
        return near_points(rows, self.centre, self.scale, self.points, each, cluster).agreeing

    def check(self) -> None:
        if not isinstance(self.points, np.ndarray) or self.points.ndim != 2 or 0 in self.points.shape:
            raise ValueError("expected points in rows and columns in the array points, got others")
        n, d = self.points.shape
        n_vectors = len(self.vectors) if isinstance(self.vectors, np.ndarray) else 0
        for name, shape, least in (
            ("centre", (d,), -np.inf), ("scale", (d,), 0.0), ("points", (n, d), -np.inf), ("point_labels", (n,), -1.0),
            ("vectors", (max(n_vectors, 1), d), -np.inf), ("coefficients", (max(n_vectors, 1),), 0.0),
        ):  # fmt: skip
            checked_array(name, getattr(self, name), shape, least)
        if self.point_labels.dtype.kind != "i" or (np.diff(np.unique([-1, *self.point_labels.tolist()])) > 1).any():
            raise ValueError("expected labels -1, 0, 1, ... in the array point_labels, got others")
        for name in ("width", "level"):
            value = getattr(self, name)
            if not isinstance(value, float) or not 0 < value < np.inf:
                raise ValueError(f"expected a {name} above 0, got {value!r}")
        if not isinstance(self.leaves_outside, bool):
            raise ValueError(f"expected true or false for leaves_outside, got {self.leaves_outside!r}")
        if (
            not isinstance(self.sweep, np.ndarray)
            or self.sweep.dtype != np.float64
            or self.sweep.shape[1:] != (N_COLUMNS,)
        ):
            raise ValueError(f"expected {N_COLUMNS} columns of float64 in the array sweep, got others")
        checked_array("failed", self.failed, (3,) if np.size(self.failed) else (0,))
        if self.counts is not None:
            checked_array("counts", self.counts, (self.n_clusters,), 0)
