"""Trees of separators on random directions, minimum density hyperplanes, principal and independent components."""

from typing import TYPE_CHECKING, Any, ClassVar, get_args

from ..projections.mdh import Starts
from .constraints import StrOptions
from .divisive_tree import DivisiveTree
from .docstrings import documented

if TYPE_CHECKING:
    from .divisive import DivisiveClustering


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

    n_projections: int = 1000

    @classmethod
    def as_in_thesis(cls, n_projections: int = 1000, **changes: Any) -> "DivisiveClustering":
        """Return the tree of the thesis, sections 6.1 to 6.3.1, with other parameters where given.

        Parameters
        ----------
        n_projections : int, default=1000
            100, 500 or 1000 in the thesis.
        **changes
            Parameters of `DivisiveClustering`, such as ``criterion="dip"``, ``stop_rule="level"`` or `max_clusters`.

        Notes
        -----
        The directions are uniform on the sphere and the same for all branches. The best of all by the criterion is
        split at its deepest valley, if that is deeper than in as many uniform rows as there are in all; there is no
        least size and no least depth. The text does not bound thresholds, and so splits off many tails; here
        ``alpha=1``, as for the hyperplanes of its chapter 4.

        Examples
        --------
        >>> tree = RandomProjectionTree.as_in_thesis(100, criterion="dip")
        >>> tree.projection, tree.stop_rule, tree.alpha
        ('uniform_sphere', 'fixed', 1.0)
        """
        of_thesis: dict[str, Any] = {
            "projection": "uniform_sphere", "criterion_first": True, "fixed_directions": True, "order": "criterion",
            "stop_rule": "fixed", "n_candidates": 1, "min_cluster_size": 1, "min_relative_depth": 0.0, "alpha": 1.0,
            "sample_size": None,
        }  # fmt: skip
        return cls(n_projections=n_projections).as_divisive(**of_thesis | changes)


OF_THESIS: dict[str, Any] = {
    "starts": "pca2", "alpha_max": 1.0, "alpha": 1.0, "bandwidth": "principal",
    "threshold_rule": "minimum_density", "stop_rule": "hold-out-uniform", "n_candidates": 2, "min_cluster_size": 1,
    "min_relative_depth": 0.0, "sample_size": 100_000,
}  # fmt: skip
"""Parameters of the thesis, with pursuits on at most this many rows of a branch."""


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
        "starts": [StrOptions(set(get_args(Starts)))],
    }

    projection = "mdh"
    starts: Starts = "valleys"

    @classmethod
    def as_in_thesis(cls, **changes: Any) -> "DivisiveClustering":
        """Return the tree of the thesis, algorithms 1 and 2, with other parameters of `as_divisive` where given.

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
        return cls().as_divisive(**OF_THESIS | changes)

    def _options(self) -> dict[str, Any]:
        return {"starts": self.starts}
