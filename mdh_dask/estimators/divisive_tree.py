"""The base of the methods of divisive clustering: what their users set, and how they split branches."""

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._levels import NO_LEVELS
from .._typing import AnyArray, Integers, RowArray
from ..chunks import Cache
from ..density.kde import BANDWIDTHS, CERTAIN_DEPTH, resolve_bandwidth
from ..growth.branches import GrowthSettings
from ..growth.order import ORDERS
from ..growth.passes import rows_in_memory
from ..growth.propose import LEAST_ROWS
from ..projections import PROJECTIONS, projection_of
from ..projections.directions import NO_COLUMNS, Proposal
from ..splits.choose import SplitSelector
from ..splits.null import Search, shared_search
from ..splits.rules import CRITERIA, THRESHOLD_RULES, SplitRule, criteria_named
from ..splits.stopping import STOP_RULES, StopRule
from .parameters import Interval, StrOptions, checked_proposal
from .planned import FeatureTransformer
from .proposing import OPTIONS, SEARCHED, Searching, searching
from .tree_estimator import TreeEstimator

if TYPE_CHECKING:
    from .divisive import DivisiveClustering


@dataclass(kw_only=True, eq=False, repr=False)
class DivisiveTree(TreeEstimator):
    """Base of the methods of divisive clustering, with the parameters that their users set.

    A method is a subclass that gives other values to the attributes of `GrownTree` for its projection and its rules.
    `DivisiveClustering` has all of these as parameters.

    Parameters
    ----------
    quantile : float
        Quantile of the null distribution. One minus this bounds the probability of splitting a branch without valleys.
        With at most 1000 rows, the test of the hold-out rule divides them into halves several times, each at this
        level, and the majority decides: false splits are then rare by measurement, not by a bound.
    min_cluster_size : int or float or None
        Least number of rows on each side of a split: a count, a share of all rows if less than 1, or, if None, the
        square root of their number, and half of it where leaves are merged. Where clusters are so many that only the
        neighbourhoods of rows show them, None asks for no more than ten of the rows that are drawn.
    max_clusters : int or None
        If more are found, only the splits with the largest relative depth are made, each after its parent.
    n_clusters : int or None
        Number of clusters, instead of the one that is found. If more are found, the splits with the largest relative
        depth are made; if fewer, also those at the best valleys that failed the test. A warning says why if there are
        not enough valleys.
    min_relative_depth : float
        Least relative depth of a split: how much the lower mode exceeds the valley, as a share of the valley. Without
        it, ever shallower valleys become significant with more rows.
    sample_size : int or None
        Number of rows on which the directions of a branch are scored. One worker and the driver hold a first sample of
        four times as many rows, or fewer with more than 800 columns (33 million values, but at least `sample_size`
        rows). None to score all directions on all rows, at the cost of a pass over the data for every level.
    merge : bool
        Whether to merge leaves after growing until a valley of the density of the rows separates each cluster from its
        neighbours, so that clusters may have any shape. A sample of 10,000 rows, or of 500 for each of more than 20
        leaves, at most 65,536 and fewer with more than 64 columns, is halved: one half chooses the densest points of
        two clusters and of the border between them, the rows of the other half are counted in balls around these
        points, and vice versa. The first pass draws this sample, too. `max_clusters` is then reached by merging, and
        clusters with less than about 1% of the rows may be merged with their neighbours.
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
        Rows with each level, with another one, and without a value, for every column with levels.
    n_groups_ : int or None
        Number of groups of dependent rows in the last `fit`; None without groups.
    n_passes_ : int
        Passes over the data in `fit`, or over the batch in the last `partial_fit`.
    n_batches_ : int
        Number of batches so far, including that of `fit`.
    """

    # The keys are views, so that names registered later are valid, too.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "projection": [StrOptions(PROJECTIONS.keys()), callable],
        "n_projections": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions(CRITERIA.keys()), list, tuple],
        "threshold_rule": [StrOptions(THRESHOLD_RULES.keys())],
        "bandwidth": [StrOptions(BANDWIDTHS.keys()), Interval(Real, 0, None, closed="neither")],
        "stop_rule": [StrOptions(STOP_RULES.keys())],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "order": [None, StrOptions(ORDERS.keys())],
        "max_levels": [None, Interval(Integral, 0, None, closed="left")],
        "min_relative_depth": [Interval(Real, 0, None, closed="left")],
        "alpha": [None, Interval(Real, 0, None, closed="neither")],
        "sample_size": [None, Interval(Integral, 2, None, closed="left")],
        "refine": ["boolean"],
        "decay": [Interval(Real, 0, 1, closed="both")],
        "criterion_first": ["boolean"],
        "fixed_directions": ["boolean"],
        **{name: constraints for options in OPTIONS.values() for name, constraints in options.items()},
    }

    quantile: float = 0.975
    min_cluster_size: float | None = None
    max_clusters: int | None = None
    n_clusters: int | None = None
    min_relative_depth: float = 0.1
    sample_size: int | None = 10_000
    merge: bool = False
    scale: bool = True
    feature_map: str | FeatureTransformer | None = None
    cache: Cache | None = "auto"
    decay: float = 0.7
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    @classmethod
    def _without(cls, name: str) -> str:
        from .divisive import DivisiveClustering  # a subclass

        fixed = name in DivisiveClustering._get_param_names() or name in OPTIONS.get(str(cls.projection), {})
        if not fixed or not hasattr(cls, "as_divisive"):
            return super()._without(name)
        return f"has no parameter {name!r}: write {cls.__name__}().as_divisive({name}=...)"

    def as_divisive(self, **changes: Any) -> "DivisiveClustering":
        """Return `DivisiveClustering` with the settings of this method, unfitted, to change those that it fixes.

        `changes` are parameters of `DivisiveClustering`, and options of the projection, such as ``alpha_max`` of a
        pursuit.

        Examples
        --------
        >>> from mdh_dask import PCATree
        >>> PCATree(max_clusters=9).as_divisive(stop_rule="level")
        DivisiveClustering(max_clusters=9, n_candidates=5, n_projections=5,
                           projection='pca', stop_rule='level')
        """
        from .divisive import DivisiveClustering  # a subclass

        names = DivisiveClustering._get_param_names()
        own = {name: getattr(self, name) for name in names if name != "projection_params"}
        named = {name: changes.pop(name) for name in OPTIONS.get(str(self.projection), {}) if name in changes}
        options = self._options() | named | (changes.pop("projection_params", None) or {})
        return DivisiveClustering(**own | {"projection_params": options or None} | changes)

    def _options(self) -> dict[str, Any]:
        """Return the options of the projection that are parameters of the method."""
        own = self._get_param_names()
        return {name: getattr(self, name) for name in OPTIONS.get(str(self.projection), {}) if name in own}

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> AnyArray | tuple[AnyArray, AnyArray] | list[AnyArray]:
        """Return directions for the standardised sample of a branch, thresholds on them or families; see `Projection`.

        The values of the columns in `coarse` were spread. Splits leave at least `min_rows` of the rows on each side.
        """
        if self.projection == SEARCHED:
            return self._searching()(rows, rng)
        # A valley beyond doubt ends a pursuit, but it may be beyond `alpha`, or less deep than a split must be.
        ends = self.alpha is None and self.min_relative_depth <= CERTAIN_DEPTH
        known = {"coarse": coarse, "min_rows": min_rows, "ending_rows": min_rows if ends else np.inf}
        projection = projection_of(self.projection)
        # What is given as a function, also one that has a name, takes the rows alone.
        used = {name: known[name] for name in projection.uses if isinstance(self.projection, str)}
        return projection(rows, rng, self.n_projections, **used, **self._options())

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
        return SplitRule(
            criterion, self.alpha, self.min_relative_depth, threshold_rule=self.threshold_rule,
            criterion_first=self.criterion_first,
        )  # fmt: skip

    def _search(self) -> Search:
        """Return the search of directions for rows of as many columns, or features."""
        n_features = self.n_features_in_ if self.feature_map_ is None else self.feature_map_.n_components_
        given = n_features, self._rule(), resolve_bandwidth(self.bandwidth)
        if self.projection == SEARCHED:
            return shared_search(self._searching(), *given)
        return Search(self._directions, *given)

    def _searching(self) -> Searching:
        return searching(self._rule(), resolve_bandwidth(self.bandwidth), self.n_projections, **self._options())

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
        if self.order == "eigenvalue" and not projection_of(self.projection).from_origin:
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
        projection = projection_of(self.projection)
        feature_map = self.feature_map_
        return GrowthSettings(
            levels=None if feature_map is None else feature_map.levels or NO_LEVELS,
            propose=self._propose,
            selector=SplitSelector(
                rule=self._rule(),
                stop=self._stop(),
                n_tests=self.n_candidates,
                n_root=n_rows,
                min_rows=self._least_rows(n_rows),
            ),
            bandwidth=resolve_bandwidth(self.bandwidth),
            n_candidates=self.n_candidates,
            sample_size=self.sample_size,
            scale=self.scale and feature_map is None,  # features are not scaled
            max_levels=self.max_levels,
            seed=seed,
            direction_seed=seed if self.fixed_directions else None,
            order=self.order,
            from_origin=projection.from_origin,
            columns=projection.with_columns and feature_map is None,
            max_clusters=self._most_clusters(),
            n_clusters=self._wanted_clusters(),
            family=self.projection if isinstance(self.projection, str) and projection.random else None,
            nearby=self._near_rows(),
        )

    def _near_rows(self) -> float:
        """Return the most sample rows that one of very many clusters must have; zero for methods that do not look."""
        usual = self.threshold_rule == "relative_depth" and self.stop_rule == "hold-out" and self.alpha is None
        if not usual or self.merge or self.max_levels is not None or projection_of(self.projection).from_origin:
            return 0.0
        return LEAST_ROWS if self.min_cluster_size is None else np.inf

    def _crowd_bytes(self, rows: RowArray) -> int:
        """Return the most bytes of the sample that is drawn where clusters are very many, zero if none is."""
        if not self._near_rows() or self.sample_size is None:
            return 0
        return rows_in_memory(rows.shape[0], rows.shape[1]) * rows.dtype.itemsize * rows.shape[1]

    def _saved_parameters(self) -> dict[str, Any]:
        if callable(self.projection):
            raise TypeError(
                f"expected the name of a projection in a model to save; got the function {self.projection!r}. "
                "Register it, as mdh_dask.projections.PROJECTIONS['mine'] = function, and fit with projection='mine'."
            )
        return super()._saved_parameters()


@dataclass(kw_only=True, eq=False, repr=False)
class UntestedTree(DivisiveTree):
    """Base of the methods that split a branch along their one direction, without a test and whatever the depth."""

    n_projections = 1
    n_candidates = 1
    stop_rule = "none"
    quantile: float = field(init=False, default=0.975)
    min_relative_depth: float = field(init=False, default=0.0)
