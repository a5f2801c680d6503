"""Divisive clustering with a choice for every part; the named methods are configurations of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._levels import NO_LEVELS
from .._typing import AnyArray, Integers
from ..density.bandwidth import BANDWIDTHS, Bandwidth, resolve_bandwidth
from ..growth.branches import GrowthSettings
from ..growth.order import ORDERS
from ..io.keeping import Cache
from ..projections import FROM_ORIGIN, PROJECTIONS, Projection
from ..projections.directions import Proposal
from ..projections.random import NO_COLUMNS, RANDOM_PROJECTIONS
from ..splits.choose import SplitSelector
from ..splits.rules import CRITERIA, THRESHOLD_RULES, SplitRule, criteria_named
from ..splits.search_null import Search
from ..splits.stopping import STOP_RULES, StopRule
from .checks import checked_proposal, rows_of_share
from .constraints import Interval, StrOptions
from .docstrings import documented
from .mapped import CONSTRAINTS
from .planned import FeatureTransformer
from .tree_estimator import TreeEstimator


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class DivisiveClustering(TreeEstimator):
    """Divisive clustering by separators across projections, with a choice for every part.

    Every branch is projected on some directions. The best of them splits it, if the stop rule accepts this; the
    branches that are not split are the clusters. The named methods, such as `RandomProjectionTree`, are this class with
    other defaults and without the parameters that they fix.

    Parameters
    ----------
    projection : str or callable
        Source of the directions of a branch: a name in `mdh_dask.projections.PROJECTIONS`, that is ``"pca"`` and
        ``"ica"`` (principal and independent components), ``"kurtosis"`` (of the least and the largest kurtosis),
        ``"mdh"`` (minimum density pursuit), ``"pursuit"``, ``"genetic"`` or ``"brute_force"`` (searches for the largest
        index of TR-2003009), ``"two_means"`` (between the two means), ``"clusterability"`` or ``"normalised_cut"``
        (pursuits), ``"spectral"`` (by the second eigenvector of affinities that are inner products of rows, for
        ``feature_map="affinities"``), or a random family of `RandomProjectionTree`; or a function
        ``(rows, rng, n_directions) -> directions`` of the branch's standardised sample and a NumPy generator, which
        returns an array of shape (at most n_directions, n_features), or a pair of this and an array of thresholds along
        the directions, and may be called by several threads at once. A model with a function cannot be saved.
    n_projections : int
        Number of directions to score for every branch, 256 at a time; with the relative depth as the criterion, none
        after a valley beyond doubt (relative depth above 10).
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
        number replaces the factor of the first.
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
    quantile : float
        Quantile of the null distribution. One minus this bounds the probability of splitting a branch without valleys.
        With at most 1000 rows, ``"hold-out"`` tests several divisions into halves, each at this level, and their
        majority decides: false splits are then rare by measurement, not by a bound.
    n_candidates : int
        Number of directions of a branch to test one after another until a valley is accepted; the tests share
        ``1 - quantile``. All are counted on all rows, unless one was accepted on the sample and only has to be
        confirmed.
    min_cluster_size : int or float or None
        Least number of rows on each side of a split: a count, a share of all rows if less than 1, or, if None, the
        square root of their number.
    order : {"scatter", "criterion", "eigenvalue"} or None
        Order of splits. If None, all possible splits are made. ``"scatter"``: always the cluster with the largest sum
        of squared distances from its centroid, until there are `max_clusters`; if that is None, until the same sum over
        the centroids of the clusters exceeds it. ``"criterion"``: always the split whose direction has the best score,
        until there are `max_clusters` (thesis equation 6.2). ``"eigenvalue"``, for ``projection="spectral"``: always
        the cluster with the least second eigenvalue of its own affinities; if `max_clusters` is None, until there are
        as many as eigenvectors that can be aligned, at most 20.
    max_clusters : int or None
        If more are found, only the splits with the largest relative depth are made, each after its parent.
    n_clusters : int or None
        Number of clusters, instead of the one that is found. If more are found, the splits with the largest relative
        depth are made; if fewer, also those at the best valleys that failed the test. A warning says why if there are
        not enough valleys.
    max_levels : int or None
        Most splits above a cluster.
    min_relative_depth : float
        Least relative depth of a split: how much the lower mode exceeds the valley, as a share of the valley. Without
        it, ever shallower valleys become significant with more rows.
    alpha : float or None
        If given, splits lie within `alpha` standard deviations of the mean of their branch.
    sample_size : int or None
        Number of rows on which the directions of a branch are scored. One worker and the driver hold a first sample of
        four times as many rows, or fewer with more than 800 columns (33 million values, but at least `sample_size`
        rows). None to score all directions on all rows, at the cost of a pass over the data for every level.
    merge : bool
        Whether to merge leaves after growing until a valley of the density of the rows separates each cluster from its
        neighbours, so that clusters may have any shape. A sample of 10,000 rows is halved: one half chooses the densest
        points of two clusters and of the border between them, the rows of the other half are counted in balls around
        these points, and vice versa. The first pass draws this sample, too. `max_clusters` is then
        reached by merging, and clusters with less than about 1% of the rows may be merged with their neighbours.
    refine : bool
        Whether to turn the hyperplanes of the finished tree to minimise the density of all rows on them, in up to five
        more passes. The number of clusters stays the same.
    scale : bool
        Whether to scale the columns by their standard deviations, which the first pass measures.
    decay : float
        Factor for the weight of all earlier rows with every later batch of ``partial_fit``: 1 forgets nothing,
        0 everything. With 0.7 a row counts half after two batches, and all rows before the last eight batches count
        about a twentieth.

    Attributes
    ----------
    tree_ : Tree
        The splits, with the density of every node.
    levels_ : tuple of Level
        Cuts of the tree at several depths of its valleys; `cut` makes models of them.
    exemplars_, exemplar_indices_ : arrays of shape (n_clusters, n_features) and (n_clusters,)
        A row of `fit` in the middle of each cluster, and its number.
    known_labels_, label_counts_ : ndarray of shape (n_labels,) and integer ndarray of shape (n_clusters, n_labels)
        The labels in `y`, and how many labelled rows are in each cluster; None without partial labels, and after an
        update.
    level_counts_ : tuple of integer ndarray of shape (n_levels + 2,), or None
        Rows with each level, with another one, and without a value, for every column with levels. With
        ``missing="mean"``, rows without a value count as those of the level of the mean, rounded down.
    n_groups_ : int or None
        Number of groups of dependent rows in the last `fit`; None without groups.
    n_passes_ : int
        Passes over the data in `fit`, or over the batch in the last `partial_fit`.
    n_batches_ : int
        Number of batches so far, including that of `fit`.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two;
    directions that depend on the rows are then found on 1024 rows of a branch. With a feature map, one more to choose
    the landmarks; if features are cached, two in all.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 6.2.

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

    # The keys are views, so that names registered later are valid, too.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS | {
        "projection": [StrOptions(PROJECTIONS.keys()), callable],
        "n_projections": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions(CRITERIA.keys()), list, tuple],
        "threshold_rule": [StrOptions(THRESHOLD_RULES.keys())],
        "bandwidth": [StrOptions(BANDWIDTHS.keys()), Interval(Real, 0, None, closed="neither")],
        "stop_rule": [StrOptions(STOP_RULES.keys())],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "min_cluster_size": [None, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
        "order": [None, StrOptions(ORDERS.keys())],
        "max_clusters": [None, Interval(Integral, 1, None, closed="left")],
        "n_clusters": [None, Interval(Integral, 1, None, closed="left")],
        "max_levels": [None, Interval(Integral, 0, None, closed="left")],
        "min_relative_depth": [Interval(Real, 0, None, closed="left")],
        "alpha": [None, Interval(Real, 0, None, closed="neither")],
        "sample_size": [None, Interval(Integral, 1, None, closed="left")],
        "refine": ["boolean"],
        "merge": ["boolean"],
        "decay": [Interval(Real, 0, 1, closed="both")],
    }

    projection: str | Projection = "row_combinations"
    n_projections: int = 1000
    criterion: str | Sequence[str] = "relative_depth"
    threshold_rule: str = "relative_depth"
    bandwidth: str | float = "normal"
    stop_rule: str = "hold-out"
    quantile: float = 0.975
    n_candidates: int = 8
    min_cluster_size: float | None = None
    order: str | None = None
    max_clusters: int | None = None
    n_clusters: int | None = None
    max_levels: int | None = None
    min_relative_depth: float = 0.1
    alpha: float | None = None
    sample_size: int | None = 10_000
    refine: bool = False
    merge: bool = False
    scale: bool = True
    feature_map: str | FeatureTransformer | None = None
    cache: Cache | None = "auto"
    decay: float = 0.7
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> AnyArray | tuple[AnyArray, AnyArray] | list[AnyArray]:
        """Return directions for the standardised sample of a branch, thresholds on them or families; see `Projection`.

        The values of the columns in `coarse` were spread. Splits leave at least `min_rows` of the rows on each side.
        """
        propose = PROJECTIONS[self.projection] if isinstance(self.projection, str) else self.projection
        return propose(rows, rng, self.n_projections)

    def _propose(self, rows: AnyArray, rng: np.random.Generator, coarse: Integers, min_rows: float) -> Proposal:
        proposal = checked_proposal(self._directions(rows, rng, coarse, min_rows), rows.shape[1])
        if proposal.thresholds is None and self._rule().at.needs_thresholds:
            raise ValueError(
                f"expected directions and thresholds from the projection for threshold_rule={self.threshold_rule!r}; "
                "got directions alone: return the pair of both, or choose another threshold_rule"
            )
        return proposal

    def _rule(self) -> SplitRule:
        criterion = self.criterion if isinstance(self.criterion, str) else criteria_named(self.criterion)
        return SplitRule(criterion, self.alpha, self.min_relative_depth, threshold_rule=self.threshold_rule)

    def _search(self) -> Search:
        """Return the search of directions for rows of as many columns, or features."""
        map_ = getattr(self, "feature_map_", None)
        n_features = self.n_features_in_ if map_ is None else map_.n_components_
        return Search(self._directions, n_features, self._rule(), resolve_bandwidth(self.bandwidth))

    def _bandwidth_rule(self) -> Bandwidth:
        return resolve_bandwidth(self.bandwidth)

    def _least_depth(self) -> float:
        """Return the least relative depth of the splits of the tree, zero if they need no valley."""
        return self.min_relative_depth if self._rule().at.limits_depth else 0.0

    def _stop(self) -> StopRule:
        stop = STOP_RULES[self.stop_rule](self.quantile)
        given = {"max_clusters": self._most_clusters(), "max_levels": self.max_levels}
        limited = self.max_levels is not None or self.order == "scatter" or (self.order and self._most_clusters())
        if self._rule().at.never_ends and self.stop_rule == "none" and not limited:
            raise ValueError(
                f"expected a limit for threshold_rule={self.threshold_rule!r}, which splits any rows, with "
                "stop_rule='none'; got none: give max_clusters with order='scatter' or 'criterion', or max_levels, or "
                "a stop rule"
            )
        if len(self._rule().criteria) > 1 and (self.order == "criterion" or stop.compares_scores):
            raise ValueError(
                f"expected one criterion with order={self.order!r} and stop_rule={self.stop_rule!r}, as ranks in "
                "different branches cannot be compared; got several: choose one, or another order and stop_rule"
            )
        if self.order == "eigenvalue" and self.projection not in FROM_ORIGIN:
            raise ValueError(
                f"expected projection='spectral' for order='eigenvalue', which is that of affinities; got "
                f"{self.projection!r}: choose this projection, or another order"
            )
        if self.stop_rule == "spacing" and not self._rule().at.needs_extremes:
            raise ValueError(
                f"expected threshold_rule='spacing' or 'gap' for stop_rule='spacing'; got {self.threshold_rule!r}"
            )
        if stop.needs is not None and given[stop.needs] is None:
            raise ValueError(f"expected a value of {stop.needs} for stop_rule={self.stop_rule!r}; got None")
        return stop.knowing(self._search())

    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        named = self.projection if isinstance(self.projection, str) else None
        feature_map = getattr(self, "feature_map_", None)
        return GrowthSettings(
            levels=None if feature_map is None else feature_map.levels or NO_LEVELS,
            propose=self._propose,
            selector=SplitSelector(
                rule=self._rule(),
                stop=self._stop(),
                n_tests=self.n_candidates,
                n_root=n_rows,
                min_rows=rows_of_share(self.min_cluster_size, n_rows),
            ),
            bandwidth=resolve_bandwidth(self.bandwidth),
            n_candidates=self.n_candidates,
            sample_size=self.sample_size,
            scale=self.scale,
            max_levels=self.max_levels,
            seed=seed,
            order=self.order,
            from_origin=named in FROM_ORIGIN,
            max_clusters=self._most_clusters(),
            n_clusters=self._wanted_clusters(),
            family=named if named in RANDOM_PROJECTIONS else None,
        )

    def _saved_parameters(self) -> dict[str, Any]:
        if callable(self.projection):
            raise TypeError(
                f"expected the name of a projection in a model to save; got the function {self.projection!r}. "
                "Register it, as mdh_dask.projections.PROJECTIONS['mine'] = function, and fit with projection='mine'."
            )
        return super()._saved_parameters()
