"""K-means of rows, or of their features by a kernel, of any number of rows."""

import warnings
from collections.abc import Callable
from dataclasses import field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils import get_tags

from .._journal import use_journal
from .._typing import Floats, RowArray
from .._words import full_count
from ..centroids.plan import MOST_PASSES, Centroids, CentroidSettings, gap_number_of_features, gap_sample, k_means
from ..chunks import Cache, Plan
from ..kernels import AFFINITIES, Kernel
from ..kernels.landmarks import SAMPLE
from .base import ClusterEstimator
from .parameters import Interval, StrOptions, categorical_columns, documented
from .planned import FeatureTransformer
from .spectral_features import SpectralFeatures
from .states import CentroidState


@documented
class KernelKMeans(ClusterEstimator):
    """K-means in the feature space of a kernel, or of the rows themselves, with exact sums over any number of rows.

    Clusters are compact in the feature space. The centroids of the best of several starts on a sample are moved by
    passes over all rows until they settle. It finds no valleys: compare it with methods that do.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters; None to find it by the gap statistic, on at most 1000 rows, compared with uniform ones, or
        with the features of uniform rows. It is no test: it misses some clusters that are clearly apart, as it stops
        at the first number that one more does not improve, and divides many clouds of two columns that are not uniform,
        skewed columns, columns with far rows and tables of categories. Give the number if you know it, or take a method
        that looks for valleys. A precomputed kernel has no uniform rows: give the number there.
    max_clusters : int, default=20
        Most clusters to find.
    n_init : int, default=10
        Number of starts by k-means++ on the sample; the best is taken.
    sample_size : int, default=10000
        Most rows of the sample.
    scale : bool, default=True
        Whether to scale the columns by their standard deviations, computed without far rows.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters; the largest is 0.
    cluster_centers_ : ndarray of shape (n_clusters, n_components), float64
        Centroids of the features, or of the standardised columns.
    inertia_ : float
        Sum of the squared distances of all rows from their centroids, in units of `cluster_centers_`.
    gaps_ : ndarray of float
        The gap statistic of 1, 2, ... clusters; empty if `n_clusters` was given.

    See Also
    --------
    sklearn.cluster.KMeans : For rows in memory.
    SpectralClustering : K-means of the leading eigenvectors of affinities.

    Notes
    -----
    Passes: one for the feature map, and one that maps all rows if the features are cached. K-means takes one if the
    sample holds all rows, otherwise from two to six, over the features. The `confidence` of a row is its membership in
    its cluster with the second nearest as the only other one, as in fuzzy c-means with the exponent 2: 0.5 where two
    centroids are equally near, and 1 at a centroid. With Nyström features this is kernel k-means
    with the kernel that the landmarks span.

    References
    ----------
    I. Dhillon, Y. Guan and B. Kulis, Kernel k-means, spectral clustering and normalized cuts, KDD 2004. R. Tibshirani,
    G. Walther and T. Hastie, Estimating the number of clusters in a data set via the gap statistic, 2001. K. Yates, PhD
    thesis, Lancaster University, 2017, sections 2.1.2 and 2.2.3.

    Examples
    --------
    >>> from mdh_dask import KernelKMeans
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 3, 4, sd=0.5, random_state=0)
    >>> KernelKMeans(n_clusters=4, feature_map=None).fit(X).labels_.compute()[:3].shape
    (3,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_clusters": [Interval(Integral, 1, None, closed="left")]
    }
    state_type = CentroidState
    _number = None
    """The `Number` that was found while the map was fitted, during a fit."""

    n_clusters: int | None = None
    max_clusters: int = 20
    feature_map: str | FeatureTransformer | None = "rbf"
    n_init: int = 10
    sample_size: int = 10_000
    scale: bool = True
    cache: Cache | None = "auto"
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    def _learn(self, rows: RowArray, seed: int) -> int:
        self._number = None
        try:
            return super()._learn(rows, seed)
        finally:
            self._number = None

    @property
    def _compares_features(self) -> bool:
        """Whether the number is that of features; the many columns of texts have linear features."""
        return self.n_clusters is None and not self._wide and not get_tags(self).input_tags.pairwise

    def _fit_map(self, feature_map: FeatureTransformer, rows: RowArray, seed: int, *plans: Plan[Any]) -> list[Any]:
        if not self._compares_features:
            return super()._fit_map(feature_map, rows, seed, *plans)
        sampling = gap_sample((rows.shape[0], rows.shape[1]), seed)
        sample, *results = super()._fit_map(feature_map, rows, seed, sampling, *plans)
        categorical, most = categorical_columns(self.columns, rows.shape[1]), self.max_clusters
        self._number = gap_number_of_features(sample, categorical, partial(self._features, seed), most, seed)
        return results

    def _features(self, seed: int, rows: Floats) -> Floats:
        """Return the features of rows by a map that is fitted to them."""
        own = self._new_feature_map(seed)
        assert own is not None
        own.progress = False
        with use_journal(None):  # these are no passes over the data
            own.fit(self._typed(rows))
        return own.transform(self._typed(rows))

    def _wanted(self) -> int | None:
        """Return the number of clusters, or None to find it."""
        return self.n_clusters

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[CentroidState]:
        settings = self._set(
            CentroidSettings, n_clusters=self._wanted(), standardise=self.feature_map_ is None, seed=seed
        )
        found: Centroids = yield from k_means(settings, shape, self._check_look, self._number)
        if settings.n_clusters is None and len(found.means) == self.max_clusters:
            warnings.warn(
                f"found as many clusters as max_clusters={self.max_clusters} allows, which may mean that the gap "
                "statistic sees no number here: give n_clusters, or a larger max_clusters",
                UserWarning,
                stacklevel=2,
            )
        self._drawn = found.exemplars
        return CentroidState(
            found.frame.centre, found.frame.scale, found.means, found.n_rows, found.gaps, found.inertia, found.far,
            found.unit, self._map,
        )  # fmt: skip

    def _reason(self) -> str:
        k = self.n_clusters_
        if k >= len(self.gaps_):
            return "there are no more different rows in the sample"
        here, more = self.gaps_[k - 1], self.gaps_[k]
        return (
            f"the gap statistic is {here:.3g} for {full_count(k, 'cluster')} and {more:.3g} for {k + 1}, and one more "
            "cluster needs a rise by more than its standard error; this rule misses some clusters that are clearly "
            "apart, and divides some clouds: give n_clusters if you know it"
        )

    def _adopt(self, state: CentroidState) -> None:
        super()._adopt(state)
        self.cluster_centers_, self.inertia_, self.gaps_ = state.centroids, state.inertia, state.gaps

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        fewest, most = (1, 1) if n_rows <= self.sample_size else (2, 1 + MOST_PASSES)
        return self._passes_on_features(fewest, most)

    def _task_bytes(self, rows: RowArray) -> int:
        return int(min(self.sample_size * rows.dtype.itemsize * rows.shape[1], rows.nbytes))


@documented
class SpectralClustering(KernelKMeans):
    """K-means of the leading eigenvectors of the normalised affinities among rows, for any number of rows.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters, and of eigenvectors; None for the largest number of eigenvectors, at least two, that can be
        rotated until every row has one large entry (Zelnik-Manor and Perona), a heuristic that also divides a single
        cluster.
    max_clusters : int, default=20
        Most clusters to find.
    kernel : str, Kernel or callable, default="local_scaling"
        Affinity of two rows, without negative values: ``"local_scaling"``, ``"rbf"``, ``"nearest_neighbors"``,
        ``"gower"`` or ``"precomputed"``; a kernel of `mdh_dask.kernels` or a function, as for `KernelPCAFeatures`.
    n_landmarks : int, default=1000
        Number of rows to which the affinities of all rows are computed. The time of a pass is in proportion to it.

    Attributes
    ----------
    feature_map_ : SpectralFeatures
        The embedding, with `eigenvalues_`.

    See Also
    --------
    sklearn.cluster.SpectralClustering : For rows in memory.

    Notes
    -----
    Passes: one or two for the eigenvectors, and one that maps all rows if the features are cached; then k-means, as for
    `KernelKMeans`.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, On spectral clustering: analysis and an algorithm, 2001. C. Fowlkes, S. Belongie, F.
    Chung and J. Malik, Spectral grouping using the Nyström method, IEEE TPAMI 26, 2004. L. Zelnik-Manor and P. Perona,
    Self-tuning spectral clustering, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SpectralClustering
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 4.0], 300)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (600, 2))
    >>> np.bincount(SpectralClustering(n_clusters=2).fit_predict(X))
    array([300, 300])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(AFFINITIES), Kernel, callable],
    }

    kernel_parameter: ClassVar[str | None] = "kernel"
    feature_map: Any = field(init=False, default=None)
    kernel: str | Kernel | Callable = "local_scaling"
    n_landmarks: int = 1000

    def _new_feature_map(self, seed: int) -> SpectralFeatures:
        own = {name: getattr(self, name) for name in ("kernel", "n_landmarks", "scale", "progress")}
        return SpectralFeatures(
            n_components=self.n_clusters, max_components=self.max_clusters, random_state=seed, **own
        )

    @property
    def _compares_features(self) -> bool:
        return False  # the eigenvectors give the number

    def _wanted(self) -> int | None:
        assert self.feature_map_ is not None
        return self.n_clusters or self.feature_map_.n_components_

    def _reason(self) -> str:
        values = ", ".join(f"{value:.2g}" for value in self.feature_map_.eigenvalues_)  # type: ignore[union-attr]
        if self.n_clusters_ == 1:
            return f"all rows have the same affinities; the eigenvalue is {values}"
        return (
            "this is the most eigenvectors that can be turned until every row has one large entry, and never 1; the "
            f"eigenvalues are {values}"
        )

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        fewest, most = super()._passes(n_rows, n_columns)
        degrees = int(n_rows > SAMPLE * self.n_landmarks)
        return fewest + degrees, None if most is None else most + degrees
