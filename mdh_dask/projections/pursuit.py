"""Projection pursuit of one minimum density hyperplane from one start (JMLR 17(156))."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._jit.descent import BINS_PER_BANDWIDTH, MAX_BINS, descend, start_descent
from .._jit.valleys import REACH_OF_BINS, Penalty, bin_linearly, kernel_sums
from .._typing import AnyArray, Floats, cached_property
from ..density.kde import BANDWIDTHS, Bandwidth, kernel_density, kernel_height, relative_depth
from .pca import centred_rows, scaled_components
from .starts import Start

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


EPSILON = 1 - 1e-6
"""Exponent of the distance beyond the bound in the gradient, between 0 and 1; the larger, the smoother the penalty."""


def penalty_of(n_features: int, bandwidth: float, eta: float, epsilon: float = EPSILON) -> Penalty:
    """Return the constants of the density without labels; steepness is ``L / eta^epsilon`` of `PenalisedDensity`.

    ``L = 1 / (e^(1/2) h^2 sqrt(2 pi))`` for the bandwidth h.
    """
    steepness = 1 / (np.exp(0.5) * bandwidth**2 * np.sqrt(2 * np.pi)) / eta**epsilon
    constants = (float(bandwidth), float(eta), float(epsilon), float(steepness))
    return Penalty(*constants, labelled=np.empty((0, n_features)), signs=np.empty(0), gamma=0.0, margin=0.0)


@dataclass(frozen=True)
class PenalisedDensity:
    """The index ``phi(v) = min_b f(v, b)`` of a sample, where `f` is JMLR 17(156), eq. 10.

    ``f(v, b) = p(b) + L / eta^epsilon * max(0, |b - mean| - alpha * sd)^(1 + epsilon)`` with the kernel density `p`,
    the mean and the standard deviation of the projections on `v`, and with the penalty for labelled rows on the wrong
    side (eq. 16), if there are any.
    """

    centred: Floats
    """Shape (n, n_features), float64: rows with mean zero; all projections then have mean zero too, and the penalty is
    symmetric."""
    penalty: Penalty
    """Its constants, among them the bandwidth, and labelled rows, which are centred like the others."""

    def descend(self, start: Floats, alpha: float, max_steps: int, unit: float) -> tuple[Floats, Separator]:
        """Return a direction of lower index than the start, and its best separator.

        start (n_features,): unit direction.
        max_steps: most steps of BFGS (Lewis and Overton 2013, for functions that are not smooth everywhere).
        unit: a density that counts as large; it makes the tolerance independent of the scale of the rows.
        """
        work = start_descent(start)
        best = descend(self.centred, self.columns, alpha, max_steps, unit, self.penalty, work)
        return work.x, Separator(best[0], best[1], best[2], work.gradient * unit)

    @cached_property
    def columns(self) -> Floats:
        """Columns of the rows, along which projections are summed."""
        return np.ascontiguousarray(self.centred.T)


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
    """Return the values of alpha for a start without a known valley: ten equal steps (JMLR 17(156), section 5.1.1)."""
    return tuple(np.linspace(min(0.01, alpha_max), alpha_max, 11).tolist())


def within(rows: AnyArray, result: MDHResult, alpha: float) -> bool:
    """Return whether a hyperplane lies within `alpha` standard deviations of the mean of the projections."""
    projections = rows @ result.direction
    return bool(abs(result.offset - projections.mean()) <= alpha * projections.std())


def pursue(centred: Floats, start: Start, sd: float, bandwidth: float | None) -> MDHResult:
    """Return the hyperplane that the pursuit from a start reaches.

    sd: standard deviation along the first principal component.
    bandwidth: none for ``0.9 sd n^(-1/5)``.
    Returns the last hyperplane that is a local minimiser of the density; if there is none, the last of all.
    """
    v = start.direction
    if sd == 0:
        return MDHResult(v, 0.0, np.inf, 0.0, 0.0)
    h = bandwidth or float(BANDWIDTHS["multimodal"].of(len(centred), sd, sd))
    index = PenalisedDensity(centred, penalty_of(len(v), h, min(ETA * sd, h)))
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
    h, (v, offset) = index.penalty.bandwidth, chosen or last
    projections, n = index.centred @ v, len(index.centred)
    density = kernel_sums(projections, np.ones(n), offset, h)[0] * float(kernel_height(np.array(n), np.array(h)))
    depth = depth_at(projections, offset, h) if chosen else 0.0
    return MDHResult(v, offset, density, depth, h)


GAMMAS = (0.1, 0.3)
"""Successive weights of the labels, for a unit standard deviation along the first principal component. The paper has
0.1, 1 and 10, without a margin (section 5.2.1)."""

MARGIN = 2.0
"""Bandwidths from the hyperplane within which labelled rows have a penalty on the right side, too."""


def labelled_hyperplane(
    rows: AnyArray,
    labelled: AnyArray,
    signs: AnyArray,
    *,
    starts: Sequence[Floats] = (),
    gammas: Sequence[float] = GAMMAS,
    margin: float = MARGIN,
    alpha_max: float = 0.9,
    bandwidth: Bandwidth = BANDWIDTHS["multimodal"],
) -> MDHResult:
    """Return the hyperplane of low density that leaves labelled rows on their sides.

    The index is ``f(v, b) + gamma sum_i max(0, m + y_i (b - v . x_i))^(1 + epsilon)`` over the labelled rows (eq. 16),
    where the paper has no margin ``m``. For the first gamma, alpha grows as for a clustering; it stays at `alpha_max`
    for the others. Without a margin a labelled row is silent until the hyperplane has passed it: on mixtures of two to
    six normal distributions and on banknotes the valley then wins over 20 labels that a linear classifier follows.

    The paper starts once, where the index at the smallest alpha is least. With five labels this choice gives them too
    little weight, and a valley that agrees with them by chance wins. Here every start is pursued to its end, with both
    signs; the end with the largest distance to its nearest labelled row, in standard deviations of the projections, is
    chosen (``python -m tests.benchmarks semi_supervised`` compares the choices).

    rows (n, n_features): finite values, in columns of comparable scale; all rows, the labelled ones included.
    signs (n_labelled,): 1 for rows that belong where ``direction . x > offset``, -1 for the others.
    starts, each (n_features,): directions to start from besides the first two principal components, such
        as that of a linear classifier.
    gammas: successive weights of the labels, in units in which the first principal component has variance one.
    margin: bandwidths from the hyperplane within which labelled rows have a penalty on the right side, too.
    bandwidth: rule for the bandwidth of all directions, from the projections on the first principal component.
    Returns a hyperplane; its relative depth may be zero, as labels alone can hold it where the density has no valley.
    Raises ValueError if all rows are equal.
    """
    centred = centred_rows(rows).astype(np.float64, copy=False)
    mean = np.asarray(rows)[0] - centred[0]
    components, sds = scaled_components(centred, 2)
    sd = float(sds[0])
    if sd == 0:
        raise ValueError(
            f"expected rows that differ, for a hyperplane between two classes; got {len(centred)} equal rows with "
            "labels of both: give other columns, or label other rows"
        )
    quartiles = np.subtract(*np.percentile(centred @ components[0], (75, 25)))
    h = float(bandwidth.of(len(centred), sd, quartiles))
    penalty = penalty_of(centred.shape[1], h, min(ETA * sd, h))._replace(
        labelled=np.asarray(labelled, dtype=np.float64) - mean,
        signs=np.asarray(signs, dtype=np.float64),
        margin=float(margin * h),
    )
    weights = [float(gamma / sd ** (2 + EPSILON)) for gamma in gammas]
    steps = [PenalisedDensity(centred, penalty._replace(gamma=weight)) for weight in weights]
    directions = [v / np.linalg.norm(v) for v in (*components, *starts)]
    ends = [_pursue(steps, sign * v, alpha_max, sd) for v in directions for sign in (1.0, -1.0)]
    best = max(ends, key=lambda end: _margin(steps[-1], end))
    return result_of(steps[-1], best, best).moved(None, mean)


def _margin(index: PenalisedDensity, end: Plane) -> float:
    """Return the margin of the nearest labelled row on its side of a hyperplane, in standard deviations."""
    v, offset = end
    beyond = index.penalty.signs * (index.penalty.labelled @ v - offset)
    return float(beyond.min() / (index.centred @ v).std())


def _pursue(indices: Sequence[PenalisedDensity], v: Floats, alpha_max: float, sd: float) -> Plane:
    """Return the end of a pursuit for growing alphas, and then for growing weights of the labels."""
    alphas = growing_alphas(alpha_max)
    phases = [(indices[0], alpha) for alpha in alphas] + [(index, alpha_max) for index in indices[1:]]
    for i, (index, alpha) in enumerate(phases):
        n_steps = MAX_ITERATIONS if i + 1 >= len(alphas) else STEPS_BEFORE_LAST
        v, best = index.descend(v, alpha, n_steps, unit=1 / sd)
    return v, best.offset
