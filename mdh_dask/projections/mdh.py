"""Minimum density hyperplanes by projection pursuit (JMLR 17(156); thesis section 4.2.1)."""

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .pca import centred_rows, scaled_components
from .pursuit import MDHResult, Step, growing_alphas, pursue
from .rows import NO_COLUMNS
from .sqp import constrained_hyperplane
from .starts import MOST_COMPONENTS, Start, valley_starts

__all__ = ["MDHResult", "Step", "mdh_directions", "minimum_density_hyperplane", "minimum_density_hyperplanes"]

Starts = Literal["balanced", "valleys", "pca2", "random"]
"""Names of the starts of pursuits; see `mdh_directions`."""

N_RANDOM = 10
"""Number of random directions that ``starts="random"`` pursues."""

Solver = Literal["pursuit", "sqp"]
"""Names of the solvers; see `minimum_density_hyperplanes`."""

N_BALANCED, N_VALLEYS = 3, 8
"""Number of random starts to pursue besides the two components."""


def minimum_density_hyperplane(
    rows: AnyArray,
    start: AnyArray,
    *,
    bandwidth: float | None = None,
    alpha_max: float = 1.5,
    max_iterations: int = 50,
) -> MDHResult:
    """Return the minimum density hyperplane that projection pursuit reaches from a start.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    start : array of shape (n_features,)
        Direction of any positive length.
    bandwidth : float, optional
        Standard deviation of the kernel in units of the projections; by default 0.9 standard deviations along the
        first principal component times ``n ** (-1/5)``.
    alpha_max : float
        Largest distance of the hyperplane from the mean of the projections, in standard deviations; 0.9 in the paper.
    max_iterations : int
        Most steps of the descent for the last value of alpha; the others take at most eight.

    Returns
    -------
    MDHResult
        The last hyperplane that is a local minimiser of the density; if there is none, the last of all.

    Raises
    ------
    ValueError
        If the shapes do not match, a value is not finite, `start` is zero, or `bandwidth` or `alpha_max` not positive.

    Notes
    -----
    The bound alpha grows from 0.01 to `alpha_max` in ten steps; each starts at the end of the previous one and descends
    by limited-memory BFGS on the unit sphere. One evaluation of index and gradient costs O(n n_features). Source:
    Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, sections 4 and 5.1.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> result = minimum_density_hyperplane(rows, [1.0, 1.0])
    >>> bool(abs(result.direction[0]) > 0.99), bool(abs(result.offset) < 1)
    (True, True)
    """
    _check(bandwidth, alpha_max)
    centred = centred_rows(rows)
    v = np.asarray(start, dtype=np.float64)
    if v.shape != centred.shape[1:] or not 0 < np.linalg.norm(v) < np.inf:
        raise ValueError(
            f"start must be a direction of {centred.shape[1]} finite entries, not all zero, got shape {v.shape} and "
            f"length {np.linalg.norm(v)}"
        )
    sd = float(scaled_components(centred, 1)[1][0])
    result = pursue(
        centred.astype(np.float64, copy=False),
        Start(_unit(v), growing_alphas(alpha_max)),
        sd,
        bandwidth,
        max_iterations,
    )
    return result.moved(None, np.asarray(rows)[0] - centred[0])


def mdh_directions(
    rows: AnyArray,
    rng: np.random.Generator,
    n_directions: int | None = None,
    *,
    starts: Starts = "balanced",
    bandwidth: float | None = None,
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
) -> Floats:
    """Return normals of minimum density hyperplanes from several starts, in descending order of relative depth.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    rng : Generator
        Draws the random starts.
    n_directions : int, optional
        Most directions to return; by default one for every start.
    starts : {"balanced", "valleys", "pca2", "random"}
        ``pca2``: the first two principal components, as in the paper. ``balanced``: these and the three directions with
        the deepest valleys among 1000 random combinations of rows and the single columns; hyperplanes are first held
        near the mean. ``valleys``: the components that show a valley, or else the first, and eight such directions;
        hyperplanes are held near these valleys: for trees, as a cluster beside many others lies far from their mean.
        ``random``: ten random directions.
    bandwidth
        As for `minimum_density_hyperplane`.
    alpha_max : float
        As there; with ``valleys`` only for the pursuits from components.
    max_components : int, optional
        At least 2. With more features than this, hyperplanes are pursued in the span of this many principal components
        and of the starts; None to search all directions, as ``pca2`` and ``random`` do like the papers.

    Returns
    -------
    ndarray of shape (k, n_features), float64
        Unit directions.

    Raises
    ------
    ValueError
        As for `minimum_density_hyperplane`, or if `starts` or `max_components` is invalid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> V = mdh_directions(rows, rng, starts="pca2")
    >>> V.shape, bool(abs(V[0, 0]) > 0.99)
    ((2, 2), True)
    """
    results = minimum_density_hyperplanes(
        rows, rng, starts=starts, bandwidth=bandwidth, alpha_max=alpha_max, max_components=max_components
    )
    # A pursuit that leaves its valley and ends at the bound has found no hyperplane.
    found = [result for result in results if result.relative_depth > 0] or results[:1]
    return np.array([result.direction for result in found[:n_directions]])


