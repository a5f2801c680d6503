"""Scores of directions on a sample; only the best few are counted on all rows."""

from dataclasses import replace

import numpy as np

from .._jit.histograms import bin_extremes, bin_projections, projection_ranges
from .._random import any_rows
from .._typing import AnyArray, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms, no_extremes
from ..density.kde import BINS_PER_BANDWIDTH, CERTAIN_DEPTH, deepest_valleys
from ..projections.directions import Axes, Proposal
from ..projections.pca import centred_rows, scaled_components
from ..splits.choose import Candidates
from ..splits.rules import SplitRule
from .labelled import Groups
from .scaling import Standardiser

DIRECTIONS_AT_ONCE = 256
"""Directions scored together: few enough for their projections to fit the processor's cache, but enough that the Python
code between the loops does not dominate and block other threads."""

FIRST_ROUND_ROWS = 1000
"""Sample rows of a first round for all directions; only the best of them are scored on the whole sample."""

FIRST_ROUND_KEEPS = 64

ROUGH_BINS = 2.5
"""Bins per bandwidth in the first round, which only discards directions."""


def bandwidth_of(rule: Bandwidth, rows: AnyArray) -> Bandwidth:
    """Return the rule for the densities of a branch; a principal rule takes the spread of its rows."""
    if not rule.principal or len(rows) == 0:
        return rule
    return rule.fixed(float(scaled_components(centred_rows(rows), 1)[1][0]))


def screen(
    rows: AnyArray,
    proposal: Proposal,
    n_kept: int,
    rule: SplitRule,
    bandwidth: Bandwidth,
    min_rows: float,
    standardise: Standardiser,
    groups: Groups | None = None,
) -> Proposal:
    """Return the proposed directions with the best scores on the sample, best first.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Standardised sample of a branch.
    proposal : Proposal
    n_kept : int
    rule, bandwidth
        The split rule that scores each direction, and the bandwidth of its density.
    min_rows : float
        Least number of sample rows on each side of a split.
    standardise : Standardiser
        Shift and scale of the columns.
    groups : Groups, optional
        The labelled rows of the branch.

    Returns
    -------
    Proposal of at most `n_kept` directions
        Directions without an admissible split are left out, and so are those within two degrees of a better one:
        they would find the same valley.
    """
    if len(proposal) == 0:  # as for no rows, of which there is no mean
        return proposal
    proposal = promising(rows, proposal, rule, bandwidth, min_rows, standardise, groups)
    scores = _scores(rows, proposal, rule, bandwidth, min_rows, standardise, groups)
    unit = proposal.of_length_one().directions.vectors
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == n_kept or scores[i] == -np.inf:
            break
        # OpenBLAS's products of a few float32 rows may read what lies beyond them, and flag it as invalid.
        with np.errstate(invalid="ignore"):
            cosines = np.abs(unit[kept] @ unit[i])
        if np.all(cosines < 0.9994):
            kept.append(int(i))
    return proposal[kept]


def candidates_for(
    rows: AnyArray,
    proposal: Proposal,
    standardise: Standardiser,
    bandwidth: Bandwidth,
    n_rows: float,
    groups: Groups | None = None,
) -> Candidates:
    """Return candidates with bins that resolve the densities of a branch's `n_rows` rows.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Standardised sample of the branch.
    proposal : Proposal
        If it has thresholds, bins end at them.
    standardise : Standardiser
    bandwidth : Bandwidth
    n_rows : float
        Number of rows to count.
    groups : Groups, optional
        The labelled rows of the branch.

    Returns
    -------
    Candidates
        Candidates for raw rows.
    """
    directions, suggested = proposal.directions, proposal.thresholds
    projections = directions.vectors @ rows.astype(np.float64).T
    raw = standardise.raw(directions)
    resolution = standardise.bandwidth_along(directions)
    origin, width, n_bins = bins_along(projections, bandwidth, resolution, n_rows, BINS_PER_BANDWIDTH)
    shift = standardise.shift_along(raw)
    if suggested is not None:
        origin = ending_at(suggested, origin, width)
        suggested = suggested + shift
    axes = Axes(raw, origin + shift, width, np.full(len(raw), n_bins))
    extents = None if groups is None else groups.along(raw.vectors)
    return Candidates(axes, resolution, bandwidth, suggested, directions.length, extents=extents)


