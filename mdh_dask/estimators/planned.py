"""The common base of estimators and feature maps, whose fitted values plans of passes compute."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Self

import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._fields import nearest
from .._state import Stored
from .._typing import RowArray
from ..chunks import Plan, Progress, announced, is_dask, map_rows
from ..columns import ColumnTypes
from .aligned import like_rows
from .blocks import check_finite, of_block, of_complete_rows
from .missing import MissingValues
from .saved import refuse_others
from .validation import as_rows


class Planned(BaseEstimator, ABC):
    """Base of what has a plan: its seed, its progress bars, its saved parameters, and results row by row.

    Parameters
    ----------
    column_types : "auto" or dict
        Kinds of columns, as ``{"categorical": ["colour"], "ordinal": ["grade"], "continuous": [...]}``, by names or
        numbers; ``{"ordinal": {"size": ["S", "M", "L"], "grade": None}}`` also gives the order of the levels, which
        texts need. The kinds of other columns follow from the dtypes of a frame: ordered categories are ordinal,
        other categories, texts and booleans categorical. Ordinal columns are their ranks; categorical columns need a
        feature map or kernel for them, such as ``"gower"``.
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

    saved_as: ClassVar[str] = "parameters"
    """Name of the parameters in errors about saved models."""
    random_state: Any
    progress: bool
    column_types: Any = "auto"
    columns: ColumnTypes | None = None
    """Types of the columns, set before `fit` plans its passes; None for numbers. Typed values may be missing."""
    missing: str = "error"
    missing_values_: MissingValues | None = None
    n_features_in_: int
    n_passes_: int

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raise an error that names the nearest parameter if there is none of that name."""
        known = signature(cls).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
        for name in () if takes_any else parameters:
            if name not in known and (meant := nearest(name, known)):
                raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}{meant}")
        return super().__new__(cls)

    @property
    def uses_types(self) -> bool:
        """Return whether categorical columns and missing values are used as they are."""
        return False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[Any]:
        """Return the plan of the fitted value for rows of a shape, a generator of `mdh_dask.chunks.Pass`."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _plan, or a _learn of its own")

    def _check_parameters(self) -> None:
        """Raise an error for an invalid parameter, unless scikit-learn is configured not to check.

        Its decorator of `fit` also imports its callbacks, which every process would wait for.
        """
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _bar(self, description: str) -> Progress | None:
        return announced(description, self.progress)

    @property
    def takes_sparse(self) -> bool:
        """Return whether sparse rows may have any number of columns: none of them become dense."""
        return False

    @abstractmethod
    def _fitted(self) -> Stored:
        """Return the fitted value to send to workers."""

    def _of_rows(
        self, X: Any, method: str, dtype: npt.DTypeLike, columns: str | None = None, fitted: Any = None
    ) -> Any:
        """Return what a method of the fitted value returns for every row of valid input; a DataArray for a DataArray.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        method : str
            Name of a method of `_fitted` that maps a block of rows.
        dtype : dtype of the result
        columns : str, optional
            Name of the attribute with the number of columns of the result; None for a one-dimensional result.
        fitted : optional
            A value to use instead of `_fitted`.
        """
        check_is_fitted(self)
        values = self._of_valid_rows(as_rows(self, X, reset=False), method, dtype, columns, fitted)
        return values if columns else like_rows(X, values, method)

    def _of_valid_rows(
        self, rows: RowArray, method: str, dtype: npt.DTypeLike, columns: str | None = None, fitted: Any = None
    ) -> RowArray:
        fitted, n_columns = fitted or self._fitted(), None if columns is None else getattr(self, columns)
        drop = self.missing == "drop"
        if not is_dask(rows):
            # Before the blocks are divided, so that row numbers in errors are those of all rows.
            check_finite(rows, drop or fitted.missing)
        function = of_complete_rows if drop else of_block
        return map_rows(partial(function, method, dtype), rows, dtype=dtype, n_columns=n_columns, shared=fitted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters to save with the fitted value."""
        return self.get_params(deep=False)

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        """Return an unfitted object with checked saved parameters."""
        refuse_others(cls, parameters, cls.saved_as)
        made = cls(**parameters)
        made._validate_params()
        return made
