"""Features of rows from their affinities to landmarks, as scikit-learn transformers."""

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

from .._state import FeatureMap
from .._typing import Floats
from ..chunks import Pass, Plan
from ..kernels import NystromMap, nystrom_map
from ..kernels.landmarks import SAMPLE
from ..kernels.spectral import AffinitySums, SpectralMap, affinity_map, spectral_map
from .constraints import Interval
from .docstrings import documented
from .kernel_pca_features import KernelPCAFeatures
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
    map_ : SpectralMap
        The function from a block of rows to their features.
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks.
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
        wanted = SAMPLE * self.n_landmarks
        chosen = yield from self._chosen(seed, shape, wanted)
        landmarks = chosen.standardised[chosen.landmarks]
        base = nystrom_map(landmarks, chosen.kernel, chosen.centre, chosen.scale, variance=1.0, centred=False)
        sums = None
        if len(chosen.standardised) < shape[0]:
            sums = yield Pass("adding affinities", AffinitySums(base))
        return self._of_sample(base, chosen.standardised, sums)

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

    Attributes
    ----------
    map_ : NystromMap
        The function from a block of rows to their features.

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
