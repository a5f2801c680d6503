"""Principal direction divisive partitioning, its variants that search for a separation, and projection pursuit."""

from dataclasses import field

from ..projections.search import SearchKind
from .divisive_tree import DivisiveTree, UntestedTree
from .parameters import documented


@documented
class PDDP(UntestedTree):
    """Split the branch with the largest scatter at the mean of its first principal component, repeatedly.

    Principal direction divisive partitioning. It does not search for valleys: clusters are compact, but not separated.
    The scatter of a cluster is the sum of the squared distances of its rows from their centroid.

    Parameters
    ----------
    max_clusters : int or None
        Clusters to find. If None, branches are split until the scatter of the centroids of the clusters exceeds the
        largest scatter of a cluster (Boley 1998), which gives more clusters for more rows.

    Notes
    -----
    Passes: one if the first sample holds all rows, otherwise two or more. Scatter and component are computed from the
    sample of a branch, which may hold all its rows.

    References
    ----------
    D. Boley, Principal direction divisive partitioning, Data Mining and Knowledge Discovery 2(4), 1998.
    K. Yates, PhD thesis, Lancaster University, 2017, section 2.2.1.

    Examples
    --------
    >>> from mdh_dask import PDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> PDDP(max_clusters=4).fit(X).n_clusters_
    4
    """

    projection = "pca"
    criterion = "variance"
    threshold_rule = "mean"
    order = "scatter"


@documented
class IPDDP(DivisiveTree):
    """Split branches in the middle of the widest gap along their first principal component.

    Interval principal direction divisive partitioning, with a test for a valley of the density at the gap.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The component is computed from `sample_size` rows of a branch (1024 with
    None); with a hold-out rule, from the half of them that does not test the split. The gap is that of all rows. The
    test is not that of the paper.

    References
    ----------
    S. K. Tasoulis, D. K. Tasoulis and V. P. Plagianakos, Enhancing principal direction divisive clustering, Pattern
    Recognition 43(10), 2010.
    K. Yates, PhD thesis, Lancaster University, 2017, section 2.2.1.

    Examples
    --------
    >>> from mdh_dask import IPDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> IPDDP().fit(X).n_clusters_
    4
    """

    projection = "pca"
    n_projections = 1
    threshold_rule = "gap"
    n_candidates = 1
    min_relative_depth: float = field(init=False, default=0.0)


@documented
class DePDDP(UntestedTree):
    """Split branches at the lowest density between the outermost modes along their first principal component.

    Density enhanced principal direction divisive partitioning. A branch with a unimodal density is a cluster. Splits
    are not tested, so rows far out in the tails become separate clusters; for a test, use `PCATree`.
    ``DePDDP(feature_map="local_scaling")`` is the method in the feature space of a kernel (thesis section 5.5).

    Parameters
    ----------
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth; see `DivisiveClustering`.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The component is computed from `sample_size` rows of a branch (1024 with
    None). The default bandwidth is that of the paper, ``sd(pc1) (4 / (3 n))^(1/5)``; a smaller one finds more clusters.

    References
    ----------
    S. K. Tasoulis, D. K. Tasoulis and V. P. Plagianakos, Enhancing principal direction divisive clustering, Pattern
    Recognition 43(10), 2010.
    K. Yates, PhD thesis, Lancaster University, 2017, section 4.4.

    Examples
    --------
    >>> from mdh_dask import DePDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> DePDDP(min_cluster_size=50).fit(X).n_clusters_
    4
    """

    projection = "pca"
    threshold_rule = "minimum_density"
    bandwidth: str | float = "normal"
    min_cluster_size: float | None = 1
    min_relative_depth: float = 0.0


@documented
class ProjectionPursuitTree(DivisiveTree):
    """Hierarchical projection pursuit clustering (HPPC); finds the number of clusters.

    For every branch, a search finds the direction along which a threshold separates two groups best, by the separation
    of the groups in units of their spread times the depth of the minimum of the threshold's error. The branch is split
    there if rows that were not used in the search confirm the valley.

    Parameters
    ----------
    search : {"auto", "combined", "genetic", "brute", "random"}
        Search for directions. ``"combined"``: a genetic search that starts with the best five of the single columns
        and of `n_projections` random directions, and a local ascent from its best five. ``"genetic"``: the same, from
        unselected single columns and random directions. ``"brute"``: a grid on the sphere and the ascent, for up to
        four columns. ``"random"``: only the first directions of the combined search. ``"auto"``: brute force for up to
        three columns, else combined.
    n_projections : int
        Number of random directions to start with.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley: the counts of all rows confirm, move or reject every split.
    With ``sample_size=None``, the depth of the tree plus two.

    The search uses `sample_size` rows of a branch (1024 with None); with a hold-out rule, the half of them that does
    not test the split. The best index by chance falls with their number: in normal rows of eight columns it is about
    2.4 for 100 rows, 0.28 for 600, and beyond in proportion to the power -1.1 of their number
    (``python -m tests.benchmarks hppc``). With few rows the search finds directions that other rows do not confirm.

    A valley along one direction bounds the density of the rows there in all columns. The report does not specify the
    depth of the error's minimum, which is here the lower of its rises to both sides. Its test against one direction of
    an uninteresting population is ``stop_rule="null"``, which the best of a search passes nearly always.

    References
    ----------
    E. Rome, A. Miasnikov and R. Haralick, A hierarchical projection pursuit clustering algorithm, CUNY TR-2003009.
    J. Kittler and J. Illingworth, Minimum error thresholding, Pattern Recognition 19(1), 1986.

    Examples
    --------
    >>> from mdh_dask import ProjectionPursuitTree
    >>> from mdh_dask.simulate import bolton_mixture
    >>> X, y = bolton_mixture(4)
    >>> ProjectionPursuitTree().fit(X).n_clusters_
    4
    """

    projection = "pursuit"
    criterion = "minimum_error"
    threshold_rule = "minimum_error"
    bandwidth = "silverman"
    n_candidates = 1
    max_levels = 10
    merge: bool = field(init=False, default=False)
    n_projections: int = 1000
    search: SearchKind = "auto"
