"""Spans of jobs, fits and passes: of OpenTelemetry in a process that uses it, and in Dask's dashboard."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

_NAMES: ContextVar[tuple[str, ...]] = ContextVar("names", default=())

Note = Callable[..., None]
"""Adds counts, by their names, to those of a span."""


@contextmanager
def traced(name: str, **counts: Any) -> Iterator[Note]:
    """Record what is done in the context as a span with counts, and yield what adds more of them.

    OpenTelemetry is used through its API, if the process has imported that: without a provider nobody sees the span.
    Its texts are names and numbers only; of an error it says the class, as messages may hold paths.
    """
    token = _NAMES.set((*_NAMES.get(), name))
    try:
        if (api := sys.modules.get("opentelemetry.trace")) is None:
            yield lambda **more: None
            return
        tracer = api.get_tracer(__package__)
        with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:

            def note(**more: Any) -> None:
                span.set_attributes({f"{__package__}.{key}": value for key, value in more.items()})

            note(**counts)
            try:
                yield note
            except BaseException as error:
                span.set_status(api.Status(api.StatusCode.ERROR, type(error).__name__))
                raise
    finally:
        _NAMES.reset(token)


def in_dashboard(client: Any) -> AbstractContextManager[Any]:
    """Return a context in which a client, if there is one, submits tasks under the names of the current spans."""
    if client is None or not (names := _NAMES.get()):
        return nullcontext()
    from distributed import span

    return span(*names)  # not around graphs while they are made: layers of other spans are not fused
