"""Base classes of fitted models and maps, small values that are saved as JSON and arrays."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from ._levels import LevelFeatures
from ._storable import storable
from ._typing import AnyArray, Floats, Integers


class Stored(ABC):
    """A frozen dataclass of numbers, strings and small arrays, which is checked when it is loaded."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        storable(cls)

    @property
    def missing(self) -> bool:
        """Return whether rows may have missing values, given as NaN."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Return whether blocks of rows may be `SparseRows`; otherwise they are given a few dense rows at a time."""
        return False

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""

    def prepared(self) -> Self:
        """Return the value with what it computes once for all rows, which workers then need not."""
        return self

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError unless all values are of the types, shapes and ranges that a fit gives."""


class State(Stored):
    """The state of a fitted estimator, which labels rows and is saved.

    Subclasses are frozen dataclasses of numbers, strings and small arrays. They are sent to workers, so they must be
    picklable. An estimator names its subclass as `ClusterEstimator.state_type`.
    """

    noise: ClassVar[bool] = False
    """Whether rows may have the label -1, for no cluster."""
    tree: Any = None
    """The tree of splits for reports, if there is one."""
    feature_map: Any = None
    """The map from rows to what is clustered, if there is one."""

    @property
    @abstractmethod
    def n_clusters(self) -> int:
        """Return the number of clusters, not counting -1."""

    @abstractmethod
    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row of a block, integers from 0, or from -1 if there is `noise`.

        The label of a row must not depend on the other rows of the block.
        """

    @property
    def sizes(self) -> Integers | None:
        """Return the number of rows of `fit` in every cluster, shape (n_clusters,), or None if unknown."""
        return None


class ComparedState(State):
    """A state with which drift compares new rows: their counts in a tree of splits."""

    @property
    @abstractmethod
    def compared(self) -> Any:
        """Return the tree of splits with the rows of `fit`."""

    @abstractmethod
    def recount(self) -> Any:
        """Return a plan of this tree with the counts of other rows, or of their features."""


class FeatureMap(Stored):
    """A map from rows to the features that a tree splits; the features of a row do not depend on other rows.

    A transformer names its subclass as `FeatureTransformer.map_type`.
    """

    spectrum: Any = None
    """Variances of all components in descending order, for reports, or None."""

    @property
    @abstractmethod
    def n_components(self) -> int:
        """Return the number of features."""

    @abstractmethod
    def __call__(self, rows: AnyArray) -> Floats:
        """Return the features of a block of rows, shape (n_rows, n_components), float32."""

    @property
    def eigenvalues(self) -> Floats:
        """Return the variances of the features, of maps that know those of all components."""
        return self.spectrum[: self.n_components]

    @property
    def total_variance(self) -> float:
        """Return the variance of all components together."""
        return float(self.spectrum.sum())

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels of single columns lie among the features, or None for columns of numbers."""
        return None

    @property
    def points(self) -> Callable[[AnyArray], Floats] | None:
        """Return the function from rows to points whose distances show where rows are dense, or None without any."""
        return None

    def facts(self) -> dict[str, str]:
        """Return the facts about the map for reports."""
        return {"Map": type(self).__name__, "Features": f"{self.n_components:,}"}


def checked_array(
    name: str, value: object, shape: tuple[int, ...], least: float = -np.inf, missing: bool = False
) -> None:
    """Raise an error unless a value is an array of this shape with finite values of at least `least`, or NaN."""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype.kind not in "if":
        got = f"shape {value.shape} and {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
        raise ValueError(f"expected an array {name} of numbers and of shape {shape}, got {got}")
    if not ((np.isfinite(value) & (value >= least)) | (missing & np.isnan(value))).all():
        raise ValueError(f"expected finite numbers in the array {name}, none below {least:g}; got others")
