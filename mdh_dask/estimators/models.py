"""Loading of saved models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .._typing import AnyArray
from ..io.models import read_model
from . import MODULES, estimator_named
from .base import ClusterEstimator
from .missing import MissingValues
from .saved import column_types, count, names, part, pixel_columns


def load_model(path: str | Path) -> Any:
    """Load a model that was saved by the ``save`` method of an estimator.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        The fitted estimator, without `labels_`, which belong to the rows of `fit` and not to the model.

    Raises
    ------
    FileNotFoundError
        If `path` does not exist.
    ValueError
        If it is not a model, was written by a newer version, or is damaged. Everything is checked, and the message
        names an invalid array.
    ImportError
        If it is a model of another package, which was not imported.
    """
    return read_model(path, _model_of)


def _model_of(kind: str, saved: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the saved model, or raise an error if it is invalid."""
    name = part(saved, "estimator", str)
    known = _class_named(name)
    if (expected := known.state_type.kind) != kind:
        raise ValueError(f"expected the kind {expected} for a {name}, got {kind}")
    model = known._from_saved(part(saved, "parameters", dict))
    model.n_features_in_ = n_columns = count(saved, "n_features", 1)
    model.n_passes_ = count(saved, "n_passes", 0)
    model.pixel_columns_ = pixel_columns(saved, n_columns)
    model.columns = column_types(saved, n_columns)
    model.missing_values_ = _missing_values(model, saved, n_columns)
    model._restore_all(saved, arrays)
    if model.state_.n_features != n_columns:
        raise ValueError(f"expected arrays of a model of {n_columns} columns, got those of {model.state_.n_features}")
    model.name_columns(names(saved, n_columns))
    return model


def _class_named(name: str) -> type[ClusterEstimator]:
    """Return the class of a saved model, of this package or another one."""
    if name in MODULES:
        return cast("type[ClusterEstimator]", estimator_named(name, __name__))
    from .registry import all_estimators  # imported late: with all estimators

    if name not in (known := all_estimators()):
        raise ImportError(
            f"expected a model of {', '.join(sorted(known))}; got one of {name}: import the package that defines it "
            "first, or install the version of mdh_dask that wrote it"
        )
    return known[name]


def _missing_values(model: Any, saved: Mapping[str, Any], n_columns: int) -> MissingValues | None:
    if saved.get("missing_values") is not None:
        return MissingValues.from_dict(part(saved, "missing_values", dict), n_columns)
    if model.missing != "error":
        raise ValueError(f"expected means for missing values with missing={model.missing!r}, got none")
    return None
