"""Directions on which a branch is projected.

A projection is a function ``(rows, rng, n_directions) -> array of shape (n_directions, n_features)`` of a branch's
standardised sample. It may also return a pair of this array and an array of thresholds, shape
(n_directions,), or a list of such arrays, the families of its directions: few rows test the best direction of each
family. To add one, add it to `PROJECTIONS`.
"""

from collections.abc import Callable

import numpy as np

from .._typing import AnyArray, Floats
from .bipartition import clusterable_direction, cutting_direction, spectral_direction, two_means_direction
from .directions import MOST_COLUMNS, RANDOM_PROJECTIONS, RandomProjection, row_combinations
from .mdh import mdh_families
from .pca import across_thin_directions, leading_components, principal_components
from .search import DirectionSearch, SearchKind
from .starts import near_means, seeds_for_covariance
from .thesis import kurtosis_directions

__all__ = ["FROM_ORIGIN", "PROJECTIONS", "WITH_COLUMNS", "Projection"]

Projection = Callable[[AnyArray, np.random.Generator, int], Floats | tuple[Floats, Floats] | list[Floats]]


def _whatever_the_rows(family: RandomProjection) -> Projection:
    return lambda rows, rng, n_directions: family(rng, n_directions, rows.shape[1])


def _combined_and_whitened(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> Floats:
    combined = row_combinations(rng, n_directions, rows)
    more = [across_thin_directions(rng, n_directions // 8, rows)]
    if rows.shape[1] > MOST_COLUMNS:  # of which combinations of rows hardly show clusters, nor do single columns
        more.append(near_means(rows, rng, seeds_for_covariance(*rows.shape)))
    return np.concatenate([combined, *(part.astype(combined.dtype) for part in more if len(part))])


def _searched(kind: SearchKind) -> Projection:
    return lambda rows, rng, n_directions: DirectionSearch(kind, n_random=n_directions)(rows, rng, n_directions)


def _pursued(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> list[Floats]:
    # How few rows a split may leave on a side is not known here, so no valley ends the search.
    return mdh_families(rows, rng, n_directions, min_rows=np.inf)


PROJECTIONS: dict[str, Projection] = {
    "row_combinations": _combined_and_whitened,
    **{name: _whatever_the_rows(family) for name, family in RANDOM_PROJECTIONS.items()},
    "pca": lambda rows, rng, n_directions: principal_components(rows, n_directions),
    "ica": lambda rows, rng, n_directions: leading_components(rows, n_directions),
    "kurtosis": kurtosis_directions,
    "mdh": _pursued,
    "two_means": two_means_direction,
    "clusterability": clusterable_direction,
    "normalised_cut": cutting_direction,
    "spectral": spectral_direction,
    "pursuit": _searched("auto"),
    "genetic": _searched("genetic"),
    "brute_force": _searched("brute"),
}

WITH_COLUMNS = {"row_combinations", "mdh"}
"""Projections beside which single columns are directions, too."""

FROM_ORIGIN = {"spectral"}
"""Projections that take rows as they are, not centred, as their inner products count."""
