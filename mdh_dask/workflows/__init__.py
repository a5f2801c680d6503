"""Workflows from stored data to stored results, which read, cluster or label, write and report."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._fields import nearest

if TYPE_CHECKING:
    from ._demo import demo
    from ._fit import fit
    from ._models import drift, predict
    from ._segment import segment

__all__ = ["demo", "drift", "fit", "predict", "segment"]


def __getattr__(name: str) -> Any:
    """Import a workflow on first use: none needs all that the others import."""
    if name in __all__:
        module = "_models" if name in ("drift", "predict") else f"_{name}"
        return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{nearest(name, __all__)}")


def __dir__() -> list[str]:
    """Return the workflows, which editors and notebooks offer to complete."""
    return __all__
