"""Random displacements of rows, which smooth out the gaps between the levels of single columns."""

from typing import NamedTuple

import numpy as np

from .._jit.hashing import hash_again
from .._jit.lattices import NO_LATTICES, Lattices, spread_rows
from .._levels import LevelFeatures, TwoValued
from .._random import normal_of
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from .passes import Sample
from .scaling import SMOOTHS_LEVELS

LITTLE = 1e-9
"""Displacements that are smaller, as a share of the largest variance, are rounding errors."""

FIRST_KEY = 1 << 40
"""Key of the hashes of the first displacement along features, which have no values of their own to tell them apart."""


@storable
class Displacements(NamedTuple):
    """Displacements that rows get at random: those of lattices, and normal ones along axes.

    Methods that compare distances of rows would otherwise take each level of a single column for a cluster. The axes of
    one column are about as long as the bandwidth that hyperplanes smooth its levels with; those of several add up.
    """

    lattices: Lattices
    axes: Floats
    """Displacements by one standard deviation, shape (n_axes, n_features)."""
    keys: Integers
    """Keys that make the random numbers of different axes independent, int64, shape (n_axes,)."""

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.lattices) or len(self.axes) > 0

    def displaced(self, rows: AnyArray, hashes: Integers) -> Floats:
        """Return raw rows displaced by their hashes, the same for any chunks."""
        found: Floats = rows.astype(np.float64)
        if self.lattices:
            spread_rows(found, hashes, self.lattices)
        for axis, key in zip(self.axes, self.keys.tolist()):
            used = np.flatnonzero(axis)
            found[:, used] += normal_of(hash_again(hashes, key))[:, None] * axis[used]
        return found


NO_DISPLACEMENTS = Displacements(NO_LATTICES, np.empty((0, 0)), np.empty(0, dtype=np.int64))


def displacements(sample: Sample, levels: LevelFeatures | TwoValued | None, lattices: Lattices) -> Displacements:
    """Return the displacements of rows.

    Parameters
    ----------
    sample : Sample
        Raw rows, without far ones.
    levels : LevelFeatures, TwoValued or None
    lattices : Lattices
    """
    n_columns = sample.rows.shape[1]
    if levels is None:
        return NO_DISPLACEMENTS._replace(lattices=lattices)
    if isinstance(levels, LevelFeatures):
        axes = _of_levels(levels, n_columns)
        return Displacements(lattices, axes, FIRST_KEY + np.arange(len(axes)))
    upper = sample.rows[:, levels.columns] == sample.rows[:, levels.columns].max(axis=0)
    # Permuted columns are displaced in the same way.
    keys = (sample.hashes[:, None] * upper).sum(axis=0, dtype=np.uint64) >> np.uint64(1)
    return Displacements(lattices, _of_codes(levels, n_columns), keys.astype(np.int64))


def _of_codes(codes: TwoValued, n_columns: int) -> Floats:
    """Return the axes of two-valued columns; a change of level that changes two of them is longer."""
    axes = np.zeros((len(codes.columns), n_columns))
    changed = np.where(np.isin(np.arange(len(codes.columns)), codes.pairs), np.sqrt(2), 1.0)
    axes[np.arange(len(axes)), codes.columns] = SMOOTHS_LEVELS * codes.gaps * changed
    return axes


def _of_levels(levels: LevelFeatures, n_components: int) -> Floats:
    """Return axes of displacements that vary, along the main directions of each group, by its width times a factor."""
    if not len(levels.starts):
        return np.empty((0, n_components))
    own = []
    for group, share in zip(np.split(levels.positions, levels.starts[1:]), levels.shares):
        _, _, directions = np.linalg.svd(group - group.mean(axis=0), full_matrices=False)
        widths = np.ptp(group @ directions.T, axis=0)
        own.append(SMOOTHS_LEVELS * np.sqrt(share) * widths[:, None] * directions)
    stacked = np.concatenate(own)
    variances, directions = np.linalg.eigh(stacked.T @ stacked)
    kept = variances > LITTLE * variances[-1]
    return np.ascontiguousarray((directions[:, kept] * np.sqrt(variances[kept])).T)
