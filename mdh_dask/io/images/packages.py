"""Packages that only some images need."""

from importlib import import_module
from typing import Any


def needed(module: str, extra: str) -> Any:
    """Import a module; an error that names the remedy if its package is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'expected the package {module.split(".")[0]}; it is missing: pip install "mdh_dask[{extra}]"'
        ) from error
