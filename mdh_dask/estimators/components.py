"""Trees of separators on principal and independent components."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from .._typing import AnyArray, Integers
from ..projections import Projection
from ..projections.ica import UNMIXED, leading_components
from ..projections.random import NO_COLUMNS
from .constraints import Interval
from .divisive import DivisiveClustering
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class PCATree(DivisiveClustering):
    """Divisive clustering by low-density separators on principal components; finds the number of clusters.

    Every branch is projected on its leading principal components, and split at the deepest valley of the densities
    along them, if this valley is significant.

    Parameters
    ----------
    n_projections : int
        Number of leading principal components to score for every branch.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.
    The components are computed from `sample_size` rows of a branch (1024 with None); with a hold-out rule, from the
    half of them that does not test the split.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.

    Examples
    --------
    >>> from mdh_dask import PCATree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> PCATree().fit(X).n_clusters_
    4
    """

    projection: str | Projection = field(init=False, default="pca")
    n_projections: int = 5
    n_candidates: int = 5
    order: str | None = field(init=False, default=None)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ICATree(DivisiveClustering):
    """Divisive clustering by low-density separators on independent components; finds the number of clusters.

    Every branch is projected on its independent components with the largest absolute excess kurtosis, and split at the
    deepest valley of the densities along them, if this valley is significant.

    Parameters
    ----------
    n_projections : int
        Number of leading independent components to score for every branch.
    n_unmixed : int
        Number of leading principal components of every branch to unmix into as many independent ones, at least
        `n_projections` and at most 20.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.
    The components are computed from `sample_size` rows of a branch (1024 with None); with a hold-out rule, from the
    half of them that does not test the split.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.

    J.-F. Cardoso and A. Souloumiac, Jacobi angles for simultaneous diagonalization, SIAM Journal on Matrix Analysis
    and Applications 17(1), 1996.

    Examples
    --------
    >>> from mdh_dask import ICATree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> ICATree().fit(X).n_clusters_
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivisiveClustering._parameter_constraints,
        "n_unmixed": [Interval(Integral, 1, None, closed="left")],
    }

    projection: str | Projection = field(init=False, default="ica")
    n_projections: int = 5
    n_candidates: int = 5
    order: str | None = field(init=False, default=None)
    n_unmixed: int = UNMIXED

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> AnyArray:
        return leading_components(rows, self.n_projections, self.n_unmixed)
