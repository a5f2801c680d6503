"""Features whose inner products are the affinities of rows, as a scikit-learn transformer."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from .._state import FeatureMap
from .._typing import Floats
from ..kernels import NystromMap
from ..kernels.spectral import affinity_map
from .docstrings import documented
from .spectral_features import SpectralFeatures


@documented
@dataclass(kw_only=True, eq=False, repr=False)
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
        name: constraint
        for name, constraint in SpectralFeatures._parameter_constraints.items()
        if name not in ("max_components", "number_rule")
    } | {"n_components": [Interval(Integral, 1, None, closed="left")]}

    n_components: int = 100
    max_components: int = field(init=False, default=100)
    number_rule: str = field(init=False, default="alignment")

    def _of_sample(self, base: NystromMap, sample: Floats, sums: Floats | None) -> FeatureMap:
        return affinity_map(base, sample, sums, self.n_components)
