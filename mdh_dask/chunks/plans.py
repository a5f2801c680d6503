"""Plans, which are computations that ask for passes over the rows, and the driver that makes the passes.

A plan is a generator. It yields a `Pass`, is sent the value of its statistic, and finally returns its result. It
does not know where the rows are, so it can be tested by sending values by hand.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from .._typing import RowArray
from .progress import Progress
from .reduction import Statistic, Together, reduce_rows

T = TypeVar("T")

Announce = Callable[[str], Progress | None]
"""Return the progress bar of a pass, or None, from a description such as ``"pass 1: reading"``."""


@dataclass(frozen=True)
class Pass:
    """A request of a plan: a statistic to compute from all rows.

    verb: what the pass does, for the label of its progress bar.
    statistic: the statistic whose value is sent to the plan.
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


def run(plan: Plan[Any], *arrays: RowArray, announce: Announce = lambda _: None, n_passes: int = 0) -> Outcome:
    """Make the passes over rows that a plan asks for.

    Every pass goes through `reduce_rows`, and so through the current journal.

    plan: see `Plan`.
    n_passes: earlier passes over the same rows; the numbers in the descriptions continue from it.

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
    value: Any = None
    try:
        while True:
            asked, result = _advanced(plan, value)
            if asked is None:
                return Outcome(result, n_passes)
            n_passes += 1
            name = f"pass {n_passes}: {asked.verb}"
            value = reduce_rows(asked.statistic, *arrays, progress=announce(name), name=name)
    finally:
        plan.close()


def run_together(
    plans: Sequence[Plan[Any]], *arrays: RowArray, announce: Announce = lambda _: None, n_passes: int = 0
) -> Outcome:
    """Run several plans on the same rows, as `together` advances them."""
    return run(together(plans), *arrays, announce=announce, n_passes=n_passes)


def together(plans: Sequence[Plan[Any]]) -> Plan[list[Any]]:
    """Advance several plans in step, as one plan: every pass serves all plans that have not ended.

    Returns a plan whose result is the list of their results, with as many passes as the longest of them.
    """
    results: list[Any] = [None] * len(plans)
    values: dict[int, Any] = dict.fromkeys(range(len(plans)))
    try:
        while True:
            asked: dict[int, Pass] = {}
            for i, value in values.items():
                wanted, results[i] = _advanced(plans[i], value)
                if wanted is not None:
                    asked[i] = wanted
            if not asked:
                return results
            values = dict(zip(asked, (yield from _one_pass(list(asked.values())))))
    finally:
        for plan in plans:
            plan.close()


def _one_pass(asked: Sequence[Pass]) -> Plan[list[Any]]:
    """Make one pass for all requests, which computes equal statistics once, and return their values."""
    wanted = [one.statistic for one in asked]
    parts = [one.parts if isinstance(one, Together) else (one,) for one in wanted]
    distinct = {_key(part): part for own in parts for part in own}
    verbs = " and ".join(dict.fromkeys(verb for one in asked for verb in one.verb.split(" and ")))
    # The journal identifies a pass by its statistic, so a single one is the same with and without other plans.
    statistics = tuple(distinct.values())
    alone = len(statistics) == 1
    value = yield Pass(verbs, statistics[0] if alone else Together(statistics))
    found = dict(zip(distinct, (value,) if alone else value))
    values = [tuple(found[_key(part)] for part in own) for own in parts]
    return [v if isinstance(one, Together) else v[0] for one, v in zip(wanted, values)]


def _key(statistic: Statistic) -> Statistic | int:
    """Return what only equal statistics share: those that hold arrays have no hash and count as distinct."""
    try:
        hash(statistic)
    except TypeError:
        return id(statistic)
    return statistic


def _advanced(plan: Plan[Any], value: Any) -> tuple[Pass | None, Any]:
    """Send a value to a plan; return the pass that it requests next, or None and its result if it ends."""
    try:
        return plan.send(value), None
    except StopIteration as end:
        return None, end.value
