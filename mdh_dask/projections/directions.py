"""Directions for standardised rows and for raw rows, with bins along them or thresholds on them.

The two coordinate systems are two types, so that a direction for one kind of rows is never used for the other. Rows
are counted along `Axes`, whose bins belong to their directions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._jit.rows import certainly_distinct
from .._random import generator
from .._storable import storable
from .._typing import AnyArray, Floats, Integers


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

    def joined(self, more: Self) -> Self:
        """Return both proposals as one, with thresholds if both have some, and equal families together."""
        directions = StandardDirections(np.concatenate([self.directions.vectors, more.directions.vectors]))
        thresholds = family = None
        if self.thresholds is not None and more.thresholds is not None:
            thresholds = np.concatenate([self.thresholds, more.thresholds])
        if self.family is not None or more.family is not None:
            families = [np.zeros(len(one), dtype=int) if one.family is None else one.family for one in (self, more)]
            family = np.concatenate(families)
        return type(self)(directions, thresholds, family)

    def of_length_one(self) -> Self:
        """Return the same hyperplanes with unit directions."""
        length = self.directions.length
        directions = StandardDirections(self.directions.vectors / length[:, None])
        if self.thresholds is None:
            return replace(self, directions=directions)
        # Thresholds stay unchanged if the length is one up to rounding.
        thresholds = self.thresholds / np.where(np.abs(length - 1) < 1e-12, 1.0, length)
        return replace(self, directions=directions, thresholds=thresholds)


RandomProjection = Callable[[np.random.Generator, int, int], Floats]


def uniform_sphere(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions uniform on the unit sphere."""
    V = rng.standard_normal((n_directions, n_features))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def normal(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions with independent standard Gaussian entries (Bingham and Mannila 2001)."""
    return rng.standard_normal((n_directions, n_features))


def bernoulli(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions whose entries are -1 or 1 with equal probability."""
    return 2.0 * rng.integers(0, 2, size=(n_directions, n_features)) - 1.0


def achlioptas(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return sparse directions: 0 with probability 2/3, else -sqrt(3) or sqrt(3) (Achlioptas 2001).

    A direction with only zeros, as is likely for few features, is drawn again.
    """
    V = np.zeros((n_directions, n_features))
    empty = np.arange(n_directions)
    while len(empty):
        V[empty] = rng.choice([-np.sqrt(3), 0.0, np.sqrt(3)], p=[1 / 6, 2 / 3, 1 / 6], size=(len(empty), n_features))
        empty = np.flatnonzero(~V.any(axis=1))
    return V


RANDOM_PROJECTIONS: dict[str, RandomProjection] = {
    "uniform_sphere": uniform_sphere,
    "normal": normal,
    "bernoulli": bernoulli,
    "achlioptas": achlioptas,
}


@storable
@dataclass(frozen=True)
class KeyedDirections:
    """Random directions given by the key of their stream, which is sent to workers instead of the directions."""

    family: str
    """A name in `RANDOM_PROJECTIONS`."""
    key: tuple[int, ...]
    """Key of the stream, which starts with the seed."""
    n_directions: int
    scale: Floats
    """Shape (n_features,): factors of the entries, which turn directions for standardised rows into directions for raw
    rows."""

    def make(self) -> Floats:
        """Return the directions, shape (n_directions, n_features), float64."""
        rng = generator(*self.key)
        return RANDOM_PROJECTIONS[self.family](rng, self.n_directions, len(self.scale)) * self.scale


MOST_ROWS = 250
"""Most rows that a direction combines."""

MOST_COLUMNS = 50
"""With more columns, single columns are not directions beside combinations of rows: scoring them would take long."""

NO_COLUMNS = np.empty(0, dtype=np.int64)


def row_combinations(rng: np.random.Generator, n_directions: int, rows: AnyArray) -> Floats:
    """Return random combinations of centred rows: Gaussian directions with the covariance of the rows.

    Clusters that lie apart make the covariance large along the lines that join them, so these directions separate
    clusters more often than directions that are uniform on the sphere, especially with many features.
    They are the primal form of the random dual vectors that the thesis (section 6.2.3) draws in a feature
    space, where one cannot sample the sphere.

    rows (n, n_features): standardised rows of the branch; at most `MOST_ROWS` of them, drawn at random, are combined.
    Returns (n_directions, n_features) of the dtype of the rows.
    """
    rows = some_rows(rng, rows)
    root = scatter_root(rows - rows.mean(axis=0))
    # Drawn in float32, the numbers would be others.
    return rng.standard_normal((n_directions, len(root))).astype(root.dtype) @ root


def scatter_root(centred: AnyArray) -> AnyArray:
    """Return rows with the products of columns of some centred rows, as few as columns if these are not many.

    Normal combinations of either have the same distribution, but those of few rows take fewer random numbers. The rows
    of the root are principal axes, so that the same numbers give the same directions in any order of the columns.
    """
    n, d = centred.shape
    if n < 2 * d:  # the root takes longer than the random numbers that it saves
        return centred
    wide = centred.astype(np.float64)
    squares, axes = np.linalg.eigh(wide.T @ wide)
    skewed = ((wide @ axes) ** 3).sum(axis=0)  # largest entries of an axis may be equal, with other signs
    lengths = np.sqrt(np.maximum(squares, 0)) * np.where(skewed < 0, -1.0, 1.0)
    return np.ascontiguousarray((axes * lengths).T, dtype=centred.dtype)


def some_rows(rng: np.random.Generator, rows: AnyArray) -> AnyArray:
    """Return at most `MOST_ROWS` rows, drawn at random, in the original order."""
    return rows if len(rows) <= MOST_ROWS else rows[np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))]


def single_columns(rows: AnyArray, coarse: Integers = NO_COLUMNS) -> AnyArray:
    """Return the unit vectors of the columns that can be directions, none with more than `MOST_COLUMNS` columns.

    Combinations of ten columns hardly show clusters that differ in one of them.

    >>> rows = np.array([[0.5, 0.0], [0.1, 1.0], [0.2, 0.0], [0.3, 1.0]])
    >>> single_columns(rows)
    array([[1., 0.]])
    """
    chosen = columns_without_ties(rows, coarse) if rows.shape[1] <= MOST_COLUMNS else NO_COLUMNS
    vectors = np.zeros((len(chosen), rows.shape[1]), dtype=rows.dtype)  # the matrix of all may not fit in memory
    vectors[np.arange(len(chosen)), chosen] = 1.0
    return vectors


def columns_without_ties(rows: AnyArray, coarse: Integers = NO_COLUMNS) -> Integers:
    """Return the columns with at least half of their values distinct, but none of `coarse`, whose values were spread.

    A value that many rows share makes a valley beside itself: many pixels are black or white, but that separates no
    digits.
    """
    n = len(rows)
    # Zero has two signs, which are one value.
    words = np.ascontiguousarray(rows + 0)
    words = words.view(f"u{words.dtype.itemsize}")
    # Seven of eight distinct values have one of their own.
    many = certainly_distinct(words, n // 2, (4 * n).bit_length())
    unsure = np.flatnonzero(~many)
    # Sorting takes several times as long as the hashes that make it unnecessary for most columns.
    many[unsure] = (np.diff(np.sort(rows[:, unsure], axis=0), axis=0) > 0).sum(axis=0) + 1 > n / 2
    return np.setdiff1d(np.flatnonzero(many), coarse)


def in_random_subspace(
    propose: Callable[[AnyArray, np.random.Generator], Sequence[Floats]],
    rows: AnyArray,
    rng: np.random.Generator,
    n_dimensions: int,
) -> list[Floats]:
    """Return the directions that a projection proposes for rows in a random subspace, as directions of the rows.

    Distances within the subspace, times ``sqrt(n_features / n_dimensions)``, are those of the rows within a share e if
    it has ``O(log n / e^2)`` dimensions (Johnson and Lindenstrauss).

    propose: a function ``(rows, rng) -> families of directions``.
    rng: draws the subspace, which is uniform, and is passed on.
    n_dimensions: those of the subspace; fewer than columns.
    """
    basis = np.linalg.qr(rng.standard_normal((rows.shape[1], n_dimensions)))[0].T
    return [family @ basis for family in propose(rows @ basis.T.astype(rows.dtype), rng)]
