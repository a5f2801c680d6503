"""What passes over the rows cost: seconds of building and of computing their graphs, tasks, and bytes."""

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from mdh_dask.chunks import reduction


@dataclass
class Pass:
    """A pass.

    Parameters
    ----------
    name : str
        Of its statistic.
    chunks, tasks : int
        Of its graph.
    building, computing : float
        Seconds.
    parameter : int
        Bytes of the statistic, which every worker gets once.
    results, largest : int
        Bytes of the results of all tasks, each of which goes to another worker at most once; and of the largest.
        Zero if they were not weighed.
    """

    name: str
    chunks: int = 0
    tasks: int = 0
    building: float = 0.0
    computing: float = 0.0
    parameter: int = 0
    results: int = 0
    largest: int = 0


@contextmanager
def recorded_passes(weigh: bool = False) -> Iterator[list[Pass]]:
    """Record the passes over Dask arrays; with `weigh`, the bytes of their results, which threads must compute."""
    passes: list[Pass] = []
    reduced, compute = reduction._reduced, reduction._compute
    sizes: list[int] = []

    def recorded(statistic: Any, arrays: Sequence[Any], progress: Any) -> Any:
        sizes.clear()
        passes.append(Pass(type(statistic).__name__, parameter=len(pickle.dumps(statistic)) if weigh else 0))
        passes[-1].building = -time.perf_counter()
        value = reduced(statistic, arrays, progress)
        passes[-1].computing += time.perf_counter()
        passes[-1].results, passes[-1].largest = sum(sizes), max(sizes, default=0)
        return value

    def computed(result: Any, states: Sequence[Any], *others: Any) -> Any:
        passes[-1].chunks, passes[-1].tasks = len(states), len(result.__dask_graph__())
        now = time.perf_counter()
        passes[-1].building += now
        passes[-1].computing = -now
        return compute(result, states, *others)

    def weighed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            state = function(*arguments)
            sizes.append(len(pickle.dumps(state)))
            return state

        return call

    patched = {"_reduced": recorded, "_compute": computed}
    if weigh:
        patched |= {name: weighed(getattr(reduction, name)) for name in ("_chunk_state", "_combine_states")}
    with mock.patch.multiple(reduction, **patched):
        yield passes
