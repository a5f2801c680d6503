"""Loading of saved models, and checks of their values, which may have been tampered with."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._words import full_count
from ..columns import ColumnTypes
from ..images import PixelColumns
from ..io.models import read_model
from ..summaries.history import History
from ..summaries.words import ColumnNotes
from . import MODULES, estimator_named
from .missing import MissingValues
from .repeats import Repeats

if TYPE_CHECKING:
    from .base import ClusterEstimator


def load_model(path: str | Path) -> Any:
    """Load a model that was saved by the ``save`` method of an estimator, from a path.

    It has no `labels_`, which belong to the rows of `fit` and not to the model.

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
    return read_model(path, _model_of, _import_class)


def _import_class(form: Any) -> None:
    """Import the estimator of a saved model, and with it the classes of its fitted values."""
    name = form.get("dict", {}).get("estimator")
    if isinstance(name, str) and name in MODULES:
        import_module(f".{MODULES[name]}", __package__)


def _model_of(saved: Any) -> Any:
    """Return the saved model, or raise an error if it is invalid."""
    name = part(saved, "estimator", str)
    known = _class_named(name)
    state = part(saved, "state", known.state_type)
    model = known._from_saved(part(saved, "parameters", dict))
    model.n_features_in_ = n_columns = count(saved, "n_features", 1)
    model.n_passes_ = count(saved, "n_passes", 0)
    model.n_groups_ = None if saved.get("n_groups") is None else count(saved, "n_groups", 2)
    if (pixel_columns := optional(saved, "pixel_columns", PixelColumns)) is not None:
        pixel_columns.check_columns(n_columns)
    if (types := optional(saved, "columns", ColumnTypes)) is not None and types.n_columns != n_columns:
        raise ValueError(f"expected the types of {n_columns} columns, got those of {types.n_columns}")
    model.pixel_columns_, model.columns = pixel_columns, types
    if (missing := optional(saved, "missing_values", MissingValues)) is not None:
        missing.check_columns(n_columns)
    elif model.missing != "error":
        raise ValueError(f"expected means for missing values with missing={model.missing!r}, got none")
    model.missing_values_ = missing
    model._restore(saved)
    model._notes, model._repeats = optional(saved, "notes", ColumnNotes), optional(saved, "repeats", Repeats)
    if (history := optional(saved, "history", History)) is not None:
        history.check_clusters(model.n_clusters_)
    model._history = history
    model._words = tuple(optional(saved, "words", list) or ())
    if len(model._words) not in (0, model.n_clusters_) or not all(isinstance(one, str) for one in model._words):
        raise ValueError(f"expected a text for each of {full_count(model.n_clusters_, 'cluster')} as words")
    if state.n_features != n_columns:
        raise ValueError(f"expected arrays of a model of {n_columns} columns, got those of {state.n_features}")
    model._name_columns(names(saved, n_columns))
    return model


def _class_named(name: str) -> "type[ClusterEstimator]":
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


def part(saved: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return a saved value after checking its type."""
    value = saved.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"expected a {kind.__name__} for {key}, got a {type(value).__name__}")
    return value


def optional(saved: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return a saved value after checking its type, or None if there is none."""
    return None if saved.get(key) is None else part(saved, key, kind)


def count(saved: Mapping[str, Any], key: str, least: int) -> int:
    """Return a saved number after checking that it is an integer of at least `least`."""
    value: int = part(saved, key, int)
    if value < least:
        raise ValueError(f"expected {key} of at least {least}, got {value}")
    return value


def names(saved: Mapping[str, Any], n_columns: int) -> list[str] | None:
    """Return the names of the columns, or None if there are none."""
    if saved.get("feature_names") is None:
        return None
    found: list[str] = part(saved, "feature_names", list)
    if len(found) != n_columns or not all(isinstance(name, str) for name in found):
        raise ValueError(f"expected {n_columns} texts for feature_names, got {len(found)} values")
    return found


def form_of(estimator: Any) -> dict[str, Any]:
    """Return what is saved of an unfitted estimator or feature map that is a parameter of another one."""
    return {"estimator": type(estimator).__name__, "parameters": estimator._saved_parameters()}


def of_form(saved: Any, known: Mapping[str, Any], what: str) -> Any:
    """Return the unfitted estimator or feature map of a form, one of those that are known by their names."""
    if not isinstance(saved, dict):
        raise ValueError(f"expected a dict for {what}, got a {type(saved).__name__}")
    if (name := part(saved, "estimator", str)) not in known:
        raise ValueError(f"expected {what} among {', '.join(sorted(known))}; got {name}")
    return known[name]._from_saved(part(saved, "parameters", dict))
