"""Names of fits and passes in Dask's dashboard."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

_NAMES: ContextVar[tuple[str, ...]] = ContextVar("names", default=())


@contextmanager
def traced(name: str) -> Iterator[None]:
    """Give what is done in the context a name, below those around it."""
    token = _NAMES.set((*_NAMES.get(), name))
    try:
        yield
    finally:
        _NAMES.reset(token)


def in_dashboard(client: Any) -> AbstractContextManager[Any]:
    """Return a context in which a client, if there is one, submits tasks under the current names."""
    if client is None or not (names := _NAMES.get()):
        return nullcontext()
    from distributed import span

    return span(*names)  # not around graphs while they are made: layers of other spans are not fused
