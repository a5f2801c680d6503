"""Support vector clustering."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._typing import Booleans, RowArray
from .._words import full_count
from ..chunks import Plan
from ..plotting import plot_contours, plot_sweep
from ..plotting.parts import png_of
from ..summaries.evidence import table_of_cells
from ..support_vectors.components import ADJACENCY, LARGEST_COMPLETE, UNCLASSIFIED
from ..support_vectors.model import N_BINS, Contours
from ..support_vectors.plan import cluster, rows_sampled
from ..support_vectors.sweep import MOST_WIDTHS, ContourSettings
from .base import InGroups
from .parameters import Interval, StrOptions, documented, rows_of_share

MOST_LANDMARKS = 10_000
"""Most landmarks, as the dual takes time and memory with the square of their number."""


@documented
class SupportVectorClustering(InGroups):
    """Clusters of any shape as the components of a contour around the rows; finds the number of clusters.

    The smallest sphere around the rows in the feature space of a Gaussian kernel is a contour in the space of the rows,
    and each connected component inside it is a cluster. With up to `n_landmarks` rows this is the method of the paper.
    With more rows, landmarks are weighted by the number of rows nearest to them, and the level of the contour is set
    for all rows.

    Parameters
    ----------
    width : float or "sweep", default="sweep"
        The q of the kernel ``exp(-q |x - y|^2)``, in units of the scaled columns: the larger, the more clusters.
        ``"sweep"``: the width, and a share of the rows outside of at least `share_outside`, at which one half of the
        rows shows the most clusters that the other half confirms.
    share_outside : float, default=0.0
        Share of the rows outside the contour, p = 1 / (N C) of the paper.
    adjacency : {"knn", "complete", "support", "delaunay", "mst", "equilibrium"}, default="knn"
        Pairs of rows to test for a connection inside the contour. ``"knn"``: nearest neighbours; ``"complete"``: all;
        ``"support"``: rows and support vectors; ``"delaunay"``: edges of the triangulation, for 2 to 4 columns;
        ``"mst"``: the minimum spanning tree; ``"equilibrium"``: the ends of ascents of the kernel sum from rows. Fewer
        pairs can only give more clusters.
    n_neighbors : int, default=16
        Number of neighbours of a row for ``"knn"``.
    n_segment : int or None, default=None
        Number of points to test between two rows; None for one in every quarter of ``1 / sqrt(q)``.
    n_landmarks : int, default=2000
        Most rows to draw the contour around; half of them draw the contours of the sweep.
    unclassified : {"nearest", "ascend", "leave"}, default="nearest"
        Label of rows outside. ``"nearest"``: that of the nearest row inside; ``"ascend"``: that of the cluster at the
        end of an ascent of the kernel sum; ``"leave"``: -1.
    scale : bool, default=True
        Whether to scale the columns by their standard deviations, computed without far rows.
    min_cluster_size : int or float or None, default=None
        Least number of rows in a cluster: a count, or a share of all rows if less than 1; minus `share_outside`, as
        only rows inside are counted. None for no bound if the width is given, as in the paper, otherwise for the square
        root of the number of rows in a half.
    max_clusters : int or None, default=None
        If more are found, those between which the kernel sum falls least are merged.
    quantile : float, default=0.975
        One minus this bounds the probability that the sweep finds clusters in a cloud without any.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters, not counting the label -1. Of more rows than the sample holds, clusters are numbered by the
        rows nearest to their landmarks inside the contour.
    support_vectors_ : ndarray of shape (n_vectors, n_features), float64
        Support vectors in units of the raw columns.
    dual_coef_ : ndarray of shape (n_vectors,), float64
        Weights of the support vectors, which sum to one.
    width_ : float
        q of the kernel.
    level_ : float
        Level of the contour; rows with a smaller sum of kernels are outside.
    sweep_ : ndarray of records
        One record for each width and share outside that was tried on one half of the rows: ``width``, ``outliers``,
        ``n_support``, ``n_bounded`` (of its landmarks), ``n_components`` (large enough), ``smallest`` (share of the
        rows in the smallest), ``n_clusters`` (between which this half shows valleys), ``n_confirmed`` (by the other
        half; 0 if not tested), ``persistence`` (doublings of the width over which ``n_clusters`` stays), ``level`` (of
        all rows; 0 if not measured), ``chosen``.

    See Also
    --------
    sklearn.svm.OneClassSVM : The same contour, without clusters.

    Notes
    -----
    Passes: one if a sample of ten times `n_landmarks` rows holds all rows. Otherwise a second counts the rows nearest
    to each landmark, and a third those at each level. Contours of one half of the rows are spread to cells, and are
    clusters if the other half shows valleys between them, by the test with which `DensityTree` merges cells; of
    rows in groups, halves are those of the groups. Clusters of fewer than about fifty rows are seldom confirmed.
    Rows are sparse everywhere in many columns: reduce these first. The `confidence` of a row is the share of the
    ten nearest landmarks with its label; where `boundary_distance` is negative, the row is outside the contour. The
    time of a pass is in proportion to `n_landmarks`. The sums of kernels of landmarks and of the dual of all rows
    correlate by 0.99 if the root mean square distance of rows to their nearest landmarks is at most
    ``share_outside / (2 sqrt(width))``.

    References
    ----------
    A. Ben-Hur, D. Horn, H. Siegelmann and V. Vapnik, Support vector clustering, Journal of Machine Learning Research 2,
    2001. J. Yang, V. Estivill-Castro and S. Chalup, Support vector clustering through proximity graph modelling, 2002.
    J. Lee and D. Lee, An improved cluster labeling method for support vector clustering, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SupportVectorClustering
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 5.0], 300)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (600, 2))
    >>> np.bincount(SupportVectorClustering().fit_predict(X))
    array([300, 300])
    """

    # The keys are views: a name that is registered later is an option, too.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "width": [StrOptions({"sweep"}), Interval(Real, 0, None, closed="neither")],
        "adjacency": [StrOptions(ADJACENCY.keys())],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_segment": [None, Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 2, MOST_LANDMARKS, closed="both")],
        "unclassified": [StrOptions(UNCLASSIFIED.keys())],
    }
    state_type = Contours

    width: float | str = "sweep"
    share_outside: float = 0.0
    adjacency: str = "knn"
    n_neighbors: int = 16
    n_segment: int | None = None
    n_landmarks: int = 2000
    unclassified: str = "nearest"
    scale: bool = True
    min_cluster_size: float | None = None
    max_clusters: int | None = None
    quantile: float = 0.975
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[Contours]:
        n_rows, n_features = shape
        self._check_adjacency(n_rows, n_features)
        size = self.min_cluster_size
        settings = self._set(
            ContourSettings,
            width=None if isinstance(self.width, str) else float(self.width),
            outliers=float(self.share_outside),
            least_share=None if size is None else rows_of_share(size, n_rows) / n_rows,
            seed=seed,
            parts_at=self._parts_at,
        )
        found = yield from cluster(settings, shape, self._check_look)
        self._drawn = found.exemplars
        self.merges_ = table_of_cells(found.merges)
        return found.contours

    @property
    def _leaves_rows(self) -> bool:
        return self.unclassified == "leave"

    def _check_adjacency(self, n_rows: int, n_features: int) -> None:
        n = min(n_rows, self.n_landmarks)
        if self.adjacency in ("complete", "support", "mst") and n > LARGEST_COMPLETE:
            raise ValueError(
                f"expected at most {LARGEST_COMPLETE} landmarks with adjacency={self.adjacency!r}; got {n}. Use "
                f"adjacency='knn', or n_landmarks={LARGEST_COMPLETE}."
            )
        if self.adjacency == "delaunay" and not 2 <= n_features <= 4:
            raise ValueError(
                f"expected 2 to 4 columns with adjacency='delaunay'; got {n_features}. Use adjacency='knn'."
            )

    def _adopt(self, state: Contours) -> None:
        super()._adopt(state)
        self.width_, self.level_, self.sweep_ = state.width, state.level, state.table
        self.dual_coef_ = state.coefficients
        unit = np.divide(1.0, state.scale, out=np.zeros_like(state.scale), where=state.scale > 0)
        self.support_vectors_ = state.vectors * unit + state.centre

    def score_samples(self, X: Any) -> RowArray:
        """Return the sum of kernels at every row, from 0 to 1: the larger, the more rows are near.

        NumPy for NumPy input, otherwise lazy with one pass to compute.
        """
        return self._of_rows(X, "totals", "float64")

    def outliers(self, X: Any) -> Booleans:
        """Return whether each row is outside the contour: its `boundary_distance` is negative.

        Of the rows of `fit`, about a share of `share_outside` are. NumPy for NumPy input, otherwise lazy with one pass.
        """
        return self.boundary_distance(X) < 0

    def _reason(self) -> str:
        failed = self.state_.failed
        if not len(self.sweep_) and self.width == "sweep":
            return "all rows are equal, or too few to draw contours by some and test them by the others"
        if not len(self.sweep_):
            return f"the contour of width={self.width_:.3g} has so many components; width='sweep' looks for more"
        if not len(failed):
            most = int(self.sweep_["n_components"].max())
            return f"no contour of the sweep has more than {full_count(most, 'component')} with enough rows"
        tested, evidence, needed = failed
        why, what = (
            ("is confirmed by the rows that did not choose it", "cluster")
            if tested
            else ("shows among the rows that drew the contours", "test")
        )
        return (
            f"no {'further ' * (self.n_clusters_ > 1)}valley {why}; the best has {evidence:.2g} standard errors, and a "
            f"{what} needs {needed:.2g}"
        )

    def report_pictures(self) -> dict[str, bytes]:
        """Return pictures of the sweep, and of the contours if there are two columns."""
        drawn = {}
        if self.n_features_in_ == 2:
            drawn[
                "The contour and the clusters in it. Dots: rows, or landmarks of many rows; rings: support vectors on "
                "the contour; crosses: those outside."
            ] = plot_contours(self)
        if len(self.sweep_):
            drawn[
                "The sweep over the width of the kernel, for several shares of the rows outside. Rings: clusters that "
                "held-out rows confirm; star: the choice."
            ] = plot_sweep(self.sweep_)[0]
        return {caption: png_of(ax) for caption, ax in drawn.items()}

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        n = 1 if n_rows <= rows_sampled(self.n_landmarks, n_columns) else 3
        return n, n

    def _task_bytes(self, rows: RowArray) -> int:
        n_columns = rows.shape[1]
        sample = rows_sampled(self.n_landmarks, n_columns) * rows.dtype.itemsize * n_columns
        points = self.n_landmarks * (n_columns + MOST_WIDTHS) * 8
        return int(max(sample, MOST_WIDTHS * N_BINS * 8 + points))
