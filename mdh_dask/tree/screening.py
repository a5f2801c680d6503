"""Directions scored on a sample: only the best few are counted on all rows."""

import numpy as np

from .._jit.binning import bin_projections
from .._typing import AnyArray, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH
from ..splits.choose import Candidates
from ..splits.rules import SplitRule
from .columns import Standardiser

DIRECTIONS_AT_ONCE = 128
"""Directions projected by one matrix product: its result should fit the processor's cache."""

MAX_BINS = 4096

ROWS_FOR_BINS = 2000


def screen(
    rows: AnyArray,
    directions: Floats,
    n_kept: int,
    rule: SplitRule,
    bandwidth: Bandwidth,
    min_rows: float,
    standardise: Standardiser,
) -> Floats:
    """Return the directions with the best scores on the sample, best first.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Standardised sample of a branch.
    directions : array of shape (n_directions, n_features)
        In standardised coordinates.
    n_kept : int
    rule, bandwidth
        Score the density of each direction.
    min_rows : float
        Rows of the sample that a split leaves on both sides at least.
    standardise : Standardiser
        What standardised the rows.

    Returns
    -------
    ndarray of shape (at most n_kept, n_features)
        Directions without an admissible split are left out. Those that are within two degrees of a better one too:
        they would find the same valley.
    """
    scores = np.full(len(directions), -np.inf)
    for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
        part = slice(first, first + DIRECTIONS_AT_ONCE)
        projections = directions[part].astype(rows.dtype) @ rows.T
        resolution = standardise.resolution_of(standardise.raw(directions[part]))
        scores[part] = rule.score(_histograms(projections, bandwidth, resolution), min_rows)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == n_kept or scores[i] == -np.inf:
            break
        if np.all(np.abs(unit[kept] @ unit[i]) < 0.9994):
            kept.append(int(i))
    return directions[kept]


def candidates_for(
    rows: AnyArray, directions: Floats, standardise: Standardiser, bandwidth: Bandwidth, n_rows: float
) -> tuple[Candidates, int]:
    """Lay out histograms that will resolve the densities of a branch's `n_rows` rows.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Standardised sample of the branch.
    directions : array of shape (n_directions, n_features)
        In standardised coordinates.
    standardise : Standardiser
    bandwidth : Bandwidth
    n_rows : float
        Rows that will be counted.

    Returns
    -------
    candidates : Candidates
        For raw rows.
    n_bins : int
    """
    projections = directions @ rows.astype(np.float64).T
    raw = standardise.raw(directions)
    resolution = standardise.resolution_of(raw)
    origin, width, n_bins = _bins(projections, bandwidth, resolution, n_rows)
    return Candidates(raw, origin + raw @ standardise.centre, width, resolution), n_bins


def _histograms(projections: AnyArray, bandwidth: Bandwidth, resolution: Floats) -> Histograms:
    # A part of the rows says where the bins must lie; the few beyond are counted in the outermost ones.
    part = projections[:, :: max(1, projections.shape[1] // ROWS_FOR_BINS)]
    origin, width, n_bins = _bins(part, bandwidth, resolution, projections.shape[1])
    counts = np.zeros((len(projections), n_bins), dtype=np.int32)
    bin_projections(projections, origin.astype(projections.dtype), width.astype(projections.dtype), counts)
    return Histograms(counts, origin, width, bandwidth, resolution)


def _bins(projections: AnyArray, bandwidth: Bandwidth, resolution: Floats, n_rows: float) -> tuple[Floats, Floats, int]:
    sd = projections.std(axis=1, dtype=np.float64)
    quartiles = sd
    if bandwidth.robust:
        lower, upper = np.quantile(projections, [0.25, 0.75], axis=1)
        quartiles = upper - lower
    h = np.hypot(bandwidth.of(n_rows, sd, quartiles), resolution)
    low, high = projections.min(axis=1).astype(np.float64), projections.max(axis=1).astype(np.float64)
    # Equal rows may differ in the last bits of their projections: what is left of a constant direction is no spread.
    size = np.maximum(np.abs(low), np.abs(high))
    h = np.where(h > 4 * np.finfo(projections.dtype).eps * size, h, np.maximum(size, 1.0))
    width = h / BINS_PER_BANDWIDTH
    # Room for the kernels of the outermost rows, for rows that the sample did not see, and for the two tail bins.
    margin = 4 * h + 0.1 * (high - low) * (n_rows > projections.shape[1])
    wanted = np.ceil((high - low + 2 * margin) / width) + 2
    n_bins = int(min(wanted.max(), MAX_BINS))
    centre = np.where(wanted > n_bins, projections.mean(axis=1, dtype=np.float64), (low + high) / 2)
    return centre - width * n_bins / 2, width, n_bins
