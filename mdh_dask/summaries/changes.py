"""Distances between two sets of counts, with lower confidence bounds."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._typing import AnyArray, Floats
from ..density.kde import kernel_density, kernel_height


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

    Parameters
    ----------
    old, new : integer arrays of shape (n_bins,)
    chance : float
        Probability that `lower_bound` is positive by chance alone.

    Notes
    -----
    The lower bound uses the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for
    ``n_old n_new / (n_old + n_new)`` rows.

    Examples
    --------
    >>> change = distance(np.array([1000, 1000]), np.array([1800, 200]), chance=0.001)
    >>> round(change.value, 2), round(change.lower_bound, 2)
    (0.4, 0.34)
    """
    if not old.sum() or not new.sum():
        return NO_CHANGE
    value = float(np.abs(np.cumsum(old) / old.sum() - np.cumsum(new) / new.sum()).max())
    return Change(value, value - _deviation(old.sum(), new.sum(), chance))


def total_variation(old: AnyArray, new: AnyArray, chance: float) -> Change:
    """Return the total variation distance of shares: the share of rows that would have to change their cluster.

    Parameters
    ----------
    old, new : integer arrays of shape (n_clusters,)
    chance : float
        Probability that `lower_bound` is positive by chance alone.

    Notes
    -----
    Without a change, the mean distance is at most half the sum of the standard deviations of the differences; the
    excess over the mean is bounded by McDiarmid's inequality of bounded differences.

    Examples
    --------
    >>> change = total_variation(np.array([1000, 1000]), np.array([1800, 200]), chance=0.001)
    >>> round(change.value, 2), round(change.lower_bound, 2)
    (0.4, 0.33)
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

    Parameters
    ----------
    old, new : integer arrays of shape (n_bins,)
    position : array of shape (n_bins,)
        Centres of the bins.
    width, bandwidth : float
        Width of a bin, and bandwidth of both densities.
    threshold : float
        Threshold of the split.
    chance : float
        Probability that `lower_bound` of `filled` is positive by chance alone.

    Notes
    -----
    The height of a valley is the density at its split divided by that of the lower mode beside it, both plus the
    height of one row's kernel: one over one plus the relative depth. The lower bound uses the variance of
    a kernel density estimate at a point, ``p / (2 sqrt(pi) n h)``, under no change.
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
