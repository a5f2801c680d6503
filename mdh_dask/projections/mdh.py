"""Minimum density hyperplanes by projection pursuit from several starts (JMLR 17(156); thesis section 4.2.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from .._random import any_rows
from .._typing import AnyArray, Floats, Integers
from ..density.kde import BANDWIDTHS, CERTAIN_DEPTH
from .directions import NO_COLUMNS
from .pca import MOST_COMPONENTS, centred_rows, is_thin, non_normal_directions, scaled_components, whitening_of
from .pursuit import MDHResult, growing_alphas, pursue
from .starts import Start, starts_along, valley_starts
from .thesis import constrained_hyperplane

Starts = Literal["balanced", "valleys", "pca2", "random"]
"""Names of the starts of pursuits; see `minimum_density_hyperplanes`."""

N_RANDOM = 10
"""Number of random directions that ``starts="random"`` pursues."""

Solver = Literal["pursuit", "sqp"]
"""Names of the solvers; see `minimum_density_hyperplanes`."""

N_BALANCED, N_VALLEYS = 3, 8
"""Number of random starts to pursue besides the two components."""


def minimum_density_hyperplanes(
    rows: AnyArray,
    rng: np.random.Generator,
    *,
    starts: Starts = "balanced",
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
    solver: Solver = "pursuit",
    coarse: Integers = NO_COLUMNS,
) -> list[MDHResult]:
    """Return the hyperplanes from several starts, in descending order of relative depth.

    The bound alpha grows from 0.01 to `alpha_max` in ten steps; each starts at the end of the previous one and descends
    by limited-memory BFGS on the unit sphere. One evaluation of index and gradient costs O(n n_features). Source:
    Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016, sections 4 and 5.1.1.

    starts: ``pca2``: the first two principal components, as in the paper. ``balanced``: these and the three directions
        with the deepest valleys among 1000 random combinations of rows and the single columns; hyperplanes are first
        held near the mean. ``valleys``: the components that show a valley, or else the first, and eight such
        directions; hyperplanes are held near these valleys: for trees, as a cluster beside many others lies far from
        their mean. ``random``: ten random directions.
    alpha_max: largest distance of a hyperplane from the mean of the projections, in standard deviations; 0.9 in the
        paper. With ``valleys`` only for the pursuits from components.
    max_components: at least 2. With more features than this, hyperplanes are pursued in the span of this many principal
        components and of the starts; None to search all directions, as ``pca2`` and ``random`` do like the papers.
    solver: with ``"sqp"``, sequential quadratic programming turns and moves a hyperplane from each start at once,
        within the last of its bounds: see `mdh_dask.projections.thesis`.
    coarse: columns of few values, so that none of them alone is a start.
    """
    searched = searched_rows(
        rows, rng, starts=starts, alpha_max=alpha_max, max_components=max_components, coarse=coarse
    )
    if solver == "sqp":
        results = [
            constrained_hyperplane(searched.centred, start.direction, alpha=start.alphas[-1])
            for start in searched.starts
        ]
    else:
        results = [pursue(searched.centred, start, searched.sd, None) for start in searched.starts]
    results.sort(key=lambda result: -result.relative_depth)
    return [result.moved(searched.basis, searched.mean) for result in results]


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
    """Return the rows in coordinates of the span to search, with the starts."""
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


def mdh_families(
    rows: AnyArray,
    rng: np.random.Generator,
    n_directions: int,
    *,
    starts: Starts = "valleys",
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
    coarse: Integers = NO_COLUMNS,
    min_rows: float = 0.0,
) -> list[Floats]:
    """Return candidate directions: ends of pursuits with the common bandwidth and with their own, and starts.

    A pursuit uses the bandwidth of the first component. In a branch that is long in one direction and whose clusters
    are separated across it, this bandwidth hides the valley of the start, and the pursuit leaves it. Whitened rows show
    clusters that the others hide, but few of them have deep valleys by chance, which look deepest of all to the rows
    that chose them: so they are a family of their own. The same is true of the ends of pursuits where few rows have
    many columns: so the starts are a family apart from the ends.

    n_directions: most directions to return, the first of all families.
    min_rows: least number of rows on each side of a valley that ends the search; infinity to search on in any case.
    Returns three families, each (k, n_features) float64: unit directions. The first family: the ends of pursuits,
        also with their own bandwidth if this differs, in descending order of relative depth. The second: the starts
        that showed valleys, unchanged. The third: starts and ends among whitened rows, if the rows are thin in some
        direction or `starts` is ``"valleys"``. If the deepest start and its end show valleys beyond doubt, only this
        end and the starts.
    """
    searched = searched_rows(
        rows, rng, starts=starts, alpha_max=alpha_max, max_components=max_components, coarse=coarse, min_rows=min_rows
    )
    ends = _certain_end(searched, min_rows / len(rows))
    whitened: Floats = np.empty((0, rows.shape[1]))
    if not ends:
        results = [pursue(searched.centred, start, searched.sd, None) for start in searched.starts]
        results.sort(key=lambda result: -result.relative_depth)
        # A pursuit that leaves its valley and ends at the bound has found no hyperplane.
        ends = [result for result in results if result.relative_depth > 0] or results[:1]
        ends += _narrow_ends(searched)
        whitened = _ends_among_whitened_rows(rows, rng, unmix=starts == "valleys")
    valleys = searched.starts[searched.n_components :]
    families = [_directions(ends, searched), _directions(valleys, searched), whitened]
    before = np.cumsum([0, *map(len, families)])
    return [family[: max(n_directions - n, 0)] for family, n in zip(families, before)]


def _directions(found: Sequence[Start] | Sequence[MDHResult], searched: SearchedRows) -> Floats:
    """Return the directions of starts or ends of pursuits in the coordinates of the rows."""
    directions = np.array([one.direction for one in found]).reshape(-1, searched.centred.shape[1])
    return directions if searched.basis is None else directions @ searched.basis


def _certain_end(searched: SearchedRows, least_share: float) -> list[MDHResult]:
    """Return the hyperplane from the deepest start that may end the search if its valley is beyond doubt, too."""
    certain = [start for start in searched.starts if start.ends_search(least_share)]
    ends = [pursue(searched.centred, start, searched.sd, None) for start in certain[:1]]
    return [end for end in ends if end.relative_depth > CERTAIN_DEPTH]


def _narrow_ends(searched: SearchedRows) -> Iterator[MDHResult]:
    """Yield the hyperplanes from starts along thin directions, pursued with their own bandwidth."""
    for start in searched.starts[searched.n_components :]:
        sd = float((searched.centred @ start.direction).std())
        # A start along which the rows spread less than this share of the first component is pursued with its
        # own bandwidth, too, as a wider one hides valleys across thin directions. A limit near one would
        # pursue twice on round clusters, where the bandwidths hardly differ.
        if 0 < sd < 0.6 * searched.sd:
            h = float(BANDWIDTHS["multimodal"].of(len(searched.centred), sd, sd))
            result = pursue(searched.centred, start, searched.sd, h)
            if result.relative_depth > 0:
                yield result


def _ends_among_whitened_rows(rows: AnyArray, rng: np.random.Generator, unmix: bool) -> Floats:
    """Return starts and ends of pursuits among whitened rows, as directions of the given rows.

    Where the rows are thin in some direction, pursuits start at random combinations of the whitened rows, and with
    `unmix` always at their independent components: these show clusters beside each other in a direction along which the
    rows spread less than in many others, which combinations of rows hardly contain.
    """
    whitening = whitening_of(rows, only_thin=not unmix)
    if whitening is None:
        return np.empty((0, rows.shape[1]))
    whitened = centred_rows(rows).astype(np.float64) @ whitening.T
    starts: list[Start] = []
    if unmix:
        independent = non_normal_directions(any_rows(whitened, 2000))
        # Number of starts that are independent components. The rows that choose have deep valleys along
        # several of them by chance, which the rows that test reject; more of them would take the places of
        # all other candidates.
        starts += starts_along(independent, whitened, 2)
    if is_thin(1 / np.linalg.norm(whitening, axis=1)):
        starts += valley_starts(rng, whitened, 4)
    ends = [pursue(whitened, start, 1.0, None) for start in starts]
    chosen = [start.direction for start in starts] + [end.direction for end in ends if end.relative_depth > 0]
    found = np.array(chosen).reshape(-1, len(whitening)) @ whitening
    return found / np.linalg.norm(found, axis=1, keepdims=True)
