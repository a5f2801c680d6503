"""The estimators, with the interface of scikit-learn; `registry` lists them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._fields import nearest

if TYPE_CHECKING:
    from .registry import *


def __getattr__(name: str) -> Any:
    """Import the estimators on first use: workers that label rows need only the fitted states."""
    if not name.startswith("_"):
        registry = import_module(".registry", __name__)
        if name in (names := registry.public_names()):
            return getattr(registry, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{nearest(name, names)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
