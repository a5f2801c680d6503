"""Projection pursuit of one minimum density hyperplane from one start."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS
from .penalty import PenalisedDensity, depth_at
from .starts import Start

SMALLEST_ALPHA, ALPHA_STEPS = 0.01, 10
"""Where alpha begins, and in how many equal steps it grows."""

STEPS_BEFORE_LAST = 8
"""Steps of the descent for each value of alpha but the last. From 7 to 10 give the partitions of the paper's table 2;
fewer, or descending to the end while hyperplanes are held near the mean, lose that of banknote."""

ETA = 0.01
"""How far outside the bound a minimiser may lie, in standard deviations along the first principal component."""


@dataclass(frozen=True)
class Step:
    """Where the pursuit stood at the end of one value of alpha.

    Parameters
    ----------
    alpha : float
        Standard deviations from the mean to which hyperplanes were free of penalty.
    direction : ndarray of shape (n_features,)
        Of length one.
    offset : float
        Projection of the hyperplane.
    index : float
        Penalised density on it.
    """

    alpha: float
    direction: Floats
    offset: float
    index: float


@dataclass(frozen=True)
class MDHResult:
    """A minimum density hyperplane ``{x : direction . x = offset}``.

    Parameters
    ----------
    direction : ndarray of shape (n_features,), float64
        Of length one.
    offset : float
        In units of the projections.
    density : float
        Kernel density on the hyperplane, per unit of the projections; infinite if all rows are equal.
    relative_depth : float
        JMLR 17(156), eq. 30, with the height of one row's kernel added to the denominator, which keeps it finite; zero
        if no value of alpha led to a hyperplane with a mode on both sides.
    bandwidth : float
        Standard deviation of the kernel, in units of the projections.
    eta : float
        How far outside the bound the penalty let a minimiser lie, in units of the projections.
    path : tuple of Step
        The start and the outcome of each value of alpha.
    """

    direction: Floats
    offset: float
    density: float
    relative_depth: float
    bandwidth: float
    eta: float
    path: tuple[Step, ...]

    def moved(self, basis: Floats | None, mean: Floats) -> Self:
        """Return the hyperplane for rows that were centred and then given by their coordinates in a basis."""

        def direction_of(v: Floats) -> Floats:
            return v if basis is None else v @ basis

        path = []
        for step in self.path:
            v = direction_of(step.direction)
            path.append(replace(step, direction=v, offset=step.offset + float(mean @ v)))
        v = direction_of(self.direction)
        return replace(self, direction=v, offset=self.offset + float(mean @ v), path=tuple(path))


def growing_alphas(alpha_max: float) -> tuple[float, ...]:
    """Return the values of alpha for a start that knows of no valley (JMLR 17(156), section 5.1.1)."""
    return tuple(np.linspace(min(SMALLEST_ALPHA, alpha_max), alpha_max, ALPHA_STEPS + 1).tolist())


def within(rows: AnyArray, result: MDHResult, alpha: float) -> bool:
    """Tell whether a hyperplane lies at most so many standard deviations from the mean of the projections."""
    projections = rows @ result.direction
    return bool(abs(result.offset - projections.mean()) <= alpha * projections.std())


def pursue(centred: Floats, start: Start, sd: float, bandwidth: float | None, max_iterations: int) -> MDHResult:
    """Return the hyperplane that a start leads to.

    Parameters
    ----------
    centred : array of shape (n, n_features), float64
        Rows with mean zero.
    start : Start
    sd : float
        Standard deviation along the first principal component.
    bandwidth : float or None
        None for ``0.9 sd n^(-1/5)``.
    max_iterations : int
        Steps of the descent for the last value of alpha.

    Returns
    -------
    MDHResult
        The last hyperplane that is a local minimiser of the density; if there is none, the last of all.
    """
    v = start.direction
    if sd == 0:
        return MDHResult(v, 0.0, np.inf, 0.0, 0.0, 0.0, ())
    h = bandwidth or float(BANDWIDTHS["multimodal"].of(len(centred), sd, sd))
    index = PenalisedDensity(centred, h, eta=min(ETA * sd, h))
    best = index.best_separator(v, start.alphas[0])
    path = [Step(start.alphas[0], v, best.offset, best.index)]
    chosen = None
    for alpha in start.alphas:
        n_steps = max_iterations if alpha == start.alphas[-1] else min(max_iterations, STEPS_BEFORE_LAST)
        v, best = index.descend(v, alpha, n_steps, unit=1 / sd)
        path.append(Step(alpha, v, best.offset, best.index))
        if best.inside:
            chosen = path[-1]
    return result_of(index, path, chosen)


def result_of(index: PenalisedDensity, path: list[Step], chosen: Step | None) -> MDHResult:
    """Return the hyperplane that was chosen on a path, else the last, with the density on it and beside it."""
    h, last = index.bandwidth, chosen or path[-1]
    depth = depth_at(index.centred @ chosen.direction, chosen.offset, h) if chosen else 0.0
    density = index.density(last.direction, last.offset)
    return MDHResult(last.direction, last.offset, density, depth, h, index.eta, tuple(path))
