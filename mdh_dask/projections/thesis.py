"""What the papers compare with: directions by kurtosis, and sequential quadratic programming."""

from dataclasses import dataclass

import numpy as np
import scipy

from .._jit.valleys import kernel_pulls, kernel_sums
from .._random import any_rows
from .._typing import AnyArray, Floats, cached_property
from ..density.kde import BANDWIDTHS, kernel_height
from .pca import MOST_COMPONENTS, centred_rows, scaled_components
from .pursuit import MDHResult, depth_at
from .search import SearchSpace, unit

MOST_ROWS = 2000
"""Most rows whose kurtosis is computed."""

N_STARTS, MOST_STEPS = 3, 50
"""Random starts of the search for a direction of extreme kurtosis, and steps from each."""


def kurtosis_directions(rows: AnyArray, rng: np.random.Generator, n_directions: int) -> Floats:
    """Return directions of the least and the largest kurtosis in turn, each pursued across those of its kind before.

    Two groups of equal size have the least kurtosis along the direction between them, a small group beside a large one
    the largest.

    Rows are whitened, in the span of at most 50 components. Source: D. Peña and F. Prieto, Cluster identification using
    projections, Journal of the American Statistical Association 96 (2001).

    rows (n, n_features): finite values; at most `MOST_ROWS` of them are used.
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


FLOOR = 1e-3
"""Share of one row's kernel below which the density is that of an empty gap."""


@dataclass(frozen=True)
class ConstrainedDensity:
    """The problem of JMLR 17(156), eq. 9, for vectors ``x = (v, b)`` of a direction and a threshold.

    Minimise the density on the hyperplane, such that ``|b| <= alpha * sd_v`` and ``v . v = 1``. The objective is an
    increasing function of the density, ``h^2 log(n sqrt(2 pi) h p(b | v) + FLOOR)``: its second derivatives are near
    one for any bandwidth `h`, as the first step of the descent assumes, and it decreases in gaps as well.
    """

    centred: Floats
    """Shape (n, n_features), float64: rows with mean zero and standard deviation one along the first principal
    component."""
    bandwidth: float
    """Standard deviation of the Gaussian kernel, positive."""
    alpha: float
    """Bound on the threshold, in standard deviations of the projections."""

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the features, which gives the standard deviation of projections without the rows."""
        return self.centred.T @ self.centred / len(self.centred)

    def total(self, x: Floats) -> float:
        """Return the sum of the rows' kernels on the hyperplane: the density in heights of one row's kernel."""
        projections = self.centred @ x[:-1]
        return float(kernel_sums(projections, np.ones(len(projections)), float(x[-1]), self.bandwidth)[0])

    def objective(self, x: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        projections, h = self.centred @ x[:-1], self.bandwidth
        total = kernel_sums(projections, np.ones(len(projections)), float(x[-1]), h)[0] + FLOOR
        pulls = kernel_pulls(projections, float(x[-1]), h)
        return h**2 * float(np.log(total)), h / total * np.append(pulls @ self.centred, -pulls.sum())

    def sd(self, v: Floats) -> float:
        """Return the standard deviation of the projections."""
        return float(np.sqrt(max(float(v @ self.covariance @ v), 0.0)))

    def room(self, x: Floats) -> Floats:
        """Return the distances from the lower and the upper bound; negative beyond a bound."""
        bound = self.alpha * self.sd(x[:-1])
        return np.array([bound + x[-1], bound - x[-1]])

    def room_gradient(self, x: Floats) -> Floats:
        """Return the gradients of both distances; that of a standard deviation of zero is zero."""
        v = x[:-1]
        slope = self.alpha * (self.covariance @ v) / max(self.sd(v), np.finfo(float).tiny)
        return np.array([[*slope, 1.0], [*slope, -1.0]])

    def solve(self, start: Floats, max_iterations: int) -> Floats:
        """Return a feasible vector of a density no higher than that of the feasible start."""
        sphere = {"type": "eq", "fun": lambda x: x[:-1] @ x[:-1] - 1, "jac": lambda x: np.append(2 * x[:-1], 0.0)}
        found = scipy.optimize.minimize(
            self.objective,
            start,
            jac=True,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": self.room, "jac": self.room_gradient}, sphere],
            options={"maxiter": max_iterations, "ftol": 1e-8 * self.bandwidth**2},
        ).x
        v = found[:-1] / np.linalg.norm(found[:-1])
        bound = self.alpha * self.sd(v)
        end = np.append(v, np.clip(found[-1], -bound, bound))
        return end if self.total(end) <= self.total(start) else start

    def is_inner_minimiser(self, x: Floats) -> bool:
        """Return whether the threshold is a local minimiser of the density away from the bounds."""
        aside = np.append(np.zeros(len(x) - 1), 0.1 * self.bandwidth)
        lowest = min(self.total(x - aside), self.total(x + aside))
        return bool(self.room(x).min() > 1e-6 and self.total(x) <= lowest + FLOOR)


def constrained_hyperplane(
    rows: AnyArray,
    start: AnyArray,
    offset: float = 0.0,
    *,
    bandwidth: float | None = None,
    alpha: float = 0.9,
) -> MDHResult:
    """Return the hyperplane of locally minimal density near the mean that a start leads to.

    Unlike projection pursuit this ends in many different local minima: weak partitions, useful in combination (thesis,
    section 4.2.3).

    One evaluation costs O(n n_features), and a step O(n_features^3) more. With more than `MOST_COMPONENTS` features,
    the hyperplane is therefore searched in the span of the start and of this many principal components. Source:
    Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, eq. 9; thesis (Yates 2017), eq. 4.3. Algorithm 3 there starts
    from random directions and the threshold zero.

    start (n_features,): direction of any positive length.
    offset: threshold of the first hyperplane, in standard deviations of the projections on `start` from their mean.
    bandwidth: standard deviation of the kernel in units of the projections; by default 0.9 standard deviations along
        the first principal component times ``n ** (-1/5)``.
    alpha: largest distance of the hyperplane from the mean of the projections, in standard deviations.
    Returns the hyperplane, with a relative depth of zero unless it is a local minimiser within the bound.
    """
    centred = centred_rows(rows)
    mean = np.asarray(rows)[0] - centred[0]
    v = np.asarray(start, dtype=np.float64)
    v = v / np.linalg.norm(v)
    components, sds = scaled_components(centred, MOST_COMPONENTS)
    if (sd := float(sds[0])) == 0:
        return MDHResult(v, 0.0, np.inf, 0.0, 0.0).moved(None, mean)
    basis = None
    if centred.shape[1] > MOST_COMPONENTS:
        basis = np.linalg.qr(np.array([*components, v]).T)[0].T
        centred, v = centred @ basis.T.astype(centred.dtype), basis @ v
    h = bandwidth or float(BANDWIDTHS["multimodal"].of(len(centred), sd, sd))
    problem = ConstrainedDensity(centred.astype(np.float64, copy=False) / sd, h / sd, alpha)
    x = problem.solve(np.append(v, offset * problem.sd(v)), 100)  # a few tens suffice
    density = problem.total(x) * float(kernel_height(np.array(len(centred)), np.array(h)))
    depth = 0.0
    if problem.is_inner_minimiser(x):
        depth = depth_at(problem.centred @ x[:-1], float(x[-1]), problem.bandwidth)
    return MDHResult(x[:-1], float(x[-1]) * sd, density, depth, h).moved(basis, mean)
