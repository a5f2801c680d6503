"""The method of a job file: an estimator with its parameters, named as in Python."""

import inspect
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from sklearn.base import clone

from .._fields import Field, JobError, check_keys, checked_table, checked_word, choice, either, flag
from ..estimators import KernelPCAFeatures
from ..estimators.base import ClusterEstimator
from ..estimators.consensus_clustering import ConsensusClustering
from ..estimators.divisive import DivisiveClustering
from ..estimators.divisive_tree import DivisiveTree
from ..estimators.mapped import FEATURE_MAPS
from ..estimators.parameters import Interval, StrOptions, make_constraint
from ..estimators.planned import FeatureTransformer
from ..estimators.proposing import OPTIONS, check_options
from ..estimators.registry import METHODS, all_methods, options_of
from ..kernels import KERNELS, Kernel

NONE = "none"
"""Replaces None, which TOML does not have."""

MAP = "method.feature_map"
"""Name of the table of a feature map."""

SEED = Field("an integer from 0 to 4294967295", lambda value: type(value) is int and 0 <= value < 2**32)


def estimator_of(table: Any, progress: bool) -> ClusterEstimator:
    """Return the estimator that the table ``[method]`` describes."""
    name = _checked_name(table)
    constraints = all_methods()[name]._parameter_constraints
    given = {key: field_of(constraints[key]) for key in table if key != "name"}
    values = checked_table("method", {key: table[key] for key in given}, given)
    estimator: Any = all_methods()[name](**values, progress=progress)
    if "projection_params" in values:
        try:
            check_options(estimator.projection, estimator._options())
        except ValueError as error:
            raise JobError(f"method.{error}") from error
    if isinstance(given := table.get("feature_map"), dict):
        estimator.feature_map.set_params(**_settings_for_map(estimator, given))
    return estimator


def _checked_name(table: Any) -> str:
    """Return the name of the method in the table ``[method]``, whose keys are parameters of it."""
    methods = all_methods()
    name = checked_word("method", table, "name", choice(*methods, default=next(iter(methods))))
    check_expert_keys(name, table)
    check_keys(f"[method] with name = {name!r}", table, ["name", *options_of(methods[name])])
    return name


def check_expert_keys(name: str, table: Mapping[str, Any]) -> None:
    """Raise an error for a parameter that the method fixes, or that only its trees have, which says how to set it."""
    cls: Any = all_methods()[name]
    if issubclass(cls, ConsensusClustering):
        for key in table:
            if key not in ("name", *options_of(cls)) and (given := cls.for_trees(key)):
                raise JobError(
                    f"[method] with name = {name!r} has no key {key!r}, which is a setting of its trees: leave it out, "
                    f"or fit in Python, with {cls.__name__}({given})"
                )
    if not issubclass(cls, DivisiveTree) or not hasattr(cls, "as_divisive"):
        return
    known, fixed = inspect.signature(DivisiveClustering).parameters, cls().as_divisive().get_params()
    options = OPTIONS.get(fixed["projection"], {})
    for key in table:
        if (key in known or key in options) and key not in ("name", *inspect.signature(cls).parameters):
            own = {one: fixed[one] for one in known if fixed[one] != known[one].default and one != key}
            settings = "".join(f", {one} = {value!r}" for one, value in own.items() if not isinstance(value, dict))
            written = f"projection_params.{key}" if key in options else key
            others = [one for one, other in METHODS.items() if key in inspect.signature(other).parameters]
            other = f"{others[0]!r}, or name = " if len(others) > 1 else ""  # the last is divisive
            raise JobError(
                f"[method] with name = {name!r} has no key {key!r}: write name = {other}'divisive'{settings} with "
                f"{written}"
            )


def with_map_settings(estimator: Any, given: Mapping[str, Any]) -> ClusterEstimator:
    """Return an estimator whose feature map, otherwise as the estimator makes it by name, has some settings."""
    if getattr(estimator, "feature_map", None) is None:
        raise JobError(
            f"feature_map.{next(iter(given))} is a setting of a feature map, but there is none: give one, as "
            "feature_map = 'local_scaling'"
        )
    feature_map = estimator._new_feature_map(estimator._seed())
    cls = type(feature_map)
    feature_map.set_params(**_settings_of_map(cls, given, f"the feature map {cls.__name__}"))
    return estimator.set_params(feature_map=feature_map)


def list_methods() -> str:
    """Return a line on each method."""
    lines = {
        name: f"{cls.__name__}: {(inspect.getdoc(cls) or '').partition('.')[0]}." for name, cls in all_methods().items()
    }
    return "\n".join(f"{name:22} {' '.join(line.split())}" for name, line in lines.items())


def list_parameters(name: str) -> str:
    """Return a paragraph on each parameter of a method that can be given."""
    cls = all_methods()[_checked_name({"name": name})]
    found = []
    for parameter, default in options_of(cls).items():
        shown = "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
        text = f"{parameter} = {shown}: {field_of(cls._parameter_constraints[parameter]).expected}. "
        found.append(textwrap.fill(text + description(cls, parameter), 100, subsequent_indent="    "))
    return "\n".join(found)


