"""Minimum density hyperplanes by projection pursuit (JMLR 17(156); thesis section 4.2.1)."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS
from .descent import descend
from .pca import centred_rows, scaled_components
from .penalty import PenalisedDensity, depth_at
from .starts import deep_combinations

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
    path : tuple of Step
        The start and the outcome of each value of alpha.
    """

    direction: Floats
    offset: float
    density: float
    relative_depth: float
    path: tuple[Step, ...]


def minimum_density_hyperplane(
    rows: AnyArray,
    start: AnyArray,
    *,
    bandwidth: float | None = None,
    alpha_max: float = 0.9,
    max_iterations: int = 50,
) -> MDHResult:
    """Return the hyperplane of low density that projection pursuit reaches from a start.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    start : array of shape (n_features,)
        Direction of any length but zero.
    bandwidth : float, optional
        Standard deviation of the kernel in units of the projections; by default 0.9 standard deviations along the
        first principal component times ``n ** (-1/5)``.
    alpha_max : float
        The hyperplane lies at most this many standard deviations from the mean of the projections.
    max_iterations : int
        Steps of the descent for the last value of alpha; the others take eight at most.

    Returns
    -------
    MDHResult
        The last hyperplane that is a local minimiser of the density; if there is none, the last of all.

    Raises
    ------
    ValueError
        If the shapes do not fit, a value is not finite, `start` is zero, or `bandwidth` or `alpha_max` not positive.

    Notes
    -----
    The bound alpha grows from 0.01 to `alpha_max` in ten steps, and each descends from where the last ended, by BFGS
    with limited memory on the unit sphere. One evaluation of index and gradient costs O(n n_features). Source:
    Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, sections 4 and 5.1.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> result = minimum_density_hyperplane(rows, [1.0, 1.0])
    >>> bool(abs(result.direction[0]) > 0.99), bool(abs(result.offset) < 1)
    (True, True)
    """
    centred = centred_rows(rows)
    v = np.asarray(start, dtype=np.float64)
    if v.shape != centred.shape[1:] or not 0 < np.linalg.norm(v) < np.inf:
        raise ValueError(
            f"start must be a direction of {centred.shape[1]} finite entries, not all zero, got shape {v.shape} and "
            f"length {np.linalg.norm(v)}"
        )
    sd = float(scaled_components(centred, 1)[1][0])
    result = _pursue(centred, v / np.linalg.norm(v), sd, bandwidth, alpha_max, max_iterations)
    return _moved(result, np.asarray(rows)[0] - centred[0])


def mdh_directions(
    rows: AnyArray,
    rng: np.random.Generator,
    n_directions: int | None = None,
    *,
    starts: Literal["default", "pca2"] = "default",
    bandwidth: float | None = None,
    alpha_max: float = 0.9,
) -> Floats:
    """Return normals of minimum density hyperplanes from several starts, the greatest relative depth first.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    rng : Generator
        Draws the random starts.
    n_directions : int, optional
        At most this many are returned; by default one for every start.
    starts : {"default", "pca2"}
        ``pca2``: the first two principal components, as in the paper. ``default``: these and, of 200 random
        combinations of rows, the three with the deepest valleys.
    bandwidth, alpha_max
        As for `minimum_density_hyperplane`.

    Returns
    -------
    ndarray of shape (k, n_features), float64
        Of length one each.

    Raises
    ------
    ValueError
        As `minimum_density_hyperplane`, or if `starts` has another value.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> V = mdh_directions(rows, rng, starts="pca2")
    >>> V.shape, bool(abs(V[0, 0]) > 0.99)
    ((2, 2), True)
    """
    results = minimum_density_hyperplanes(rows, rng, starts=starts, bandwidth=bandwidth, alpha_max=alpha_max)
    return np.array([result.direction for result in results[:n_directions]])


def minimum_density_hyperplanes(
    rows: AnyArray,
    rng: np.random.Generator,
    *,
    starts: Literal["default", "pca2"] = "default",
    bandwidth: float | None = None,
    alpha_max: float = 0.9,
    max_iterations: int = 50,
) -> list[MDHResult]:
    """Return the hyperplane that each of several starts leads to, the greatest relative depth first.

    Parameters and errors are those of `mdh_directions` and `minimum_density_hyperplane`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> best, second = minimum_density_hyperplanes(rows, rng, starts="pca2")
    >>> best.relative_depth >= second.relative_depth
    True
    """
    if starts not in ("default", "pca2"):
        raise ValueError(f"starts must be 'default' or 'pca2', got {starts!r}")
    centred = centred_rows(rows)
    V, sd = scaled_components(centred, 2)
    if starts == "default" and sd[0] > 0:
        V = np.concatenate([V, deep_combinations(rng, centred, alpha_max)])
    results = [_pursue(centred, v, float(sd[0]), bandwidth, alpha_max, max_iterations) for v in V]
    mean = np.asarray(rows)[0] - centred[0]
    return [_moved(result, mean) for result in sorted(results, key=lambda result: -result.relative_depth)]


def _pursue(
    centred: Floats, v: Floats, sd: float, bandwidth: float | None, alpha_max: float, max_iterations: int
) -> MDHResult:
    """Return the hyperplane for rows with mean zero, whose first principal component has standard deviation `sd`."""
    if bandwidth is not None and not 0 < bandwidth < np.inf:
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth}; None chooses one from the rows")
    if not 0 < alpha_max < np.inf:
        raise ValueError(f"alpha_max must be positive and finite, got {alpha_max}; the usual value is 0.9")
    if sd == 0:
        return MDHResult(v, 0.0, np.inf, 0.0, ())
    h = bandwidth or float(BANDWIDTHS["multimodal"].of(len(centred), sd, sd))
    index = PenalisedDensity(centred, h, eta=min(ETA * sd, h))
    alphas = np.linspace(min(SMALLEST_ALPHA, alpha_max), alpha_max, ALPHA_STEPS + 1).tolist()
    best = index.best_separator(v, alphas[0])
    path = [Step(alphas[0], v, best.offset, best.index)]
    chosen = None
    for alpha in alphas:
        n_steps = max_iterations if alpha == alphas[-1] else min(max_iterations, STEPS_BEFORE_LAST)
        v, best = descend(index, v, alpha, n_steps, unit=1 / sd)
        path.append(Step(alpha, v, best.offset, best.index))
        if best.inside:
            chosen = path[-1]
    depth = depth_at(centred @ chosen.direction, chosen.offset, h) if chosen else 0.0
    last = chosen or path[-1]
    density = index.density(last.direction, last.offset)
    return MDHResult(last.direction, last.offset, density, depth, tuple(path))


def _moved(result: MDHResult, mean: Floats) -> MDHResult:
    """Return a hyperplane of rows of mean zero, for the rows as they were."""
    path = tuple(replace(step, offset=step.offset + float(mean @ step.direction)) for step in result.path)
    return replace(result, offset=result.offset + float(mean @ result.direction), path=path)
