"""Candidate directions for the branches of a tree: the ends of pursuits, and the valleys that they start from."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._random import any_rows
from .._typing import AnyArray, Floats, Integers
from ..density.bandwidth import BANDWIDTHS
from ..density.modes import CERTAIN_DEPTH
from .fixed_point import non_normal_directions
from .mdh import SearchedRows, Starts, searched_rows
from .pca import centred_rows
from .pursuit import MDHResult, pursue
from .rows import NO_COLUMNS
from .starts import MOST_COMPONENTS, Start, starts_along, valley_starts
from .whitening import is_thin, whitening_of

MUCH_NARROWER = 0.6
"""A start along which the rows spread less than this share of the first component is pursued with its own bandwidth,
too, as a wider one hides valleys across thin directions. A limit near one would pursue twice on
round clusters, where the bandwidths hardly differ."""

MAX_ITERATIONS = 50

N_WHITENED = 4
"""Number of random starts among whitened rows, where rows are thin in some direction."""

N_UNMIXED = 2
"""Number of starts that are independent components. The rows that choose have deep valleys along several of them by
chance, which the rows that test reject; more of them would take the places of all other candidates."""

ROWS_UNMIXED = 2000
"""About as many rows set the independent components."""


def mdh_candidates(
    rows: AnyArray, rng: np.random.Generator, n_directions: int | None = None, **parameters: Any
) -> Floats:
    """Return the directions of all families, shape (k, n_features); parameters and errors are those of `mdh_families`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(400, 2)) + np.repeat([[0.0, -3.0], [0.0, 3.0]], 200, axis=0)
    >>> V = mdh_candidates(rows, np.random.default_rng(0))
    >>> bool(np.abs(V[:, 1]).max() > 0.99)
    True
    """
    return np.concatenate(mdh_families(rows, rng, n_directions, **parameters))


def mdh_families(
    rows: AnyArray,
    rng: np.random.Generator,
    n_directions: int | None = None,
    *,
    starts: Starts = "valleys",
    alpha_max: float = 1.5,
    max_components: int | None = MOST_COMPONENTS,
    coarse: Integers = NO_COLUMNS,
    min_rows: float = 0.0,
) -> list[Floats]:
    """Return candidate directions: ends of pursuits with the common bandwidth and with their own, and starts.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    rng, n_directions, starts, alpha_max, max_components
        As for `mdh_directions`.
    coarse : array of int
        Columns of few values, none of which alone is a start although their values are spread.
    min_rows : float
        Least number of rows on each side of a valley that ends the search; infinity to search on in any case.

    Returns
    -------
    list of three ndarrays of shape (k, n_features), float64
        Unit directions. The first family: those of `mdh_directions`, and the ends of pursuits with their own bandwidth,
        if these differ. The second: the starts that showed valleys, unchanged. The third: starts and ends among
        whitened rows, if the rows are thin in some direction or `starts` is ``"valleys"``. If the deepest start and its
        end show valleys beyond doubt, only this end and the starts.

    Raises
    ------
    ValueError
        As for `mdh_directions`.

    Notes
    -----
    A pursuit uses the bandwidth of the first component. In a branch that is long in one direction and whose clusters
    are separated across it, this bandwidth hides the valley of the start, and the pursuit leaves it. Whitened rows
    show clusters that the others hide, but few of them have deep valleys by chance, which look deepest of all to the
    rows that chose them: so they are a family of their own. The same is true of the ends of pursuits where few rows
    have many columns: so the starts are a family apart from the ends.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2)) * [20.0, 1.0] + np.repeat([[0.0, -3.0], [0.0, 3.0]], 200, axis=0)
    >>> V = mdh_families(rows, rng)[0]
    >>> bool(np.abs(V[:, 1]).max() > 0.99)
    True
    """
    searched = searched_rows(
        rows, rng, starts=starts, alpha_max=alpha_max, max_components=max_components, coarse=coarse, min_rows=min_rows
    )
    valleys = _directions(searched.starts[searched.n_components :], searched)
    certain = _certain_end(searched, min_rows / len(rows))
    if certain is not None:
        return _first([_directions([certain], searched), valleys, np.empty((0, rows.shape[1]))], n_directions)
    results = [pursue(searched.centred, start, searched.sd, None, MAX_ITERATIONS) for start in searched.starts]
    results.sort(key=lambda result: -result.relative_depth)
    # A pursuit that leaves its valley and ends at the bound has found no hyperplane.
    ends = [result for result in results if result.relative_depth > 0] or results[:1]
    ends += _narrow_ends(searched)
    whitened = _ends_among_whitened_rows(rows, rng, unmix=starts == "valleys")
    return _first([_directions(ends, searched), valleys, whitened], n_directions)


def _directions(found: Sequence[Start] | Sequence[MDHResult], searched: SearchedRows) -> Floats:
    """Return the directions of starts or ends of pursuits in the coordinates of the rows."""
    directions = np.array([one.direction for one in found]).reshape(-1, searched.centred.shape[1])
    return directions if searched.basis is None else directions @ searched.basis


def _first(families: list[Floats], n_directions: int | None) -> list[Floats]:
    """Return the families without all but the first directions; None for all."""
    before = np.cumsum([0, *map(len, families)])
    return [family[: None if n_directions is None else max(n_directions - n, 0)] for family, n in zip(families, before)]


def _certain_end(searched: SearchedRows, least_share: float) -> MDHResult | None:
    """Return the hyperplane from the deepest start that may end the search if its valley is beyond doubt, too."""
    start = max((s for s in searched.starts if s.ends_search(least_share)), key=lambda s: s.depth, default=None)
    if start is None:
        return None
    result = pursue(searched.centred, start, searched.sd, None, MAX_ITERATIONS)
    return result if result.relative_depth > CERTAIN_DEPTH else None


def _narrow_ends(searched: SearchedRows) -> Iterator[MDHResult]:
    """Yield the hyperplanes from starts along thin directions, pursued with their own bandwidth."""
    for start in searched.starts[searched.n_components :]:
        sd = float((searched.centred @ start.direction).std())
        if 0 < sd < MUCH_NARROWER * searched.sd:
            h = float(BANDWIDTHS["multimodal"].of(len(searched.centred), sd, sd))
            result = pursue(searched.centred, start, searched.sd, h, MAX_ITERATIONS)
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
        independent = non_normal_directions(any_rows(whitened, ROWS_UNMIXED))
        starts += starts_along(independent, whitened, N_UNMIXED)
    if is_thin(1 / np.linalg.norm(whitening, axis=1)):
        starts += valley_starts(rng, whitened, N_WHITENED)
    ends = [pursue(whitened, start, 1.0, None, MAX_ITERATIONS) for start in starts]
    chosen = [start.direction for start in starts] + [end.direction for end in ends if end.relative_depth > 0]
    found = np.array(chosen).reshape(-1, len(whitening)) @ whitening
    return found / np.linalg.norm(found, axis=1, keepdims=True)
