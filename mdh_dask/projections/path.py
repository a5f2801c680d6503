"""The way of a pursuit: the density and the index along its direction at every value of alpha, for a look at it."""

from dataclasses import dataclass

import numpy as np

from .._jit.kernel_sums import bin_linearly
from .._typing import AnyArray, Floats
from ..density.kde import kernel_density
from .penalty import PenalisedDensity
from .pursuit import MDHResult, Step

N_POSITIONS = 512


@dataclass(frozen=True)
class PathPoint:
    """Where a pursuit stood at the end of one value of alpha, and what it saw there.

    Parameters
    ----------
    alpha : float
        Standard deviations from the mean to which hyperplanes were free of penalty.
    direction : ndarray of shape (n_features,)
    offset : float
        Projection of the hyperplane.
    index : float
        Penalised density on it.
    bounds : tuple of two floats
        Projections between which there is no penalty.
    position, density, penalised : ndarrays of shape (n_positions,)
        Kernel density along the direction, and the index, of which the hyperplane is the minimiser.
    """

    alpha: float
    direction: Floats
    offset: float
    index: float
    bounds: tuple[float, float]
    position: Floats
    density: Floats
    penalised: Floats


def path_points(
    rows: Floats, result: MDHResult, scale: AnyArray, centre: AnyArray, unit: float
) -> tuple[PathPoint, ...]:
    """Return the points of a pursuit.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        That the hyperplane was pursued on: ``(raw - centre) * scale``.
    result : MDHResult
    scale, centre : arrays of shape (n_features,)
        The points are for raw rows.
    unit : float
        Of the projections, which are divided by it.

    Returns
    -------
    tuple of PathPoint
        The start and one for each value of alpha; none if all rows are equal.
    """
    return tuple(_point(rows, step, result, scale, centre, unit) for step in result.path)


def _point(rows: Floats, step: Step, result: MDHResult, scale: AnyArray, centre: AnyArray, unit: float) -> PathPoint:
    projections = rows @ step.direction
    mean, sd, h = float(projections.mean()), float(projections.std()), result.bandwidth
    low, high = projections.min() - 4 * h, projections.max() + 4 * h
    width = (high - low) / N_POSITIONS
    weights = np.zeros(N_POSITIONS)
    bin_linearly(projections, low, width, weights)
    density = kernel_density(weights, np.array(width), np.array(h))
    position = low + (np.arange(N_POSITIONS) + 0.5) * width
    index = PenalisedDensity(rows, h, result.eta)
    excess = np.maximum(np.abs(position - mean) - step.alpha * sd, 0.0)
    penalised = density + index.penalty.steepness * excess ** (1 + index.epsilon)
    direction = step.direction * scale
    shift = float(direction @ centre)
    bounds = ((mean - step.alpha * sd + shift) / unit, (mean + step.alpha * sd + shift) / unit)
    return PathPoint(
        step.alpha, direction / unit, (step.offset + shift) / unit, step.index * unit, bounds,
        (position + shift) / unit, density * unit, penalised * unit,
    )  # fmt: skip
