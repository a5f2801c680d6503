"""Trees of minimum density hyperplanes."""

from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, get_args

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..density.kde import CERTAIN_DEPTH
from ..projections import Projection
from ..projections.mdh import Starts, mdh_families
from ..projections.random import NO_COLUMNS, in_random_subspace
from ..projections.starts import MOST_COMPONENTS
from .constraints import Interval, StrOptions
from .divisive import DivisiveClustering
from .docstrings import documented

OF_THESIS: dict[str, Any] = {
    "starts": "pca2", "alpha_max": 1.0, "alpha": 1.0, "bandwidth": "principal", "threshold_rule": "minimum_density",
    "stop_rule": "hold-out-uniform", "n_candidates": 2, "min_cluster_size": 1, "min_relative_depth": 0.0,
    "sample_size": 100_000,
}  # fmt: skip
"""Parameters of the thesis, with pursuits on at most this many rows of a branch."""


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalMDH(DivisiveClustering):
    """Divisive clustering by minimum density hyperplanes; finds the number of clusters.

    For every branch, projection pursuit turns hyperplanes to minimise the density on them. Among their directions and
    the starts of the pursuits, the one with the deepest valley splits the branch, if this valley is significant.

    Parameters
    ----------
    starts : {"valleys", "balanced", "pca2", "random"}
        Starts of the pursuits. ``"pca2"``: the first two principal components, as in the paper. ``"valleys"``: these,
        the eight directions with the deepest valleys among 1000 random combinations of rows and the single columns, and
        two independent components, which show clusters beside each other in directions of little variance.
        ``"balanced"``: the components and three such directions, with hyperplanes first held near the mean.
        ``"random"``: ten random directions.
    alpha_max : float
        Largest distance of hyperplanes from the branch's mean, in standard deviations, in pursuits from components.
    max_components : int or None
        With more columns or features than this, at least 2, hyperplanes are pursued in the span of this many principal
        components of the branch and of the starts, as noise would separate a few rows in many columns anywhere. None to
        search all directions, as ``starts="pca2"`` and ``"random"`` always do.
    subspace : int or None
        Dimensions of a random subspace in which the hyperplanes of each branch are pursued, at least 2, for rows with
        many more columns or features (thesis section 8.2.4); None to pursue them among all.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.
    The pursuit works on `sample_size` rows of a branch (1024 with None); with a hold-out rule, on the half of them that
    does not test the split. Its bandwidth is ``0.9 sd(pc1) n^(-1/5)``, with the standard deviation along the first
    principal component; starts with a much smaller standard deviation are also pursued with their own. `bandwidth` is
    for the densities that place and test the split.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research
    17(156), 2016.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, algorithms 1 and 2.

    Examples
    --------
    >>> from mdh_dask import HierarchicalMDH
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 5, 3, sd=1.0, random_state=0)
    >>> HierarchicalMDH(starts="pca2").fit(X).n_clusters_
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivisiveClustering._parameter_constraints,
        "starts": [StrOptions(set(get_args(Starts)))],
        "alpha_max": [Interval(Real, 0, None, closed="neither")],
        "max_components": [None, Interval(Integral, 2, None, closed="left")],
        "subspace": [None, Interval(Integral, 2, None, closed="left")],
    }

    projection: str | Projection = field(init=False, default="mdh")
    n_projections: int = field(init=False, default=1000)
    criterion: str = field(init=False, default="relative_depth")
    order: str | None = field(init=False, default=None)
    starts: Starts = "valleys"
    alpha_max: float = 1.5
    max_components: int | None = MOST_COMPONENTS
    subspace: int | None = None

    @classmethod
    def as_in_thesis(cls, **changes: Any) -> Self:
        """Return the tree of the thesis, algorithms 1 and 2, with other parameters where given.

        Notes
        -----
        Pursuits start at two components of a branch and end within one standard deviation of its mean. The sides of a
        split are tested against uniform rows on held-out rows; there is no least size and no least depth. Of the two
        ends, the one that is deeper on the rows that chose it is tested first, with half of the level.

        Examples
        --------
        >>> HierarchicalMDH.as_in_thesis(max_clusters=9).stop_rule
        'hold-out-uniform'
        """
        return cls(**OF_THESIS | changes)

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> list[Floats]:
        # A valley beyond doubt ends the search, but it may be beyond `alpha`, or less deep than a split must be.
        ends = self.alpha is None and self.min_relative_depth <= CERTAIN_DEPTH
        pursue = partial(
            mdh_families, starts=self.starts, alpha_max=self.alpha_max, max_components=self.max_components,
            min_rows=min_rows if ends else np.inf,
        )  # fmt: skip
        if self.subspace is not None and self.subspace < rows.shape[1]:
            return in_random_subspace(pursue, rows, rng, self.subspace)
        return pursue(rows, rng, coarse=coarse)
