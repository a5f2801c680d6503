"""Plans, which are computations that ask for passes over the rows, and the driver that makes the passes.

A plan is a generator. It yields a `Pass`, is sent the value of its statistic, and finally returns its result. It
does not know where the rows are, so it can be tested by sending values by hand.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from .._typing import RowArray
from .progress import Progress
from .reduction import reduce_rows
from .statistic import Statistic, Together

T = TypeVar("T")

Announce = Callable[[str], Progress | None]
"""Return the progress bar of a pass, or None, from a description such as ``"pass 1: reading"``."""


@dataclass(frozen=True)
class Pass:
    """A request of a plan: a statistic to compute from all rows.

    Parameters
    ----------
    verb : str
        What the pass does, for the label of its progress bar.
    statistic : Statistic
        The statistic whose value is sent to the plan.
    """

    verb: str
    statistic: Statistic


Plan = Generator[Pass, Any, T]
"""A generator that yields passes, is sent their values, and returns a result."""


class Outcome(NamedTuple):
    """The results of one or more plans."""

    result: Any
    n_passes: int
    """Passes over the rows, including earlier ones."""


def _silent(description: str) -> None:
    return None


def run(plan: Plan[Any], *arrays: RowArray, announce: Announce = _silent, n_passes: int = 0) -> Outcome:
    """Make the passes over rows that a plan asks for.

    Parameters
    ----------
    plan : generator
        See `Plan`.
    *arrays : NumPy arrays or Dask arrays, row-aligned
        As for `reduce_rows`.
    announce : callable, optional
        Return the progress bar of a pass, or None, from its description.
    n_passes : int, default=0
        Earlier passes over the same rows; the numbers in the descriptions continue from it.

    Returns
    -------
    Outcome
        The result of the plan, and the number of passes.

    Notes
    -----
    Every pass goes through `reduce_rows`, and so through the current journal.

    Examples
    --------
    >>> import numpy as np
    >>> class Largest(Statistic):
    ...     def chunk(self, start, *blocks):
    ...         return blocks[0].max()
    ...
    ...     def combine(self, left, right):
    ...         return max(left, right)
    >>> def range_of_columns():
    ...     largest = yield Pass("reading", Largest())
    ...     return f"up to {largest}"
    >>> run(range_of_columns(), np.arange(6).reshape(3, 2))
    Outcome(result='up to 5', n_passes=1)
    """
    (result,), n_passes = run_together([plan], *arrays, announce=announce, n_passes=n_passes)
    return Outcome(result, n_passes)


def run_together(
    plans: Sequence[Plan[Any]], *arrays: RowArray, announce: Announce = _silent, n_passes: int = 0
) -> Outcome:
    """Run several plans on the same rows; every pass serves all plans that have not ended.

    Parameters
    ----------
    plans : sequence of generators
    *arrays, announce, n_passes
        As for `run`.

    Returns
    -------
    Outcome
        A list of the results, in the order of the plans, and the number of passes: as many as the longest plan takes.
    """
    results: list[Any] = [None] * len(plans)
    values: dict[int, Any] = dict.fromkeys(range(len(plans)))
    try:
        while asked := _advance(plans, values, results):
            n_passes += 1
            verbs = " and ".join(dict.fromkeys(wanted.verb for wanted in asked.values()))
            statistics, position = _distinct([wanted.statistic for wanted in asked.values()])
            # The journal identifies the pass of a single plan by its statistic, so this is not wrapped.
            statistic = statistics[0] if len(plans) == 1 else Together(tuple(statistics))
            value = reduce_rows(statistic, *arrays, progress=announce(f"pass {n_passes}: {verbs}"))
            found = [value] if len(plans) == 1 else value
            values = {plan: found[i] for plan, i in zip(asked, position)}
        return Outcome(results, n_passes)
    finally:
        for plan in plans:
            plan.close()


def _distinct(statistics: Sequence[Statistic]) -> tuple[list[Statistic], list[int]]:
    """Return the distinct statistics and the position of each statistic among them.

    Statistics that hold arrays have no hash and count as distinct.
    """
    distinct: list[Statistic] = []
    known: dict[Statistic, int] = {}
    position: list[int] = []
    for statistic in statistics:
        i = len(distinct)
        with suppress(TypeError):
            i = known.setdefault(statistic, i)
        if i == len(distinct):
            distinct.append(statistic)
        position.append(i)
    return distinct, position


def _advance(plans: Sequence[Plan[Any]], values: dict[int, Any], results: list[Any]) -> dict[int, Pass]:
    """Send values to their plans, return the passes they request next, and store the results of plans that end."""
    asked: dict[int, Pass] = {}
    for i, value in values.items():
        try:
            asked[i] = plans[i].send(value)
        except StopIteration as end:
            results[i] = end.value
    return asked
