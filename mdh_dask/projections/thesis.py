"""What only figures and tables of the papers need: directions by kurtosis, and the path of a pursuit."""

from dataclasses import dataclass

import numpy as np
import scipy

from .._jit.valleys import bin_linearly
from .._random import any_rows
from .._typing import AnyArray, Floats
from ..density.kde import kernel_density
from .pursuit import MDHResult, PenalisedDensity, Step
from .search import SearchSpace, unit

MOST_ROWS = 2000
"""Most rows whose kurtosis is computed."""

N_STARTS, MOST_STEPS = 3, 50


def kurtosis_directions(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> Floats:
    """Return directions of the least and the largest kurtosis in turn, each pursued across those of its kind before.

    Two groups of equal size have the least kurtosis along the direction between them, a small group beside a large one
    the largest.

    Rows are whitened, in the span of at most 50 components. Source: D. Peña and F. Prieto, Cluster identification using
    projections, Journal of the American Statistical Association 96 (2001).

    rows (n, n_features): finite values; at most `MOST_ROWS` of them are used.
    rng: for the starts.
    Returns (k, n_features) float64: unit directions, at most twice as many as the rows have dimensions; none if all
        rows are equal.
    """
    space = SearchSpace.of(any_rows(rows, MOST_ROWS), whiten=True)
    d = space.n_dimensions
    n_each = [min((n_directions + 1) // 2, d), min(n_directions // 2, d)]
    least, largest = (_deflated(space.coordinates, rng, n, sign) for n, sign in zip(n_each, (1.0, -1.0)))
    in_turn = [v for pair in zip(least, largest) for v in pair] + [*least[len(largest) :]]
    return unit(np.array(in_turn) @ space.back) if in_turn else np.empty((0, np.shape(rows)[1]))


def _deflated(coordinates: Floats, rng: np.random.Generator, n: int, sign: float) -> list[Floats]:
    """Return orthogonal directions of whitened rows, each of least signed fourth moment across those before."""
    found: list[Floats] = []
    basis = np.eye(coordinates.shape[1])  # of the complement of what was found, as rows
    for _ in range(n):
        v = _extreme(coordinates @ basis.T, rng, sign)
        found.append(v @ basis)
        # The other right singular vectors of a direction span its complement.
        basis = np.linalg.svd(v[None])[2][1:] @ basis
    return found


def _extreme(z: Floats, rng: np.random.Generator, sign: float) -> Floats:
    """Return the unit direction of least signed fourth moment that descents from several starts reach."""
    if z.shape[1] == 1:
        return np.ones(1)

    def cost(v: Floats) -> tuple[float, Floats]:
        length = np.linalg.norm(v)
        p = z @ (v / length)
        gradient = 4 * (p**3 @ z) / len(z)
        unit_v = v / length
        return sign * float(np.mean(p**4)), sign * (gradient - (gradient @ unit_v) * unit_v) / length

    # Rows far from the mean in all coordinates weigh the most; both ends of their scatter are starts, too.
    ends = np.linalg.eigh((z * np.square(z).sum(axis=1)[:, None]).T @ z)[1].T
    starts = [ends[0], ends[-1], *rng.standard_normal((N_STARTS, z.shape[1]))]
    runs = [
        scipy.optimize.minimize(cost, v, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}) for v in starts
    ]
    best = min(runs, key=lambda run: float(run.fun))
    return np.asarray(best.x / np.linalg.norm(best.x))


N_POSITIONS = 512


@dataclass(frozen=True)
class PathPoint:
    """The state of a pursuit at the end of one value of alpha."""

    alpha: float
    """Standard deviations from the mean within which hyperplanes had no penalty."""
    direction: Floats
    """Shape (n_features,)."""
    offset: float
    """Projection of the hyperplane."""
    index: float
    """Penalised density on the hyperplane."""
    bounds: tuple[float, float]
    """Projections between which there is no penalty."""
    position: Floats
    density: Floats
    penalised: Floats
    """All of shape (n_positions,): kernel density and penalised density along the direction; the hyperplane minimises
    the latter."""


def path_points(
    rows: Floats, result: MDHResult, scale: AnyArray, centre: AnyArray, unit: float
) -> tuple[PathPoint, ...]:
    """Return the points of a pursuit.

    rows (n, n_features): the rows of the pursuit: ``(raw - centre) * scale``.
    scale, centre (n_features,): scale and centre of the columns; the points are for raw rows.
    unit: divisor of the projections.
    Returns one point for the start and one for each value of alpha; empty if all rows are equal.
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
