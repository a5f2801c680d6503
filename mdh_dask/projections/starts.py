"""Starts of projection pursuit: directions along which a sample already shows a valley."""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import multi_dot

from .._blas import product
from .._jit.histograms import bin_projections, projection_ranges
from .._jit.landmarks import nearest_columns
from .._jit.rows import few_at_once
from .._random import any_rows
from .._typing import AnyArray, Floats, Integers
from ..density.histograms import Histograms
from ..density.kde import BANDWIDTHS, BINS_PER_BANDWIDTH, CERTAIN_DEPTH, Bandwidth, deepest_valleys
from .directions import NO_COLUMNS, columns_without_ties, scatter_root, some_rows

NEAR_ROWS = (4, 16)
"""Numbers of near rows whose means give directions: a few of one cluster, or those of a few clusters."""


def seeds_for_covariance(n: int, n_columns: int) -> int:
    """Return how many of n rows to look at, so that those near them have a covariance, if the rows are enough for one.

    >>> [seeds_for_covariance(2000, n_columns) for n_columns in (100, 384, 768, 5000)]
    [32, 52, 103, 32]
    """
    needed = -(-2 * n_columns // (max(NEAR_ROWS) - 1))
    return max(needed, 32) if needed * max(NEAR_ROWS) <= n else 32


def near_means(rows: AnyArray, rng: np.random.Generator, n_seeds: int) -> Floats:
    """Return the means of some rows' near rows, from that of all, and the same in units of the spread of near rows."""
    centred = np.asarray(rows - rows.mean(axis=0), dtype=np.float32)
    n, d = centred.shape
    squares = np.square(centred).sum(axis=1)
    most = min(max(NEAR_ROWS), n)
    seeds = rng.choice(n, min(n_seeds, n), replace=False)
    some = next((k for k in NEAR_ROWS if len(seeds) * (k - 1) >= 2 * d), 0)  # enough for a covariance
    few = np.empty((len(seeds), min(some, most), d), dtype=np.float32)
    of_near = np.empty((len(NEAR_ROWS), len(seeds), d), dtype=np.float32)
    for part in few_at_once(len(seeds), 16):
        distances = squares - 2 * product(centred[seeds[part]], centred.T)
        near = centred[nearest_columns(distances, most)]
        few[part], of_near[:, part] = near[:, :some], [near[:, :k].mean(axis=1) for k in NEAR_ROWS]
    means = of_near.reshape(-1, d).astype(np.float64)
    if not some:
        return means
    beside = (few - few.mean(axis=1, keepdims=True)).reshape(-1, d).astype(np.float64)
    spread = beside.T @ beside / len(beside)
    own = np.trace(spread) / d
    spread = 0.9 * spread + (0.1 * own or 1.0) * np.eye(d)  # few rows would make it singular
    return np.concatenate([means, np.linalg.solve(spread, means.T).T])


N_DRAWN = 1000
"""Number of random directions to examine."""

ROWS_LOOKED_AT = 1000

MAX_BINS = 4096
"""Most bins of a histogram, also for a branch with far outliers."""

DIRECTIONS_AT_ONCE = 256
"""Directions scored together: few enough for their projections to fit the processor's cache, but enough that the Python
code between the loops does not dominate and block other threads."""

MANY_COLUMNS, DEEP, MOST_DEEP = 50, 0.5, 0.1
"""Of more columns, none alone is a start if several, a larger share than the last, have valleys deeper than the second.
Every pixel of images is dark in some and light in others: a tree would cut pixel after pixel, and find no digit."""

ROOM = 0.2
"""Largest distance of a pursuit beyond the valley of its start, in standard deviations."""


@dataclass(frozen=True)
class Start:
    """A direction, and the successive values of alpha of the pursuit from it."""

    direction: Floats
    alphas: tuple[float, ...]
    depth: float = 0.0
    """Relative depth that the valley of the direction has at least in all rows, if that is known."""
    share: float = 0.0
    """Share of the rows on the smaller side of this valley."""

    def ends_search(self, least_share: float) -> bool:
        """Return whether the valley is beyond doubt and leaves at least such a share of the rows on either side."""
        return self.depth > CERTAIN_DEPTH and self.share >= least_share


def valley_starts(
    rng: np.random.Generator,
    centred: AnyArray,
    n_starts: int,
    within: float = np.inf,
    coarse: Integers = NO_COLUMNS,
    min_rows: float = 0.0,
) -> list[Start]:
    """Return the directions with the deepest valleys, among random combinations of rows and single columns.

    Only columns with at least half of their values distinct count (`columns_without_ties`), and of many columns none if
    more than a few of them show valleys, which then divide nothing but themselves. Combinations of twenty columns
    hardly show clusters that differ in one of them. Combinations are drawn and examined in batches, and none after a
    batch that shows a valley beyond doubt (`CERTAIN_DEPTH`). A group of less than `min_rows` rows must not end the
    search, as no split can separate it.

    centred (n, n_features): rows with mean zero, not all equal.
    within: largest distance of valleys from the mean, in standard deviations.
    coarse: columns of few values, which are no starts although their values are spread.
    min_rows: least number of rows on each side of a valley that ends the search.
    Returns starts in descending order of depth. The distance of the valley bounds the pursuit: a cluster beside many
        others has a valley far from the mean, which a descent from near the mean does not reach. Each side of a valley
        has more rows than the square root of their number.
    """
    base = some_rows(rng, centred).astype(np.float32)
    base = scatter_root(base - base.mean(axis=0))
    looked_at = any_rows(centred, ROWS_LOOKED_AT).astype(np.float32)
    seen = len(looked_at) / len(centred)
    least_share = np.sqrt(len(centred)) / len(centred)
    found: list[Start] = []
    for first in range(0, N_DRAWN, DIRECTIONS_AT_ONCE):
        weights = _weights(rng, min(DIRECTIONS_AT_ONCE, N_DRAWN - first), base)
        columns = columns_without_ties(looked_at, coarse) if first + len(weights) == N_DRAWN else NO_COLUMNS
        projections = np.concatenate([multi_dot([weights, base, looked_at.T]), looked_at.T[columns]])
        depth, alpha, share = _deepest_valleys(projections, least_share, within, seen)
        deep = np.count_nonzero(depth[len(weights) :] > DEEP)
        if centred.shape[1] > MANY_COLUMNS and deep > max(MOST_DEEP * len(columns), 1):
            depth[len(weights) :] = -np.inf
        for i in np.argsort(-depth, kind="stable")[:n_starts]:
            if depth[i] > -np.inf:
                # With many columns, only the chosen combinations are computed in full.
                column = i - len(weights)
                chosen = weights[i] @ base if column < 0 else np.eye(1, centred.shape[1], columns[column])[0]
                unit = chosen.astype(np.float64) / np.linalg.norm(chosen.astype(np.float64))
                found.append(Start(unit, (min(float(alpha[i]) + ROOM, within),), float(depth[i]), float(share[i])))
        if any(start.ends_search(min_rows / len(centred)) for start in found):
            break
    return sorted(found, key=lambda start: -start.depth)[:n_starts]


def starts_along(directions: Floats, centred: Floats, n_starts: int) -> list[Start]:
    """Return the starts with the deepest valleys among given unit directions; see `valley_starts`."""
    depth, alpha, _ = _deepest_valleys(
        np.ascontiguousarray(directions @ centred.T, dtype=np.float32), np.sqrt(len(centred)) / len(centred), np.inf
    )
    best = np.argsort(-depth, kind="stable")[:n_starts]
    return [Start(directions[i], (float(alpha[i]) + ROOM,), float(depth[i])) for i in best if depth[i] > -np.inf]


def _weights(rng: np.random.Generator, n: int, base: Floats) -> Floats:
    """Return the weights of random combinations of length one of some rows."""
    weights = rng.standard_normal((n, len(base)), dtype=np.float32)
    squares = (multi_dot([weights, base, base.T]) * weights).sum(axis=1)
    length = np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny))
    # Nearly cancelled entries are rounding errors.
    length[length < 1e-3 * length.max()] = np.inf
    return weights / length[:, None]


