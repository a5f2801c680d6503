"""Stacked histograms of one branch's projections, and the statistics derived from them."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from .._typing import AnyArray, Booleans, Floats, Integers, cached_property
from .kde import Bandwidth, doubt_of, kernel_density, kernel_height, lower_ratio, relative_depth, spread_of_counts

SLACK = 1e-6
"""Bins by which the range of a group is widened, as the projections of its rows are rounded."""


@dataclass(frozen=True)
class Extents:
    """Ranges of groups of rows along directions.

    low, high (n_directions, n_groups): smallest and largest projection of the rows of each group.
    apart (n_pairs, 2) int: pairs of groups that should be separated; by default, all.
    """

    low: Floats
    high: Floats
    apart: Integers | None = None

    def __getitem__(self, which: Any) -> Self:
        """Return the ranges along some of the directions."""
        return type(self)(self.low[which], self.high[which], self.apart)

    def on(self, origin: Floats, width: Floats, n_bins: int) -> tuple[Booleans, Booleans]:
        """Return which splits after bins cut a group, and which of the others separate two.

        origin, width (n_directions,).
        Returns cut, separating (n_directions, n_bins).
        """
        first, last = (
            np.clip(np.floor((ends + by - origin[:, None]) / width[:, None]), 0, n_bins).astype(np.intp)
            for ends, by in ((self.low, -SLACK * width[:, None]), (self.high, SLACK * width[:, None]))
        )
        cut = _covered(first, last, n_bins)
        # A split after bin k separates two groups if the first ends in bin k or before and the second begins after it.
        if self.apart is None:
            last, first = last.min(axis=1, keepdims=True), first.max(axis=1, keepdims=True)
        else:
            a, b = np.concatenate([self.apart, self.apart[:, ::-1]]).T
            last, first = last[:, a], first[:, b]
        return cut, _covered(last, first, n_bins) & ~cut


def _covered(first: Integers, beyond: Integers, n_bins: int) -> Booleans:
    """Return the bins from `first` to before `beyond`, along each direction, for any of the ranges."""
    steps = np.zeros((len(first), n_bins + 1), dtype=np.int64)
    direction = np.broadcast_to(np.arange(len(first))[:, None], first.shape)
    some = first < beyond
    np.add.at(steps, (direction[some], first[some]), 1)
    np.add.at(steps, (direction[some], beyond[some]), -1)
    return np.cumsum(steps, axis=1)[:, :n_bins] > 0


@dataclass(frozen=True)
class Histograms:
    """Histograms of a branch's rows along several directions, with their kernel densities.

    A candidate for a split is such a histogram before any row is counted.

    counts (n_directions, n_bins) int: rows per bin. Bin ``k`` spans ``[origin + k * width, origin + (k + 1) * width)``;
        the first and the last also count everything beyond the range, and are left out of the densities.
    origin, width (n_directions,): lower end of the first bin and width of a bin, in units of the projection.
    bandwidth_rule: the rule that computes the bandwidth of each density from its histogram.
    resolution (n_directions,): least bandwidth that smooths out the rounding of the values; see
        `Standardiser.resolution_of`.
    extremes (n_directions, 2, n_bins): smallest and largest projection in every bin; infinity and minus infinity in an
        empty bin.
    suggested (n_directions,): the threshold that was proposed together with the direction.
    length (n_directions,): length of each direction. Spreads along different directions are divided by it before they
        are compared.
    known_bandwidth (n_directions,): bandwidths to use instead of the rule, for example those of a finished tree.
    routed (n_directions, n_bins) int: rows per bin by the values that splits see, where those that are counted are
        spread; see `Jitter`.
    extents: ranges of groups of labelled rows, which splits should not cut.
    directions (n_directions, n_features): the directions, for raw rows.
    share: share of the branch's rows that are counted, less than one for a sample.
    """

    counts: AnyArray
    origin: Floats
    width: Floats
    bandwidth_rule: Bandwidth
    resolution: Floats | float = 0.0
    extremes: Floats | None = None
    suggested: Floats | None = None
    length: Floats | float = 1.0
    known_bandwidth: Floats | None = None
    routed: AnyArray | None = None
    extents: Extents | None = None
    directions: Floats | None = None
    share: float = 1.0

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, which: "int | slice | list[int] | AnyArray") -> Self:
        """Return the histograms of some of the directions."""
        which = [which] if isinstance(which, int) else which
        own: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        # Numbers and rules apply to all directions.
        own = {name: x[which] for name, x in own.items() if isinstance(x, np.ndarray | Extents)}
        return replace(self, **own)

    @cached_property
    def spread(self) -> tuple[Floats, Floats, Floats]:
        """Numbers of rows, standard deviations and interquartile ranges, each of shape (n_directions,)."""
        return spread_of_counts(self.counts, self.width)

    @cached_property
    def bandwidth(self) -> Floats:
        """Bandwidths, shape (n_directions,); at least one bin wide, the resolution of the histogram."""
        if self.known_bandwidth is not None:
            return self.known_bandwidth
        return np.maximum(np.hypot(self.bandwidth_rule.of(*self.spread), self.resolution), self.width)

    @cached_property
    def density(self) -> Floats:
        """Kernel densities at the centres of the bins, shape (n_directions, n_bins)."""
        return kernel_density(self.counts, self.width, self.bandwidth)

    @cached_property
    def depth(self) -> Floats:
        """Relative depths of the bins, shape (n_directions, n_bins), with one kernel's height as the floor."""
        return relative_depth(self.density, kernel_height(self.spread[0], self.bandwidth))

    @property
    def lower_ratio(self) -> Floats:
        """Lower bounds of the modes beside the bins by the valleys there, shape (n_directions, n_bins).

        One more than the relative depths if all rows are counted.
        """
        if self.share >= 1:
            return 1 + self.depth
        return lower_ratio(self.density, kernel_height(self.spread[0], self.bandwidth), doubt_of(self.share))

    @cached_property
    def n_left(self) -> AnyArray:
        """Number of rows that a split after each bin sends to the left, shape (n_directions, n_bins)."""
        return np.cumsum(self.counts if self.routed is None else self.routed, axis=-1)

    @cached_property
    def gaps(self) -> tuple[Floats, Floats]:
        """Widths and midpoints of the empty gaps around the end of each bin, shape (n_directions, n_bins).

        Zero and NaN where one side has no rows.
        """
        assert self.extremes is not None
        low, high = self.extremes[:, 0], self.extremes[:, 1]
        before, after = np.maximum.accumulate(high, axis=1), np.full(high.shape, np.inf)
        after[:, :-1] = np.minimum.accumulate(low[:, :0:-1], axis=1)[:, ::-1]
        between = np.isfinite(before) & np.isfinite(after)
        gap = np.subtract(after, before, out=np.zeros(high.shape), where=between)
        return gap, np.add(before, gap / 2, out=np.full(high.shape, np.nan), where=between)

    @cached_property
    def of_groups(self) -> tuple[Booleans, Booleans] | None:
        """Masks of the bins after which a split cuts groups of labelled rows, or only separates some; see `Extents.on`.

        None without groups.
        """
        return None if self.extents is None else self.extents.on(self.origin, self.width, self.counts.shape[1])

    @property
    def threshold(self) -> Floats:
        """Threshold of the split after each bin, shape (n_directions, n_bins)."""
        return self.origin[:, None] + self.width[:, None] * np.arange(1, self.counts.shape[1] + 1)

    def last_before(self, k: int) -> float:
        """Return the largest value of the first direction in bin `k` or before; rounding may move it off the bin's end.

        Rows are routed by ``projection <= threshold``; this threshold divides them exactly as they were counted.
        """
        origin, width = float(self.origin[0]), float(self.width[0])
        end, scale = origin + width * (k + 1), 1 / width
        last, beyond = end - 0.5 * width, end + 0.5 * width
        while last < (middle := last + (beyond - last) / 2) < beyond:
            if (middle - origin) * scale < k + 1:  # the same arithmetic as in the compiled loops
                last = middle
            else:
                beyond = middle
        return last

    @cached_property
    def mean(self) -> Floats:
        """Means, shape (n_directions,), as if all rows of a bin lay at its centre."""
        centres = self.threshold - self.width[:, None] / 2
        return (self.counts * centres).sum(axis=1) / np.maximum(self.counts.sum(axis=1), 1)

    def bin_of(self, value: float) -> int:
        """Return the bin of the first direction whose end is nearest to `value`."""
        k = round((value - self.origin[0]) / self.width[0]) - 1
        return int(np.clip(k, 0, self.counts.shape[1] - 1))

    def leaves_rows(self, n: float) -> Booleans:
        """Return a mask of the splits with at least `n` rows on both sides, shape (n_directions, n_bins)."""
        left = self.n_left
        return (left >= n) & (left[:, -1:] - left >= n)

    def within(self, alpha: float) -> Booleans:
        """Return a mask of the splits within `alpha` standard deviations of the mean, shape (n_directions, n_bins)."""
        return np.abs(self.threshold - self.mean[:, None]) <= alpha * self.spread[1][:, None]


def no_extremes(*shape: int) -> Floats:
    """Return the extremes of empty bins, shape (..., 2, n_bins) for (..., n_bins)."""
    extremes = np.full((*shape[:-1], 2, shape[-1]), np.inf)
    extremes[..., 1, :] = -np.inf
    return extremes


def joint_extremes(a: Floats, b: Floats) -> Floats:
    """Return the extremes of the bins of two sets of rows together, shape (..., 2, n_bins)."""
    return np.stack([np.minimum(a[..., 0, :], b[..., 0, :]), np.maximum(a[..., 1, :], b[..., 1, :])], axis=-2)
