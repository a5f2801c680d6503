"""Features of rows from affinities or dissimilarities to landmarks, as scikit-learn transformers."""

from collections import ChainMap
from collections.abc import Callable
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from .._state import FeatureMap
from .._typing import Floats, RowArray
from ..chunks import Pass, Plan
from ..kernels import KERNELS, Kernel, NystromMap, Polynomial, Precomputed, nystrom_map, resolve_kernel
from ..kernels.landmarks import SAMPLE
from ..kernels.mds import ScalingMap, Squares, scaling_map
from ..kernels.spectral import AffinitySums, SpectralMap, affinity_map, spectral_map
from .kernel_pca_features import KernelPCAFeatures
from .parameters import Interval, StrOptions, documented
from .planned import FeatureTransformer


@documented
class SpectralFeatures(KernelPCAFeatures):
    """Entries of rows in the leading eigenvectors of the normalised affinities among all rows.

    The affinity of two rows follows from those of each to some of the rows, the landmarks (Nyström); that of a row to
    all rows is its degree. Entries are scaled to length one for every row.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of eigenvectors; None for the largest number, at least two, that can be rotated until every row has one
        large entry (Zelnik-Manor and Perona).
    max_components : int, default=20
        Most eigenvectors to find.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Eigenvalues of the normalised affinities; the first is one.

    See Also
    --------
    sklearn.manifold.SpectralEmbedding : For rows in memory.

    Notes
    -----
    Passes: one for `fit` if ten rows per landmark are all rows, otherwise a second for the degrees; and one to compute
    the result of `transform`. The eigenvectors are those of the affinities among these rows, weighted by their degrees
    among all rows.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, On spectral clustering: analysis and an algorithm, 2001. C. Fowlkes, S. Belongie, F.
    Chung and J. Malik, Spectral grouping using the Nyström method, IEEE TPAMI 26, 2004. L. Zelnik-Manor and P. Perona,
    Self-tuning spectral clustering, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SpectralFeatures
    >>> rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 100, axis=0)
    >>> SpectralFeatures(kernel="rbf").fit(rows).n_components_
    3
    """

    map_type: ClassVar[type[FeatureMap]] = SpectralMap

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_components": [Interval(Integral, 1, None, closed="left")],
    }

    explained_variance_ratio_ = None
    variance: float = field(init=False, default=1.0)
    max_components: int = 20

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[FeatureMap]:
        sample, basis = yield from self._chosen(seed, shape, SAMPLE * self.n_landmarks)
        base = nystrom_map(*basis, variance=1.0, centred=False)
        sums = None
        if len(sample) < shape[0]:
            sums = yield Pass("adding affinities", AffinitySums(base))
        return self._of_sample(base, sample, sums)

    def _of_sample(self, base: NystromMap, sample: Floats, sums: Floats | None) -> FeatureMap:
        return spectral_map(base, sample, sums, self.n_components, self.max_components)

    def _adopt(self, feature_map: Any) -> None:
        FeatureTransformer._adopt(self, feature_map)
        self.eigenvalues_ = feature_map.eigenvalues


@documented
class AffinityFeatures(SpectralFeatures):
    """Features whose inner products approximate the affinities of rows, for trees that divide these.

    Those of `KernelPCAFeatures` are centred, so that their inner products are differences from means.

    Parameters
    ----------
    n_components : int, default=100
        Number of leading eigenvectors of the normalised affinities that are kept; more than there are clusters.

    See Also
    --------
    SpectralFeatures : The entries in the same eigenvectors, scaled to length one for every row.

    Notes
    -----
    Passes: as for `SpectralFeatures`. The first eigenvector is that of the degrees of rows, so these do not change with
    `n_components`.

    References
    ----------
    C. Fowlkes, S. Belongie, F. Chung and J. Malik, Spectral grouping using the Nyström method, IEEE TPAMI 26, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import AffinityFeatures
    >>> rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 100, axis=0)
    >>> features = AffinityFeatures(kernel="rbf").fit_transform(rows)
    >>> affinities = features @ features.T
    >>> bool(affinities[:100, :100].mean() > 0.05), bool(abs(affinities[:100, 100:]).max() < 1e-3)
    (True, True)
    """

    map_type: ClassVar[type[FeatureMap]] = NystromMap

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")]
    }

    n_components: int = 100
    max_components: int = field(init=False, default=100)

    def _of_sample(self, base: NystromMap, sample: Floats, sums: Floats | None) -> FeatureMap:
        return affinity_map(base, sample, sums, self.n_components)


