"""Constant shift embedding of mixed columns, as a scikit-learn transformer."""

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from .._levels import LevelFeatures
from .._state import FeatureMap
from .._typing import Floats, RowArray
from .._words import full_count
from ..chunks import Pass, Plan, Together
from ..kernels import Gower, Kernel
from ..kernels.gower import Missing, Shift
from ..kernels.gower_map import CodeProducts, GowerMap, gower_code, gower_map
from ..kernels.numbers_map import NumbersMap, with_numbers
from ..kernels.nystrom import NystromMap
from ..summaries.passes import DistinctPass, DistinctValues, TypedLook, TypedPass
from .kernel_pca_features import KernelPCAFeatures
from .parameters import (
    MOST_LEVELS,
    Interval,
    StrOptions,
    categorical_columns,
    check_levels,
    check_typed_look,
    documented,
)

MOST_COORDINATES = 4096
"""Most coordinates of the explicit code, whose products take 134 MB in every task."""


@documented
class GowerFeatures(KernelPCAFeatures):
    """Coordinates of rows of mixed columns whose squared distances are twice Gower's dissimilarities.

    Continuous, ordinal and categorical columns are compared by Gower's dissimilarity, the weighted mean of the
    differences of two rows in all columns; the coordinates are those of constant shift embedding along the leading
    components. Values may be missing.

    Parameters
    ----------
    method : {"nystrom", "explicit"}, default="nystrom"
        Rows from which the components are computed. ``"nystrom"``: some rows, the landmarks; exact if all rows are
        landmarks. ``"explicit"``: all rows, whose dissimilarities are computed from a code of levels and thresholds.
    weights : array-like of shape (n_features,) or None, default=None
        Weight of every column in the dissimilarity; None for equal weights.
    missing : {"level", "pairs"}, default="level"
        Rule for missing values. ``"level"``: missing is one more value, which differs from all others as much as the
        ends of the column's range. ``"pairs"``, as in the thesis: a column in which either of two rows has no value
        leaves the mean of this pair.
    shift : {"constant", "clip"}, default="constant"
        Values that are missing in pairs make some eigenvalues negative. ``"constant"``: the least is subtracted from
        all. ``"clip"``: the negative ones become zero.
    n_thresholds : int, default=32
        For ``method="explicit"``: gaps between the thresholds of a column that is not categorical. Columns with at
        most one more distinct values are exact; otherwise dissimilarities are at most 1 over `n_thresholds` too small.
    variance : float, default=0.95
        Share of the landmarks' variance in the feature space that the components explain. With the thesis' 0.9, most
        tables have no direction along which a continuous column is straight.
    numbers : bool, default=False
        Whether columns of numbers of which at most one value in five is missing are features of their own, too, besides
        ``method="nystrom"``. Trees with ``feature_map="gower"`` take them, so that they find what the numbers alone
        show. A missing value is that of one of the ten most similar landmarks that have it, unless more than one row in
        a hundred lacks all of these columns: then only those without missing values are features.
    single_levels : bool, default=False
        Whether trees may take two levels, or two ends, of a single column for two clusters, as in the thesis. With very
        few columns clusters may differ in no more, but every column is then likely to be split.

    Attributes
    ----------
    map_ : NystromMap or GowerMap
        The function from a block of rows to their features.
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks, for ``method="nystrom"``.
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Variances of the features over the landmarks or all rows, in descending order.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64

    Notes
    -----
    Passes: one for `fit`, two with ``method="explicit"``, and one to compute the result of `transform`. Ranges are
    those of all rows; later values beyond them count as their ends, and unknown levels differ from all others; those of
    an ordinal column count as its highest level. Without types, all columns are continuous. Ordinal columns are
    compared by their ranks. With ``method="explicit"``, later missing values count as by ``missing="level"`` in any
    case.

    Trees in these coordinates find a valley only where it is wider than half the change of any single column by a
    level, as every column of two levels has a valley between them: clusters differ in several columns. A continuous
    column is a curve in these coordinates, at whose bends rows gather: valleys must also be wider than the bend of any
    single column. See `single_levels`. Rows without a value of one column are no cluster. With ``missing="level"``,
    those without values of several columns may be; with ``"pairs"``, a thousand rows or more of few columns may split
    into those that lack one column and have one level of another.

    `variance` chooses the number of components by the eigenvalues before the shift. The shift adds the same variance in
    every direction, so that 90% of the shifted variance takes nearly as many components as there are rows, most of
    them noise. A shift scales the components kept: landmarks have exactly the coordinates of constant shift embedding,
    and other rows follow by the same linear map.

    References
    ----------
    J. Gower, A general coefficient of similarity and some of its properties, Biometrics 27, 1971. V. Roth, J. Laub,
    M. Kawanabe and J. Buhmann, Optimal cluster preserving embedding of nonmetric proximity data, IEEE Transactions on
    Pattern Analysis and Machine Intelligence 25(12), 2003. K. Yates, PhD thesis, Lancaster University, 2017,
    section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import GowerFeatures
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [5.0, np.nan]])
    >>> Z = GowerFeatures(variance=1.0).fit_transform(X)
    >>> np.round(((Z[0] - Z[1]) ** 2).sum() / 2, 3)
    np.float32(0.125)
    """

    map_type = NystromMap
    kernel_parameter = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"nystrom", "explicit"})],
        "weights": ["array-like", None],
        "missing": [StrOptions({"pairs", "level"})],
        "shift": [StrOptions({"constant", "clip"})],
        "numbers": ["boolean"],
        "single_levels": ["boolean"],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
    }

    kernel: Any = field(init=False, default="gower")
    scale: bool = field(init=False, default=False)
    method: Literal["nystrom", "explicit"] = "nystrom"
    weights: Any = None
    missing: Missing = "level"
    shift: Shift = "constant"
    n_thresholds: int = 32
    variance: float = 0.95
    numbers: bool = False
    single_levels: bool = False

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels lie that trees do not take for clusters, or None."""
        return None if self.single_levels else super().levels

    def _kernel(self) -> Gower:
        return Gower(self.weights, self.missing, self.shift)

    def _check_rows(self, rows: RowArray) -> None:
        super()._check_rows(rows)
        categorical_columns(self.columns, rows.shape[1])
        if (weights := self._kernel().weights) is not None and len(weights) != rows.shape[1]:
            raise ValueError(f"expected {rows.shape[1]} weights, one for each column; got {len(weights)}")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.numbers and self.method != "nystrom":
            raise ValueError(f"expected method='nystrom' with numbers=True; got {self.method!r}")

    def _map_of(self, landmarks: Floats, kernel: Kernel, centre: Floats, scale: Floats) -> FeatureMap:
        made: Any = super()._map_of(landmarks, kernel, centre, scale)
        return with_numbers(made) if self.numbers else made

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[FeatureMap]:
        return self._plan_explicit(shape[1]) if self.method == "explicit" else super()._plan(seed, shape)

    def _plan_explicit(self, n_columns: int) -> Plan[GowerMap]:
        """Plan the code of the columns and the products of the codes of all rows."""
        self.__dict__.pop("landmarks_", None)  # of a fit with another method
        categorical = categorical_columns(self.columns, n_columns)
        limits = np.where(categorical, MOST_LEVELS, self.n_thresholds + 1)
        look: TypedLook
        distinct: DistinctValues
        look, distinct = yield Pass("reading", Together((TypedPass(), DistinctPass(limits))))
        check_typed_look(look)
        if self.missing == "pairs" and look.n_missing.any():
            raise ValueError(
                "expected complete rows for method='explicit' with missing='pairs'; got "
                f"{full_count(int(look.n_missing.sum()), 'missing value')}: choose missing='level' or method='nystrom'"
            )
        check_levels(
            self.columns, categorical & (distinct.counts < 0), " for method='explicit'",
            "Choose method='nystrom', or leave the column out.",
        )  # fmt: skip
        kernel = self._kernel().of_columns(categorical, look.low, look.high, look.n_missing > 0)
        code = gower_code(kernel, distinct.of, self.n_thresholds)
        if code.n_coordinates > MOST_COORDINATES:
            raise ValueError(
                f"expected at most {MOST_COORDINATES} levels and thresholds in all columns for method='explicit'; got "
                f"{code.n_coordinates}. Choose fewer n_thresholds, or method='nystrom'."
            )
        sums = yield Pass("adding up", CodeProducts(code))
        return gower_map(code, sums, self.variance, self.n_components)

    def _map_type(self) -> type[FeatureMap]:
        if self.method == "explicit":
            return GowerMap
        return NumbersMap if self.numbers else NystromMap
