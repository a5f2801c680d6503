"""Trees of separators on random projections."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from .._typing import AnyArray, Integers
from ..projections.random import RANDOM_PROJECTIONS
from ..projections.rows import NO_COLUMNS, single_columns
from .divisive import DivisiveClustering
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class RandomProjectionTree(DivisiveClustering):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions and split at the deepest valley of the densities along them, if
    this valley is significant. The branches that are not split are the clusters.

    Parameters
    ----------
    projection : str
        Family of the directions: ``"row_combinations"`` (random combinations of the branch's rows, that is Gaussian
        directions with their covariance, and beside them the single columns if there are at most 50) or one from thesis
        section 6.2.3: ``"uniform_sphere"``, ``"normal"``, ``"bernoulli"``, ``"achlioptas"``.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, sections 6.2.3 to 6.3.1.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = RandomProjectionTree(n_projections=100).fit(X)
    >>> model.n_clusters_
    4
    >>> model.labels_.compute()[:3].shape
    (3,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivisiveClustering._parameter_constraints,
        "projection": [StrOptions({"row_combinations", *RANDOM_PROJECTIONS})],
    }

    n_projections: int = field(default=1000, kw_only=False)

    def _directions(self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS) -> AnyArray:
        drawn = np.asarray(super()._directions(rows, rng, coarse))
        if self.projection != "row_combinations":
            return drawn
        return np.concatenate([drawn, single_columns(rows, coarse).astype(drawn.dtype)])