def minimum_density_hyperplanes(
    rows: AnyArray,
    rng: np.random.Generator,
    *,
    starts: Starts = "balanced",
    bandwidth: float | None = None,
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
    max_iterations: int = 50,
    solver: Solver = "pursuit",
    coarse: Integers = NO_COLUMNS,
) -> list[MDHResult]:
    """Return the hyperplanes from several starts, in descending order of relative depth.

    Parameters and errors are those of `mdh_directions` and `minimum_density_hyperplane`. With the `solver` ``"sqp"``,
    sequential quadratic programming turns and moves a hyperplane from each start at once, within the last of its
    bounds: see `mdh_dask.projections.sqp`. Columns in `coarse` have few values, so none of them alone is a start.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> best, second = minimum_density_hyperplanes(rows, rng, starts="pca2")
    >>> best.relative_depth >= second.relative_depth
    True
    """
    _check(bandwidth, alpha_max)
    if solver not in get_args(Solver):
        raise ValueError(f"solver must be one of {', '.join(map(repr, get_args(Solver)))}, got {solver!r}")
    searched = searched_rows(
        rows, rng, starts=starts, alpha_max=alpha_max, max_components=max_components, coarse=coarse
    )
    if solver == "sqp":
        results = [
            constrained_hyperplane(searched.centred, start.direction, bandwidth=bandwidth, alpha=start.alphas[-1])
            for start in searched.starts
        ]
    else:
        results = [pursue(searched.centred, start, searched.sd, bandwidth, max_iterations) for start in searched.starts]
    return [searched.back(result) for result in sorted(results, key=lambda r: -r.relative_depth)]


class SearchedRows(NamedTuple):
    """The rows and starts of pursuits, in coordinates of the searched span."""

    centred: Floats
    starts: list[Start]
    n_components: int
    """Number of starts that are principal components or random; they come first."""
    sd: float
    """Standard deviation along the first component."""
    basis: Floats | None
    mean: Floats

    def back(self, result: MDHResult) -> MDHResult:
        """Return a hyperplane in the coordinates of the original rows."""
        return result.moved(self.basis, self.mean)


def searched_rows(
    rows: AnyArray,
    rng: np.random.Generator,
    *,
    starts: Starts,
    alpha_max: float,
    max_components: int | None,
    coarse: Integers = NO_COLUMNS,
    min_rows: float = 0.0,
) -> SearchedRows:
    """Return the rows in coordinates of the span to search, with the starts; see `mdh_directions`."""
    if starts not in get_args(Starts):
        raise ValueError(f"starts must be one of {', '.join(map(repr, get_args(Starts)))}, got {starts!r}")
    if max_components is not None and max_components < 2:
        raise ValueError(f"max_components must be at least 2, got {max_components}; None pursues among all features")
    centred = centred_rows(rows)
    mean = np.asarray(rows)[0] - centred[0]
    limit = centred.shape[1] if starts in ("pca2", "random") or max_components is None else max_components
    in_span = centred.shape[1] > limit
    components, sd = scaled_components(centred, limit if in_span else 2)
    places = [Start(v, growing_alphas(alpha_max)) for v in components[:2]]
    if starts == "random":
        drawn = rng.standard_normal((N_RANDOM, centred.shape[1]))
        places = [Start(_unit(v), growing_alphas(alpha_max)) for v in drawn]
    n_components = len(places)
    if sd[0] > 0 and starts == "valleys":
        places += valley_starts(rng, centred, N_VALLEYS, coarse=coarse, min_rows=min_rows)
    elif sd[0] > 0 and starts == "balanced":
        near = valley_starts(rng, centred, N_BALANCED, within=alpha_max, coarse=coarse, min_rows=min_rows)
        places += [Start(start.direction, growing_alphas(alpha_max)) for start in near]
    basis = None
    if in_span and sd[0] > 0:
        # Repeated components would add directions of rounding errors.
        others = [start.direction for start in places[n_components:]]
        basis = np.linalg.qr(np.array([*components, *others]).T)[0].T
        centred = centred @ basis.T.astype(centred.dtype)
        places = [replace(start, direction=_unit(basis @ start.direction)) for start in places]
    return SearchedRows(centred.astype(np.float64, copy=False), places, n_components, float(sd[0]), basis, mean)


def _unit(v: Floats) -> Floats:
    return v / np.linalg.norm(v)


def _check(bandwidth: float | None, alpha_max: float) -> None:
    if bandwidth is not None and not 0 < bandwidth < np.inf:
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth}; None chooses one from the rows")
    if not 0 < alpha_max < np.inf:
        raise ValueError(f"alpha_max must be positive and finite, got {alpha_max}; the usual value is 0.9")
