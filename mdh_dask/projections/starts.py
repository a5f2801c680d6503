"""Random directions that are worth pursuing: those along which a sample already shows a valley."""

import numpy as np

from .._jit.binning import bin_projections, projection_ranges
from .._typing import Floats
from ..density.bandwidth import BANDWIDTHS
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH
from .rows import row_combinations

N_DRAWN, N_KEPT = 200, 3
"""Random directions that are looked at, and the best of them that are returned."""

ROWS_LOOKED_AT, MAX_BINS = 2000, 4096


def deep_combinations(rng: np.random.Generator, centred: Floats, alpha_max: float) -> Floats:
    """Return the random combinations of rows whose densities have the deepest valleys.

    Parameters
    ----------
    rng : Generator
    centred : array of shape (n, n_features), float64
        Rows with mean zero, not all equal.
    alpha_max : float
        Valleys farther from the mean, in standard deviations, do not count.

    Returns
    -------
    ndarray of shape (at most `N_KEPT`, n_features)
        Of length one each, the deepest valley first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 5)) + np.repeat([[-3.0], [3.0]], 200, axis=0) * [1, 0, 0, 0, 0]
    >>> V = deep_combinations(rng, rows - rows.mean(axis=0), 0.9)
    >>> V.shape, bool(abs(V[0, 0]) > 0.9)
    ((3, 5), True)
    """
    V = row_combinations(rng, N_DRAWN, centred)
    V = V[np.any(V, axis=1)]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    # Any rows will do to look at; those of equal distance are the same for the same sample.
    projections = V @ centred[:: max(1, len(centred) // ROWS_LOOKED_AT)].T
    _, sd, low, high = projection_ranges(projections)
    rule = BANDWIDTHS["multimodal"]
    h = np.maximum(rule.of(projections.shape[1], sd, sd), 1e-6 * sd.max(initial=0.0))
    width = h / BINS_PER_BANDWIDTH
    # The bound keeps the valley near the mean, which is zero: outliers may fall into the outermost bins.
    n_bins = int(min(2 * (np.maximum(-low, high) / width).max(initial=0.0) + 40, MAX_BINS))
    origin = -width * n_bins / 2
    counts = np.zeros((len(V), n_bins), dtype=np.int64)
    bin_projections(projections, origin, width, counts)
    histograms = Histograms(counts, origin, width, rule)
    depth = np.where(histograms.within(alpha_max), histograms.depth, 0.0).max(axis=1, initial=0.0)
    return V[np.argsort(-depth, kind="stable")[:N_KEPT]]
