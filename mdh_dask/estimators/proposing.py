"""Directions of a branch by projections that have options, or use more of the branch than its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, get_args

import numpy as np

from .._fields import nearest
from .._typing import AnyArray, Floats, Integers
from ..density.kde import Bandwidth
from ..projections import PROJECTIONS
from ..projections.bipartition import spectral_direction
from ..projections.directions import in_random_subspace, single_columns
from ..projections.mdh import Starts, mdh_families
from ..projections.pca import MOST_COMPONENTS, UNMIXED, leading_components
from ..projections.search import DirectionSearch, GeneticSearch, SearchKind
from ..splits.null import search_score
from ..splits.rules import CRITERIA, SplitRule
from .parameters import Interval, StrOptions, validate_parameter_constraints

SEARCHED = "pursuit"
"""The projection whose searches have null distributions."""


class Branch(NamedTuple):
    """What projections know of a branch."""

    rows: AnyArray
    """The standardised sample."""
    rng: np.random.Generator
    n_directions: int
    coarse: Integers
    """Columns whose values were spread."""
    min_rows: float
    """Least number of these rows on each side of a split."""
    ends: bool
    """Whether a valley beyond doubt ends a pursuit."""


def combinations(branch: Branch) -> AnyArray:
    """Return random combinations of the rows, and the single columns if they are few."""
    drawn = np.asarray(PROJECTIONS["row_combinations"](branch.rows, branch.rng, branch.n_directions))
    return np.concatenate([drawn, single_columns(branch.rows, branch.coarse).astype(drawn.dtype)])


def pursued(
    branch: Branch,
    starts: Starts = "valleys",
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
    subspace: int | None = None,
) -> list[Floats]:
    """Return the ends and the starts of pursuits of minimum density hyperplanes, as many as are wanted."""
    pursue = partial(
        mdh_families, n_directions=branch.n_directions, starts=starts, alpha_max=alpha_max,
        max_components=max_components, min_rows=branch.min_rows if branch.ends else np.inf,
    )  # fmt: skip
    if subspace is not None and subspace < branch.rows.shape[1]:
        return in_random_subspace(pursue, branch.rows, branch.rng, subspace)
    return pursue(branch.rows, branch.rng, coarse=branch.coarse)


@dataclass(frozen=True)
class Searching:
    """A search with its number of directions; equal ones share their null distributions."""

    search: DirectionSearch
    n_directions: int

    def __call__(self, rows: AnyArray, rng: np.random.Generator) -> Floats:
        """Return the directions."""
        return self.search(rows, rng, self.n_directions)


def searching(
    rule: SplitRule,
    bandwidth: Bandwidth,
    n_random: int,
    search: SearchKind = "auto",
    population: int = 20,
    crossover: float = 0.8,
    mutation: float = 0.4,
    step: float = 0.1,
    n_bins: int = 100,
    whiten: bool = True,
) -> Searching:
    """Return the search of projection pursuit for the direction with the best criterion of a rule."""
    if len(rule.criteria) > 1 or CRITERIA[rule.criteria[0]].depends_on_length:
        raise ValueError(
            f"expected a criterion for projection={SEARCHED!r} that does not depend on the variance, which is the same "
            f"in all directions of a search; got {', '.join(rule.criteria)}"
        )
    genetic = GeneticSearch(population, crossover, mutation)
    score = search_score(rule, bandwidth, n_bins)
    return Searching(DirectionSearch(search, n_random, genetic, step, whiten, score), population)


PROPOSERS: dict[Any, Callable[..., Any]] = {
    "row_combinations": combinations,
    "mdh": pursued,
    "ica": lambda branch, n_unmixed=UNMIXED: leading_components(branch.rows, branch.n_directions, n_unmixed),
    "spectral": lambda branch: spectral_direction(branch.rows, branch.rng, min_rows=branch.min_rows),
}
"""Functions of a branch and of options, by the names of projections; those of the others are in `PROJECTIONS`.

`SEARCHED` needs the rule of the splits, too; see `searching`.
"""

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "mdh": {
        "starts": [StrOptions(set(get_args(Starts)))],
        "alpha_max": [Interval(Real, 0, None, closed="neither")],
        "max_components": [None, Interval(Integral, 2, None, closed="left")],
        "subspace": [None, Interval(Integral, 2, None, closed="left")],
    },
    SEARCHED: {
        "search": [StrOptions(set(get_args(SearchKind)))],
        "population": [Interval(Integral, 2, None, closed="left")],
        "crossover": [Interval(Real, 0, 1, closed="both")],
        "mutation": [Interval(Real, 0, 1, closed="both")],
        "step": [Interval(Real, 0, 3, closed="neither")],
        "n_bins": [Interval(Integral, 8, None, closed="left")],
        "whiten": ["boolean"],
    },
    "ica": {"n_unmixed": [Interval(Integral, 1, None, closed="left")]},
}
"""Constraints of the options of projections."""


def check_options(projection: Any, options: dict[str, Any]) -> None:
    """Raise an error unless a projection has some options, with such values."""
    known = OPTIONS.get(projection, {}) if isinstance(projection, str) else {}
    for name in options:
        if name not in known:
            has = f"has {', '.join(known)}" if known else "has none"
            raise ValueError(f"projection_params: {projection!r} {has}; got {name!r}{nearest(name, known)}")
    validate_parameter_constraints(known, options, caller_name="projection_params")
