"""Where the levels of single columns lie among features, and how far apart the values of two-valued columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._storable import storable
from ._typing import AnyArray, Floats, Integers

LITTLE = 1.0
"""Largest change by single columns, in standard deviations of the rows, in directions that they hardly change."""


@storable
class LevelFeatures(NamedTuple):
    """Features that differ by the value of one column only, in groups: its levels, or the bend of its curve."""

    positions: Floats
    """Shape (n_positions, n_components); only their differences within a group count."""
    starts: Integers
    """First position of every group, ascending."""
    shares: Floats
    """Weights of the variances of the groups, of which changes by the same column share one; shape (n_groups,)."""

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection within a group, shape (n_directions,)."""
        if not len(self.starts):
            return np.zeros(len(directions))
        projections = self.positions @ directions.T
        highest, lowest = (reduce(projections, self.starts) for reduce in (np.maximum.reduceat, np.minimum.reduceat))
        widest: Floats = (highest - lowest).max(axis=0)
        return widest

    def without(self, rows: AnyArray, scale: Floats) -> AnyArray | None:
        """Return standardised rows along the directions that single columns hardly change, or None without any.

        Parameters
        ----------
        rows : array of shape (n_rows, n_components)
        scale : array of shape (n_components,)
            Factors that standardised the features.
        """
        if not len(self.starts) or len(rows) < 2:
            return None
        whitener, changes = _whitener(rows), self._changes(scale)
        squares, components = np.linalg.eigh(whitener.T @ (changes.T @ changes) @ whitener)
        little = whitener @ components[:, squares < LITTLE**2]
        if not 0 < little.shape[1] < whitener.shape[1]:
            return None
        basis = np.linalg.qr(little)[0]
        return (rows @ basis @ basis.T).astype(rows.dtype)

    def _changes(self, scale: Floats) -> Floats:
        """Return the differences of positions from the mean of their group, whose squares sum to a variance."""
        sizes = np.diff(self.starts, append=len(self.positions))
        means = np.add.reduceat(self.positions, self.starts) / sizes[:, None]
        own = np.repeat(np.arange(len(sizes)), sizes)
        return (self.positions - means[own]) * scale * np.sqrt(self.shares / sizes)[own, None]


def _whitener(rows: AnyArray) -> Floats:
    """Return directions along which the rows vary by one and without correlation, as columns."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(rows))
    varying = variances > 1e-9 * variances[-1]
    whitener: Floats = axes[:, varying] / np.sqrt(variances[varying])
    return whitener


@storable
class TwoValued(NamedTuple):
    """Columns of two values, which are codes: two levels of one column are not two clusters."""

    columns: Integers
    """Indices of the columns."""
    gaps: Floats
    """Differences between the two values of each."""
    pairs: Integers
    """Pairs of these columns that code one factor, as positions in `columns`, shape (n_pairs, 2)."""
    signs: Floats
    """For each pair, -1 if both columns change in the same direction, and 1 if one rises where the other falls."""

    def without(self, rows: AnyArray, scale: Floats) -> AnyArray | None:
        """Return standardised rows without these columns, or None if no other column varies."""
        others = (scale > 0).astype(np.float32)
        others[self.columns] = 0.0
        return rows * others if others.any() else None

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection by the level of one column or pair, shape (n_directions,)."""
        changes = directions[:, self.columns] * self.gaps
        widest: Floats = np.abs(changes).max(axis=1, initial=0.0)
        if len(self.pairs):
            first, second = changes[:, self.pairs.T].transpose(1, 0, 2)
            widest = np.maximum(widest, np.abs(first - self.signs * second).max(axis=1))
        return widest


def level_features(groups: Sequence[Floats], n_components: int, shares: Sequence[float] | None = None) -> LevelFeatures:
    """Return the groups, arrays of shape (n_positions of the group, n_components), as one value."""
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    positions = np.concatenate([np.empty((0, n_components)), *groups])
    return LevelFeatures(
        positions, starts.astype(np.int64), np.ones(len(groups)) if shares is None else np.array(shares)
    )


NO_LEVELS = level_features([], 0)
"""For features that are not levels of columns, whatever their values."""
