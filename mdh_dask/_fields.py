"""Schemas of the tables in a job file: their keys, allowed values and error messages.

Why not a schema library: neither msgspec 0.22 nor pydantic 2.12 explains what a key means or suggests the key that was
probably meant. With these messages, pydantic needs eleven lines more than this module, as most
tables are made from scikit-learn's constraints at run time; and every command would start 0.1 s later.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

TYPES = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "an array", dict: "a table"}


class JobError(ValueError):
    """A job file is invalid, or does not match the state of its job."""


@dataclass(frozen=True)
class Field:
    """The values that a key allows."""

    expected: str
    """Description of the values for errors."""
    accepts: Callable[[Any], bool]
    words: tuple[str, ...] = ()
    """The allowed strings, if they are few."""
    required: bool = False
    default: Any = None
    read: Callable[[Any], Any] = lambda value: value
    """Converts the value for the program."""
    is_path: bool = False
    """Whether values are paths, relative to the folder of the job file, or URLs."""


def text(expected: str, required: bool = False, is_path: bool = False) -> Field:
    """Return the field of a non-empty string that is valid as a path."""
    return Field(expected, lambda value: isinstance(value, str) and bool(value) and "\0" not in value,
                 required=required, is_path=is_path)  # fmt: skip


def paths_of(fields: Mapping[str, Field]) -> list[str]:
    """Return the keys whose values are paths or URLs."""
    return [key for key, field in fields.items() if field.is_path]


def choice(*words: str, default: str | None = None) -> Field:
    """Return the field of one of some words."""
    return Field(either(map(repr, words)), lambda value: value in words, words, default is None, default)


def flag(default: bool | None = None) -> Field:
    """Return the field of true or false."""
    return Field("true or false", lambda value: isinstance(value, bool), default=default)


def whole(least: int = 1, default: int | None = None) -> Field:
    """Return the field of an integer."""
    return Field(f"an integer of {least} or more", lambda value: type(value) is int and value >= least, default=default)


def share(default: float | None = None) -> Field:
    """Return the field of a share, above 0 and at most 1."""
    return Field("a number above 0 and at most 1", lambda value: type(value) in (int, float) and 0 < value <= 1,
                 default=default)  # fmt: skip


def positive(default: float | None = None) -> Field:
    """Return the field of a finite number above zero."""
    return Field("a number above 0", lambda value: type(value) in (int, float) and 0 < value < math.inf,
                 default=default)  # fmt: skip


def either(options: Iterable[str]) -> str:
    """Return options as a list for a sentence."""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last


def checked_table(name: str, table: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of a table for all its keys; a `JobError` names one that is unknown, invalid or missing."""
    if not isinstance(table, dict):
        raise JobError(f"[{name}] must be a table; got {shown(table)}")
    check_keys(f"[{name}]", table, fields)
    values = {}
    for key, field in fields.items():
        if key in table:
            if not field.accepts(value := table[key]):
                hint = nearest(value, field.words)
                raise JobError(f"{name}.{key} must be {field.expected}; got {shown(value)}{hint}")
            values[key] = field.read(value)
        elif field.required:
            raise JobError(f"{name}.{key} is missing; give {field.expected}")
        else:
            values[key] = field.default
    return values


def checked_word(name: str, table: Any, key: str, field: Field) -> str:
    """Return the value of the key of a table that says which other keys it has; errors as `checked_table`."""
    named = {own: value for own, value in table.items() if own == key} if isinstance(table, dict) else table
    word: str = checked_table(name, named, {key: field})[key]
    return word


def checked_kind(name: str, table: Any, kinds: Mapping[str, Mapping[str, Field]]) -> dict[str, Any]:
    """Return the values of a table whose keys depend on its ``kind``, by default the first one."""
    kind = checked_word(name, table, "kind", choice(*kinds, default=next(iter(kinds))))
    check_keys(f"[{name}] with kind = {kind!r}", table, ["kind", *kinds[kind]])
    own = {key: value for key, value in table.items() if key != "kind"}
    return {"kind": kind} | checked_table(name, own, kinds[kind])


def check_keys(what: str, table: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raise an error if a table has an unknown key."""
    known = list(keys)
    for key in table:
        if key not in known:
            raise JobError(f"{what} has no key {key!r}{nearest(key, known)}; its keys are {', '.join(known)}")


def nearest(word: Any, words: Iterable[str]) -> str:
    """Return a question that suggests a similar word in any case, or an empty string if there is none."""
    known = {known.lower(): known for known in words}
    close = get_close_matches(word.lower(), known, n=1) if isinstance(word, str) else []
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def shown(value: Any) -> str:
    """Return a value and its type as text for an error."""
    if type(value) not in TYPES:
        return f"{value}, a date or time"
    return f"{str(value).lower() if isinstance(value, bool) else repr(value)}, {TYPES[type(value)]}"
