"""Projection pursuit of one minimum density hyperplane from one start (JMLR 17(156))."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._cached import cached_property
from .._jit.descent import BINS_PER_BANDWIDTH, MAX_BINS, descend, start_descent
from .._jit.valleys import REACH_OF_BINS, Penalty, bin_linearly, kernel_sums
from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS
from ..density.kde import kernel_density, kernel_height, relative_depth
from .starts import Start

SMALLEST_ALPHA, ALPHA_STEPS = 0.01, 10
"""First value of alpha, and number of equal steps in which it grows."""

STEPS_BEFORE_LAST = 8
"""Steps of the descent for each value of alpha but the last. Values from 7 to 10 give the partitions of the paper's
table 2; fewer steps, or a full descent while hyperplanes are held near the mean, lose that of banknote."""

MAX_ITERATIONS = 50
"""Steps for the last value."""

ETA = 0.01
"""Largest distance of a minimiser beyond the bound, in standard deviations along the first principal component."""


@dataclass(frozen=True)
class Separator:
    """The best hyperplane normal to a direction."""

    index: float
    """Penalised density on the hyperplane."""
    offset: float
    """Projection of the hyperplane, for rows of mean zero."""
    inside: bool
    """Whether it has no penalty, and so is a local minimiser of the density."""
    gradient: Floats
    """Gradient of the index by the direction, tangent to the unit sphere."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labelled rows, which a hyperplane should leave on their sides."""

    rows: Floats
    """Shape (n_labelled, n_features), float64: centred like the rows of the density."""
    signs: Floats
    """Shape (n_labelled,), float64: 1 for rows that belong above the hyperplane, -1 for those below."""
    gamma: float
    """Penalty for a row that is one unit on the wrong side."""
    margin: float = 0.0
    """Distance on the right side from which rows have no penalty."""


@dataclass(frozen=True)
class PenalisedDensity:
    """The index ``phi(v) = min_b f(v, b)`` of a sample, where `f` is JMLR 17(156), eq. 10.

    ``f(v, b) = p(b) + L / eta^epsilon * max(0, |b - mean| - alpha * sd)^(1 + epsilon)`` with the kernel density `p`,
    the mean and the standard deviation of the projections on `v`.
    """

    centred: Floats
    """Shape (n, n_features), float64: rows with mean zero; all projections then have mean zero too, and the penalty is
    symmetric."""
    bandwidth: float
    """Standard deviation of the Gaussian kernel, positive."""
    eta: float
    """Bound on the distance of a minimiser beyond the bounds, positive."""
    epsilon: float = 1 - 1e-6
    """Between 0 and 1; the larger, the smoother the penalty."""
    labels: Labels | None = None
    """Penalty on labelled rows on the wrong side, added to `f` (eq. 16)."""

    def descend(self, start: Floats, alpha: float, max_steps: int, unit: float) -> tuple[Floats, Separator]:
        """Return a direction of lower index than the start, and its best separator.

        start (n_features,): unit direction.
        max_steps: most steps of BFGS (Lewis and Overton 2013, for functions that are not smooth everywhere).
        unit: a density that counts as large; it makes the tolerance independent of the scale of the rows.
        """
        work = start_descent(start)
        best, _ = descend(self.centred, self.columns, alpha, max_steps, unit, self.penalty, work)
        return work.x, Separator(best[0], best[1], best[2], work.gradient * unit)

    def density(self, direction: Floats, offset: float) -> float:
        """Return the kernel density on a hyperplane, without the penalty."""
        total, _, _ = kernel_sums(self.centred @ direction, np.ones(len(self.centred)), offset, self.bandwidth)
        return float(total * kernel_height(np.array(len(self.centred)), np.array(self.bandwidth)))

    @cached_property
    def columns(self) -> Floats:
        """Columns of the rows, along which projections are summed."""
        return np.ascontiguousarray(self.centred.T)

    @cached_property
    def penalty(self) -> Penalty:
        """Constants of the penalty; the last is ``L / eta^epsilon`` with ``L = 1 / (e^(1/2) h^2 sqrt(2 pi))``."""
        steepness = 1 / (np.exp(0.5) * self.bandwidth**2 * np.sqrt(2 * np.pi)) / self.eta**self.epsilon
        labels = self.labels or Labels(np.empty((0, self.centred.shape[1])), np.empty(0), 0.0)
        constants = (float(self.bandwidth), float(self.eta), float(self.epsilon), float(steepness))
        return Penalty(*constants, labels.rows, labels.signs, float(labels.gamma), float(labels.margin))


