"""Trees of separators on principal and independent components."""

from dataclasses import dataclass

from .divisive_tree import DivisiveTree
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class PCATree(DivisiveTree):
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

    projection = "pca"
    n_projections: int = 5
    n_candidates = 5


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ICATree(DivisiveTree):
    """Divisive clustering by low-density separators on independent components; finds the number of clusters.

    Every branch is projected on its independent components with the largest absolute excess kurtosis, and split at the
    deepest valley of the densities along them, if this valley is significant.

    Parameters
    ----------
    n_projections : int
        Number of leading independent components to score for every branch.

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

    projection = "ica"
    n_projections: int = 5
    n_candidates = 5
