"""The method of a job file: an estimator with its parameters, named as in Python."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from .._fields import Field, JobError, check_keys, checked_table, choice, either, flag
from ..estimators import KernelPCAFeatures
from ..estimators.base import ClusterEstimator
from ..estimators.mapped import FEATURE_MAPS
from ..estimators.planned import FeatureTransformer
from ..estimators.registry import all_methods, options_of
from ..kernels import KERNELS, Kernel
from .early import checked_method

NONE = "none"
"""Replaces None, which TOML does not have."""

SEED = Field("an integer from 0 to 4294967295", lambda value: type(value) is int and 0 <= value < 2**32)


def estimator_of(table: Any, progress: bool) -> ClusterEstimator:
    """Return the estimator that the table ``[method]`` describes.

    Raises
    ------
    JobError
        If the method, a parameter or a value is unknown.
    """
    name = checked_method(table, {method: [*options_of(cls)] for method, cls in all_methods().items()})
    constraints = all_methods()[name]._parameter_constraints
    given = {key: field_of(constraints[key]) for key in table if key != "name"}
    values = checked_table("method", {key: table[key] for key in given}, given)
    estimator: Any = all_methods()[name](**values, progress=progress)
    if isinstance(given := table.get("feature_map"), dict):
        estimator.feature_map.set_params(**_settings_for_map(estimator, given))
    return estimator


def _settings_for_map(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a map given only by name takes from its estimator, updated with the given ones."""
    named = clone(estimator).set_params(feature_map="rbf")
    by_name = named._new_feature_map(int(check_random_state(estimator.random_state).randint(2**31)))
    shared = {"scale", "random_state", "progress"} & estimator.feature_map.get_params().keys() - given.keys()
    return {name: getattr(by_name, name) for name in shared}


def field_of(constraints: list[Any]) -> Field:
    """Return the field of a parameter with scikit-learn constraints.

    Examples
    --------
    >>> from numbers import Real
    >>> field_of([None, Interval(Real, 0, 1, closed="neither")]).expected
    "a float in the range (0.0, 1.0) or 'none'"
    """
    if constraints == ["boolean"]:
        return flag()
    if "random_state" in constraints:
        return SEED
    words = sorted(word for c in constraints if isinstance(c, StrOptions) for word in c.options)
    numbers = [make_constraint(c) for c in constraints if isinstance(c, Interval)]
    is_map = any(isinstance(c, type) and issubclass(c, FeatureTransformer) for c in constraints)
    optional = None in constraints

    def accepts(value: Any) -> bool:
        if isinstance(value, dict):
            return is_map
        if isinstance(value, str):
            return value in words or (optional and value == NONE)
        return type(value) in (int, float) and math.isfinite(value) and any(c.is_satisfied_by(value) for c in numbers)

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return feature_map_of(value)
        return None if optional and value == NONE else value

    words += [NONE] * optional
    expected = either([*map(str, numbers), *map(repr, words), *["a table"] * is_map])
    return Field(expected, accepts, tuple(words), read=read)


def feature_map_of(table: Mapping[str, Any]) -> FeatureTransformer:
    """Return the feature map that the table ``[method.feature_map]`` describes: one of a kernel, or the one named."""
    where, cls, header = "method.feature_map", KernelPCAFeatures, "[method.feature_map]"
    if FEATURE_MAPS and "name" in table:
        name = checked_table(where, _only(table, "name"), {"name": choice(*FEATURE_MAPS)})["name"]
        cls, header = FEATURE_MAPS[name], f"{header} with name = {name!r}"
        table = {key: value for key, value in table.items() if key != "name"}
    parameters = {name: field_of(cls._parameter_constraints[name]) for name in options_of(cls)}
    if Kernel in cls._parameter_constraints.get("kernel", ()):
        parameters["kernel"] = _kernel_field(parameters["kernel"])
    check_keys(header, table, [*parameters])
    return cls(**checked_table(where, dict(table), {key: parameters[key] for key in table}))


def _kernel_field(names: Field) -> Field:
    """Return the field of a kernel, which is a name or a table."""
    return Field(
        f"{names.expected}, or a table with one of these as its name",
        lambda value: isinstance(value, dict) or names.accepts(value),
        names.words,
        read=lambda value: kernel_of(value) if isinstance(value, dict) else value,
    )


def kernel_of(table: Mapping[str, Any]) -> Kernel:
    """Return the kernel that the table ``[method.feature_map.kernel]`` describes."""
    where = "method.feature_map.kernel"
    name = checked_table(where, _only(table, "name"), {"name": choice(*KERNELS)})["name"]
    own = [field.name for field in fields(KERNELS[name]) if field.repr]  # type: ignore[arg-type]
    check_keys(f"[{where}] with name = {name!r}", table, ["name", *own])
    try:
        return KERNELS[name](**{key: value for key, value in table.items() if key != "name"})
    except ValueError as error:
        raise JobError(f"{where}: {error}") from error


def _only(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {key: table[key]} if key in table else {}
