"""Type aliases of arrays, and properties that are computed once, without a lock."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """The `functools.cached_property` of Python 3.12.

        That of 3.11 holds one lock for all instances: a process that is forked while another thread computes a value,
        as by joblib during a fit, waits for ever for its own.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, which hides this property in the instance from then on."""
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.compute(instance)
            return value


Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.integer[Any]]
Booleans = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

RowArray = Any
"""Rows on axis 0: a NumPy array, or a Dask array with one block of columns."""
