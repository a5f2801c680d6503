"""Directions on which a branch is projected.

A projection is a function ``(rows, rng, n_directions) -> array of shape (n_directions, n_features)`` of a branch's
standardised sample. It may also return a pair of this array and an array of thresholds, shape
(n_directions,). To add one, add it to `PROJECTIONS`.
"""

from collections.abc import Callable

import numpy as np

from .._typing import AnyArray, Floats
from .ica import leading_components
from .mdh_candidates import mdh_candidates
from .pca import principal_components
from .random import RANDOM_PROJECTIONS, RandomProjection
from .rows import row_combinations
from .search import DirectionSearch, SearchKind

__all__ = ["PROJECTIONS", "Projection"]

Projection = Callable[[AnyArray, np.random.Generator, int], Floats | tuple[Floats, Floats]]


def _whatever_the_rows(family: RandomProjection) -> Projection:
    return lambda rows, rng, n_directions: family(rng, n_directions, rows.shape[1])


def _searched(kind: SearchKind) -> Projection:
    return lambda rows, rng, n_directions: DirectionSearch(kind, n_random=n_directions)(rows, rng, n_directions)


PROJECTIONS: dict[str, Projection] = {
    "row_combinations": lambda rows, rng, n_directions: row_combinations(rng, n_directions, rows),
    **{name: _whatever_the_rows(family) for name, family in RANDOM_PROJECTIONS.items()},
    "pca": lambda rows, rng, n_directions: principal_components(rows, n_directions),
    "ica": lambda rows, rng, n_directions: leading_components(rows, n_directions),
    "mdh": mdh_candidates,
    "pursuit": _searched("auto"),
    "genetic": _searched("genetic"),
    "brute_force": _searched("brute"),
}
