"""Checks of values from saved models."""

from collections.abc import Mapping
from typing import Any

from ..columns import ColumnTypes
from ..images import PixelColumns


def part(saved: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return a saved value after checking its type."""
    value = saved.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"expected a {kind.__name__} for {key}, got a {type(value).__name__}")
    return value


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


def pixel_columns(saved: Mapping[str, Any], n_columns: int) -> dict[str, Any] | None:
    """Return the saved pixel columns, or None for a model of rows."""
    if saved.get("pixel_columns") is None:
        return None
    columns: dict[str, Any] = part(saved, "pixel_columns", dict)
    PixelColumns.from_dict(columns).check_columns(n_columns)
    return columns


def column_types(saved: Mapping[str, Any], n_columns: int) -> ColumnTypes | None:
    """Return the saved types of the columns, or None for a model of numbers."""
    if saved.get("columns") is None:
        return None
    types = ColumnTypes.from_dict(saved["columns"])
    if types.n_columns != n_columns:
        raise ValueError(f"expected the types of {n_columns} columns, got those of {types.n_columns}")
    return types


def refuse_others(estimator: Any, given: Mapping[str, Any], what: str) -> None:
    """Raise an error if an estimator has no parameters of some names."""
    known = estimator._get_param_names()
    if others := sorted(set(given) - set(known)):
        raise ValueError(f"expected {what} among {', '.join(known)}; got {', '.join(others)}")
