"""Divisive clustering with a choice for every part; the named methods are configurations of it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..projections import Propose
from .divisive_tree import DivisiveTree
from .parameters import documented
from .proposing import check_options


@documented
class DivisiveClustering(DivisiveTree):
    """Divisive clustering by separators across projections, with a choice for every part.

    Every branch is projected on some directions. The best of them splits it, if the stop rule accepts this; the
    branches that are not split are the clusters. The named methods, such as `RandomProjectionTree`, are this class with
    other defaults and without the parameters that they fix. Take it to compare rules, to repeat the settings of a
    paper, or for a projection of your own; otherwise take a named method. ``HierarchicalMDH().as_divisive()`` is this
    class with the settings of one.

    Parameters
    ----------
    projection : str or callable
        Source of the directions of a branch: a name in `mdh_dask.projections.PROJECTIONS`, that is ``"pca"`` and
        ``"ica"`` (principal and independent components), ``"kurtosis"`` (of the least and the largest kurtosis),
        ``"mdh"`` (minimum density pursuit), ``"pursuit"``, ``"genetic"`` or ``"brute_force"`` (searches for the largest
        index of TR-2003009), ``"two_means"`` (between the two means), ``"clusterability"`` or ``"normalised_cut"``
        (pursuits), ``"spectral"`` (by the second eigenvector of affinities that are inner products of rows, for
        ``feature_map="affinities"``), or a family of random directions: ``"row_combinations"`` (combinations of the
        branch's rows, that is Gaussian directions with their covariance, and beside them the single columns if there
        are at most 50) or one from thesis section 6.2.3, ``"uniform_sphere"``, ``"normal"``, ``"bernoulli"`` or
        ``"achlioptas"``; or a function
        ``(rows, rng, n_directions) -> directions`` of the branch's standardised sample and a NumPy generator, which
        returns an array of shape (at most n_directions, n_features), or a pair of this and an array of thresholds along
        the directions, and may be called by several threads at once. A model with a function cannot be saved.
    n_projections : int
        Number of directions to score for every branch, 256 at a time; with the relative depth as the criterion, none
        after a valley beyond doubt (relative depth above 10). Where the projection finds fewer, these: ``"two_means"``,
        ``"clusterability"``, ``"normalised_cut"`` and ``"spectral"`` find one, ``"mdh"`` a few dozen at most.
    criterion : str or list of str
        Score of a direction; of several criteria, the mean rank among all directions that are scored:
        ``"relative_depth"``, ``"dip"``, ``"variance"`` or ``"kurtosis"`` (thesis section 6.2.6). Of the best threshold
        (section 7.2.3): ``"sse"``: the least sum of squared distances from the means of both sides, along a direction
        of length one; ``"clusterability"``: the largest ratio of the sums of squares between and within the sides;
        ``"normalised_cut"``: the least normalised cut, for affinities that fall exponentially over ten bandwidths;
        ``"eigenvalue"``: the least second eigenvalue of their normalised Laplacian. ``"minimum_error"``: the separation
        of the two sides of the threshold of least error, times the depth of its minimum (TR-2003009, section 3.1);
        ``"minimum_error_corrected"``: with the tails that the threshold cuts off.
    threshold_rule : str
        Rule for the threshold along a direction. ``"relative_depth"``: in the deepest valley (thesis eq. 6.7);
        ``"minimum_density"``: where the density is lowest between the outermost modes; ``"mean"``: at the mean;
        ``"gap"``: in the middle of the widest gap between neighbouring projections, if that is at least a fifth of a
        bandwidth wide; ``"spacing"``: in the widest gap after the normal distribution function of the mean and standard
        deviation (Peña and Prieto, thesis section 8.2.3); ``"proposed"``: at the threshold that the projection gives;
        ``"minimum_error"`` and ``"minimum_error_corrected"``: where two normal distributions, fitted to the sides, make
        the least error (Kittler and Illingworth 1986); ``"two_means"`` and ``"normalised_cut"``: the threshold that the
        criteria ``"sse"`` and ``"normalised_cut"`` score. All but the first two need no valley: `min_relative_depth`
        does not count.
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth: ``1.06 sd n^(-1/5)``, ``0.9 sd n^(-1/5)``, ``0.9 min(sd, IQR / 1.35) n^(-1/5)``, or
        the second with the standard deviation along the branch's first principal component for all its directions; a
        number replaces the factor of the first. With ``stop_rule="hold-out"``, a branch without a split is looked at
        again with a quarter of the bandwidth, and a sixteenth, if it can hold 6 or 24 clusters and no groups of rows
        are given: the bandwidth of one cluster hides the valleys between many in a row. Either look has a third of the
        level.
    stop_rule : str
        Test of a valley. ``"fixed"``: deeper than a quantile of the deepest valley of as many uniform rows as in the
        whole data (thesis section 6.3.1); ``"level"``: as in the branch. ``"hold-out-uniform"``: half of the rows
        choose the split, and the depth on the other half is compared (thesis algorithm 1). ``"hold-out"``: the same,
        compared with rows from the closest unimodal distribution, which is also valid for long tails. With at most 1000
        rows in all, branches without a split are divided anew up to eleven times: each half chooses a split that the
        other half tests, and a majority of the divisions decides. ``"none"``: no test. Stop rules of projection pursuit
        (TR-2003009, section 3.3): ``"known-number"`` and ``"known-levels"``: no test, but a required number of clusters
        or levels; ``"unimodal-density"``: the density rises and falls on both sides; ``"criterion"``: the least error
        of all thresholds is not at an end; ``"height-ratio"`` and ``"integral-ratio"``: the height or the area of the
        basin over the valley is at least the least relative depth times that below it. ``"null"``: the criterion
        exceeds a quantile for one direction of normal rows, which the best of many directions nearly always does;
        ``"search-null"``: a quantile for the best direction of the same search in normal rows. It is more powerful with
        few rows than a hold-out, but mistakes long tails and skewness for clusters. ``"spacing"``: the gap is wider
        than a quantile of the widest of normal rows, for few directions, as of ``projection="kurtosis"``, and
        thresholds in gaps; wide gaps are seen among few rows only. The quantile is that of one direction that nobody
        chose: in many columns, the best of a search exceeds it more often.
    n_candidates : int
        Number of directions of a branch to test one after another until a valley is accepted; the tests share
        ``1 - quantile``. All are counted on all rows, unless one was accepted on the sample and only has to be
        confirmed.
    order : {"scatter", "criterion", "eigenvalue"} or None
        Order of splits. If None, all possible splits are made. ``"scatter"``: always the cluster with the largest sum
        of squared distances from its centroid, until there are `max_clusters`; if that is None, until the same sum over
        the centroids of the clusters exceeds it. ``"criterion"``: always the split whose direction has the best score,
        until there are `max_clusters` (thesis equation 6.2). ``"eigenvalue"``, for ``projection="spectral"``: always
        the cluster with the least second eigenvalue of its own affinities; if `max_clusters` is None, until there are
        as many as eigenvectors that can be aligned, at most 20.
    max_levels : int or None
        Most splits above a cluster.
    alpha : float or None
        If given, splits lie within `alpha` standard deviations of the mean of their branch.
    refine : bool
        Whether to turn the hyperplanes of the finished tree to minimise the density of all rows on them, in up to five
        more passes. The number of clusters stays the same.
    criterion_first : bool
        Whether to split along the direction with the best criterion of all; without a valley there, the branch is a
        cluster. By default, only directions with a valley are scored.
    fixed_directions : bool
        Whether all branches have the same random directions, as in the thesis; by default each draws its own, as do
        the divisions of few rows by which ``"hold-out"`` votes. Updates draw the same ones if `random_state` is an
        integer, in units of the batch's columns with `scale`.
    projection_params : dict or None
        Options of the projection. Of ``"mdh"``: ``starts``, as of `HierarchicalMDH`; ``alpha_max`` (1.5), the largest
        distance of hyperplanes from the branch's mean, in standard deviations, in pursuits from components;
        ``max_components`` (50): with more columns or features, hyperplanes are pursued in the span of so many principal
        components of the branch and of the starts, or with None in all directions, as the starts ``"pca2"`` and
        ``"random"`` always do; ``subspace``: dimensions of a random subspace of each branch in which they are pursued
        (thesis section 8.2.4). Of ``"pursuit"``: ``search``, as of `ProjectionPursuitTree`; ``population`` (20), the
        directions in a generation; ``crossover`` (0.8), the probability that a new direction takes its coordinates from
        two others; ``mutation`` (0.4), that a coordinate changes; ``step`` (0.1) between the directions of brute force,
        in radians; ``n_bins`` (100) of the histograms in a search; ``whiten`` (True): directions are drawn and moved in
        units of a branch's principal components (at most 50, and one per five rows) instead of its columns. Of
        ``"ica"``: ``n_unmixed`` (20), the leading principal components that are unmixed.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two;
    directions that depend on the rows are then found on 1024 rows of a branch. With a feature map, one more to choose
    the landmarks; if features are cached, two in all.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import DivisiveClustering
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> def single_columns(rows, rng, n_directions):
    ...     return np.eye(rows.shape[1])[:n_directions]
    >>> DivisiveClustering(projection=single_columns).fit(X).n_clusters_
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"projection_params": [None, Mapping]}

    projection: str | Propose = DivisiveTree.projection
    n_projections: int = DivisiveTree.n_projections
    criterion: str | Sequence[str] = DivisiveTree.criterion
    threshold_rule: str = DivisiveTree.threshold_rule
    bandwidth: str | float = DivisiveTree.bandwidth
    stop_rule: str = DivisiveTree.stop_rule
    n_candidates: int = DivisiveTree.n_candidates
    order: str | None = DivisiveTree.order
    max_levels: int | None = DivisiveTree.max_levels
    alpha: float | None = DivisiveTree.alpha
    refine: bool = DivisiveTree.refine
    criterion_first: bool = DivisiveTree.criterion_first
    fixed_directions: bool = DivisiveTree.fixed_directions
    projection_params: Mapping[str, Any] | None = None

    def _options(self) -> dict[str, Any]:
        return dict(self.projection_params or {})

    def _validate_params(self) -> None:
        super()._validate_params()
        check_options(self.projection, self._options())
