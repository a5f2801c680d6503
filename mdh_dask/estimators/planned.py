"""The base of estimators and feature maps, whose fitted values plans of passes compute, and that of feature maps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar

import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._fields import nearest
from .._levels import LevelFeatures
from .._state import FeatureMap, Stored
from .._typing import RowArray
from ..chunks import Plan, Progress, announced, is_dask, map_rows, merge_chunks, one_bar, run_together
from ..columns import ColumnTypes
from ..kernels import Kernel
from .missing import MissingValues, checked_finite, of_block, of_complete_rows
from .parameters import SHARED, InvalidParameterError, StrOptions
from .rows import Rows, RowSpec, read_rows
from .tables import like_rows

S = TypeVar("S")


class Planned(BaseEstimator, ABC):
    """Base of what has a plan: its seed, its progress bars, its saved parameters, and results row by row.

    Parameters
    ----------
    column_types : "auto" or dict
        Kinds of columns, as ``{"categorical": ["colour"], "ordinal": ["grade"], "continuous": [...]}``, by names or
        numbers; ``{"ordinal": {"size": ["S", "M", "L"], "grade": None}}`` also gives the order of the levels, which
        texts need. The kinds of other columns follow from the dtypes of a frame: ordered categories are ordinal,
        other categories, texts and booleans categorical. Dates are numbers of days. Ordinal columns are their ranks;
        categorical columns need a feature map or kernel for them, such as ``"gower"``.
    random_state : int, RandomState instance or None
        The same integer gives the same result for any chunks, scheduler and number of workers.
    progress : bool
        Whether to show a progress bar for every pass.

    Attributes
    ----------
    n_passes_ : int
        Passes over the data in `fit`.
    columns : ColumnTypes or None
        Kinds and levels of the columns of a table, None if all are numbers.
    n_features_in_ : int
        Number of columns of the rows of `fit`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SHARED
    saved_as: ClassVar[str] = "parameters"
    """Name of the parameters in errors about saved models."""
    kernel_parameter: ClassVar[str | None] = None
    """Name of the parameter that holds a kernel; None without one."""
    random_state: Any
    progress: bool
    column_types: Any = "auto"
    columns: ColumnTypes | None = None
    """Types of the columns, set before `fit` plans its passes; None for numbers. Typed values may be missing."""
    missing: str = "error"
    missing_values_: MissingValues | None = None
    n_features_in_: int
    n_passes_: int
    _wide: bool = False
    """Whether the rows of `fit` are sparse, with more columns than samples may have as dense rows."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the constraints of the bases, which do no harm where a class lacks a parameter."""
        super().__init_subclass__(**options)
        own = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: one for constraints in own for name, one in constraints.items()}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raise an error that names the parameters if they are given by position, or the nearest one."""
        known = signature(cls).parameters
        if args and all(parameter.kind is parameter.KEYWORD_ONLY for parameter in known.values()):
            named = ", ".join(f"{name}=" for name in [*known][:2])
            raise TypeError(f"{cls.__name__}() takes parameters by name, such as {named}; got {args[0]!r} without one")
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
        for name in () if takes_any else parameters:
            if name not in known:
                raise TypeError(f"{cls.__name__}() {cls._without(name)}")
        return super().__new__(cls)

    @classmethod
    def _without(cls, name: str) -> str:
        """Return what the error says for a parameter that a class does not have."""
        known = signature(cls).parameters
        meant = nearest(name, known) or f"; its parameters are {', '.join(known)}"
        return f"got an unexpected keyword argument {name!r}{meant}"

    @property
    def uses_types(self) -> bool:
        """Return whether categorical columns and missing values are used as they are."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Return whether sparse rows may have any number of columns: none of them become dense."""
        return False

    @abstractmethod
    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[Any]:
        """Return the plan of the fitted value for rows of a shape, a generator of `mdh_dask.chunks.Pass`."""

    @abstractmethod
    def _fitted(self) -> Stored:
        """Return the fitted value to send to workers."""

    def _check_parameters(self) -> None:
        """Raise an error for an invalid parameter, unless scikit-learn is configured not to check.

        Its decorator of `fit` also imports its callbacks, which every process would wait for.
        """
        if get_config()["skip_parameter_validation"]:
            return
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{error}{self._meant()}") from None

    def _meant(self) -> str:
        """Return a question that suggests the choice nearest to a text that is none, or an empty text."""
        for name, constraints in self._parameter_constraints.items():
            choices = {choice for one in constraints if isinstance(one, StrOptions) for choice in one.options}
            value = getattr(self, name, None)
            if isinstance(value, str) and value not in choices and (meant := nearest(value, choices)):
                return meant
        return ""

    def _set(self, settings: Callable[..., S], **others: Any) -> S:
        """Return settings whose fields have the values of parameters of the same names, but for `others`."""
        shared = signature(settings).parameters.keys() & {*self._get_param_names()} - others.keys()
        return settings(**{name: getattr(self, name) for name in shared}, **others)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _bar(self, description: str) -> Progress | None:
        return announced(description, self.progress)

    def _read(self, X: Any, *, fits: bool = False) -> Rows:
        """Return the valid rows of an input: those of `fit`, or new ones with the same columns."""
        what: dict[str, Any] = {"estimator": type(self), "missing": self.missing, "progress": self.progress}
        what["column_types"] = self.column_types
        if fits:
            what |= {"uses_types": self.uses_types, "takes_sparse": self.takes_sparse}
            return read_rows(X, RowSpec(**what, sparse_remedy=self._sparse_remedy()))
        of_pixels = getattr(self, "pixel_columns_", None) is not None  # which arrays hold without names
        names = None if of_pixels else getattr(self, "feature_names_in_", None)
        what |= {"n_columns": self.n_features_in_, "types": self.columns, "values": self.missing_values_}
        return read_rows(X, RowSpec(**what, names=names))

    def _sparse_remedy(self) -> str:
        """Return what to do with sparse rows of too many columns."""
        return "fit it to TruncatedSVDFeatures().fit_transform(X)"

    def _take_columns(self, read: Rows) -> None:
        """Set what is known of the columns of the rows of `fit`."""
        self.n_features_in_, self._wide = read.array.shape[1], read.is_wide
        for name, value in (("feature_names_in_", read.names), ("columns", read.types)):
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)

    def _of_rows(self, X: Any, method: str, dtype: npt.DTypeLike, columns: str | None = None) -> Any:
        """Return what a method of the fitted value returns for every row of valid input; a DataArray for a DataArray.

        `columns` names the attribute with the number of columns of the result, None for a one-dimensional one.
        """
        check_is_fitted(self)
        values = self._of_valid_rows(self._read(X).array, method, dtype, columns)
        return values if columns else like_rows(X, values, method)

    def _of_valid_rows(self, rows: RowArray, method: str, dtype: npt.DTypeLike, columns: str | None = None) -> RowArray:
        fitted, n_columns = self._fitted(), None if columns is None else getattr(self, columns)
        if method not in ("labels", "__call__"):
            fitted = fitted.prepared()
        drop = self.missing == "drop"
        if not is_dask(rows):
            # Before the blocks are divided, so that row numbers in errors are those of all rows.
            checked_finite(rows, drop or fitted.missing)
        function = of_complete_rows if drop else of_block
        return map_rows(partial(function, method, dtype), rows, dtype=dtype, n_columns=n_columns, shared=fitted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.kernel_parameter is not None:
            tags.input_tags.pairwise = getattr(self, self.kernel_parameter) == "precomputed"
        return tags

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters to save with the fitted value."""
        parameters = self.get_params(deep=False)
        kernel = None if self.kernel_parameter is None else parameters[self.kernel_parameter]
        if callable(kernel) and not isinstance(kernel, Kernel):
            raise TypeError(
                f"expected a kernel of a registered class in a model to save; got the function {kernel!r}. Make it a "
                "subclass of mdh_dask.kernels.Kernel, register it, as mdh_dask.kernels.KERNELS['mine'] = cls, and fit "
                "with kernel='mine'."
            )
        return parameters

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        """Return an unfitted object with checked saved parameters."""
        known = cls._get_param_names()
        if others := sorted(parameters.keys() - {*known}):
            raise ValueError(f"expected {cls.saved_as} among {', '.join(known)}; got {', '.join(others)}")
        made = cls(**parameters)
        made._validate_params()
        return made


class FeatureTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Planned):
    """Base of the feature maps: the scikit-learn interface to a `FeatureMap`, which a plan of passes computes.

    A subclass is a dataclass of parameters, `random_state` and `progress` among them, with ``_parameter_constraints``
    for those that others do not share.
    It names its `map_type` and implements `_plan`. A line in `FEATURE_MAPS` makes it a choice of ``feature_map``.

    Attributes
    ----------
    map_ : FeatureMap
        The function from a block of rows to their features.
    n_components_ : int
        Number of features.
    """

    map_type: ClassVar[type[FeatureMap]]
    """Class of the fitted maps."""
    saved_as = "parameters of the feature map"
    n_components_: int

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels lie that trees do not take for clusters, or None before `fit` and for numbers."""
        return self.map_.levels if hasattr(self, "map_") else None

    def _check_rows(self, rows: RowArray) -> None:
        """Raise an error if rows of this shape cannot be mapped, before any work."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like, frame, Dask array or DataFrame, or Zarr array of shape (n_samples, n_features)
            As for `ClusterEstimator.fit`.
        y : ignored
        """
        with one_bar(self.progress):
            self._fit_beside(X)
        return self

    def _fit_beside(self, X: Any, *others: Plan[Any], beside: Sequence[RowArray] = ()) -> list[Any]:
        """Fit the map, advance other plans in the same passes, which read arrays beside, and return their results."""
        self._check_parameters()
        read = self._read(X, fits=True)
        self._take_columns(read)
        rows = read.array
        self._check_rows(rows)
        plans = [self._plan(self._seed(), (rows.shape[0], rows.shape[1])), *others]
        outcome = run_together(plans, merge_chunks(rows), *beside, announce=self._bar, n_passes=read.n_passes)
        (feature_map, *results), self.n_passes_ = outcome
        self._adopt(feature_map)
        return results

    def transform(self, X: Any) -> RowArray:
        """Return the features of every row, shape (n_samples, n_components_), float32.

        NumPy for NumPy input, otherwise lazy in the row chunks of `X` with one pass to compute. Raises a ValueError if
        `X` has other columns than in `fit`, or NaN or infinities (of lazy rows, on computing).
        """
        return self._of_rows(X, "__call__", "float32", "n_components_")

    def _adopt(self, feature_map: Any) -> None:
        """Set a fitted or loaded map."""
        self.map_ = feature_map
        self.n_components_ = self._n_features_out = feature_map.n_components

    def _restore(self, feature_map: FeatureMap) -> None:
        """Set the map of a saved model."""
        if type(feature_map) is not self._map_type():
            raise ValueError(f"expected a {self._map_type().__name__}, got a {type(feature_map).__name__}")
        self._adopt(feature_map)
        self.n_features_in_ = feature_map.n_features

    def _map_type(self) -> type[FeatureMap]:
        """Return the class of the maps that these parameters give."""
        return self.map_type

    def _fitted(self) -> FeatureMap:
        return self.map_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Features are float32 for every dtype of the rows.
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.allow_nan = self.uses_types
        return tags
