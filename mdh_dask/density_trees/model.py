"""Fitted density trees, which label rows by the nearest landmarks."""

from dataclasses import dataclass, replace

import numpy as np

from .._state import State, checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from ..growth.exemplars import Exemplars
from ..growth.nearest import near_points
from ..tree.clusters import Level, clusters_of
from .passes import DOUBLINGS, NearestCounts


@dataclass(frozen=True)
class DensityModel(State):
    """Landmarks in cells, and the links between the cells with their evidence.

    centre, scale (n_features,) float64: rows become ``(x - centre) * scale``.
    points (n_points, n_features) float64: standardised landmarks; a row is in the cell for which the nearest vote.
    cells (n_points,) int64: cell of each landmark.
    counts (n_points,) int64: rows inside the density level to which each landmark is the nearest of their cell.
    outside (DOUBLINGS, n_cells) int64: rows outside that are in each cell, by doublings of the distance.
    links (n_cells - 1, 2) int64: pairs of cells, which form a tree.
    evidence, core_rows, cut_rows (n_cells - 1,) float64: see `mdh_dask.valleys.structure.Structure`.
    clusters (n_cells,) int64: cluster of each cell.
    threshold: evidence above which a link separates clusters.
    peaks (n_cells, n_columns): the raw row of each cell where rows are densest; without columns if it is not known.
    peak_numbers (n_cells,) int64: their row numbers; -1 without a landmark.
    peak_reach (n_cells,) float64: their distances to their tenth neighbours; infinite without a landmark.
    level: the density level: a row is outside if the last of the `VOTERS` nearest landmarks is farther.
    leaves_outside: whether rows outside are labelled -1.
    """

    centre: Floats
    scale: Floats
    points: Floats
    cells: Integers
    counts: Integers
    outside: Integers
    links: Integers
    evidence: Floats
    core_rows: Floats
    cut_rows: Floats
    clusters: Integers
    threshold: float
    peaks: AnyArray
    peak_numbers: Integers
    peak_reach: Floats
    level: float
    leaves_outside: bool

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.clusters.max()) + 1

    @property
    def n_features(self) -> int:
        """Number of columns that rows must have."""
        return len(self.centre)

    @property
    def sizes(self) -> Integers:
        """Number of rows of `fit` in every cluster, shape (n_clusters,)."""
        return counts_in_cells(self.cell_rows, self.clusters, self.n_clusters)

    @property
    def cell_rows(self) -> Integers:
        """Number of rows of `fit` with a label in every cell, shape (n_cells,)."""
        rows = self.in_cells(self.counts)
        return rows if self.leaves_outside else rows + self.outside.sum(axis=0)

    def in_cells(self, counts: Integers) -> Integers:
        """Return counts of rows in the cells for those at the landmarks, which are along the last axis."""
        return counts_in_cells(counts, self.cells, len(self.clusters))

    def labels(self, rows: AnyArray) -> Integers:
        """Return the labels of raw rows, shape (n_rows,), int32; -1 for those outside if these are left."""
        near = self.landmarks.near(rows)
        labels = self.clusters[self.cells][near.own].astype(np.int32)
        if self.leaves_outside:
            labels[near.reach > self.level**2] = -1
        return labels

    @property
    def landmarks(self) -> NearestCounts:
        """The landmarks, which count rows."""
        return NearestCounts(self.centre, self.scale, self.points, self.cells, self.level)

    def excess(self, rows: AnyArray) -> Floats:
        """Return by which share the density level exceeds the distance of each raw row to its last nearest landmark."""
        reach = self.landmarks.near(rows).reach
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(reach > 0, np.sqrt(self.level**2 / reach), np.inf) - 1.0

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the `VOTERS` nearest landmarks that are in the cluster of each raw row."""
        clusters = self.clusters[self.cells]
        return near_points(rows, self.centre, self.scale, self.points, self.cells, clusters).agreeing

    @property
    def separates(self) -> Booleans:
        """Whether each link separates two clusters, shape (n_cells - 1,)."""
        return self.clusters[self.links[:, 0]] != self.clusters[self.links[:, 1]]

    @property
    def levels(self) -> tuple[Level, ...]:
        """Numbers of clusters from one to all, each with the least evidence that keeps so many apart."""
        links = np.flatnonzero(self.separates)
        links = links[np.argsort(-self.evidence[links], kind="stable")]
        with np.errstate(divide="ignore", invalid="ignore"):  # in many columns, neither is known
            depth = np.fmin.accumulate(self.core_rows[links] / self.cut_rows[links] - 1)
        levels = zip(range(2, len(links) + 2), depth.tolist(), self.evidence[links].tolist())
        return (Level(1, np.inf, np.inf), *(Level(*level) for level in levels))

    def cut(self, n_clusters: int) -> "DensityModel":
        """Return the model with so many clusters, those with the least evidence between them united."""
        evidence = np.where(self.separates, self.evidence, -np.inf)
        least = -np.finfo(np.float64).max
        return replace(self, clusters=clusters_of(self.links, evidence, self.cell_rows, least, most=n_clusters))

    @property
    def exemplars(self) -> Exemplars:
        """The row of each cluster where rows are densest."""
        order = np.lexsort((self.peak_reach, self.clusters))
        first = order[np.unique(self.clusters[order], return_index=True)[1]]
        return Exemplars(self.peaks[first] if self.peaks.shape[1] else None, self.peak_numbers[first])

    def check(self) -> None:
        """Raise a ValueError unless a fit could have given all values."""
        if not isinstance(self.points, np.ndarray) or self.points.ndim != 2 or 0 in self.points.shape:
            raise ValueError("expected points in rows and columns in the array points, got others")
        n, d = self.points.shape
        n_cells = len(self.clusters) if isinstance(self.clusters, np.ndarray) and self.clusters.ndim == 1 else 0
        for name, shape, least in (
            ("centre", (d,), -np.inf), ("scale", (d,), 0), ("points", (n, d), -np.inf), ("cells", (n,), 0),
            ("counts", (n,), 0), ("outside", (DOUBLINGS, max(n_cells, 1)), 0), ("links", (n_cells - 1, 2), 0),
            ("evidence", (n_cells - 1,), -np.inf),
            ("core_rows", (n_cells - 1,), 0), ("cut_rows", (n_cells - 1,), 0), ("clusters", (max(n_cells, 1),), 0),
            ("peak_numbers", (max(n_cells, 1),), -1),
        ):  # fmt: skip
            checked_array(name, getattr(self, name), shape, least)
        for name, most in (
            ("cells", n_cells),
            ("links", n_cells),
            ("counts", 2**63 - 1),
            ("outside", 2**63 - 1),
            ("clusters", n_cells),
            ("peak_numbers", 2**63 - 1),
        ):
            value = getattr(self, name)
            if value.dtype.kind != "i" or (value >= most).any():
                raise ValueError(f"expected integers below {most} in the array {name}, got others")
        peaks, reach = self.peaks, self.peak_reach
        n_peaks = len(peaks) if isinstance(peaks, np.ndarray) and peaks.ndim == 2 else None
        if n_peaks != n_cells or peaks.dtype.kind not in "biuf":
            raise ValueError(f"expected {n_cells} rows of numbers in the array peaks, got others")
        if np.isinf(peaks).any():  # values may be missing
            raise ValueError("expected no infinite numbers in the array peaks, got others")
        if not isinstance(reach, np.ndarray) or reach.shape != (n_cells,) or not (reach >= 0).all():
            raise ValueError(f"expected {n_cells} distances in the array peak_reach, got others")
        if (np.bincount(self.clusters) == 0).any():
            raise ValueError("expected clusters 0, 1, ... in the array clusters, got others")
        if not isinstance(self.level, float) or not 0 <= self.level < np.inf:
            raise ValueError(f"expected a level of at least 0, got {self.level!r}")
        if not isinstance(self.leaves_outside, bool):
            raise ValueError(f"expected true or false for leaves_outside, got {self.leaves_outside!r}")
        if not isinstance(self.threshold, float) or not self.threshold > 0:
            raise ValueError(f"expected a threshold above 0, got {self.threshold!r}")


def counts_in_cells(counts: Integers, cells: Integers, n_cells: int) -> Integers:
    """Return counts of rows in cells for those at landmarks, which are along the last axis."""
    sums = np.zeros((n_cells, *counts.shape[:-1]), dtype=np.int64)
    np.add.at(sums, cells, counts.T)
    return np.ascontiguousarray(sums.T)
