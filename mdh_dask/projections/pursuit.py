"""Projection pursuit of one minimum density hyperplane from one start."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS
from .penalty import PenalisedDensity, depth_at
from .starts import Start

SMALLEST_ALPHA, ALPHA_STEPS = 0.01, 10
"""First value of alpha, and number of equal steps in which it grows."""

STEPS_BEFORE_LAST = 8
"""Steps of the descent for each value of alpha but the last. Values from 7 to 10 give the partitions of the paper's
table 2; fewer steps, or a full descent while hyperplanes are held near the mean, lose that of banknote."""

ETA = 0.01
"""Largest distance of a minimiser beyond the bound, in standard deviations along the first principal component."""


@dataclass(frozen=True)
class Step:
    """The state of a pursuit at the end of one value of alpha.

    Parameters
    ----------
    alpha : float
        Standard deviations from the mean within which hyperplanes had no penalty.
    direction : ndarray of shape (n_features,)
        Unit direction.
    offset : float
        Projection of the hyperplane.
    index : float
        Penalised density on the hyperplane.
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
        Unit direction.
    offset : float
        Threshold, in units of the projections.
    density : float
        Kernel density on the hyperplane, per unit of the projections; infinite if all rows are equal.
    relative_depth : float
        JMLR 17(156), eq. 30, with the height of one row's kernel added to the denominator, which keeps it finite; zero
        if no value of alpha led to a hyperplane with a mode on both sides.
    bandwidth : float
        Standard deviation of the kernel, in units of the projections.
    eta : float
        Largest distance of a minimiser beyond the bound, in units of the projections.
    path : tuple of Step
        The start and the end of each value of alpha.
    """

    direction: Floats
    offset: float
    density: float
    relative_depth: float
    bandwidth: float
    eta: float
    path: tuple[Step, ...]

    def moved(self, basis: Floats | None, mean: Floats) -> Self:
        """Return the hyperplane in the original coordinates of rows that were centred and expressed in a basis."""

        def direction_of(v: Floats) -> Floats:
            return v if basis is None else v @ basis

        path = []
        for step in self.path:
            v = direction_of(step.direction)
            path.append(replace(step, direction=v, offset=step.offset + float(mean @ v)))
        v = direction_of(self.direction)
        return replace(self, direction=v, offset=self.offset + float(mean @ v), path=tuple(path))


def growing_alphas(alpha_max: float) -> tuple[float, ...]:
    """Return the values of alpha for a start without a known valley (JMLR 17(156), section 5.1.1)."""
    return tuple(np.linspace(min(SMALLEST_ALPHA, alpha_max), alpha_max, ALPHA_STEPS + 1).tolist())


def within(rows: AnyArray, result: MDHResult, alpha: float) -> bool:
    """Return whether a hyperplane lies within `alpha` standard deviations of the mean of the projections."""
    projections = rows @ result.direction
    return bool(abs(result.offset - projections.mean()) <= alpha * projections.std())


def pursue(centred: Floats, start: Start, sd: float, bandwidth: float | None, max_iterations: int) -> MDHResult:
    """Return the hyperplane that the pursuit from a start reaches.

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
    path: list[Step] = []
    chosen = None
    for alpha in start.alphas:
        n_steps = max_iterations if alpha == start.alphas[-1] else min(max_iterations, STEPS_BEFORE_LAST)
        v, best, first = index.descend(v, alpha, n_steps, unit=1 / sd)
        path = path or [Step(alpha, start.direction, *first)]
        path.append(Step(alpha, v, best.offset, best.index))
        if best.inside:
            chosen = path[-1]
    return result_of(index, path, chosen)


def result_of(index: PenalisedDensity, path: list[Step], chosen: Step | None) -> MDHResult:
    """Return the chosen hyperplane of a path, or the last one, with its density and relative depth."""
    h, last = index.bandwidth, chosen or path[-1]
    depth = depth_at(index.centred @ chosen.direction, chosen.offset, h) if chosen else 0.0
    density = index.density(last.direction, last.offset)
    return MDHResult(last.direction, last.offset, density, depth, h, index.eta, tuple(path))