def depth_at(projections: Floats, offset: float, bandwidth: float) -> float:
    """Return the relative depth at a threshold, from exact densities there and at the highest bins on both sides."""
    low, high = projections.min() - REACH_OF_BINS * bandwidth, projections.max() + REACH_OF_BINS * bandwidth
    n_bins = int(min(2 * BINS_PER_BANDWIDTH * float(high - low) / bandwidth + 3, MAX_BINS))
    width = (high - low) / (n_bins - 2)
    weights = np.zeros(n_bins)
    bin_linearly(projections, low - width, width, weights)
    density = kernel_density(weights, np.array(width), np.array(bandwidth))
    place = int(np.clip((offset - low) / width + 1, 1, n_bins - 2))
    left, right = density[:place].argmax(), place + 1 + density[place + 1 :].argmax()
    places = (low + (left - 0.5) * width, offset, low + (right - 0.5) * width)
    height = kernel_height(np.array(len(projections)), np.array(bandwidth))
    ones = np.ones(len(projections))
    exact = height * np.array([kernel_sums(projections, ones, float(b), bandwidth)[0] for b in places])
    return float(relative_depth(exact, height)[1])


Plane = tuple[Floats, float]
"""The unit direction of a hyperplane, shape (n_features,), and its threshold."""


@dataclass(frozen=True)
class MDHResult:
    """A minimum density hyperplane ``{x : direction . x = offset}``.

    direction (n_features,) float64: unit direction.
    offset: threshold, in units of the projections.
    density: kernel density on the hyperplane, per unit of the projections; infinite if all rows are equal.
    relative_depth: JMLR 17(156), eq. 30, with the height of one row's kernel added to the denominator, which keeps it
        finite; zero if no value of alpha led to a hyperplane with a mode on both sides.
    bandwidth: standard deviation of the kernel, in units of the projections.
    """

    direction: Floats
    offset: float
    density: float
    relative_depth: float
    bandwidth: float

    def moved(self, basis: Floats | None, mean: Floats) -> Self:
        """Return the hyperplane in the original coordinates of rows that were centred and expressed in a basis."""
        v = self.direction if basis is None else self.direction @ basis
        return replace(self, direction=v, offset=self.offset + float(mean @ v))


def growing_alphas(alpha_max: float) -> tuple[float, ...]:
    """Return the values of alpha for a start without a known valley (JMLR 17(156), section 5.1.1)."""
    return tuple(np.linspace(min(SMALLEST_ALPHA, alpha_max), alpha_max, ALPHA_STEPS + 1).tolist())


def within(rows: AnyArray, result: MDHResult, alpha: float) -> bool:
    """Return whether a hyperplane lies within `alpha` standard deviations of the mean of the projections."""
    projections = rows @ result.direction
    return bool(abs(result.offset - projections.mean()) <= alpha * projections.std())


def pursue(centred: Floats, start: Start, sd: float, bandwidth: float | None) -> MDHResult:
    """Return the hyperplane that the pursuit from a start reaches.

    centred (n, n_features) float64: rows with mean zero.
    sd: standard deviation along the first principal component.
    bandwidth: none for ``0.9 sd n^(-1/5)``.
    Returns the last hyperplane that is a local minimiser of the density; if there is none, the last of all.
    """
    v = start.direction
    if sd == 0:
        return MDHResult(v, 0.0, np.inf, 0.0, 0.0)
    h = bandwidth or float(BANDWIDTHS["multimodal"].of(len(centred), sd, sd))
    index = PenalisedDensity(centred, h, eta=min(ETA * sd, h))
    last: Plane
    chosen: Plane | None = None
    for alpha in start.alphas:
        n_steps = MAX_ITERATIONS if alpha == start.alphas[-1] else STEPS_BEFORE_LAST
        v, best = index.descend(v, alpha, n_steps, unit=1 / sd)
        last = v, best.offset
        chosen = last if best.inside else chosen
    return result_of(index, last, chosen)


def result_of(index: PenalisedDensity, last: Plane, chosen: Plane | None) -> MDHResult:
    """Return the chosen hyperplane, or the last of the pursuit, with its density and relative depth."""
    h, (v, offset) = index.bandwidth, chosen or last
    depth = depth_at(index.centred @ v, offset, h) if chosen else 0.0
    return MDHResult(v, offset, index.density(v, offset), depth, h)
