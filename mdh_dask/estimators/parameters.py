"""Classes of parameters: the constraints of these, and docstrings, which describe each once, in the base class."""

import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

__all__ = ["Interval", "InvalidParameterError", "StrOptions", "make_constraint", "validate_parameter_constraints"]

SHARED: dict[str, list[Any]] = {
    "n_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "max_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "min_cluster_size": [None, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "outliers": [Interval(Real, 0, 1, closed="left")],
    "sample_size": [Interval(Integral, 2, None, closed="left")],
    "n_landmarks": [Interval(Integral, 2, None, closed="left")],
    "n_components": [None, Interval(Integral, 1, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "merge": ["boolean"],
    "scale": ["boolean"],
    "column_types": [str, dict],
    "missing": [StrOptions({"error", "mean", "drop"})],
    "random_state": ["random_state"],
    "progress": ["boolean"],
}


C = TypeVar("C", bound=type)

INHERITED = ("Attributes", "See Also")
"""Sections that a class shares with its bases."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def documented(cls: C) -> C:
    """Make a class a dataclass of its parameters and complete its docstring.

    The docstring gets the parameters with their defaults, in order, and the sections `INHERITED`. Entries that the
    class lacks come from the nearest base that has them. Parameters that the class does not have are omitted, and
    attributes that it sets to None.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    described = _entries_of(cls, "Parameters")
    parameters = [
        _with_default(described[name], parameter.default)
        for name, parameter in inspect.signature(cls).parameters.items()
        if name in described
    ]
    inherited = {title: "\n".join(found.values()) for title in INHERITED if (found := _entries_of(cls, title))}
    own = {title: text for title, text in sections(cls.__doc__).items() if title not in ("Parameters", *INHERITED)}
    whole = {"": own.pop(""), "Parameters": "\n".join(parameters), **inherited, **own}
    cls.__doc__ = "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in whole.items()
    )
    return cls


def _entries_of(cls: type, title: str) -> dict[str, str]:
    """Return the entries of a section of a class and all its bases; those of the nearest come first and are kept."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for name, entry in entries(sections(base.__doc__).get(title, "")).items():
            found.setdefault(name, entry)
    hidden = [name for name, value in vars(cls).items() if value is None]
    return {name: entry for name, entry in found.items() if name not in hidden or title == "Parameters"}


@cache  # of the bases, whose docstrings all classes share
def sections(docstring: str | None) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; the text before them has an empty title."""
    first, *rest = re.split(r"^(\w[\w ]*)\n-+\n", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {"": first.strip(), **{title: text.strip() for title, text in zip(rest[::2], rest[1::2])}}


@cache
def entries(section: str) -> dict[str, str]:
    r"""Return the entries of a section by name, as ``{"n": "n : int\n    Rows."}``."""
    return {entry.split(" :")[0]: entry for entry in re.split(r"\n(?=\S)", section) if entry}


def _with_default(entry: str, default: Any) -> str:
    head, *text = entry.split("\n")
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return "\n".join([f"{head.split(', default=')[0]}, default={shown}", *text])
