"""The options of projections, and the search of projection pursuit."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from .._fields import nearest
from .._typing import AnyArray, Floats
from ..density.kde import Bandwidth
from ..projections.mdh import Starts
from ..projections.search import DirectionSearch, GeneticSearch, SearchKind
from ..splits.null import search_score
from ..splits.rules import CRITERIA, SplitRule
from .parameters import Interval, StrOptions, validate_parameter_constraints

SEARCHED = "pursuit"
"""The projection whose searches have null distributions."""


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
