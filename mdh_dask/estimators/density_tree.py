"""Clusters of any shape from the density of the rows along the cuts between cells."""

from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._jit.rows import loop_ready
from .._levels import NO_LEVELS
from .._sparse import SparseRows
from .._typing import AnyArray, Booleans, Integers, RowArray
from .._words import full_count
from ..chunks import Cache, Plan, is_dask
from ..density_trees.passes import DOUBLINGS
from ..density_trees.plan import MOST_ROWS, cluster
from ..density_trees.sketch import DensitySettings
from ..growth.passes import rows_in_memory
from ..plotting import plot_landmarks, plot_merges
from ..plotting.parts import png_of
from ..summaries.evidence import MERGES_DTYPE, p_values_of_merges, rows_of_sides
from ..tree.clusters import Level
from .base import InGroups
from .density_state import DensityState
from .editing import check_fewer, united, without_clusters
from .parameters import Interval, StrOptions, documented, rows_of_share
from .planned import FeatureTransformer
from .row_values import Absent

MOST_SAMPLED = 20_000
"""Most sample rows, as comparing all pairs of them takes time with the square of their number."""


@documented
class DensityTree(InGroups):
    """Clusters of any shape, between which the rows are significantly sparser; finds the number of clusters.

    The rows of a sample are divided into many cells, the communities of a graph of neighbours, and the cells are merged
    in the order of their contact. In up to eight columns this is also done with basins of modes as cells, and what
    shows more clusters counts (with groups, basins only). Two groups stay separate if balls around places on the cut
    between them hold significantly fewer rows than balls around the densest places of either, and a slab across the
    line between them fewer than slabs through either: the mean of both differences counts, in more than eight columns
    the larger. In four to eight columns rows are counted in the plane along which both groups differ and extend most.
    One half of the rows chooses the places, lines and planes, the other half is counted. Finally, rows move to the
    cluster to which they have most edges. With fewer than about 1700 rows, this is repeated with other halves and
    another order of the rows until most results are alike, at most seven times, and the one counts that shares most
    information with the others. Clusters at the edge of significance depend less on `random_state` then.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters, which then are those with the most evidence; None to find it.
    max_clusters : int or None, default=None
        If more are found, those with the least evidence between them are merged.
    min_cluster_size : int or float or None, default=None
        Least number of rows in a cluster: a count, or a share of all rows if less than 1. Smaller ones are merged.
    quantile : float, default=0.95
        One minus this is the probability that a cloud without clusters is divided, shared among all merges.
    sample_size : int, default=10000
        Most rows of the sample in which cells are found and tested.
    n_landmarks : int, default=4000
        Most sample rows of the model; another row is in the cell for which the ten nearest vote, each with the
        reciprocal of its squared distance.
    unclassified : {"nearest", "leave"}, default="nearest"
        Label of rows outside the density level. ``"nearest"``: that of the nearest landmarks; ``"leave"``: -1.
    share_outside : float, default=0.01
        Share of the rows outside the density level, about.
    scale : bool, default=True
        Whether to scale the columns: by their standard deviations, computed without far rows, and then by how far near
        rows are apart in them, as these are mostly of one cluster.

    Attributes
    ----------
    level_ : float
        The density level: rows are outside, in sparser regions, if the tenth nearest landmark is farther than this, in
        units of the scaled columns or of the features.
    n_clusters_ : int
        Number of clusters; the largest is 0.
    merges_ : ndarray of records
        One record for each merge of two cells or groups: ``first`` and ``second`` (the cells in closest contact),
        ``evidence`` (standard errors by which the cut has fewer rows than either core; of the clusters, the most so
        far), ``core`` and ``cut`` (rows in as many balls, or in a slab, of both), ``separates`` (whether both are in
        different clusters), ``rows_first`` and ``rows_second`` (rows of both groups), and ``p_value``.

    See Also
    --------
    HierarchicalKernelMDH : Clusters of any shape as the leaves of a tree.

    Notes
    -----
    Passes: one if the sample holds all rows, otherwise a second, which counts the rows of each landmark.
    With twice as many rows as in the sample, those that are not in it find clusters that it does not show, between the
    basins of its modes: if every path across the cut has a ball with significantly fewer rows than balls at both peaks,
    by more than an eighth. ``1 - quantile`` is the share of false ones among these.
    Clusters of fewer than about fifty rows are seldom significant.
    Where near rows look like hundreds of clusters, one more pass draws a larger sample, of which a quarter or half are
    landmarks; two-valued columns are left out of this, and features of a map that levels change are not looked at. Its
    cells in contact are compared along the line between them, in the convex region around both, where a log-concave
    density has no valley. This counts if most cells are clusters then (``python -m tests.benchmarks many``). With more
    than eight columns, the cells are larger and are merged as the leaves of kernel trees; ``core`` and ``cut`` of
    `merges_` are then zero. The time of a pass grows with `n_landmarks`. The `confidence` of a row is the share of the
    ten nearest landmarks that are in its cluster. With `scale`, columns that tell clusters apart count for more than by
    their standard deviations, which include the distances between clusters; in two or three columns, near rows differ
    alike in all, and this changes little. Neighbourhoods are of all columns: beside five or more unrelated ones with
    long tails, take their logarithm, leave them out, or grow a tree, which looks along single columns (``python -m
    tests.benchmarks power --kind tails``). Two values of one column, levels of one category and rows that lack one
    value are no clusters. If at least two columns are left, the rows are also looked at without two-valued columns,
    or, on a map of mixed columns, by their numbers alone: levels that are noise would hide clusters. The look that
    shows more clusters counts, and each gets half of ``1 - quantile``; labels do not depend on columns that are left
    out. Where all columns count, rows of up to eight columns are displaced at random along levels; of more, a valley
    must remain without a column or category that may make it, and where combinations of levels are smoothed out.
    Counts, ratings and round numbers, such as ages told in fives, are spread over their steps, and values at uneven
    distances, such as the middles of brackets, over half of the gaps to their neighbours.

    References
    ----------
    F. Chazal, L. Guibas, S. Oudot and P. Skraba, Persistence-based clustering in Riemannian manifolds, Journal of the
    ACM 60, 2013. V. Blondel, J.-L. Guillaume, R. Lambiotte and E. Lefebvre, Fast unfolding of communities in large
    networks, Journal of Statistical Mechanics, 2008. D. Art, R. Gnanadesikan and J. Kettenring, Data-based metrics for
    cluster analysis, Utilitas Mathematica 21A, 1982. S. Dudani, The distance-weighted k-nearest-neighbor rule, IEEE
    Transactions on Systems, Man, and Cybernetics 6, 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import DensityTree
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 2.0], 300)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (600, 2))
    >>> np.bincount(DensityTree().fit_predict(X))
    array([300, 300])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sample_size": [Interval(Integral, 2, MOST_SAMPLED, closed="both")],
        "n_landmarks": [Interval(Integral, 2, MOST_SAMPLED, closed="both")],
        "unclassified": [StrOptions({"nearest", "leave"})],
    }
    state_type = DensityState
    map_settings: ClassVar[dict[str, Any]] = {"numbers": True}
    predict_proba = Absent("predict_proba: only the label of a row has a confidence: take confidence(X)")
    score_samples = Absent("score_samples: rows outside the density level are those with boundary_distance(X) < 0")

    n_clusters: int | None = None
    max_clusters: int | None = None
    min_cluster_size: float | None = None
    quantile: float = 0.95
    sample_size: int = 10_000
    n_landmarks: int = 4000
    unclassified: str = "nearest"
    share_outside: float = 0.01
    feature_map: str | FeatureTransformer | None = None
    scale: bool = True
    cache: Cache | None = "auto"
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[DensityState]:
        size = self.min_cluster_size
        if self.n_clusters is not None and self.max_clusters is not None:
            raise ValueError(
                f"expected n_clusters or max_clusters, got {self.n_clusters} and {self.max_clusters}: give one"
            )
        settings = self._set(
            DensitySettings,
            scale=self.scale and self.feature_map_ is None,
            min_rows=0 if size is None else rows_of_share(size, shape[0]),
            most_clusters=self.max_clusters if self.n_clusters is None else self.n_clusters,
            exactly=self.n_clusters is not None,
            outliers=float(self.share_outside),
            leaves_outside=self._leaves_rows,
            seed=seed,
            levels=None if self.feature_map_ is None else self.feature_map_.levels or NO_LEVELS,
            parts_at=self._parts_at,
        )
        model = yield from cluster(settings, shape, self._check_look)
        return DensityState(model, self._map)

    @property
    def _leaves_rows(self) -> bool:
        return self.unclassified == "leave"

    @property
    def levels_(self) -> tuple[Level, ...]:
        """Numbers of clusters from one to all, with the least evidence that keeps so many apart; see `cut`."""
        check_is_fitted(self)
        return self._state.model.levels

    def cut(self, n_clusters: int) -> Self:
        """Return a model with fewer clusters, each a union of clusters of this one.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at most `n_clusters_`; those with the least evidence between them are united.

        Returns
        -------
        DensityTree
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import DensityTree
        >>> x = np.random.default_rng(0).normal(size=(900, 2)) + np.repeat([[0], [7], [20]], 300, axis=0)
        >>> model = DensityTree().fit(x)
        >>> [level.n_clusters for level in model.levels_]
        [1, 2, 3]
        >>> model.cut(2).n_clusters_
        2
        """
        check_is_fitted(self)
        check_fewer(n_clusters, self.n_clusters_)
        other, before = without_clusters(copy(self)), self._state.model
        after = before.cut(n_clusters)
        other._adopt(replace(self._state, model=after))
        union = np.empty(self.n_clusters_, dtype=np.int32)
        union[before.clusters] = after.clusters
        return united(self, other, union)

    def _reason(self) -> str:
        state = self._state.model
        merged = np.flatnonzero(~state.separates)
        if not len(merged):
            return (
                "every cell of the sample is a cluster" if len(state.clusters) > 1 else "the sample has a single cell"
            )
        best = int(merged[state.evidence[merged].argmax()])
        evidence = float(state.evidence[best])
        if evidence >= state.threshold or self.n_clusters is not None:  # which asks for no evidence
            small = "clusters of fewer rows than min_cluster_size, or without a landmark"
            return f"{small}, were united with others, or cut() united them"
        said = (
            f"of the merges that were made, the one with the most evidence for two clusters has "
            f"{evidence:.2g} standard errors, and a cluster needs {state.threshold:.2g}"
        )
        in_core, in_cut = state.core_rows[best], state.cut_rows[best]
        if not in_core and not in_cut:  # in many columns, neither is known
            return said
        rows = full_count(round(in_core), "held-out row")
        return f"{said}; the less dense of the cores has {rows}, and the cut between them {in_cut:,.0f}"

    def _adopt(self, state: DensityState) -> None:
        super()._adopt(state)
        model = state.model
        sides = rows_of_sides(model.links, model.cell_rows, len(model.links))
        p_values = p_values_of_merges(model.evidence, model.threshold, 1 - self.quantile)
        columns = (*model.links.T, model.evidence, model.core_rows, model.cut_rows, model.separates, *sides.T, p_values)
        self.merges_ = np.array(list(zip(*columns)), dtype=MERGES_DTYPE)
        self.level_ = model.level

        # Row numbers count those without missing values only.
        self._exemplars = None if self.missing == "drop" else model.exemplars

    def _finish(self, rows: RowArray, X: Any) -> None:
        model = self._state.model
        numbers = self._original(model.peak_numbers)
        peaks = model.peaks if self.feature_map_ is None else self._raw_peaks(rows, numbers)
        self._adopt(replace(self._state, model=replace(model, peaks=peaks, peak_numbers=numbers)))
        super()._finish(rows, X)

    def outliers(self, X: Any) -> Booleans:
        """Return whether each row is outside the density level: its `boundary_distance` is negative.

        Of the rows of `fit`, about a share of `share_outside` are. NumPy for NumPy input, otherwise lazy with one pass.
        """
        return self.boundary_distance(X) < 0

    def _raw_peaks(self, rows: RowArray, numbers: Integers) -> AnyArray:
        """Return rows by their numbers; without columns if lazy rows or rows that were left out are not in memory."""
        if is_dask(rows) or self.missing == "drop":
            return np.empty((len(numbers), 0))
        peaks = rows[np.maximum(numbers, 0)]
        return loop_ready(peaks.dense() if isinstance(peaks, SparseRows) else peaks)

    def _saved_state(self) -> dict[str, Any]:
        return {}  # the model holds the peaks of its cells

    def report_pictures(self) -> dict[str, bytes]:
        """Return a map of the landmarks, and a picture of the evidence of the merges."""
        model = self._state.model
        drawn = {
            "The landmarks of the model in the two columns, or in the two directions that separate the clusters best. "
            "Their areas grow with the number of rows near them.": plot_landmarks(model, names=self._names)
        }
        if self.merges_ is not None and len(self.merges_):
            drawn[
                "The merges of cells, those with the most evidence that the rows are sparser between them first. Line: "
                "the least evidence that separates clusters."
            ] = plot_merges(model)
        return {caption: png_of(ax) for caption, ax in drawn.items()}

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        if n_rows <= rows_in_memory(self.sample_size, n_columns):
            return self._passes_on_features(1, 1)
        return self._passes_on_features(2, 3)  # three if clusters are so many that a larger sample is drawn

    def _task_bytes(self, rows: RowArray) -> int:
        n_rows, n_columns = rows.shape
        larger = rows_in_memory(min(MOST_ROWS, n_rows), n_columns)  # where clusters are many
        sample = max(rows_in_memory(self.sample_size, n_columns), larger) * rows.dtype.itemsize * n_columns
        return int(max(sample, max(self.n_landmarks, larger // 2) * (n_columns + 1 + DOUBLINGS) * 8))
