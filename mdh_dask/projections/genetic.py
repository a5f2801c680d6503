"""Genetic search for the direction of the largest score, followed by a local ascent."""

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from .searching import Score, SearchSpace, unit

ELITE = 5
"""Number of best directions that survive a generation, and that start the local ascent."""

PATIENCE, MOST_GENERATIONS = 10, 50
"""Most generations without a better direction, and most generations in all."""

MUTATION_SD = 0.1

FIRST_STEP, LAST_STEP = 0.1, 0.005
"""First and last steps of a coordinate in the local ascent, which halves a step if no move is better."""

MOST_STEPS = 100


@dataclass(frozen=True)
class GeneticSearch:
    """Evolve a population of directions.

    Parameters
    ----------
    population : int
        Number of directions in a generation, at least 2.
    crossover : float in [0, 1]
        Probability that a child takes its coordinates from two parents rather than from one.
    mutation : float in [0, 1]
        Probability that a coordinate of a child changes.
    """

    population: int = 20
    crossover: float = 0.8
    mutation: float = 0.4

    def __post_init__(self) -> None:
        if self.population < 2:
            raise ValueError(f"population must be at least 2, got {self.population}; 20 is the value of the source")
        for name in ("crossover", "mutation"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, got {getattr(self, name)}")

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
        children = children + changed * rng.normal(0, MUTATION_SD, a.shape)
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
        for _ in range(MOST_STEPS):
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
