"""Kernel principal components of rows by the Nyström method, as a scikit-learn transformer."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._random import generator
from .._state import FeatureMap
from .._typing import Floats, RowArray
from ..chunks import Pass, Plan, Together
from ..growth.bounds import bounds_of
from ..growth.passes import FirstLook, FirstPass, Sample, SamplePass, sample_limit
from ..growth.redundant import redundant_columns
from ..growth.scaling import standardiser
from ..kernels import KERNELS, LANDMARKS, Gower, Kernel, NystromMap, choose_landmarks, nystrom_map, resolve_kernel
from ..kernels.landmarks import SAMPLE
from ..summaries.passes import TypedLook, TypedPass
from ..valleys.neighbours import distinct
from .parameters import Interval, StrOptions, categorical_columns, check_first_look, check_typed_look, documented
from .planned import FeatureTransformer

_Read = tuple[Kernel, Sample, Floats, Floats]
"""A kernel that knows the columns, a sample of the rows, and the shift and scale of the columns."""


_Basis = tuple[Floats, Kernel, Floats, Floats]
"""Standardised landmarks, a kernel, and the shift and scale of the columns: what a map is made of."""


@documented
class KernelPCAFeatures(FeatureTransformer):
    """Coordinates of rows along the leading principal components of a kernel's feature space.

    Clusters that no hyperplane separates may be separated by one in these coordinates. The components are computed from
    some of the rows, the landmarks. If all rows are landmarks this is kernel principal component analysis, otherwise
    its Nyström approximation.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="local_scaling"
        Kernel of the feature space. ``"rbf"``: Gaussian; its width is twice the median distance of a landmark to its
        7th neighbour.
        ``"local_scaling"``: Gaussian; the width of each row is the distance to its 7th neighbour.
        ``"polynomial"``, of degree 3; ``"quadratic"``: all columns and their products; ``"cosine"``.
        ``"nearest_neighbors"``: 16 steps of a random walk on the graph of the 10 nearest neighbours (a diffusion map
        or spectral embedding); ``"heat"``: the flow of heat along its links, summed over short and long times.
        ``"isomap"``: shortest paths along the links of a graph of neighbours; ``"connectivity"``: paths whose longest
        step is as short as possible. Both keep the distances between all landmarks.
        ``"gower"``: one minus Gower's dissimilarity, for mixed columns and missing values; see `GowerFeatures`.
        ``"precomputed"``: `X` holds the kernel among all rows in `fit`, and of new rows with these in `transform`.
        To set parameters, pass a kernel of `mdh_dask.kernels`, for example ``RBF(width=2.0)``. A function
        ``(rows, landmarks) -> matrix`` is a kernel, too.
    n_landmarks : int, default=1000
        Number of rows whose images span the feature space. Mapping takes time in proportion to it, `fit` to its cube.
    variance : float, default=0.9
        Share of the landmarks' variance in the feature space that the components explain.
    n_components : int or None, default=None
        Number of components; None for as many as explain `variance`.
    landmark_method : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Choice of the landmarks. ``"uniform"``: a uniform sample. From a sample of ten times as many rows,
        ``"kmeans++"`` takes rows that are far apart, and ``"leverage"`` draws those that others explain least in the
        feature space.
    scale : bool, default=True
        Whether to standardise the columns before the kernel. Gower's has its own scale.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks.
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Variances of the landmarks' features, in descending order.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        These variances as shares of the total variance in the feature space.

    See Also
    --------
    sklearn.decomposition.KernelPCA : For rows in memory, all of which are landmarks.

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. Features are float32 and centred at the mean of
    the landmarks in the feature space. The features of a row do not depend on the chunks. Components with less than a
    millionth of the first one's variance are left out.

    References
    ----------
    C. Williams and M. Seeger, Using the Nyström method to speed up kernel machines, 2001. K. Yates, PhD thesis,
    Lancaster University, 2017, chapter 5. L. Zelnik-Manor and P. Perona, Self-tuning spectral clustering, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import KernelPCAFeatures, RandomProjectionTree
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 2000), np.repeat([1.0, 5.0], 1000)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (2000, 2))
    >>> features = KernelPCAFeatures(kernel="quadratic", n_landmarks=300)
    >>> np.bincount(make_pipeline(features, RandomProjectionTree(scale=False, max_clusters=2)).fit_predict(X))
    array([1000, 1000])
    """

    map_type: ClassVar[type[FeatureMap]] = NystromMap
    kernel_parameter: ClassVar[str | None] = "kernel"

    # The keys are views, so that names registered later are valid, too.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(KERNELS.keys()), Kernel, callable],
        "variance": [Interval(Real, 0, 1, closed="right")],
        "landmark_method": [StrOptions(LANDMARKS.keys())],
    }

    kernel: str | Kernel | Callable = "local_scaling"
    n_landmarks: int = 1000
    variance: float = 0.9
    n_components: int | None = None
    landmark_method: str = "uniform"
    scale: bool = True
    column_types: Any = "auto"
    random_state: Any = 0
    progress: bool = False

    @property
    def uses_types(self) -> bool:
        """Return whether the kernel compares categories and missing values as they are."""
        return self._kernel().typed

    def _check_rows(self, rows: RowArray) -> None:
        if self._kernel().uses_columns:
            return
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(f"expected a square array for a precomputed kernel among all rows; got shape {rows.shape}")
        if self.landmark_method != "uniform":
            raise ValueError(
                f"expected landmark_method='uniform' with a precomputed kernel; got {self.landmark_method!r}, which "
                "needs coordinates"
            )

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[FeatureMap]:
        """Plan the choice of the landmarks and the map."""
        wanted = self.n_landmarks * (1 if self.landmark_method == "uniform" else SAMPLE)
        _, basis = yield from self._chosen(seed, shape, wanted)
        return self._map_of(*basis)

    def _chosen(self, seed: int, shape: tuple[int, int], wanted: int) -> Plan[tuple[Floats, _Basis]]:
        """Plan a standardised sample of so many rows, and the choice of the landmarks from it."""
        kernel = self._kernel()
        read = self._first_read_typed if kernel.typed else self._first_read
        kernel, sample, centre, scale = yield from read(kernel, seed, sample_limit(wanted, shape[0]), wanted)
        sample = sample.first(wanted)
        if kernel.of_neighbours:
            sample = sample.take(distinct(sample.rows))
        sample = sample.in_random_order()
        standardised = (sample.rows - centre) * scale
        rng = generator(seed, SAMPLE)
        chosen = choose_landmarks(standardised, self.n_landmarks, self.landmark_method, kernel, rng)
        chosen = chosen[np.argsort(sample.numbers[chosen])]
        self.landmarks_ = sample.numbers[chosen]
        return standardised, (standardised[chosen], kernel.among(self.landmarks_), centre, scale)

    def _map_of(self, landmarks: Floats, kernel: Kernel, centre: Floats, scale: Floats) -> FeatureMap:
        """Return the map of some landmarks."""
        return nystrom_map(landmarks, kernel, centre, scale, variance=self.variance, n_components=self.n_components)

    def _kernel(self) -> Kernel:
        return resolve_kernel(self.kernel)

    def _first_read(self, kernel: Kernel, seed: int, limit: int, wanted: int) -> Plan[_Read]:
        """Plan the first pass over columns of numbers."""
        look: FirstLook = yield Pass("reading", FirstPass(seed, limit))
        check_first_look(look, getattr(self, "feature_names_in_", None))
        sample, d = look.sample, self.n_features_in_
        centre: Floats = np.zeros(d)
        scale: Floats = np.ones(d)
        if kernel.uses_columns and (self.scale or kernel.shift_invariant):  # a shift would change other kernels
            some = sample.first(wanted)
            columns = standardiser(look.columns, some, self.scale).without(redundant_columns(some))
            centre, scale = columns.centre, columns.scale
        if kernel.uses_columns:
            # The features of a polynomial kernel would all be those of a landmark far from all others.
            sample = sample.take(np.flatnonzero(bounds_of(sample.rows).contain(sample.rows)))
        return kernel, sample, centre, scale

    def _first_read_typed(self, kernel: Kernel, seed: int, limit: int, wanted: int) -> Plan[_Read]:
        """Plan the first pass over mixed columns, which the kernel scales."""
        assert isinstance(kernel, Gower)
        look: TypedLook
        sample: Sample
        look, sample = yield Pass("reading", Together((TypedPass(), SamplePass(seed, limit))))
        check_typed_look(look)
        d = len(look.low)
        categorical = categorical_columns(self.columns, d)
        return (
            kernel.of_columns(categorical, look.low, look.high, look.n_missing > 0),
            sample._replace(rows=sample.rows.astype(np.float64)), np.zeros(d), np.ones(d),
        )  # fmt: skip

    def _adopt(self, feature_map: Any) -> None:
        super()._adopt(feature_map)
        self.eigenvalues_ = feature_map.eigenvalues
        self.explained_variance_ratio_ = feature_map.eigenvalues / (feature_map.total_variance or 1.0)
