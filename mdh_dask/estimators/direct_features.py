"""Feature maps without a kernel: singular vectors of sparse rows, rows of length one, and products of columns."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from .._state import FeatureMap, checked_array
from .._typing import AnyArray, Floats, RowArray
from ..chunks import Pass, Plan
from ..growth.passes import first_read, sample_limit
from ..growth.scaling import standardiser, to_few_bits
from ..kernels.truncated_svd import SparseSample, SparseSamplePass, TruncatedSVDMap, UnitLengthMap, truncated_svd_map
from .parameters import LARGEST_BEFORE_OVERFLOW, Interval, check_counts, check_first_look, documented
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
    takes_sparse = True  # with any number of columns

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
    def eigenvalues_(self) -> Floats:
        """Mean squares of the products with the singular vectors, shape (n_components_,)."""
        return self.map_.variances

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[FeatureMap]:
        sample: SparseSample = yield Pass("reading", SparseSamplePass(seed, sample_limit(SAMPLED, shape[0])))
        check_counts(sample)
        if sample.largest > LARGEST_BEFORE_OVERFLOW:
            raise ValueError(
                f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sample.largest:g}, whose square overflows. "
                "Scale the columns first."
            )
        rows = sample.rows(shape[1])
        if rows.shape[0] > SAMPLED:
            rows = rows[np.sort(np.argsort(sample.hashes, kind="stable")[:SAMPLED])]
        return truncated_svd_map(rows, self.n_components, self.unit_length, seed)


@documented
class UnitLengthFeatures(FeatureTransformer):
    """Rows scaled to length one, for embeddings, whose directions say what is alike.

    As ``feature_map="unit_length"``, a model keeps this step. Columns are not scaled before it.

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


MOST_COLUMNS = 60
"""Most columns, which have 1890 features; with more, a kernel needs fewer features."""


@dataclass(frozen=True)
class QuadraticMap(FeatureMap):
    """The map to all columns and the products of two of them, the columns first."""

    centre: Floats
    scale: Floats
    """Both of shape (n_features,): columns are standardised before they are multiplied."""
    factor: Floats
    """Shape (n_components,): features are multiplied by it."""

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def n_components(self) -> int:
        return len(self.factor)

    def __call__(self, rows: AnyArray) -> Floats:
        return (products((rows - self.centre) * self.scale) * self.factor).astype(np.float32)

    def check(self) -> None:
        """Raise a ValueError unless all arrays fit together and are finite."""
        d = np.size(self.centre)
        checked_array("centre", self.centre, (d,))
        checked_array("scale", self.scale, (d,), least=0.0)
        checked_array("factor", self.factor, (d + d * (d + 1) // 2,), least=0.0)


def products(rows: AnyArray) -> Floats:
    """Return the columns and the products of two of them, shape (n_rows, d + d (d + 1) / 2), float64."""
    rows = np.asarray(rows, dtype=np.float64)
    i, j = np.triu_indices(rows.shape[1])  # the first with all others first
    return np.concatenate([rows, rows[:, i] * rows[:, j]], axis=1)


@documented
class QuadraticFeatures(FeatureTransformer):
    """All columns and the products of two of them: one split among these features is a quadric among the columns.

    The kernel ``"quadratic"`` chooses landmarks. Here a tree is exact, and its directions are readable.

    Parameters
    ----------
    scale : bool, default=True
        Whether to standardise the columns before they are multiplied, and the products. Without centring, a square
        hardly differs from its column.
    random_state : int, RandomState instance or None, default=0
        Draws the rows from which the spread of the products is computed.

    Attributes
    ----------
    n_components_ : int
        ``d + d (d + 1) / 2`` for d columns.

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. At most 60 columns. Source: Rome, Miasnikov and
    Haralick, CUNY TR-2003009, section 6.1, which lists every product twice.

    Examples
    --------
    >>> from mdh_dask import ProjectionPursuitTree, QuadraticFeatures
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 1000), np.repeat([1.0, 5.0], 500)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (1000, 2))
    >>> np.bincount(ProjectionPursuitTree(feature_map=QuadraticFeatures(), max_clusters=2).fit_predict(X))
    array([500, 500])
    """

    map_type = QuadraticMap

    scale: bool = True
    column_types: Any = "auto"
    random_state: Any = 0
    progress: bool = False

    def _check_rows(self, rows: RowArray) -> None:
        if rows.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"expected at most {MOST_COLUMNS} columns to multiply two at a time; got {rows.shape[1]}. Take the "
                "kernel instead: feature_map='quadratic'"
            )

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[QuadraticMap]:
        check = partial(check_first_look, names=getattr(self, "feature_names_in_", None))
        look = yield from first_read(seed, SAMPLED, shape[0], check)
        d = shape[1]
        if not self.scale:
            return QuadraticMap(np.zeros(d), np.ones(d), np.ones(d + d * (d + 1) // 2))
        columns = standardiser(look.columns, look.sample, True)
        spread = to_few_bits(products((look.sample.rows - columns.centre) * columns.scale).std(axis=0))
        factor = np.divide(1.0, spread, out=np.zeros(len(spread)), where=spread > 1e-9)
        return QuadraticMap(columns.centre, columns.scale, factor)