def description(cls: type, parameter: str) -> str:
    """Return the description of a parameter from the docstring of a class."""
    doc = inspect.getdoc(cls) or ""
    found = re.search(rf"^{parameter}(?:, \w+)* : .*\n((?:(?:    .*)?\n)+)", doc, re.MULTILINE)
    return re.sub(r'``"?([^"`]*)"?``|`', r"\1", " ".join(found[1].split())) if found else ""


def _settings_for_map(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a map given only by name takes from its estimator, updated with the given ones."""
    by_name = clone(estimator).set_params(feature_map="rbf")._new_feature_map(estimator._seed())
    shared = {"scale", "random_state", "progress"} & estimator.feature_map.get_params().keys() - given.keys()
    return {name: getattr(by_name, name) for name in shared}


def field_of(constraints: list[Any]) -> Field:
    """Return the field of a parameter with scikit-learn constraints."""
    if constraints == ["boolean"]:
        return flag()
    if "random_state" in constraints:
        return SEED
    if Mapping in constraints:
        return Field(f"a table or {NONE!r}", lambda value: value == NONE or isinstance(value, dict), read=without_none)
    words = sorted(word for c in constraints if isinstance(c, StrOptions) for word in c.options)
    numbers = [make_constraint(c) for c in constraints if isinstance(c, Interval)]
    is_map = any(isinstance(c, type) and issubclass(c, FeatureTransformer) for c in constraints)
    optional = None in constraints

    def accepts(value: Any) -> bool:
        if isinstance(value, dict):
            return is_map
        if isinstance(value, str):
            return spelt(value, words) is not None or (optional and value == NONE)
        return type(value) in (int, float) and math.isfinite(value) and any(c.is_satisfied_by(value) for c in numbers)

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return feature_map_of(value)
        if optional and value == NONE:
            return None
        return spelt(value, words) or value if isinstance(value, str) else value

    words += [NONE] * optional
    expected = either([*map(str, numbers), *map(repr, words), *["a table"] * is_map])
    return Field(expected, accepts, tuple(words), read=read)


def without_none(value: Any) -> Any:
    """Return a value, or a table of values, with None for the word that replaces it."""
    if isinstance(value, dict):
        return {key: without_none(own) for key, own in value.items()}
    return None if value == NONE else value


def spelt(word: str, words: Iterable[str]) -> str | None:
    """Return the one of some words that a word is, with hyphens or underscores; None if there is none."""
    return next((one for one in words if one.replace("_", "-") == word.replace("_", "-")), None)


def feature_map_of(table: Mapping[str, Any]) -> FeatureTransformer:
    """Return the feature map that the table ``[method.feature_map]`` describes: one of a kernel, or the one named."""
    cls, header = KernelPCAFeatures, f"[{MAP}]"
    if FEATURE_MAPS and "name" in table:
        kernels = {*field_of(cls._parameter_constraints["kernel"]).words} - {*FEATURE_MAPS}
        if isinstance(given := table["name"], str) and spelt(given, kernels) is not None:
            raise JobError(f"{MAP}.name is {given!r}, a kernel: write kernel = {given!r} in place of name")
        name = checked_word(MAP, table, "name", choice(*FEATURE_MAPS))
        cls, header = FEATURE_MAPS[name], f"{header} with name = {name!r}"
        table = {key: value for key, value in table.items() if key != "name"}
    return cls(**_settings_of_map(cls, table, header))


def _settings_of_map(cls: type, given: Mapping[str, Any], header: str) -> dict[str, Any]:
    """Return the checked values of the parameters of a feature map that are given."""
    constraints: dict[str, Any] = cls._parameter_constraints  # type: ignore[attr-defined]
    fields = {name: field_of(constraints[name]) for name in options_of(cls)}
    if "kernel" in fields and Kernel in constraints["kernel"]:
        fields["kernel"] = _kernel_field(fields["kernel"])
    check_keys(header, given, fields)
    return checked_table(MAP, dict(given), {key: fields[key] for key in given})


def _kernel_field(names: Field) -> Field:
    """Return the field of a kernel, which is a name or a table."""
    return Field(
        f"{names.expected}, or a table with one of these as its name",
        lambda value: isinstance(value, dict) or names.accepts(value),
        names.words,
        read=lambda value: kernel_of(value) if isinstance(value, dict) else names.read(value),
    )


def kernel_of(table: Mapping[str, Any]) -> Kernel:
    """Return the kernel that the table ``[method.feature_map.kernel]`` describes."""
    where = f"{MAP}.kernel"
    name = checked_word(where, table, "name", choice(*KERNELS))
    own = [field.name for field in fields(KERNELS[name]) if field.repr]  # type: ignore[arg-type]
    check_keys(f"[{where}] with name = {name!r}", table, ["name", *own])
    try:
        return KERNELS[name](**{key: value for key, value in table.items() if key != "name"})
    except ValueError as error:
        raise JobError(f"{where}: {error}") from error
