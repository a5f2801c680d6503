"""Scores of directions on a sample; only the best few are counted on all rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Self

import numpy as np

from .._blas import product
from .._jit.histograms import bin_extremes, bin_projections, projection_ranges
from .._levels import LevelFeatures
from .._random import any_rows
from .._typing import AnyArray, Floats
from ..density.histograms import Histograms, no_extremes
from ..density.kde import BINS_PER_BANDWIDTH, CERTAIN_DEPTH, Bandwidth, Valleys, deepest_valleys
from ..projections.directions import Proposal
from ..projections.pca import centred_rows, scaled_components
from ..projections.starts import DIRECTIONS_AT_ONCE, MAX_BINS
from ..splits.choose import least_among
from ..splits.rules import SplitRule
from .bounds import least_share, near_rows, without_overflow
from .branches import Branch, GrowthSettings
from .labelled import Groups
from .scaling import Standardiser

FIRST_ROUND_ROWS = 1000
"""Sample rows of a first round for all directions; only the best of them are scored on the whole sample."""

FIRST_ROUND_KEEPS = 64

ROUGH_BINS = 2.5
"""Bins per bandwidth in the first round, which only discards directions."""

KERNEL_REACH = 4
"""Bandwidths of bins beyond the outermost rows, where their kernels end."""


def bandwidth_of(rule: Bandwidth, rows: AnyArray) -> Bandwidth:
    """Return the rule for the densities of a branch; a principal rule takes the spread of its rows."""
    if not rule.principal or len(rows) == 0:
        return rule
    return replace(rule, spread=float(scaled_components(centred_rows(rows), 1)[1][0]))


@dataclass(frozen=True)
class Scorer:
    """Score directions on some rows of a branch.

    rows (n, n_features): standardised sample of a branch.
    rule, bandwidth: the split rule that scores each direction, and the bandwidth of its density.
    min_rows: least number of these rows on each side of a split.
    standardise: shift and scale of the columns.
    groups: the labelled rows of the branch.
    share: share of the branch's rows that take part, of those that choose; less than one for a sample.
    """

    rows: AnyArray
    rule: SplitRule
    bandwidth: Bandwidth
    min_rows: float
    standardise: Standardiser
    groups: Groups | None = None
    share: float = 1.0

    @property
    def at_any_depth(self) -> Self:
        """The scorer that admits valleys of any relative depth."""
        return replace(self, rule=self.rule.at_any_depth)

    def best(self, proposal: Proposal, n_kept: int) -> Proposal:
        """Return the proposed directions with the best scores, at most `n_kept`, best first.

        Directions without an admissible split are left out, and so are those within two degrees of a better one: they
        would find the same valley.
        """
        if len(proposal) == 0:  # as for no rows, of which there is no mean
            return proposal
        proposal = self.promising(proposal)
        scores = self._scores(proposal)
        unit = proposal.of_length_one().directions.vectors
        kept: list[int] = []
        for i in np.argsort(-scores, kind="stable"):
            if len(kept) == n_kept or scores[i] == -np.inf:
                break
            cosines = np.abs(product(unit[kept], unit[i]))
            if np.all(cosines < 0.9994):
                kept.append(int(i))
        return proposal[kept]

    def resolved(self, proposal: Proposal, n_rows: float) -> Proposal:
        """Return the directions along which values are rounded by less than the bandwidth of so many rows."""
        kept = [np.zeros(0, dtype=bool)]
        for _, projections, resolution in self.projected(proposal, self.rows):
            kept.append(self.bandwidth.along(projections, projections.std(axis=1), n_rows) >= resolution)
        return proposal[np.flatnonzero(np.concatenate(kept))]

    def best_of_families(self, proposal: Proposal) -> Proposal:
        """Return the direction of each family with the best score."""
        return reduce(Proposal.joined, (self.best(family, 1) for family in proposal.families()))

    def promising(self, proposal: Proposal) -> Proposal:
        """Return the directions with the best scores on some of the rows by rough bins.

        Few rows in wide bins make valleys shallower, so places that are left go to valleys below the least depth. A few
        directions, or a few rows unless they are scored by depth alone, are not worth a round of their own.
        """
        enough = len(self.rows) > 2 * FIRST_ROUND_ROWS or self._only_depth
        if len(proposal) <= FIRST_ROUND_KEEPS or not enough:
            return proposal
        some = any_rows(self.rows, FIRST_ROUND_ROWS)
        part = len(some) / len(self.rows)
        least = least_among(self.min_rows, part, len(some))
        few = replace(self, rows=some, min_rows=least, share=self.share * part)
        scores = at_any_depth = (
            few._depths(proposal, ROUGH_BINS, 0.0) if self._only_depth else few._scores(proposal, ROUGH_BINS)
        )
        shallow = not self._only_depth and self.rule.limits_depth
        if shallow and np.count_nonzero(scores > -np.inf) < FIRST_ROUND_KEEPS:
            at_any_depth = few.at_any_depth._scores(proposal, ROUGH_BINS)
        return proposal[np.sort(np.lexsort((-at_any_depth, -scores))[:FIRST_ROUND_KEEPS])]

    @property
    def _only_depth(self) -> bool:
        return self.rule.scores_depth and self.rule.alpha is None and self.groups is None

    def _scores(self, proposal: Proposal, bins_per_bandwidth: float = BINS_PER_BANDWIDTH) -> Floats:
        """Return one score for each direction, minus infinity without an admissible split."""
        if self._only_depth:
            return self._depths(proposal, bins_per_bandwidth, self.rule.min_relative_depth)
        scores = np.empty((len(self.rule.criteria), len(proposal)))
        groups = None if self.groups is None else self.groups.standardised(self.standardise)
        for part, projections, resolution in self.projected(proposal, self.rows):
            directions = proposal.directions[part]
            suggested = None if proposal.thresholds is None else proposal.thresholds[part]
            # Rows on each side of a threshold that does not move are counted exactly if a bin ends there.
            ends = suggested if self.rule.at.needs_thresholds else None
            histograms = histograms_along(
                projections, self.bandwidth, resolution, bins_per_bandwidth, self.rule.at.needs_extremes, ends
            )
            histograms = replace(histograms, length=directions.length, suggested=suggested, share=self.share)
            if groups is not None:
                histograms = replace(histograms, extents=groups.along(directions.vectors))
            scores[:, part] = self.rule.scores(histograms, self.min_rows)
        return self.rule.combined(scores)

    def _depths(self, proposal: Proposal, bins_per_bandwidth: float, least: float) -> Floats:
        """Return the lower bound of the relative depth along each direction; none after a split beyond doubt."""
        depths = np.full(len(proposal), -np.inf)
        for part, _, _, valleys in self.valleys(proposal, bins_per_bandwidth):
            depths[part] = np.where(valleys.depth > least, valleys.lower, -np.inf)
            if depths[part].max() > max(CERTAIN_DEPTH, self.rule.min_relative_depth):
                break
        return depths

    def valleys(
        self, proposal: Proposal, bins_per_bandwidth: float = BINS_PER_BANDWIDTH
    ) -> Iterator[tuple[slice, AnyArray, Floats, Valleys]]:
        """Yield some directions at a time, with projections on them, thresholds of their deepest valleys, and these."""
        # Without their mean, rows keep in float32 the digits in which they differ.
        rows = (self.rows - self.rows.mean(axis=0)).astype(np.float32)
        for part, projections, resolution in self.projected(proposal, rows):
            found = histograms_along(projections, self.bandwidth, resolution, bins_per_bandwidth)
            valleys = deepest_valleys(found.counts, bins_per_bandwidth, max(self.min_rows, 1), share=self.share)
            yield part, projections, found.origin + found.width * (valleys.bins + 1), valleys

    def projected(self, proposal: Proposal, rows: AnyArray) -> Iterator[tuple[slice, AnyArray, Floats]]:
        """Yield some directions at a time, with the projections of rows on them and their least bandwidths."""
        for first in range(0, len(proposal), DIRECTIONS_AT_ONCE):
            part = slice(first, first + DIRECTIONS_AT_ONCE)
            directions = proposal.directions[part]
            projections = product(directions.vectors.astype(rows.dtype), rows.T)
            yield part, projections, self.standardise.bandwidth_along(directions)


def rows_and_scorer(
    branch: Branch, rows: AnyArray, scoring: AnyArray, settings: GrowthSettings, standardise: Standardiser
) -> tuple[AnyArray, Scorer]:
    """Return the near rows of a branch, and the scorer of directions by those that choose; both are standardised."""
    # Along features of levels, gaps by chance are deeper than valleys of the numbers. So the rows that choose compare
    # valleys by the depth that all rows have at least, though the sample holds all rows.
    levels = standardise.discrete.levels
    of_numbers = isinstance(levels, LevelFeatures) and bool(levels.of_numbers.any())
    sampled = min(len(scoring if of_numbers else rows) / branch.n_rows, 1.0)
    rows, scoring = without_overflow(rows), without_overflow(scoring)
    if not settings.from_origin:  # without some rows, the degrees of others would be wrong
        rows, scoring = near_rows(rows, scoring, least_share(settings.selector.min_rows, branch.n_rows))
    min_rows = settings.selector.least_among(len(scoring) / branch.n_rows)
    bandwidth = bandwidth_of(settings.bandwidth, scoring)
    return rows, Scorer(scoring, settings.selector.rule, bandwidth, min_rows, standardise, branch.groups, sampled)


def candidates_for(rows: AnyArray, proposal: Proposal, scorer: Scorer, n_rows: float) -> Histograms:
    """Return candidates along directions of raw rows, with bins that resolve the densities of a branch's `n_rows` rows.

    rows (n, n_features): standardised sample of the branch.
    proposal: if it has thresholds, bins end at them.
    n_rows: number of rows to count.
    """
    standardise, directions, suggested = scorer.standardise, proposal.directions, proposal.thresholds
    projections = directions.vectors @ rows.astype(np.float64).T
    raw = standardise.raw(directions)
    resolution = standardise.bandwidth_along(directions)
    origin, width, n_bins = bins_along(projections, scorer.bandwidth, resolution, n_rows, BINS_PER_BANDWIDTH, suggested)
    shift = standardise.shift_along(raw)
    return Histograms(
        np.broadcast_to(np.zeros(1, dtype=np.int64), (len(raw), n_bins)), origin + shift, width, scorer.bandwidth,
        resolution, suggested=None if suggested is None else suggested + shift,
        length=directions.length, directions=raw.vectors,
        extents=None if scorer.groups is None else scorer.groups.along(raw.vectors),
    )  # fmt: skip


def histograms_along(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    bins_per_bandwidth: float,
    with_extremes: bool = False,
    ends: Floats | None = None,
) -> Histograms:
    """Return the histograms of some projections, with the ranges of their bins or with bins that end at some values."""
    n_rows, dtype = projections.shape[1], projections.dtype
    origin, width, n_bins = bins_along(projections, bandwidth, resolution, n_rows, bins_per_bandwidth, ends)
    counts = np.zeros((len(projections), n_bins), dtype=np.int64)
    bin_projections(projections, origin.astype(dtype), width.astype(dtype), counts)
    extremes = None
    if with_extremes:
        extremes = no_extremes(*counts.shape)
        bin_extremes(projections, origin.astype(dtype), width.astype(dtype), extremes)
    return Histograms(counts, origin, width, bandwidth, resolution, extremes)


def bins_along(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    n_rows: float,
    bins_per_bandwidth: float,
    ends: Floats | None = None,
) -> tuple[Floats, Floats, int]:
    """Return origins, widths and number of bins that resolve the densities of `n_rows` rows along some directions.

    ends (n_directions,): a bin of each direction ends there.
    """
    mean, sd, low, high = projection_ranges(projections)
    h = np.hypot(bandwidth.along(projections, sd, n_rows), resolution)
    # Equal rows may differ in the last bits of their projections, which must not count as spread.
    size, digits = np.maximum(np.abs(low), np.abs(high)), np.finfo(projections.dtype)
    smallest = np.maximum(4 * digits.eps * size, digits.tiny * bins_per_bandwidth)
    h = np.where(h > smallest, h, np.maximum(size, 1.0))
    width = h / bins_per_bandwidth
    # Margins for the kernels of the outermost rows, and for rows outside the sample.
    margin = KERNEL_REACH * h + 0.1 * (high - low) * (n_rows > projections.shape[1])
    origin, n_bins = bins_over(low, high, margin, width, mean)
    if ends is not None:
        origin = ends - width * np.round((ends - origin) / width)
    return origin, width, n_bins


def bins_over(low: Floats, high: Floats, margin: Floats, width: Floats, middle: Floats) -> tuple[Floats, int]:
    """Return the origins and the number of bins that cover ranges with margins.

    low, high, margin, width (n_directions,).
    middle (n_directions,): centre of the bins if too many would be needed to cover the range.
    Returns origin (n_directions,).
    Returns n_bins: number of bins, the same for all directions, with one beyond each end of the widest range.
    """
    wanted = np.ceil((high - low + 2 * margin) / width) + 2
    n_bins = int(min(wanted.max(), MAX_BINS))
    return np.where(wanted > n_bins, middle, (low + high) / 2) - width * n_bins / 2, n_bins
