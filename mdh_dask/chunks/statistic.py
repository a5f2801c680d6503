"""The base class of statistics of rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Any

from .._sparse import parts_of
from .._storable import storable
from .._typing import AnyArray


class Statistic(ABC):
    """A statistic of rows that can be computed per chunk and merged.

    Subclasses are frozen dataclasses that hold only their parameters. States must be picklable and small beside a
    chunk; `combine` must be associative, and exact (integer counts, minima, maxima, selections) wherever a decision
    depends on the result, so that the chunking does not affect it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        storable(cls)

    @property
    def journalled(self) -> bool:
        """Whether the journal of a job keeps the value, so that the pass is not made again when the job resumes.

        Statistics that write are not. The values of others hold numbers, strings, arrays and `storable` classes only.
        """
        return True

    @property
    def keeps_blocks(self) -> bool:
        """Whether the blocks must stay as they are, instead of being divided among threads when in memory."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `chunk` takes `SparseRows`; otherwise it sees a few of them at a time, as dense rows."""
        return False

    def state_of(self, start: int, *blocks: Any) -> Any:
        """Return the state of consecutive rows, dense or sparse."""
        parts = parts_of(blocks, self.takes_sparse)
        return reduce(self.combine, (self.chunk(start + first, *part) for first, part in parts))

    @abstractmethod
    def chunk(self, start: int, *blocks: AnyArray) -> Any:
        """Return the state of consecutive rows, the first of which has the global number `start`."""

    @abstractmethod
    def combine(self, left: Any, right: Any) -> Any:
        """Return the state of the rows of `left` followed by the rows of `right`."""

    def finalise(self, state: Any) -> Any:
        """Return the value of the statistic from the state of all rows."""
        return state


@dataclass(frozen=True)
class Together(Statistic):
    """Several statistics of the same rows, computed in one pass; the value is the tuple of their values."""

    parts: tuple[Statistic, ...]

    @property
    def journalled(self) -> bool:
        """Whether the journal keeps the values of all statistics."""
        return all(part.journalled for part in self.parts)

    @property
    def keeps_blocks(self) -> bool:
        """Whether the blocks must stay as they are for any of the statistics."""
        return any(part.keeps_blocks for part in self.parts)

    @property
    def takes_sparse(self) -> bool:
        """True, as each of the statistics asks for what it takes."""
        return True

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Any, ...]:
        """Return the states of all statistics."""
        return tuple(part.state_of(start, *blocks) for part in self.parts)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine the states of each statistic."""
        return tuple(p.combine(a, b) for p, a, b in zip(self.parts, left, right))

    def finalise(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of all statistics."""
        return tuple(p.finalise(s) for p, s in zip(self.parts, state))
