"""The journal of a job that must survive being killed: where the results of its passes are kept.

A fit is a function of the results of its passes over the rows. Whoever has them need not make them again: `reduce_rows`
asks the current journal first, and the loop that grows trees knows nothing of it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Journal(Protocol):
    """Keeps what a job has found out."""

    name: str
    """Tells the job from all others, the same each time that it runs."""
    scratch: str
    """The same for this folder of work: names what the job keeps elsewhere while it runs."""

    def recall(self, statistic: Any, arrays: Sequence[Any], compute: Callable[[], Any]) -> Any:
        """Return the value of the next pass: as it was kept, or else computed and kept."""

    def note(self, name: str, decide: Callable[[], Any]) -> Any:
        """Return a decision that depends on the machine: as it was made the first time."""


_CURRENT: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current_journal() -> Journal | None:
    """Return the journal of the job that is running, if there is one."""
    return _CURRENT.get()


@contextmanager
def keeping(journal: Journal | None) -> Iterator[None]:
    """Make a journal, or none, the current one for a while."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)
