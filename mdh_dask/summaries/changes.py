"""Distances between two sets of counts, with lower confidence bounds, also between the levels of a column."""

from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._typing import AnyArray, Floats, Integers, cached_property
from .._words import full_count
from ..density.kde import kernel_density, kernel_height
from .tables import MISSING, UNKNOWN, bracketed, shortened


class Change(NamedTuple):
    """A change between old and new rows."""

    value: float
    """The estimated change; NaN where there is nothing to compare."""
    lower_bound: float
    """Lower confidence bound of the change."""

    def exceeds(self, threshold: float) -> bool:
        """Return whether the lower bound exceeds a threshold."""
        return bool(self.lower_bound > threshold)  # False for NaN


NO_CHANGE = Change(np.nan, np.nan)


class ValleyChange(NamedTuple):
    """The valley of a split in the densities of old and new rows, with one bandwidth."""

    density: tuple[float, float]
    """Densities at the split."""
    depth: tuple[float, float]
    """Relative depth of the split."""
    filled: Change
    """Share of the valley that is filled in: 0 if unchanged, 1 if it is gone, negative if it is deeper. NaN if the
    valley among the old rows may be due to chance."""


def distance(old: AnyArray, new: AnyArray, chance: float) -> Change:
    """Return the Kolmogorov-Smirnov distance of two histograms, the largest difference between their cumulative shares.

    The lower bound uses the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for ``n_old n_new / (n_old +
    n_new)`` rows.

    old, new (n_bins,): rows in each bin, of dependent rows divided by their design effect.
    chance: probability that `lower_bound` is positive by chance alone.
    """
    if not old.sum() or not new.sum():
        return NO_CHANGE
    value = float(np.abs(np.cumsum(old) / old.sum() - np.cumsum(new) / new.sum()).max())
    return Change(value, value - _deviation(old.sum(), new.sum(), chance))


def total_variation(old: AnyArray, new: AnyArray, chance: float) -> Change:
    """Return the total variation distance of shares: the share of rows that would have to change their cluster.

    Without a change, the mean distance is at most half the sum of the standard deviations of the differences; the
    excess over the mean is bounded by McDiarmid's inequality of bounded differences.

    old, new (n_clusters,): rows of each, of dependent rows divided by their design effect.
    chance: probability that `lower_bound` is positive by chance alone.
    """
    if not old.sum() or not new.sum():
        return NO_CHANGE
    value = float(np.abs(old / old.sum() - new / new.sum()).sum() / 2)
    share = (old + new) / (old.sum() + new.sum())
    mean = np.sqrt(share * (1 - share) * (1 / old.sum() + 1 / new.sum())).sum() / 2
    return Change(value, value - float(mean) - _deviation(old.sum(), new.sum(), 2 * chance))


def valley_change(
    old: AnyArray, new: AnyArray, position: Floats, width: float, bandwidth: float, threshold: float, chance: float
) -> ValleyChange:
    """Compare the valley at a split among old and new rows.

    The height of a valley is the density at its split divided by that of the lower mode beside it, both plus the height
    of one row's kernel: one over one plus the relative depth. The lower bound uses the variance of a kernel density
    estimate at a point, ``p / (2 sqrt(pi) n h)``, under no change.

    old, new (n_bins,): rows in each bin, of dependent rows divided by their design effect.
    position (n_bins,): centres of the bins.
    width, bandwidth: width of a bin, and bandwidth of both densities.
    chance: probability that `lower_bound` of `filled` is positive by chance alone.
    """
    floor = float(kernel_height(min(old.sum(), new.sum()), np.array(bandwidth)))
    (at_old, hill_old), (at_new, hill_new) = (
        _split_and_hill(kernel_density(counts, np.array(width), np.array(bandwidth)), position, threshold)
        for counts in (old, new)
    )
    height_old, height_new = ((at + floor) / (hill + floor) for at, hill in ((at_old, hill_old), (at_new, hill_new)))
    of_one = (height_old + height_old**2) / np.sqrt(2) / (hill_old + floor)
    variances = [of_one * float(kernel_height(counts.sum(), np.array(bandwidth))) for counts in (old, new)]
    gap, z = 1 - height_old, -float(ndtri(chance))
    filled = NO_CHANGE
    if gap > z * np.sqrt(variances[0]) and new.sum():
        value = height_new - height_old
        filled = Change(value / gap, (value - z * float(np.sqrt(sum(variances)))) / gap)
    return ValleyChange((at_old, at_new), (1 / height_old - 1, 1 / height_new - 1), filled)


