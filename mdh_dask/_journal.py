"""The journal of a job, which stores the results of its passes so that a killed job can resume.

A fit is a function of the results of its passes over the rows, so stored results need no new passes: `reduce_rows`
asks the current journal first. The loop that grows trees does not depend on it. Spans of jobs, fits and passes are told
to OpenTelemetry, in a process that uses it, and to Dask's dashboard.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol


class Journal(Protocol):
    """Stores the results of a job."""

    name: str
    """Identifies the job, the same in every run."""

    def recall(self, statistic: Any, arrays: Sequence[Any], compute: Callable[[], Any]) -> Any:
        """Return the stored value of the next pass, or compute and store it."""


_CURRENT: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current_journal() -> Journal | None:
    """Return the journal of the running job, or None."""
    return _CURRENT.get()


@contextmanager
def use_journal(journal: Journal | None) -> Iterator[None]:
    """Make a journal, or None, the current one within the context."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)


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
