"""Directions for standardised rows and for raw rows, with bins along them or thresholds on them.

The two coordinate systems are two types, so that a direction for one kind of rows is never used for the other. Rows
are counted along `Axes`, whose bins belong to their directions.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._typing import Floats, Integers


@dataclass(frozen=True)
class _Directions:
    vectors: Floats
    """Shape (..., n_features)."""

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, which: Any) -> Self:
        """Return some of the directions."""
        return type(self)(self.vectors[which])

    @property
    def length(self) -> Floats:
        """Euclidean norms, shape (...)."""
        return np.linalg.norm(self.vectors, axis=-1)


class StandardDirections(_Directions):
    """Directions for standardised rows."""


class RawDirections(_Directions):
    """Directions for raw rows."""


@dataclass(frozen=True)
class Axes:
    """Directions with the bins along them.

    directions (n_directions, n_features) RawDirections.
    origin, width (n_directions,): lower end of the first bin and width of a bin, in units of the projections.
    n_bins (n_directions,) int.
    """

    directions: RawDirections
    origin: Floats
    width: Floats
    n_bins: Integers

    def __len__(self) -> int:
        return len(self.width)

    def __getitem__(self, which: Any) -> Self:
        """Return some of the axes."""
        return type(self)(self.directions[which], self.origin[which], self.width[which], self.n_bins[which])


@dataclass(frozen=True)
class Proposal:
    """The proposal of a projection for a branch: directions and, optionally, thresholds on them and their families.

    directions (n_directions, n_features) StandardDirections.
    thresholds (n_directions,): in units of the projections of standardised rows.
    family (n_directions,) int: family of each direction: the ways in which they were found. Few rows test the best
        direction of each.
    """

    directions: StandardDirections
    thresholds: Floats | None = None
    family: Integers | None = None

    def __len__(self) -> int:
        return len(self.directions)

    def families(self) -> list[Self]:
        """Return the proposal of each family."""
        if self.family is None or len(self) == 0:
            return [self]
        return [self[self.family == one] for one in np.unique(self.family)]

    def __getitem__(self, which: Any) -> Self:
        """Return some of the directions with their thresholds."""
        thresholds, family = (None if own is None else own[which] for own in (self.thresholds, self.family))
        return type(self)(self.directions[which], thresholds, family)

    def of_length_one(self) -> Self:
        """Return the same hyperplanes with unit directions."""
        length = self.directions.length
        directions = StandardDirections(self.directions.vectors / length[:, None])
        if self.thresholds is None:
            return replace(self, directions=directions)
        # Thresholds stay unchanged if the length is one up to rounding.
        thresholds = self.thresholds / np.where(np.abs(length - 1) < 1e-12, 1.0, length)
        return replace(self, directions=directions, thresholds=thresholds)
