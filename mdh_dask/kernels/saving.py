"""Nyström maps as settings and arrays, the form in which models save them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .._state import checked_array
from .._typing import AnyArray
from .base import Kernel
from .nystrom import NystromMap
from .registry import KERNELS

KERNEL_FIELD = "kernel_"
"""Prefix of the names of the arrays that belong to the kernel."""


def map_to_arrays(feature_map: NystromMap) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the settings of a map, which JSON can represent, and its arrays by name.

    Raises
    ------
    TypeError
        If the kernel is a function or a class that is not in `KERNELS`.

    Examples
    --------
    >>> from . import RBF, nystrom_map
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> feature_map = nystrom_map(rows, RBF(), np.zeros(2), np.ones(2))
    >>> settings, arrays = map_to_arrays(feature_map)
    >>> settings["kernel"], sorted(arrays)
    ('rbf', ['centre', 'intercept', 'landmarks', 'projection', 'scale', 'spectrum'])
    >>> again = map_from_arrays(settings, arrays)
    >>> bool((again(rows) == feature_map(rows)).all())
    True
    """
    kernel = feature_map.kernel
    names = {cls: name for name, cls in KERNELS.items()}
    if type(kernel) not in names:
        raise TypeError(
            f"expected a kernel of {sorted(KERNELS)} in a map to save; got {kernel!r}. Write the function as a "
            "subclass of mdh_dask.kernels.Kernel, register it, as KERNELS['mine'] = cls, and fit with it."
        )
    settings, arrays = _parts(feature_map, skip="kernel")
    kernel_settings, kernel_arrays = _parts(kernel)
    settings |= {"kernel": names[type(kernel)], "kernel_parameters": kernel_settings}
    return settings, arrays | {KERNEL_FIELD + name: array for name, array in kernel_arrays.items()}


def map_from_arrays(settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> NystromMap:
    """Return the map from the settings and arrays of `map_to_arrays`.

    Raises
    ------
    ValueError
        If no fitted map has such settings or arrays; the message names the array.
    """
    own = {name: array for name, array in arrays.items() if not name.startswith(KERNEL_FIELD)}
    of_kernel = {name.removeprefix(KERNEL_FIELD): array for name, array in arrays.items() if name not in own}
    names = {f.name for f in fields(NystromMap)} - {"kernel"}
    if own.keys() != names:
        raise ValueError(f"expected the arrays {', '.join(sorted(names))} of a map; got {', '.join(sorted(own))}")
    made = NystromMap(_kernel(settings, "kernel", "kernel_parameters", of_kernel), **own)
    _check(made)
    return made


def _check(found: NystromMap) -> None:
    """Raise an error unless a map could have been fitted: compiled loops do not check shapes."""
    n_landmarks, n_features = len(found.landmarks), found.centre.size
    width = n_features if found.kernel.uses_columns else 0
    n_components = found.intercept.size
    for name, shape in {
        "landmarks": (n_landmarks, width),
        "centre": (n_features,),
        "scale": (n_features,),
        "projection": (n_landmarks, n_components),
        "intercept": (n_components,),
        "spectrum": (max(found.spectrum.size, n_components),),
    }.items():
        checked_array(name, getattr(found, name), shape)
        if getattr(found, name).dtype.kind != "f":
            raise ValueError(f"expected floating-point numbers in the array {name}")
    if not n_landmarks or not n_components:
        raise ValueError("expected at least one landmark and one component in the array projection")
    found.kernel.check_fitted(n_landmarks, n_features)


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


def _parts(value: Any, skip: str = "") -> tuple[dict[str, Any], dict[str, AnyArray]]:
    parts = {f.name: getattr(value, f.name) for f in fields(value) if f.name != skip}
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    return {name: part for name, part in parts.items() if name not in arrays}, arrays
