"""Searches for the directions of the largest score: brute force, genetic, and both combined (TR-2003009, 3.2)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from math import ceil, pi
from typing import Literal

import numpy as np

from .._jit.histograms import bin_robustly
from .._jit.rows import few_at_once
from .._typing import AnyArray, Floats
from ..density.indices import MinimumError
from .pca import MOST_COMPONENTS, centred_rows, scaled_components

Score = Callable[[Floats], Floats]
"""Return non-negative scores, larger is better, of projections of shape (n_directions, n_rows)."""


@dataclass(frozen=True)
class IndexScore:
    """Separation times depth, on histograms with the same number of bins."""

    error: MinimumError = field(default_factory=MinimumError)
    n_bins: int = 100
    """At least 8; 100 in the source."""

    def __call__(self, projections: Floats) -> Floats:
        """Return the scores of projections; thresholds have at least the square root of the rows on each side."""
        counts = np.zeros((len(projections), self.n_bins), dtype=np.int64)
        bin_robustly(projections, counts)
        least, n_left = np.sqrt(projections.shape[1]), np.cumsum(counts, axis=1)
        return self.error.of(counts).best_index((n_left >= least) & (n_left <= projections.shape[1] - least))


@dataclass(frozen=True)
class SearchSpace:
    """Rows in coordinates in which random directions are drawn uniformly."""

    coordinates: Floats
    """Shape (n, k), float64: rows with mean zero."""
    back: Floats
    """Shape (k, n_features): A direction `v` in these coordinates is ``v @ back`` for the rows."""
    axes: Floats
    """Shape (n_axes, k): unit directions of the single columns."""

    @classmethod
    def of(cls, rows: AnyArray, whiten: bool) -> "SearchSpace":
        """Return the space of some rows, spanned by their principal components if `whiten`, else by their columns.

        Both have unit variance; constant columns and components are left out.
        """
        centred = centred_rows(rows).astype(np.float64, copy=False)
        n, d = centred.shape
        if not whiten:
            deviations = centred.std(axis=0)
            used = np.flatnonzero(deviations > 0)
            back = np.eye(d)[used] / deviations[used, None]
            return cls(centred[:, used] / deviations[used], back, np.eye(len(used)))
        most = max(min(d, MOST_COMPONENTS, n // 5), 1)  # with fewer rows, a search finds any shape by chance
        components, sd = scaled_components(centred, most)
        if sd[0] == 0:
            return cls(np.empty((n, 0)), np.empty((0, d)), np.empty((0, 0)))
        back = components / sd[:, None]
        # Coordinates of the single columns: v @ back = e_j, as far as the components span it.
        axes = (components * sd[:, None]).T
        axes = axes[np.linalg.norm(axes, axis=1) > 0]
        return cls(centred @ back.T, back, unit(axes))

    @property
    def n_dimensions(self) -> int:
        """Number of coordinates of a direction."""
        return self.coordinates.shape[1]

    def score(self, directions: Floats, score: Score) -> Floats:
        """Return the scores of directions in these coordinates, or zero for those that are not finite."""
        scores = np.empty(len(directions))
        for some in few_at_once(len(directions), 256):
            scores[some] = score(directions[some] @ self.coordinates.T)
        return np.where(np.isfinite(scores), np.maximum(scores, 0.0), 0.0)


def unit(directions: Floats) -> Floats:
    """Return the directions scaled to length one."""
    return directions / np.linalg.norm(directions, axis=-1, keepdims=True)


ELITE = 5
"""Number of best directions that survive a generation, and that start the local ascent."""

PATIENCE, MOST_GENERATIONS = 10, 50
"""Most generations without a better direction, and most generations in all."""

FIRST_STEP, LAST_STEP = 0.1, 0.005
"""First and last steps of a coordinate in the local ascent, which halves a step if no move is better."""


@dataclass(frozen=True)
class GeneticSearch:
    """Evolve a population of directions."""

    population: int = 20
    """Number of directions in a generation, at least 2."""
    crossover: float = 0.8
    """Probability that a child takes its coordinates from two parents rather than from one."""
    mutation: float = 0.4
    """Probability that a coordinate of a child changes."""

    def evolve(
        self, space: SearchSpace, score: Score, rng: np.random.Generator, start: Floats
    ) -> tuple[Floats, Floats]:
        """Return the last generation and its scores, the best first; `start` are unit directions for the first."""
        members = start[: self.population]
        drawn = unit(rng.standard_normal((self.population - len(members), space.n_dimensions)))
        members = np.concatenate([members, drawn])
        members, scores = _sorted(members, space.score(members, score))
        kept = min(ELITE, self.population - 1)
        stale = 0
        for _ in range(MOST_GENERATIONS):
            children = self._children(members, scores, rng, self.population - kept)
            best = scores[0]
            members, scores = _sorted(
                np.concatenate([members[:kept], children]),
                np.concatenate([scores[:kept], space.score(children, score)]),
            )
            stale = stale + 1 if scores[0] <= best else 0
            if stale == PATIENCE:
                break
        return members, scores

    def _children(self, members: Floats, scores: Floats, rng: np.random.Generator, n: int) -> Floats:
        # Roots of the scores, as the roulette would draw only a direction that is far better than the others.
        weights = np.sqrt(scores) if scores.sum() > 0 else np.ones(len(scores))
        a, b = members[rng.choice(len(members), (2, n), p=weights / weights.sum())]
        b = b * np.where((a * b).sum(axis=1) < 0, -1.0, 1.0)[:, None]  # v and -v are the same direction
        crossed = rng.random((n, 1)) < self.crossover
        children = np.where(crossed & (rng.random(a.shape) < 0.5), b, a)
        changed = rng.random(a.shape) < self.mutation
        children = children + changed * rng.normal(0, 0.1, a.shape)
        length = np.linalg.norm(children, axis=1, keepdims=True)
        return np.where(length > 1e-9, children / np.maximum(length, 1e-9), a)


def ascend(space: SearchSpace, score: Score, directions: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Move single coordinates of directions while the score rises; return the ends and their scores, the best first.

    Each step makes the best move of one coordinate up or down. The step length halves if no move is better.
    """
    ends, reached = [], []
    moves = np.concatenate([np.eye(space.n_dimensions), -np.eye(space.n_dimensions)])
    for v, best in zip(directions, scores, strict=True):
        step = FIRST_STEP
        for _ in range(100):
            around = unit(v + step * moves)
            found = space.score(around, score)
            k = int(found.argmax())
            if found[k] > best:
                v, best = around[k], found[k]
            elif (step := step / 2) < LAST_STEP:
                break
        ends.append(v)
        reached.append(best)
    return _sorted(np.array(ends).reshape(-1, space.n_dimensions), np.array(reached))


