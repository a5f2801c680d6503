"""Classes whose values journals store as JSON and arrays."""

from typing import TypeVar

STORABLE: dict[str, type] = {}
"""Classes whose values journals store, by the names that files hold."""

C = TypeVar("C", bound=type)


def storable(cls: C) -> C:
    """Let journals store the values of a dataclass or named tuple, by a name that no other class may have.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @storable
    ... class Extremes(NamedTuple):
    ...     low: float
    ...     high: float
    """
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
