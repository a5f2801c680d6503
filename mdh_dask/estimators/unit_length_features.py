"""Rows of length one, as a scikit-learn transformer."""

from typing import Any

from ..chunks import Plan
from ..kernels.unit_length import UnitLengthMap
from .docstrings import documented
from .planned import FeatureTransformer


@documented
class UnitLengthFeatures(FeatureTransformer):
    """Rows scaled to length one, for embeddings, whose directions say what is alike.

    As ``feature_map="unit_length"``, a model keeps this step. Columns are not scaled before it.

    Attributes
    ----------
    map_ : UnitLengthMap
        The function from a block of rows to their features.

    See Also
    --------
    sklearn.preprocessing.Normalizer : For rows in memory.

    Notes
    -----
    Passes: none for `fit`, and one to compute the result of `transform`. Rows of zeros stay zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import HierarchicalMDH, UnitLengthFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.normal(size=(3, 30)), 200, axis=0) + 0.3 * rng.normal(size=(600, 30))
    >>> X *= rng.lognormal(size=(600, 1))  # their lengths say nothing
    >>> HierarchicalMDH(feature_map=UnitLengthFeatures()).fit(X).n_clusters_
    3
    """

    map_type = UnitLengthMap

    column_types: Any = "auto"
    random_state: Any = 0
    progress: bool = False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[UnitLengthMap]:
        yield from ()  # no pass
        return UnitLengthMap(shape[1])
