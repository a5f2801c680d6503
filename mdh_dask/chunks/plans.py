"""Plans: computations that ask for passes over rows, one after the other, and the driver that makes the passes.

A plan is a generator. It yields a `Pass`, is sent the value of its statistic, and returns its result in the end. It
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
"""Makes the bar of a pass, or None, from a description such as ``"pass 1: reading"``."""


@dataclass(frozen=True)
class Pass:
    """What a plan wants to know of all rows.

    Parameters
    ----------
    verb : str
        What the pass does, for the label of its progress bar.
    statistic : Statistic
        The plan is sent its value.
    """

    verb: str
    statistic: Statistic


Plan = Generator[Pass, Any, T]
"""Yields passes, is sent their values, and returns a result."""


class Outcome(NamedTuple):
    """What came of plans that were run."""

    result: Any
    n_passes: int
    """Passes over the rows, those that were made before included."""


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
        Makes the bar of a pass, or None, from its description.
    n_passes : int, default=0
        Passes over the same rows that were made before: the description of the next one has the number after this.

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
            statistics, place = _distinct([wanted.statistic for wanted in asked.values()])
            # The journal knows the pass of a single plan by the statistic itself.
            statistic = statistics[0] if len(plans) == 1 else Together(tuple(statistics))
            value = reduce_rows(statistic, *arrays, progress=announce(f"pass {n_passes}: {verbs}"))
            found = [value] if len(plans) == 1 else value
            values = {plan: found[i] for plan, i in zip(asked, place)}
        return Outcome(results, n_passes)
    finally:
        for plan in plans:
            plan.close()


def _distinct(statistics: Sequence[Statistic]) -> tuple[list[Statistic], list[int]]:
    """Return each statistic once, and where each of them is: what several plans ask for is computed once.

    Statistics that hold arrays have no hash; each of these is taken for another.
    """
    distinct: list[Statistic] = []
    known: dict[Statistic, int] = {}
    place: list[int] = []
    for statistic in statistics:
        i = len(distinct)
        with suppress(TypeError):
            i = known.setdefault(statistic, i)
        if i == len(distinct):
            distinct.append(statistic)
        place.append(i)
    return distinct, place


def _advance(plans: Sequence[Plan[Any]], values: dict[int, Any], results: list[Any]) -> dict[int, Pass]:
    """Send values to their plans; return what these ask for next, and keep the results of those that end."""
    asked: dict[int, Pass] = {}
    for i, value in values.items():
        try:
            asked[i] = plans[i].send(value)
        except StopIteration as end:
            results[i] = end.value
    return asked
