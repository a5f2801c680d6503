"""Searches for the directions of the largest score: brute force, genetic, and both combined (TR-2003009, 3.2)."""

from dataclasses import dataclass, field
from itertools import product
from math import ceil, pi
from typing import Literal, get_args

import numpy as np

from .._typing import AnyArray, Floats
from .genetic import ELITE, GeneticSearch, ascend
from .searching import IndexScore, Score, SearchSpace, unit

SearchKind = Literal["auto", "combined", "genetic", "brute", "random"]

BRUTE_UP_TO = 3
"""Most dimensions that ``"auto"`` searches by brute force: a step of 0.1 radians gives 1024 directions in three, 32768
in four."""

MOST_DIRECTIONS = 100_000
"""Most directions of a grid: each takes about 25 microseconds for a thousand rows, in every branch."""


@dataclass(frozen=True)
class DirectionSearch:
    """A search for the directions with the best scores.

    Parameters
    ----------
    kind : str
        ``"brute"``: a grid of spherical coordinates with `step`. ``"genetic"``: a population that starts with the
        single columns and random directions. ``"combined"``: one that starts with the best five of the single columns
        and `n_random` random directions. ``"random"``: only these directions. The best five of each, except of
        ``"random"``, ascend by single coordinates. ``"auto"``: brute force in up to three dimensions, else combined.
    n_random : int
        Number of random directions of the combined and the random search.
    genetic : GeneticSearch
        Population, crossover and mutation of the genetic search.
    step : float
        Positive step of brute force, in radians.
    whiten : bool
        Whether to draw and move directions in units of the principal components (at most 50, and one per five rows)
        instead of the columns. The score of a direction is the same, but with correlated columns, directions drawn in
        units of the columns hardly ever hit the relevant ones.
    score : callable
        Scores projections; see `Score`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 6)) + np.repeat([[-3.0], [3.0]], 200, axis=0) * [1, 1, 0, 0, 0, 0]
    >>> V = DirectionSearch()(rows, rng, 3)
    >>> V.shape, bool(abs(V[0] @ [1, 1, 0, 0, 0, 0]) / np.linalg.norm(V[0]) > 1.3)
    ((3, 6), True)
    """

    kind: SearchKind = "auto"
    n_random: int = 1000
    genetic: GeneticSearch = field(default_factory=GeneticSearch)
    step: float = 0.1
    whiten: bool = True
    score: Score = field(default_factory=IndexScore)

    def __post_init__(self) -> None:
        if self.kind not in get_args(SearchKind):
            raise ValueError(f"search must be one of {', '.join(map(repr, get_args(SearchKind)))}, got {self.kind!r}")
        if not 0 < self.step < pi:
            raise ValueError(f"step must be between 0 and pi radians, got {self.step}; 0.1 is usual")

    def __call__(self, rows: AnyArray, rng: np.random.Generator, n_directions: int) -> Floats:
        """Return the best unit directions for some rows, shape (at most n_directions, n_features), the best first.

        Empty if no column varies. One dimension needs no search.
        """
        space = SearchSpace.of(rows, self.whiten)
        found = self.search(space, rng)[0] if space.n_dimensions > 1 else np.eye(space.n_dimensions)
        return unit(found[:n_directions] @ space.back)

    def search(self, space: SearchSpace, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return directions in the coordinates of the space and their scores, the best first."""
        kind = self.kind
        if kind == "auto":
            kind = "brute" if space.n_dimensions <= BRUTE_UP_TO else "combined"
        start = space.axes if kind == "genetic" else self._grid(space) if kind == "brute" else self._drawn(space, rng)
        if kind == "genetic":
            found, scores = self.genetic.evolve(space, self.score, rng, start)
        else:
            scores = space.score(start, self.score)
            order = np.argsort(-scores, kind="stable")
            found, scores = start[order], scores[order]
        if kind == "random":
            return found, scores
        if kind == "combined":
            found, scores = self.genetic.evolve(space, self.score, rng, found[:ELITE])
        ends, reached = ascend(space, self.score, found[:ELITE], scores[:ELITE])
        return np.concatenate([ends, found[ELITE:]]), np.concatenate([reached, scores[ELITE:]])

    def _drawn(self, space: SearchSpace, rng: np.random.Generator) -> Floats:
        return np.concatenate([space.axes, unit(rng.standard_normal((self.n_random, space.n_dimensions)))])

    def _grid(self, space: SearchSpace) -> Floats:
        """Return a grid on half of the sphere, as v and -v are the same direction."""
        d, per_angle = space.n_dimensions, ceil(pi / self.step)
        if per_angle ** (d - 1) > MOST_DIRECTIONS:
            raise ValueError(
                f"expected at most {MOST_DIRECTIONS} directions of brute force; got {per_angle}^{d - 1} for {d} "
                f"dimensions and a step of {self.step}: use search='combined', or a larger step"
            )
        angles = np.array(list(product((np.arange(per_angle) + 0.5) * (pi / per_angle), repeat=d - 1)))
        sines = np.cumprod(np.concatenate([np.ones((len(angles), 1)), np.sin(angles)], axis=1), axis=1)
        return sines * np.concatenate([np.cos(angles), np.ones((len(angles), 1))], axis=1)
