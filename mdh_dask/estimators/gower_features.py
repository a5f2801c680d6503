"""Constant shift embedding of mixed columns, as a scikit-learn transformer."""

from dataclasses import field
from typing import Any, ClassVar

from .._levels import LevelFeatures
from .._state import FeatureMap
from .._typing import Floats, RowArray
from ..kernels import Gower, Kernel, nystrom_map
from ..kernels.gower import Missing
from ..kernels.numbers import NumbersMap, with_numbers
from ..kernels.nystrom import NystromMap
from .checks import categorical_columns
from .constraints import StrOptions
from .docstrings import documented
from .kernel_pca_features import KernelPCAFeatures


@documented
class GowerFeatures(KernelPCAFeatures):
    """Coordinates of rows of mixed columns whose squared distances are twice Gower's dissimilarities.

    Continuous, ordinal and categorical columns are compared by Gower's dissimilarity, the weighted mean of the
    differences of two rows in all columns; the coordinates are those of constant shift embedding along the leading
    components. Values may be missing.

    Parameters
    ----------
    weights : array-like of shape (n_features,) or None, default=None
        Weight of every column in the dissimilarity; None for equal weights.
    missing : {"level", "pairs"}, default="level"
        Rule for missing values. ``"level"``: missing is one more value, which differs from all others as much as the
        ends of the column's range. ``"pairs"``, as in the thesis: a column in which either of two rows has no value
        leaves the mean of this pair.
    variance : float, default=0.95
        Share of the landmarks' variance in the feature space that the components explain. With the thesis' 0.9, most
        tables have no direction along which a continuous column is straight.
    numbers : bool, default=False
        Whether columns of numbers without missing values are features of their own, too. Trees with
        ``feature_map="gower"`` take them, so that they find what the numbers alone show.
    single_levels : bool, default=False
        Whether trees may take two levels, or two ends, of a single column for two clusters, as in the thesis. With very
        few columns clusters may differ in no more, but every column is then likely to be split.

    Attributes
    ----------
    map_ : NystromMap or NumbersMap
        The function from a block of rows to their features.
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks.
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Variances of the features over the landmarks, in descending order.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. Ranges are those of all rows; later values
    beyond them count as their ends, and unknown levels differ from all others.
    Without types, all columns are continuous. Ordinal columns are compared by their ranks.

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
        "weights": ["array-like", None],
        "missing": [StrOptions({"pairs", "level"})],
        "numbers": ["boolean"],
        "single_levels": ["boolean"],
    }

    kernel: Any = field(init=False, default="gower")
    scale: bool = field(init=False, default=False)
    weights: Any = None
    missing: Missing = "level"
    variance: float = 0.95
    numbers: bool = False
    single_levels: bool = False

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels lie that trees do not take for clusters, or None."""
        return None if self.single_levels else super().levels

    def _kernel(self) -> Gower:
        return Gower(self.weights, self.missing)

    def _check_rows(self, rows: RowArray) -> None:
        super()._check_rows(rows)
        categorical_columns(self.columns, rows.shape[1])
        if (weights := self._kernel().weights) is not None and len(weights) != rows.shape[1]:
            raise ValueError(f"expected {rows.shape[1]} weights, one for each column; got {len(weights)}")

    def _map_of(self, landmarks: Floats, kernel: Kernel, centre: Floats, scale: Floats) -> FeatureMap:
        """Return the map of some landmarks."""
        made = nystrom_map(landmarks, kernel, centre, scale, variance=self.variance, n_components=self.n_components)
        return with_numbers(made) if self.numbers else made

    def _map_type(self) -> type[FeatureMap]:
        return NumbersMap if self.numbers else NystromMap
