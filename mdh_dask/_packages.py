"""Optional packages."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def require(module: str, extra: str) -> None:
    """Raise an error that names the remedy if an optional package is missing."""
    if find_spec(module) is None:
        raise ImportError(f'expected the package {module}; it is missing: pip install "mdh_dask[{extra}]"')


def needed(module: str, extra: str) -> Any:
    """Import a module, or raise an error that names the remedy if its package is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'expected the package {module.split(".")[0]}; it is missing: pip install "mdh_dask[{extra}]"'
        ) from error
