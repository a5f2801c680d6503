"""Directions on which a branch is projected.

A projection is a function ``(rows, rng, n_directions) -> array of shape (n_directions, n_features)`` of a branch's
standardised sample. It may also return a pair of this array and an array of thresholds, shape
(n_directions,), or a list of such arrays, the families of its directions: few rows test the best direction of each
family. To add one, add it to `PROJECTIONS`, as a `Projection` if it asks more of the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, Floats
from .bipartition import clusterable_direction, cutting_direction, spectral_direction, two_means_direction
from .directions import MOST_COLUMNS, RANDOM_PROJECTIONS, RandomProjection, row_combinations
from .mdh import mdh_families
from .pca import across_thin_directions, leading_components, principal_components
from .search import DirectionSearch, SearchKind
from .starts import near_means, seeds_for_covariance
from .thesis import kurtosis_directions

__all__ = ["PROJECTIONS", "Projection", "Propose", "projection_of"]

Propose = Callable[[AnyArray, np.random.Generator, int], Floats | tuple[Floats, Floats] | list[Floats]]


@dataclass(frozen=True)
class Projection:
    """A source of directions.

    propose: returns them; see the module.
    with_columns: whether single columns are directions beside these.
    from_origin: whether rows are taken as they are, not centred, as their inner products count.
    random: whether directions do not depend on the rows, so that workers can draw them.
    """

    propose: Propose
    with_columns: bool = False
    from_origin: bool = False
    random: bool = False

    def __call__(
        self, rows: AnyArray, rng: np.random.Generator, n_directions: int
    ) -> Floats | tuple[Floats, Floats] | list[Floats]:
        """Return directions for some rows."""
        return self.propose(rows, rng, n_directions)


def projection_of(projection: str | Propose) -> Projection:
    """Return the projection of that name, or that of a function."""
    found = PROJECTIONS[projection] if isinstance(projection, str) else projection
    return found if isinstance(found, Projection) else Projection(found)


def _whatever_the_rows(family: RandomProjection) -> Projection:
    return Projection(lambda rows, rng, n_directions: family(rng, n_directions, rows.shape[1]), random=True)


def _combined_and_whitened(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> Floats:
    combined = row_combinations(rng, n_directions, rows)
    more = [across_thin_directions(rng, n_directions // 8, rows)]
    if rows.shape[1] > MOST_COLUMNS:  # of which combinations of rows hardly show clusters, nor do single columns
        more.append(near_means(rows, rng, seeds_for_covariance(*rows.shape)))
    return np.concatenate([combined, *(part.astype(combined.dtype) for part in more if len(part))])


def _searched(kind: SearchKind) -> Propose:
    return lambda rows, rng, n_directions: DirectionSearch(kind, n_random=n_directions)(rows, rng, n_directions)


def _pursued(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> list[Floats]:
    # How few rows a split may leave on a side is not known here, so no valley ends the search.
    return mdh_families(rows, rng, n_directions, min_rows=np.inf)


PROJECTIONS: dict[str, Projection | Propose] = {
    "row_combinations": Projection(_combined_and_whitened, with_columns=True),
    **{name: _whatever_the_rows(family) for name, family in RANDOM_PROJECTIONS.items()},
    "pca": lambda rows, rng, n_directions: principal_components(rows, n_directions),
    "ica": lambda rows, rng, n_directions: leading_components(rows, n_directions),
    "kurtosis": kurtosis_directions,
    "mdh": Projection(_pursued, with_columns=True),
    "two_means": two_means_direction,
    "clusterability": clusterable_direction,
    "normalised_cut": cutting_direction,
    "spectral": Projection(spectral_direction, from_origin=True),
    "pursuit": _searched("auto"),
    "genetic": _searched("genetic"),
    "brute_force": _searched("brute"),
}
