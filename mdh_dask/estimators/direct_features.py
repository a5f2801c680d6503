"""Feature maps without a kernel: singular vectors of sparse rows, and rows of length one."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from .._state import FeatureMap
from .._typing import Floats
from ..chunks import Pass, Plan
from ..growth.passes import sample_limit
from ..kernels.truncated_svd import SparseSample, SparseSamplePass, TruncatedSVDMap, truncated_svd_map
from ..kernels.unit_length import UnitLengthMap
from .checks import LARGEST_BEFORE_OVERFLOW
from .constraints import Interval
from .docstrings import documented
from .planned import FeatureTransformer

SAMPLED = 10_000
"""Rows that are decomposed, or fewer with many values."""


@documented
class TruncatedSVDFeatures(FeatureTransformer):
    """Products of rows with the leading singular vectors of a sample, for sparse rows of many columns such as texts.

    Latent semantic analysis. No row becomes dense. Columns are neither centred nor scaled: weight the counts of words
    first, such as by `sklearn.feature_extraction.text.TfidfTransformer`.

    Parameters
    ----------
    n_components : int, default=20
        Number of singular vectors.
    unit_length : bool, default=True
        Whether to scale the features of each row to length one, so that long texts are not apart from short ones.

    Attributes
    ----------
    map_ : TruncatedSVDMap
        The function from a block of rows to their features.

    See Also
    --------
    sklearn.decomposition.TruncatedSVD : For rows in memory.

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. The singular vectors are those of at most
    10,000 rows, with at most 33 million values that are stored. Sparse and dense rows with the same values have the
    same features.

    References
    ----------
    S. Deerwester, S. Dumais, G. Furnas, T. Landauer and R. Harshman, Indexing by latent semantic analysis, 1990. N.
    Halko, P. Martinsson and J. Tropp, Finding structure with randomness, SIAM Review 53, 2011.

    Examples
    --------
    >>> from scipy.sparse import random_array
    >>> from mdh_dask import TruncatedSVDFeatures
    >>> texts = random_array((300, 5000), density=0.01, rng=0)
    >>> TruncatedSVDFeatures(n_components=5).fit_transform(texts).shape
    (300, 5)
    """

    map_type = TruncatedSVDMap

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "unit_length": ["boolean"],
    }

    n_components: int = 20
    unit_length: bool = True
    column_types: Any = "auto"
    random_state: Any = 0
    progress: bool = False

    @property
    def takes_sparse(self) -> bool:
        """True, for any number of columns."""
        return True

    @property
    def eigenvalues_(self) -> Floats:
        """Mean squares of the products with the singular vectors, shape (n_components_,)."""
        return self.map_.variances

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[FeatureMap]:
        sample: SparseSample = yield Pass("reading", SparseSamplePass(seed, sample_limit(SAMPLED, shape[0])))
        _check(sample)
        rows = sample.rows(shape[1])
        if rows.shape[0] > SAMPLED:
            rows = rows[np.sort(np.argsort(sample.hashes, kind="stable")[:SAMPLED])]
        return truncated_svd_map(rows, self.n_components, self.unit_length, seed)


def _check(sample: SparseSample) -> None:
    """Raise an error for values that are not finite or too large."""
    if sample.n_nan or sample.n_infinite:
        raise ValueError(
            f"expected finite values; got {sample.n_nan} NaN and {sample.n_infinite} infinite (inf) values, the first "
            f"in row {sample.first_bad_row}. Drop these rows or fill in the values first."
        )
    if sample.largest > LARGEST_BEFORE_OVERFLOW:
        raise ValueError(
            f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sample.largest:g}, whose square overflows. Scale "
            "the columns first."
        )


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