def promising(
    rows: AnyArray,
    proposal: Proposal,
    rule: SplitRule,
    bandwidth: Bandwidth,
    min_rows: float,
    standardise: Standardiser,
    groups: Groups | None = None,
) -> Proposal:
    """Return the directions with the best scores on some of the rows by rough bins; parameters are those of `screen`.

    Few rows in wide bins make valleys shallower, so places that are left go to valleys below the least depth. A few
    directions, or a few rows unless they are scored by depth alone, are not worth a round of their own.
    """
    only_depth = _scores_only_depth(rule, groups)
    if len(proposal) <= FIRST_ROUND_KEEPS or not (len(rows) > 2 * FIRST_ROUND_ROWS or only_depth):
        return proposal
    some = any_rows(rows, FIRST_ROUND_ROWS)
    known = bandwidth, min_rows * len(some) / len(rows), standardise, groups, ROUGH_BINS
    scores = at_any_depth = _scores(some, proposal, rule, *known, at_any_depth=only_depth)
    if not only_depth and rule.limits_depth and np.count_nonzero(scores > -np.inf) < FIRST_ROUND_KEEPS:
        at_any_depth = _scores(some, proposal, rule, *known, at_any_depth=True)
    return proposal[np.sort(np.lexsort((-at_any_depth, -scores))[:FIRST_ROUND_KEEPS])]


def _scores_only_depth(rule: SplitRule, groups: Groups | None) -> bool:
    return rule.scores_depth and rule.alpha is None and groups is None


def _scores(
    rows: AnyArray,
    proposal: Proposal,
    rule: SplitRule,
    bandwidth: Bandwidth,
    min_rows: float,
    standardise: Standardiser,
    groups: Groups | None,
    bins_per_bandwidth: float = BINS_PER_BANDWIDTH,
    at_any_depth: bool = False,
) -> Floats:
    if _scores_only_depth(rule, groups):
        depths = _depths(rows, proposal, rule, bandwidth, min_rows, standardise, bins_per_bandwidth)
        return depths if at_any_depth else np.where(depths > rule.min_relative_depth, depths, -np.inf)
    rule = rule.at_any_depth if at_any_depth else rule
    scores = np.empty((len(rule.criteria), len(proposal)))
    groups = None if groups is None else groups.standardised(standardise)
    for first in range(0, len(proposal), DIRECTIONS_AT_ONCE):
        part = slice(first, first + DIRECTIONS_AT_ONCE)
        directions = proposal.directions[part]
        projections = directions.vectors.astype(rows.dtype) @ rows.T
        resolution = standardise.bandwidth_along(directions)
        suggested = None if proposal.thresholds is None else proposal.thresholds[part]
        # Rows on each side of a threshold that does not move are counted exactly if a bin ends there.
        ends = suggested if rule.at.needs_thresholds else None
        histograms = histograms_along(
            projections, bandwidth, resolution, bins_per_bandwidth, rule.at.needs_extremes, ends
        )
        histograms = replace(histograms, length=directions.length, suggested=suggested)
        if groups is not None:
            histograms = replace(histograms, extents=groups.along(directions.vectors))
        scores[:, part] = rule.scores(histograms, min_rows)
    return rule.combined(scores)


def _depths(
    rows: AnyArray,
    proposal: Proposal,
    rule: SplitRule,
    bandwidth: Bandwidth,
    min_rows: float,
    standardise: Standardiser,
    bins_per_bandwidth: float,
) -> Floats:
    """Return the relative depth of the deepest valley along each direction; none after a split beyond doubt."""
    scores = np.full(len(proposal), -np.inf)
    # Without their mean, rows keep in float32 the digits in which they differ.
    rows = (rows - rows.mean(axis=0)).astype(np.float32)
    for first in range(0, len(proposal), DIRECTIONS_AT_ONCE):
        part = slice(first, first + DIRECTIONS_AT_ONCE)
        directions = proposal.directions[part]
        projections = directions.vectors.astype(rows.dtype) @ rows.T
        resolution = standardise.bandwidth_along(directions)
        counts, _, _ = sample_counts(projections, bandwidth, resolution, bins_per_bandwidth)
        depth = deepest_valleys(counts, bins_per_bandwidth, max(min_rows, 1)).depth
        scores[part] = np.where(depth > 0, depth, -np.inf)
        if scores[part].max() > max(CERTAIN_DEPTH, rule.min_relative_depth):
            break
    return scores


