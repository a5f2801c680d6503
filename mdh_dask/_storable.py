"""Classes whose values models and journals store as JSON and arrays, and the check of what is read."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

STORABLE: dict[str, type] = {}
"""Classes whose values are stored, by the names that files hold."""

C = TypeVar("C", bound=type)

NUMBERS: dict[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
}
"""Classes of the values of fields."""


class UnknownClassError(LookupError):
    """No storable class has this name."""


def storable(cls: C) -> C:
    """Let models and journals store values of a dataclass or named tuple, by a name that no other class may have."""
    name = stored_name(cls)
    known = STORABLE.setdefault(name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"expected another name for {cls.__qualname__}, as {known.__module__} has a class of that name")
    STORABLE[name] = cls
    return cls


def stored_name(cls: type) -> str:
    """Return the name of a class in stored values: that of this package's alone, of others with their modules."""
    own = cls.__module__.startswith(f"{__package__}.")
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


def names_of(cls: type) -> list[str]:
    """Return the names of the fields of a dataclass or named tuple."""
    if is_dataclass(cls):
        return [f.name for f in fields(cls)]
    if issubclass(cls, tuple):
        return list(cls._fields)  # type: ignore[attr-defined]
    raise TypeError(f"expected a dataclass or named tuple to be stored; got {cls.__name__}: make it one")


def checked_value(name: str, values: Mapping[str, Any]) -> Any:
    """Return the value of a class with these fields, which may have been tampered with.

    A class whose fields earlier versions stored in part has a ``completed(values)``, which adds the others.

    Raises an UnknownClassError if no storable class has this name; a ValueError if the fields or their types are
    not those of the class, or the ``check()`` of the class says so.
    """
    if name not in STORABLE:
        raise UnknownClassError(f"expected a value of a class that is known here, got {name}")
    cls, hints = STORABLE[name], _hints(STORABLE[name])
    values = cls.completed(values) if hasattr(cls, "completed") else values
    if values.keys() != {*names_of(cls)}:
        raise ValueError(f"expected {', '.join(names_of(cls))} of a {name}; got {', '.join(values)}")
    for own, value in values.items():
        if not fits(value, hints[own]):
            raise ValueError(f"expected {hints[own]} for {own} of a {name}, got {value!r:.99}")
    made = cls(**values)
    if hasattr(made, "check"):
        made.check()
    return made


_hints = cache(get_type_hints)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type as annotations declare it, or has the form of a pattern of such types.

    A pattern is a list of one type, or a table of the keys that there must be; the key ``...`` stands for all.
    """
    if isinstance(hint, list):
        return isinstance(value, list) and all(fits(one, hint[0]) for one in value)
    if isinstance(hint, dict):
        return isinstance(value, dict) and all(
            all(fits(one, of) for one in value.values()) if key is ... else fits(value.get(key), of)
            for key, of in hint.items()
        )
    origin, args = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # an alias, as that of arrays of NumPy
        origin = get_origin(origin.__value__)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in args)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in args)
    if hint in NUMBERS:
        return isinstance(value, NUMBERS[hint]) and (hint is bool or not isinstance(value, bool))
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if not isinstance(value, origin or hint):
        return False
    if origin is tuple and args[-1:] != (...,):
        return len(value) == len(args) and all(map(fits, value, args))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return all(fits(item, args[0]) for item in value)
    return not (isinstance(origin, type) and issubclass(origin, Mapping)) or all(
        fits(item, args[1]) for item in value.values()
    )
