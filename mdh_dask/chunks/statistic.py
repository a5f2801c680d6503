"""What a statistic of rows is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from .._typing import AnyArray


class Statistic(ABC):
    """A statistic of rows that can be computed per chunk and merged.

    Subclasses are frozen dataclasses that hold their parameters only. States must be picklable and small beside a
    chunk; `combine` must be associative, and exact (integer counts, minima, maxima, selections) wherever a decision
    hangs on the result, so that the result does not depend on the chunking.
    """

    @property
    def keeps_blocks(self) -> bool:
        """Whether blocks must come as they are; else rows in memory are divided among threads."""
        return False

    @abstractmethod
    def chunk(self, start: int, *blocks: AnyArray) -> Any:
        """Return the state of some consecutive rows, of which the first has the global number `start`."""

    @abstractmethod
    def combine(self, left: Any, right: Any) -> Any:
        """Return the state of the rows of `left` followed by the rows of `right`."""

    def finalise(self, state: Any) -> Any:
        """Return the value of the statistic from the state of all rows."""
        return state


@dataclass(frozen=True)
class Together(Statistic):
    """Several statistics of the same rows, computed in one pass; its value is the tuple of theirs."""

    parts: tuple[Statistic, ...]

    @property
    def keeps_blocks(self) -> bool:
        """Whether any part needs its blocks as they are."""
        return any(part.keeps_blocks for part in self.parts)

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Any, ...]:
        """Return the states of all parts."""
        return tuple(part.chunk(start, *blocks) for part in self.parts)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine part by part."""
        return tuple(p.combine(a, b) for p, a, b in zip(self.parts, left, right))

    def finalise(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of all parts."""
        return tuple(p.finalise(s) for p, s in zip(self.parts, state))