MAX_BINS = 4096
"""Most bins of a histogram, also for a branch with far outliers."""

KERNEL_REACH = 4
"""Bandwidths of bins beyond the outermost rows, where their kernels end."""


def histograms_along(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    bins_per_bandwidth: float,
    with_extremes: bool,
    ends: Floats | None,
) -> Histograms:
    """Return the histograms of some projections, with the ranges of their bins or with bins that end at some values."""
    counts, origin, width = sample_counts(projections, bandwidth, resolution, bins_per_bandwidth, ends)
    extremes = None
    if with_extremes:
        extremes = no_extremes(*counts.shape)
        bin_extremes(projections, origin.astype(projections.dtype), width.astype(projections.dtype), extremes)
    return Histograms(counts, origin, width, bandwidth, resolution, extremes)


def sample_counts(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    bins_per_bandwidth: float,
    ends: Floats | None = None,
) -> tuple[AnyArray, Floats, Floats]:
    """Return the histograms of some projections with the origins and widths of their bins."""
    origin, width, n_bins = bins_along(projections, bandwidth, resolution, projections.shape[1], bins_per_bandwidth)
    if ends is not None:
        origin = ending_at(ends, origin, width)
    counts = np.zeros((len(projections), n_bins), dtype=np.int64)
    bin_projections(projections, origin.astype(projections.dtype), width.astype(projections.dtype), counts)
    return counts, origin, width


def ending_at(ends: Floats, origin: Floats, width: Floats) -> Floats:
    """Return the origin of bins that is nearest to another one such that a bin ends at each end."""
    return ends - width * np.round((ends - origin) / width)


def bins_along(
    projections: AnyArray, bandwidth: Bandwidth, resolution: Floats, n_rows: float, bins_per_bandwidth: float
) -> tuple[Floats, Floats, int]:
    """Return origins, widths and number of bins that resolve the densities of `n_rows` rows along some directions."""
    mean, sd, low, high = projection_ranges(projections)
    quartiles = sd
    if bandwidth.robust:
        lower, upper = np.quantile(projections, [0.25, 0.75], axis=1)
        quartiles = upper - lower
    h = np.hypot(bandwidth.of(n_rows, sd, quartiles), resolution)
    # Equal rows may differ in the last bits of their projections, which must not count as spread.
    size, digits = np.maximum(np.abs(low), np.abs(high)), np.finfo(projections.dtype)
    smallest = np.maximum(4 * digits.eps * size, digits.tiny * bins_per_bandwidth)
    h = np.where(h > smallest, h, np.maximum(size, 1.0))
    width = h / bins_per_bandwidth
    # Margins for the kernels of the outermost rows, and for rows outside the sample.
    margin = KERNEL_REACH * h + 0.1 * (high - low) * (n_rows > projections.shape[1])
    origin, n_bins = bins_over(low, high, margin, width, mean)
    return origin, width, n_bins


def bins_over(low: Floats, high: Floats, margin: Floats, width: Floats, middle: Floats) -> tuple[Floats, int]:
    """Return the origins and the number of bins that cover ranges with margins.

    Parameters
    ----------
    low, high, margin, width : arrays of shape (n_directions,)
    middle : array of shape (n_directions,)
        Centre of the bins if too many would be needed to cover the range.

    Returns
    -------
    origin : array of shape (n_directions,)
    n_bins : int
        Number of bins, the same for all directions, with one beyond each end of the widest range.
    """
    wanted = np.ceil((high - low + 2 * margin) / width) + 2
    n_bins = int(min(wanted.max(), MAX_BINS))
    return np.where(wanted > n_bins, middle, (low + high) / 2) - width * n_bins / 2, n_bins
