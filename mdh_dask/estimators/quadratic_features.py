"""All columns and the products of two of them, as a scikit-learn transformer."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._state import FeatureMap, checked_array
from .._typing import AnyArray, Floats, Integers, RowArray
from ..chunks import Plan
from ..growth.passes import first_read
from ..growth.scaling import standardiser, to_few_bits
from .checks import check_first_look
from .docstrings import documented
from .planned import FeatureTransformer

MOST_COLUMNS = 60
"""Most columns, which have 1890 features; with more, a kernel needs fewer features."""

SAMPLED = 10_000
"""Number of rows from which the spread of the products is computed."""


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
        """Return the number of columns."""
        return len(self.centre)

    @property
    def n_components(self) -> int:
        """Return the number of features."""
        return len(self.factor)

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the features of a block of rows, shape (n_rows, n_components), float32."""
        return (products((rows - self.centre) * self.scale) * self.factor).astype(np.float32)

    def check(self) -> None:
        """Raise a ValueError unless all arrays fit together and are finite."""
        d = np.size(self.centre)
        checked_array("centre", self.centre, (d,))
        checked_array("scale", self.scale, (d,), least=0.0)
        checked_array("factor", self.factor, (d + d * (d + 1) // 2,), least=0.0)


def products(rows: AnyArray) -> Floats:
    """Return the columns and the products of two of them, shape (n_rows, d + d (d + 1) / 2), float64.

    Examples
    --------
    >>> products(np.array([[2, 3]])).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    rows = np.asarray(rows, dtype=np.float64)
    i, j = pairs_of(rows.shape[1])
    return np.concatenate([rows, rows[:, i] * rows[:, j]], axis=1)


def pairs_of(n_columns: int) -> tuple[Integers, Integers]:
    """Return the two columns of every product, the first one's with all others first."""
    first, second = np.triu_indices(n_columns)
    return first, second


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
    map_ : QuadraticMap
        The function from a block of rows to their features.
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
