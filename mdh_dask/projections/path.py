"""The path of a pursuit: density and index along its direction at every value of alpha, for drawings."""

from dataclasses import dataclass

import numpy as np

from .._jit.valleys import bin_linearly
from .._typing import AnyArray, Floats
from ..density.kde import kernel_density
from .penalty import PenalisedDensity
from .pursuit import MDHResult, Step

N_POSITIONS = 512


@dataclass(frozen=True)
class PathPoint:
    """The state of a pursuit at the end of one value of alpha.

    Parameters
    ----------
    alpha : float
        Standard deviations from the mean within which hyperplanes had no penalty.
    direction : ndarray of shape (n_features,)
    offset : float
        Projection of the hyperplane.
    index : float
        Penalised density on the hyperplane.
    bounds : tuple of two floats
        Projections between which there is no penalty.
    position, density, penalised : ndarrays of shape (n_positions,)
        Kernel density and penalised density along the direction; the hyperplane minimises the latter.
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
        The rows of the pursuit: ``(raw - centre) * scale``.
    result : MDHResult
    scale, centre : arrays of shape (n_features,)
        Scale and centre of the columns; the points are for raw rows.
    unit : float
        Divisor of the projections.

    Returns
    -------
    tuple of PathPoint
        One point for the start and one for each value of alpha; empty if all rows are equal.
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