def _deepest_valleys(
    projections: Floats, least_share: float, within: float, seen: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Return each direction's deepest valley: depth, standard deviations from zero, and smaller share of rows.

    The depth is one that all rows have at least, if a share `seen` of them is projected.
    """
    n = projections.shape[1]
    counts, origin, width, sd = _sample_counts(projections, BANDWIDTHS["multimodal"])
    reach = within * sd if np.isfinite(within) else np.full_like(sd, np.inf)
    ends = np.ceil((-reach - origin) / width - 1), np.floor((reach - origin) / width - 1)
    allowed = np.clip(ends, 0, counts.shape[1]).astype(np.int64)
    # On coarser bins, shallow valleys change places: optdigits loses .01 of NMI.
    depth, bins, n_left, lower = deepest_valleys(counts, BINS_PER_BANDWIDTH, least_share * n, allowed, seen)
    alpha = np.abs(origin + width * (bins + 1)) / np.where(sd > 0, sd, 1.0)
    return np.where(depth > 0, lower, -np.inf), alpha, np.minimum(n_left, n - n_left) / n


def sample_histograms(projections: Floats, rule: Bandwidth = BANDWIDTHS["multimodal"]) -> Histograms:
    """Return the histograms of a sample's projections, (n_directions, n_rows), whose means are near zero."""
    counts, origin, width, _ = _sample_counts(projections, rule)
    return Histograms(counts, origin, width, rule)


def _sample_counts(projections: Floats, rule: Bandwidth) -> tuple[AnyArray, Floats, Floats, Floats]:
    """Return histograms of projections whose means are near zero, origins and widths of bins, standard deviations."""
    _, sd, low, high = projection_ranges(projections)
    h = np.maximum(rule.along(projections, sd, projections.shape[1]), 1e-6 * np.maximum(-low, high))
    width = np.where(h > 0, h, 1.0) / BINS_PER_BANDWIDTH
    # Far outliers may fall into the outermost bins.
    n_bins = int(min(2 * (np.maximum(-low, high) / width).max(initial=0.0) + 40, MAX_BINS))
    origin = -width * n_bins / 2
    counts = np.zeros((len(projections), n_bins), dtype=np.int64)
    bin_projections(projections, origin, width, counts)
    return counts, origin, width, sd
