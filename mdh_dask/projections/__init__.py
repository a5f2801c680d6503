"""Directions on which a branch is projected.

A projection is a function ``(rows, rng, n_directions) -> array of shape (n_directions, n_features)`` of a branch's
standardised sample. It may also return a pair of this array and an array of thresholds, shape
(n_directions,), or a list of such arrays, the families of its directions: few rows test the best direction of each
family. To add one, add it to `PROJECTIONS`, as a `Projection` if it asks more of the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .bipartition import clusterable_direction, cutting_direction, spectral_direction, two_means_direction
from .directions import (
    MOST_COLUMNS,
    NO_COLUMNS,
    RANDOM_PROJECTIONS,
    RandomProjection,
    in_random_subspace,
    row_combinations,
    single_columns,
)
from .mdh import mdh_families
from .pca import UNMIXED, across_thin_directions, leading_components, principal_components
from .search import DirectionSearch, SearchKind
from .starts import near_means, seeds_for_covariance
from .thesis import kurtosis_directions

__all__ = ["PROJECTIONS", "Projection", "Propose", "projection_of"]

Propose = Callable[[AnyArray, np.random.Generator, int], Floats | tuple[Floats, Floats] | list[Floats]]


@dataclass(frozen=True)
class Projection:
    """A source of directions.

    propose: returns them; see the module. It may take options of the projection, too.
    with_columns: whether single columns are directions beside these.
    from_origin: whether rows are taken as they are, not centred, as their inner products count.
    random: whether directions do not depend on the rows, so that workers can draw them.
    uses: what `propose` takes of the branch, too: ``coarse``, the columns whose values were spread; ``min_rows``, the
        least rows on each side of a split; ``ending_rows``, those beside a valley that ends a search, or infinity.
    """

    propose: Callable[..., Floats | tuple[Floats, Floats] | list[Floats]]
    with_columns: bool = False
    from_origin: bool = False
    random: bool = False
    uses: tuple[str, ...] = ()

    def __call__(
        self, rows: AnyArray, rng: np.random.Generator, n_directions: int, **more: Any
    ) -> Floats | tuple[Floats, Floats] | list[Floats]:
        """Return directions for some rows; `more` are options, and what the projection uses."""
        return self.propose(rows, rng, n_directions, **more)


def projection_of(projection: str | Propose) -> Projection:
    """Return the projection of that name, or that of a function."""
    found = PROJECTIONS[projection] if isinstance(projection, str) else projection
    return found if isinstance(found, Projection) else Projection(found)


def _whatever_the_rows(family: RandomProjection) -> Projection:
    return Projection(lambda rows, rng, n_directions: family(rng, n_directions, rows.shape[1]), random=True)


def _combined_and_whitened(
    rows: AnyArray, rng: np.random.Generator, n_directions: int, coarse: Integers | None = None
) -> Floats:
    """Return random combinations of the rows; single columns follow, if they are few and `coarse` is given."""
    combined = row_combinations(rng, n_directions, rows)
    more = [across_thin_directions(rng, n_directions // 8, rows)]
    if rows.shape[1] > MOST_COLUMNS:  # of which combinations of rows hardly show clusters, nor do single columns
        more.append(near_means(rows, rng, seeds_for_covariance(*rows.shape)))
    if coarse is not None:
        more.append(single_columns(rows, coarse))
    return np.concatenate([combined, *(part.astype(combined.dtype) for part in more if len(part))])


def _searched(kind: SearchKind) -> Propose:
    return lambda rows, rng, n_directions: DirectionSearch(kind, n_random=n_directions)(rows, rng, n_directions)


def _pursued(
    rows: AnyArray,
    rng: np.random.Generator,
    n_directions: int,
    coarse: Integers = NO_COLUMNS,
    ending_rows: float = np.inf,
    subspace: int | None = None,
    **options: Any,
) -> list[Floats]:
    """Return the ends and the starts of pursuits of minimum density hyperplanes, as many as are wanted."""
    options |= {"n_directions": n_directions, "min_rows": ending_rows}
    if subspace is not None and subspace < rows.shape[1]:
        return in_random_subspace(partial(mdh_families, **options), rows, rng, subspace)
    return mdh_families(rows, rng, coarse=coarse, **options)


def _unmixed(rows: AnyArray, rng: np.random.Generator, n_directions: int, n_unmixed: int = UNMIXED) -> Floats:
    return leading_components(rows, n_directions, n_unmixed)


PROJECTIONS: dict[str, Projection | Propose] = {
    "row_combinations": Projection(_combined_and_whitened, with_columns=True, uses=("coarse",)),
    **{name: _whatever_the_rows(family) for name, family in RANDOM_PROJECTIONS.items()},
    "pca": lambda rows, rng, n_directions: principal_components(rows, n_directions),
    "ica": _unmixed,
    "kurtosis": kurtosis_directions,
    "mdh": Projection(_pursued, with_columns=True, uses=("coarse", "ending_rows")),
    "two_means": two_means_direction,
    "clusterability": clusterable_direction,
    "normalised_cut": cutting_direction,
    "spectral": Projection(spectral_direction, from_origin=True, uses=("min_rows",)),
    "pursuit": _searched("auto"),
    "genetic": _searched("genetic"),
    "brute_force": _searched("brute"),
}
