"""The journal of a job, which stores the results of its passes so that a killed job can resume.

A fit is a function of the results of its passes over the rows, so stored results need no new passes: `reduce_rows`
asks the current journal first. The loop that grows trees does not depend on it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
def keeping(journal: Journal | None) -> Iterator[None]:
    """Make a journal, or None, the current one within the context."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)