@documented
class MultidimensionalScaling(KernelPCAFeatures):
    """Places of rows whose distances fit given dissimilarities: classical scaling, or Kruskal's non-metric scaling.

    The places of some rows, the landmarks, are found from all dissimilarities among them; every other row is placed by
    its dissimilarities to the landmarks.

    Parameters
    ----------
    metric : bool, default=True
        True: classical scaling, the leading components of the doubly centred squared dissimilarities. False: distances
        fit a monotone function of the dissimilarities, found from the classical places by isotonic regression and
        majorising steps.
    dissimilarity : str, Kernel or callable, default="euclidean"
        Dissimilarity of two rows. ``"euclidean"``: distances of the columns. ``"gower"``: Gower's, of mixed columns.
        ``"precomputed"``: `X` holds the dissimilarities of all rows in `fit`, and those of new rows to these in
        `transform`. Another kernel by name, a kernel of `mdh_dask.kernels` or a function: distances in its feature
        space.
    max_iter : int, default=100
        Most majorising steps.
    tol : float, default=1e-4
        The steps end when the stress falls by less than this share of it.
    n_landmarks : int, default=1000
        Number of landmarks. Non-metric scaling takes time in proportion to their square in every step.
    variance : float, default=0.9
        Share of the variance of the classical places that the components explain.

    Attributes
    ----------
    stress_ : float or None
        Kruskal's stress of the landmarks, for ``metric=False``.
    stresses_ : list of float
        The stress before every step.
    n_iter_ : int
        Number of steps; 1 for metric scaling, which has a closed form.

    See Also
    --------
    sklearn.manifold.MDS : For rows in memory, without a rule for others.

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. Places of landmarks, mapped as rows, are their
    own in classical scaling, and near them in non-metric scaling, where each row moves alone. For
    ``dissimilarity="gower"``, trees find a valley only where it is wider than half the change by a level of any single
    column, as with `GowerFeatures`.

    References
    ----------
    W. Torgerson, Multidimensional scaling: I, Psychometrika 17, 1952. J. Kruskal, Nonmetric multidimensional scaling,
    Psychometrika 29, 1964. J. Gower, Adding a point to vector diagrams in multivariate analysis, Biometrika 55, 1968.
    K. Yates, PhD thesis, Lancaster University, 2017, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import MultidimensionalScaling
    >>> places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> D = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    >>> Z = MultidimensionalScaling(dissimilarity="precomputed", variance=1.0).fit_transform(D)
    >>> np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)).round(3).tolist()
    [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    """

    map_type = ScalingMap
    kernel_parameter = "dissimilarity"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": ["boolean"],
        "dissimilarity": [
            StrOptions(ChainMap[str, Any]({"euclidean": None}, KERNELS).keys()),  # a view, as of feature maps
            Kernel,
            callable,
        ],
    }

    kernel: Any = field(init=False, default=None)
    metric: bool = True
    dissimilarity: str | Kernel | Callable = "euclidean"
    max_iter: int = 100
    tol: float = 1e-4

    def _kernel(self) -> Kernel:
        if self.dissimilarity == "euclidean":
            return Polynomial(degree=1, coef0=0.0, gamma=1.0)
        return resolve_kernel(self.dissimilarity)

    def _check_rows(self, rows: RowArray) -> None:
        if isinstance(self._kernel(), Precomputed) and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"expected a square array of the dissimilarities of all rows; got shape {rows.shape}. For rows of "
                "columns, choose dissimilarity='euclidean' or 'gower'."
            )
        super()._check_rows(rows)

    def _map_of(self, landmarks: Floats, kernel: Kernel, centre: Floats, scale: Floats) -> FeatureMap:
        squares: Squares = "complement" if kernel.typed else "kernel"
        if isinstance(kernel, Precomputed):
            squares = "given"
            matrix = kernel.gram(landmarks)
            to_itself = np.abs(np.diag(matrix))
            if (matrix < 0).any() or (to_itself > 1e-6 * np.abs(matrix).max(initial=0.0)).any():
                raise ValueError(
                    f"expected dissimilarities of at least 0, and 0 of every row to itself; got {matrix.min():g} as "
                    f"the least and {to_itself.max():g} of a row to itself. For similarities, choose a kernel."
                )
        made, course = scaling_map(
            landmarks, kernel, squares, centre, scale, variance=self.variance, n_components=self.n_components,
            metric=self.metric, max_iter=self.max_iter, tol=self.tol,
        )  # fmt: skip
        self.stresses_ = [] if course is None else course.stresses
        self.stress_ = self.stresses_[-1] if self.stresses_ else None
        self.n_iter_ = max(len(self.stresses_), 1)
        return made
