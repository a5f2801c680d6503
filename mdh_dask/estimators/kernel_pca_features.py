"""Kernel principal components of rows by the Nyström method, as a scikit-learn transformer."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._typing import AnyArray, Floats, Integers, RowArray
from ..chunks import Pass, Plan, Progress, announced, is_dask, map_rows, merge_chunks, run
from ..growth.bounds import bounds_of
from ..growth.passes import FirstLook, FirstPass, Sample, sample_limit, smallest_hashes
from ..growth.scaling import standardiser
from ..kernels import KERNELS, LANDMARKS, Kernel, NystromMap, choose_landmarks, nystrom_map, resolve_kernel
from ..kernels.landmarks import SAMPLE
from .validation import as_rows, check_finite, check_first_look


@dataclass(kw_only=True, eq=False, repr=False)
class KernelPCAFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates of rows along the leading principal components of a kernel's feature space.

    Clusters that no hyperplane separates may be separated by one in these coordinates. The components are computed from
    some of the rows, the landmarks. If all rows are landmarks this is kernel principal component analysis, otherwise
    its Nyström approximation.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="local_scaling"
        ``"rbf"``: Gaussian; its width is twice the median distance of a landmark to its 7th neighbour.
        ``"local_scaling"``: Gaussian; the width of each row is the distance to its 7th neighbour.
        ``"polynomial"``, of degree 3; ``"quadratic"``: all columns and their products; ``"cosine"``.
        ``"nearest_neighbors"``: 16 steps of a random walk on the graph of the 10 nearest neighbours (a diffusion map
        or spectral embedding).
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
        ``"uniform"``: a uniform sample. From a sample of ten times as many rows, ``"kmeans++"`` takes rows that are far
        apart, and ``"leverage"`` draws those that others explain least in the feature space.
    scale : bool, default=True
        Whether to standardise the columns before the kernel.
    random_state : int, RandomState instance or None, default=0
        The same integer gives the same map for any chunks, scheduler and number of workers.
    progress : bool, default=False
        Whether `fit` shows a progress bar.

    Attributes
    ----------
    map_ : NystromMap
        The function from a block of rows to their features.
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks.
    n_components_ : int
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Variances of the landmarks' features, in descending order.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        These variances as shares of the total variance in the feature space.
    n_features_in_ : int

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

    # The keys are views, so that names registered later are valid, too.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(KERNELS.keys()), Kernel, callable],
        "n_landmarks": [Interval(Integral, 2, None, closed="left")],
        "variance": [Interval(Real, 0, 1, closed="right")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "landmark_method": [StrOptions(LANDMARKS.keys())],
        "scale": ["boolean"],
        "random_state": ["random_state"],
        "progress": ["boolean"],
    }

    kernel: str | Kernel | Callable = "local_scaling"
    n_landmarks: int = 1000
    variance: float = 0.9
    n_components: int | None = None
    landmark_method: str = "uniform"
    scale: bool = True
    random_state: Any = 0
    progress: bool = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and find their components, in one pass.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities. Dask arrays need known row chunks.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or `X` is invalid; before any work if possible, otherwise in the pass.
        """
        rows = as_rows(self, X, reset=True)
        kernel = resolve_kernel(self.kernel)
        self._check_precomputed(kernel, rows)
        seed = int(check_random_state(self.random_state).randint(2**31))
        plan = self._plan(kernel, len(rows), seed)
        (self.landmarks_, feature_map), _ = run(plan, merge_chunks(rows), announce=self._bar)
        self._keep(feature_map)
        return self

    def transform(self, X: Any) -> RowArray:
        """Return the features of every row.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples, n_components_), float32
            NumPy for NumPy input, otherwise lazy in the row chunks of `X` with one pass to compute.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` has a different number of columns than in `fit`, or NaN or infinities (for lazy input, on computing).
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        if not is_dask(rows):
            check_finite(rows)  # before the blocks are divided, so that row numbers in errors are those of `X`
        return map_rows(features_of, rows, dtype="float32", n_columns=self.n_components_, shared=self.map_)

    def _check_precomputed(self, kernel: Kernel, rows: RowArray) -> None:
        if kernel.uses_columns:
            return
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(f"expected a square array for a precomputed kernel among all rows; got shape {rows.shape}")
        if self.landmark_method != "uniform":
            raise ValueError(
                f"expected landmark_method='uniform' with a precomputed kernel; got {self.landmark_method!r}, which "
                "needs coordinates"
            )

    def _plan(self, kernel: Kernel, n_rows: int, seed: int) -> Plan[tuple[Integers, NystromMap]]:
        """Plan the choice of the landmarks and the map; the result holds their row numbers and the map."""
        wanted = self.n_landmarks * (1 if self.landmark_method == "uniform" else SAMPLE)
        look: FirstLook = yield Pass("reading", FirstPass(seed, sample_limit(wanted, n_rows)))
        check_first_look(look, getattr(self, "feature_names_in_", None))
        centre, scale = self._standard(kernel, look, smallest_hashes(look.sample, wanted))
        sample = look.sample
        if kernel.uses_columns:
            # The features of a polynomial kernel would all be those of a landmark far from all others.
            sample = sample.take(np.flatnonzero(bounds_of(sample.rows).contain(sample.rows)))
        sample = smallest_hashes(sample, wanted)
        sample = sample.take(np.argsort(sample.hashes, kind="stable"))
        standardised = (sample.rows - centre) * scale
        rng = generator(seed, SAMPLE)
        chosen = choose_landmarks(standardised, self.n_landmarks, self.landmark_method, kernel, rng)
        chosen = chosen[np.argsort(sample.numbers[chosen])]
        landmarks = sample.numbers[chosen]
        feature_map = nystrom_map(
            standardised[chosen], kernel.among(landmarks), centre, scale,
            variance=self.variance, n_components=self.n_components,
        )  # fmt: skip
        return landmarks, feature_map

    def _bar(self, description: str) -> Progress | None:
        return announced(description, self.progress)

    def _standard(self, kernel: Kernel, look: FirstLook, sample: Sample) -> tuple[Floats, Floats]:
        """Return the shift and the scale of the columns, without effect if they would change the requested kernel."""
        if kernel.uses_columns and (self.scale or kernel.shift_invariant):
            columns = standardiser(look.columns, sample, self.scale)
            return columns.centre, columns.scale
        return np.zeros(self.n_features_in_), np.ones(self.n_features_in_)

    def _keep(self, feature_map: NystromMap) -> None:
        self.map_ = feature_map
        self.n_components_ = self._n_features_out = feature_map.n_components
        self.eigenvalues_ = feature_map.eigenvalues
        self.explained_variance_ratio_ = feature_map.eigenvalues / (feature_map.total_variance or 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        # Features are float32 for every dtype of the rows.
        tags.transformer_tags.preserves_dtype = []
        return tags


def features_of(feature_map: NystromMap, rows: AnyArray) -> Floats:
    """Return the features of a block of rows, or raise an error if they are not finite."""
    check_finite(rows)
    return feature_map(rows)
