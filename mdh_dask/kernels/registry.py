"""Kernels by name, and as settings and arrays, the form in which models save them."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .._typing import AnyArray
from .base import FromFunction, Kernel, Precomputed
from .distances import RBF, Cosine, LocalScaling, Polynomial, Quadratic
from .gower import Gower
from .graphs import Connectivity, Heat, Isomap, NearestNeighbors

KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "local_scaling": LocalScaling,
    "polynomial": Polynomial,
    "quadratic": Quadratic,
    "cosine": Cosine,
    "nearest_neighbors": NearestNeighbors,
    "heat": Heat,
    "isomap": Isomap,
    "connectivity": Connectivity,
    "gower": Gower,
    "precomputed": Precomputed,
}

AFFINITIES = {name for name, kernel in KERNELS.items() if kernel.affinity}
"""Names of the kernels without negative values."""


def resolve_kernel(kernel: str | Kernel | Callable) -> Kernel:
    """Return the kernel for a name, a kernel or a function ``(rows, landmarks) -> matrix``.

    Examples
    --------
    >>> resolve_kernel("rbf")
    RBF(width='robust')
    """
    if isinstance(kernel, Kernel):
        return kernel
    return KERNELS[kernel]() if isinstance(kernel, str) else FromFunction(kernel)


KERNEL_FIELD = "kernel_"
"""Prefix of the names of the arrays that belong to the kernel."""


def kernel_to_arrays(kernel: Kernel) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the settings of a fitted kernel, which JSON can represent, and its arrays by name.

    Raises
    ------
    TypeError
        If the kernel is a function or a class that is not in `KERNELS`.
    """
    names = {cls: name for name, cls in KERNELS.items()}
    if type(kernel) not in names:
        raise TypeError(
            f"expected a kernel of {sorted(KERNELS)} in a map to save; got {kernel!r}. Write the function as a "
            "subclass of mdh_dask.kernels.Kernel, register it, as KERNELS['mine'] = cls, and fit with it."
        )
    parts = {f.name: getattr(kernel, f.name) for f in fields(kernel)}  # type: ignore[arg-type]
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    settings = {name: part for name, part in parts.items() if name not in arrays}
    return (
        {"kernel": names[type(kernel)], "kernel_parameters": settings},
        {KERNEL_FIELD + name: array for name, array in arrays.items()},
    )


def kernel_from_arrays(settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Kernel:
    """Return the fitted kernel from the settings and arrays of `kernel_to_arrays`.

    Raises
    ------
    ValueError
        If no kernel has such settings or arrays.
    """
    own = {name.removeprefix(KERNEL_FIELD): array for name, array in arrays.items() if name.startswith(KERNEL_FIELD)}
    return _kernel(settings, "kernel", "kernel_parameters", own)


def _kernel(settings: Any, name: str, parameters: str, arrays: Mapping[str, AnyArray]) -> Kernel:
    """Return the kernel from settings that hold its name and its parameters under these keys."""
    if not isinstance(settings, Mapping) or not isinstance(settings.get(parameters), Mapping):
        raise ValueError(f"expected a table with {name!r} and {parameters!r} for a kernel; got {settings!r}")
    if not isinstance(settings.get(name), str) or settings[name] not in KERNELS:
        raise ValueError(f"expected a kernel of {sorted(KERNELS)}; got {settings.get(name)!r}")
    cls = KERNELS[settings[name]]
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    if unknown := sorted({*settings[parameters], *arrays} - known):
        own = ", ".join(sorted(known)) or "no parameters"
        raise ValueError(f"expected {own} for the kernel {settings[name]}; got {', '.join(unknown)}")
    return cls(**settings[parameters], **arrays)


def kernel_settings(kernel: Any) -> Any:
    """Return an unfitted kernel as a value that JSON can represent: its name, or its name and parameters.

    Anything else is returned as it is.

    Examples
    --------
    >>> from . import RBF
    >>> kernel_settings("rbf"), kernel_settings(RBF(width=2.0))
    ('rbf', {'name': 'rbf', 'parameters': {'width': 2.0}})
    >>> kernel_from_settings(kernel_settings(RBF(width=2.0)))
    RBF(width=2.0)
    """
    for name, cls in KERNELS.items():
        if type(kernel) is cls:
            return {"name": name, "parameters": {f.name: getattr(kernel, f.name) for f in fields(cls) if f.repr}}
    return kernel


def kernel_from_settings(settings: Any) -> Any:
    """Return the kernel from the settings of `kernel_settings`."""
    return _kernel(settings, "name", "parameters", {}) if isinstance(settings, Mapping) else settings