def _sorted(members: Floats, scores: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(-scores, kind="stable")
    return members[order], scores[order]


SearchKind = Literal["auto", "combined", "genetic", "brute", "random"]

MOST_DIRECTIONS = 100_000
"""Most directions of a grid: each takes about 25 microseconds for a thousand rows, in every branch."""


@dataclass(frozen=True)
class DirectionSearch:
    """A search for the directions with the best scores."""

    kind: SearchKind = "auto"
    """``"brute"``: a grid of spherical coordinates with `step`. ``"genetic"``: a population that starts with the single
    columns and random directions. ``"combined"``: one that starts with the best five of the single columns and
    `n_random` random directions. ``"random"``: only these directions. The best five of each, except of ``"random"``,
    ascend by single coordinates. ``"auto"``: brute force in up to three dimensions, else combined."""
    n_random: int = 1000
    """Number of random directions of the combined and the random search."""
    genetic: GeneticSearch = field(default_factory=GeneticSearch)
    """Population, crossover and mutation of the genetic search."""
    step: float = 0.1
    """Positive step of brute force, in radians."""
    whiten: bool = True
    """Whether to draw and move directions in units of the principal components (at most 50, and one per five rows)
    instead of the columns. The score of a direction is the same, but with correlated columns, directions drawn in units
    of the columns hardly ever hit the relevant ones."""
    score: Score = field(default_factory=IndexScore)
    """Scores projections; see `Score`."""

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
            # 1024 directions in three dimensions, 32768 in four.
            kind = "brute" if space.n_dimensions <= 3 else "combined"
        if kind == "genetic":
            found, scores = self.genetic.evolve(space, self.score, rng, space.axes)
        else:
            start = self._grid(space) if kind == "brute" else self._drawn(space, rng)
            found, scores = _sorted(start, space.score(start, self.score))
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
                f"dimensions and a step of {self.step}: use search='combined' of ProjectionPursuitTree, or "
                "projection='pursuit' of DivisiveClustering"
            )
        angles = np.array(list(product((np.arange(per_angle) + 0.5) * (pi / per_angle), repeat=d - 1)))
        sines = np.cumprod(np.concatenate([np.ones((len(angles), 1)), np.sin(angles)], axis=1), axis=1)
        return sines * np.concatenate([np.cos(angles), np.ones((len(angles), 1))], axis=1)
