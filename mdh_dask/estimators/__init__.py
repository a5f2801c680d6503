"""The estimators, with the interface of scikit-learn; `registry` lists them."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._fields import nearest

if TYPE_CHECKING:
    from .registry import *


def __getattr__(name: str) -> Any:
    """Import the estimators on first use: workers that label rows need only the fitted states."""
    return estimator_named(name, __name__)


def estimator_named(name: str, module: str, others: Iterable[str] = ()) -> Any:
    """Return an estimator as an attribute of a module, whose other names errors suggest, too."""
    meant = ""
    if not name.startswith("_"):
        registry = import_module(".registry", __name__)
        if name in (names := registry.public_names()):
            return getattr(registry, name)
        meant = nearest(name, [*names, *others])
    raise AttributeError(f"module {module!r} has no attribute {name!r}{meant}")
