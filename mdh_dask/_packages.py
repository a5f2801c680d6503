"""Packages that are optional, or are imported late."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
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


def import_later(*names: str) -> None:
    """Import modules on the first use of what they hold, though other packages import them for names rarely used."""
    for name in names:
        if name not in sys.modules and find_spec(name.partition(".")[0]) is not None:
            sys.modules[name] = later = _Later(name)
            later.__spec__ = ModuleSpec(name, None)  # without one, find_spec(name) of other packages is an error


class _Later(ModuleType):
    """A stand-in for a module that is not imported yet."""

    def __getattr__(self, name: str) -> Any:
        """Import the module, but not for what tools ask of all modules, such as their files."""
        if name.startswith("__") and name not in ("__all__", "__path__", "__version__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} until it is imported")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)
