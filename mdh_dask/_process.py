"""The process: its memory, its search for cyclic garbage, and packages that are optional or imported late."""

import atexit
import gc
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

OBJECTS_OF_A_COMMAND = 100_000
"""New objects between two searches in a process that runs a command; Python's default is 700."""


def search_rarely() -> None:
    """Search rarely from now on, and not when the process ends: for commands, which end soon."""
    gc.set_threshold(OBJECTS_OF_A_COMMAND)
    end_without_garbage()


def end_without_garbage() -> None:
    """Let Python exit without its repeated searches for cyclic garbage.

    They go through all objects of the compiler, which in a worker on a busy machine takes more than the 4 s after which
    its nanny warns and kills it.
    """
    atexit.register(gc.freeze)


def memory_limit() -> int:
    """Return the memory of this process in bytes, as limited by its control group."""
    from distributed.system import MEMORY_LIMIT  # imported late: it takes a fifth of the time to import an estimator

    return int(MEMORY_LIMIT)


ALWAYS_THERE = 2**26
"""Bytes that any process has, so that the limit, which takes long to import, need not be known."""


def check_memory(n_bytes: int, what: str, remedy: str = "") -> None:
    """Raise a ValueError for what does not fit in the memory of this process, before any of it is read."""
    if n_bytes > ALWAYS_THERE and n_bytes > (limit := memory_limit()):
        raise ValueError(f"{what} takes {n_bytes:,} bytes, and there are {limit:,} of memory{remedy}")


def require(module: str, extra: str) -> None:
    """Raise an error that names the remedy if an optional package is missing."""
    if find_spec(module) is None:
        raise ImportError(_missing(module, extra))


def needed(module: str, extra: str) -> Any:
    """Import a module, or raise an error that names the remedy if its package is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(_missing(module.split(".")[0], extra)) from error


LEAST_PYTHON = {"icechunk": (3, 12)}
"""The first Python of extras that have no packages for older ones, as the markers in pyproject.toml say."""


def _missing(package: str, extra: str) -> str:
    """Return the message for an optional package that is missing."""
    install, least = f'pip install "mdh_dask[{extra}]"', LEAST_PYTHON.get(extra, ())
    if sys.version_info >= least:
        return f"expected the package {package}; it is missing: {install}"
    here, wanted = (".".join(map(str, version[:2])) for version in (sys.version_info, least))
    return (
        f"expected the package {package}, which needs Python {wanted} or newer; this is {here}: take a newer "
        f"Python, and there {install}"
    )


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
