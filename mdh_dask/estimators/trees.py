"""Trees of separators on random directions, minimum density hyperplanes, principal and independent components."""

from typing import Any, ClassVar, get_args

from ..projections.mdh import Starts
from .divisive_tree import DivisiveTree
from .parameters import StrOptions, documented


@documented
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
    Passes: as for `RandomProjectionTree`. The components are computed from `sample_size` rows of a branch (1024 with
    None); with a hold-out rule, from the half of them that does not test the split.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.

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
    Passes: as for `RandomProjectionTree`. The components are computed from `sample_size` rows of a branch (1024 with
    None); with a hold-out rule, from the half of them that does not test the split.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.

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


@documented
class RandomProjectionTree(DivisiveTree):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions, combinations of its rows and single columns, and split at the
    deepest valley of the densities along them, if this valley is significant. The branches that are not split are the
    clusters.

    Parameters
    ----------
    n_projections : int
        Number of random directions to score for every branch, 256 at a time; none after a valley beyond doubt (relative
        depth above 10).

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.3 to 6.3.1.

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

    n_projections: int = 1000


@documented
class HierarchicalMDH(DivisiveTree):
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

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The pursuit works on `sample_size` rows of a branch (1024 with None); with a
    hold-out rule, on the half of them that does not test the split. Its bandwidth is ``0.9 sd(pc1) n^(-1/5)``, with the
    standard deviation along the first principal component; starts with a much smaller standard deviation are also
    pursued with their own. With more than 50 columns or features, hyperplanes are pursued in the span of as many
    principal components of the branch and of the starts, as noise would separate a few rows in many columns anywhere.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research
    17(156), 2016.

    K. Yates, PhD thesis, Lancaster University, 2017, algorithms 1 and 2.

    Examples
    --------
    >>> from mdh_dask import HierarchicalMDH
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 5, 3, sd=1.0, random_state=0)
    >>> HierarchicalMDH(starts="pca2").fit(X).n_clusters_
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "starts": [StrOptions(set(get_args(Starts)))],
    }

    projection = "mdh"
    starts: Starts = "valleys"

    def _options(self) -> dict[str, Any]:
        return {"starts": self.starts}