def _split_and_hill(density: Floats, position: Floats, threshold: float) -> tuple[float, float]:
    """Return the density at a split and at the lower mode beside it."""
    at = float(np.interp(threshold, position, density))
    return at, min(float(density[side].max(initial=at)) for side in (position <= threshold, position > threshold))


def _deviation(n_old: float, n_new: float, chance: float) -> float:
    return float(np.sqrt(np.log(2 / chance) / 2 * (1 / n_old + 1 / n_new)))


@dataclass(frozen=True)
class LevelDrift:
    """A comparison of the levels of one column among old and new rows.

    old, new (n_levels + 2,) int: rows with each level, with another one, and without a value.
    unseen: other levels among the new rows and their numbers of rows; empty if their names are not known.
    chance: probability of a false alarm.
    design_effect: as many fewer rows are taken for the bound of the distance.
    """

    column: str
    levels: tuple[str, ...]
    old: Integers
    new: Integers
    unseen: tuple[tuple[str, int], ...] = field(default=())
    chance: float = 1e-3
    design_effect: float = 1.0

    @cached_property
    def distance(self) -> Change:
        """Total variation distance of the shares of the levels, others and missing values among them."""
        return total_variation(self.old / self.design_effect, self.new / self.design_effect, self.chance)

    @property
    def n_unseen(self) -> int:
        """Number of new rows with a level that the model does not know."""
        return int(self.new[-2])

    @property
    def surprising(self) -> tuple[str, ...]:
        """Levels that cannot be among the new rows only by chance, the most frequent first.

        If old and new rows have the same distribution, all rows of one level are among the new ones with at most the
        probability ``(n_new / (n_old + n_new)) ** n``; it is multiplied by the number of levels. None if old rows have
        unknown levels, too, as after an update, since these may be the same.
        """
        n_old, n_new = int(self.old.sum()), int(self.new.sum())
        if not n_old or not n_new or self.old[-2]:
            return ()
        others = self.unseen or (((bracketed(UNKNOWN, self.levels), self.n_unseen),) if self.n_unseen else ())
        least = log(self.chance / (len(self.levels) + len(others) + 1)) / log(n_new / (n_old + n_new))
        order = sorted((-n, level) for level, n in others if n >= least)
        return tuple(level for _, level in order)

    def frequencies(self) -> list[tuple[str, int, int]]:
        """Return every level with its numbers of old and new rows, without those that have none.

        Others are ``(unknown)`` and ``(missing)``, in more brackets if a known level has that name.
        """
        n_known = len(self.levels)
        found = list(zip(self.levels, self.old[:n_known].tolist(), self.new[:n_known].tolist()))
        found += [(bracketed(f"{level} (unseen)", self.levels), 0, n) for level, n in self.unseen]
        others = int(self.new[-2]) - sum(n for _, n in self.unseen)
        found.append((bracketed(UNKNOWN, self.levels), int(self.old[-2]), others))
        found.append((bracketed(MISSING, self.levels), int(self.old[-1]), int(self.new[-1])))
        return [(level, old, new) for level, old, new in found if old or new]

    def alarms(self, threshold: float) -> list[str]:
        """Return a sentence for each change that exceeds the threshold or names levels that are new."""
        found, name = [], shortened(self.column)
        if self.distance.exceeds(threshold):
            found.append(f"column {name}: {self.distance.value:.0%} of its rows have other levels")
        if levels := self.surprising:
            share = self.n_unseen / int(self.new.sum())
            named = ", ".join(map(shortened, levels[:5])) + (" and others" if len(levels) > 5 else "")
            rows = f"{full_count(self.n_unseen, 'new row')}, {share:.2%}"
            found.append(f"column {name}: levels that the model does not know in {rows}: {named}")
        return found


def weighted(counts: tuple[Integers, ...], weight: float) -> tuple[Integers, ...]:
    """Return the counts of rows that have a weight."""
    return tuple(np.rint(weight * of_column).astype(np.int64) for of_column in counts)
