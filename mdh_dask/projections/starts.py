"""Where projection pursuit starts: directions along which a sample already shows a valley."""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import multi_dot

from .._jit.binning import bin_projections, projection_ranges
from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS, Bandwidth
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH
from .rows import some_rows

MOST_COMPONENTS = 50
"""With more features, trees pursue hyperplanes in the span of so many principal components: where rows are few for
their features, noise parts them anywhere."""

N_DRAWN = 1000
"""Random directions that are looked at."""

ROWS_LOOKED_AT, MAX_BINS = 1000, 4096

DIRECTIONS_AT_ONCE = 256
"""Directions whose histograms are in memory together."""

ROOM = 0.2
"""How much farther from the mean than the valley of its start a pursuit may go, in standard deviations."""


@dataclass(frozen=True)
class Start:
    """A direction, and the values of alpha for which hyperplanes are pursued from there, one after the other."""

    direction: Floats
    alphas: tuple[float, ...]


def valley_starts(rng: np.random.Generator, centred: AnyArray, n_starts: int, within: float = np.inf) -> list[Start]:
    """Return the directions with the deepest valleys, among random combinations of rows and single columns.

    Parameters
    ----------
    rng : Generator
    centred : array of shape (n, n_features)
        Rows with mean zero, not all equal.
    n_starts : int
        Starts wanted.
    within : float
        Standard deviations from the mean within which valleys count.

    Returns
    -------
    list of at most `n_starts` Start
        The deepest valley first. Its distance from the mean bounds the pursuit: a cluster beside many others shows in a
        valley far from the mean, and no descent from near the mean leads there. On both sides of it there are more
        rows than the square root of their number.

    Notes
    -----
    Of columns, only those count in which at least half of the values differ: a value that many rows share makes a
    valley beside itself. Combinations of twenty columns hardly show clusters that differ in one of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 5)) + np.repeat([[-3.0], [3.0]], 200, axis=0) * [1, 0, 0, 0, 0]
    >>> start = valley_starts(rng, rows - rows.mean(axis=0), 1)[0]
    >>> bool(abs(start.direction[0]) > 0.9), bool(start.alphas[0] < 0.5)
    (True, True)
    """
    base = some_rows(rng, centred).astype(np.float32)
    base -= base.mean(axis=0)
    # Any rows will do to look at; those of equal distance are the same for the same sample.
    looked_at = centred[:: max(1, len(centred) // ROWS_LOOKED_AT)].astype(np.float32)
    weights = rng.standard_normal((N_DRAWN, len(base)), dtype=np.float32)
    # With many columns, the combinations themselves are made of those only that are kept.
    squares = (multi_dot([weights, base, base.T]) * weights).sum(axis=1)
    length = np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny))
    # What cancels out nearly is rounding errors.
    length[length < 1e-3 * length.max()] = np.inf
    columns = _columns_without_ties(looked_at)
    combined = multi_dot([weights, base, looked_at.T]) / length[:, None]
    projections = np.concatenate([combined, looked_at.T[columns]])
    depth, alpha = _deepest_valleys(projections, np.sqrt(len(centred)) / len(centred), within)
    starts = []
    for i in np.argsort(-depth, kind="stable")[:n_starts]:
        if depth[i] > 0:
            unit = np.zeros(centred.shape[1])
            if i < N_DRAWN:
                unit += weights[i] @ base / length[i]
            else:
                unit[columns[i - N_DRAWN]] = 1.0
            starts.append(Start(unit / np.linalg.norm(unit), (min(float(alpha[i]) + ROOM, within),)))
    return starts


def _columns_without_ties(rows: AnyArray) -> AnyArray:
    distinct = (np.diff(np.sort(rows, axis=0), axis=0) > 0).sum(axis=0) + 1
    return np.flatnonzero(distinct > len(rows) / 2)


def _deepest_valleys(projections: Floats, least_share: float, within: float) -> tuple[Floats, Floats]:
    """Return the depth of each direction's deepest valley, and its distance from zero in standard deviations."""
    depth, alpha = np.zeros((2, len(projections)))
    for first in range(0, len(projections), DIRECTIONS_AT_ONCE):
        part = slice(first, first + DIRECTIONS_AT_ONCE)
        histograms = sample_histograms(projections[part])
        allowed = histograms.leaves_rows(least_share * projections.shape[1])
        if np.isfinite(within):
            allowed &= histograms.within(within)
        depths = np.where(allowed, histograms.depth, 0.0)
        best = depths.argmax(axis=1)
        each = np.arange(len(best))
        depth[part] = depths[each, best]
        sd = histograms.spread[1]
        alpha[part] = np.abs(histograms.threshold[each, best]) / np.where(sd > 0, sd, 1.0)
    return depth, alpha


def sample_histograms(projections: Floats, rule: Bandwidth = BANDWIDTHS["multimodal"]) -> Histograms:
    """Return the histograms of a sample's projections, (n_directions, n_rows), whose means are near zero."""
    _, sd, low, high = projection_ranges(projections)
    quartiles = sd
    if rule.robust:
        lower, upper = np.quantile(projections, [0.25, 0.75], axis=1)
        quartiles = upper - lower
    h = np.maximum(rule.of(projections.shape[1], sd, quartiles), 1e-6 * np.maximum(-low, high))
    width = np.where(h > 0, h, 1.0) / BINS_PER_BANDWIDTH
    # Far outliers may fall into the outermost bins.
    n_bins = int(min(2 * (np.maximum(-low, high) / width).max(initial=0.0) + 40, MAX_BINS))
    origin = -width * n_bins / 2
    counts = np.zeros((len(projections), n_bins), dtype=np.int64)
    bin_projections(projections, origin, width, counts)
    return Histograms(counts, origin, width, rule)
