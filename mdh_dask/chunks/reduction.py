"""Statistics of rows, and their computation in one pass."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.callbacks import Callback
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.system import CPU_COUNT
from dask.utils import ensure_dict

from .._journal import current_journal, in_dashboard, traced
from .._sparse import parts_of
from .._storable import storable
from .._typing import AnyArray, RowArray
from .mapping import (
    ROWS_OF_A_THREAD,
    Task,
    TaskRef,
    as_node,
    check_lengths,
    convert_legacy_graph,
    follow_chunks,
    is_dask,
    work_through,
)
from .progress import Progress

COMBINE_EVERY = 8
"""States per combining task, the fan-in of the reduction tree."""


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

    def combine(self, left: Any, right: Any) -> Any:
        """Return the state of the rows of `left` followed by the rows of `right`: by default their sum.

        That of tuples is field by field.
        """
        if isinstance(left, tuple):
            sums = [a + b for a, b in zip(left, right)]
            return left._make(sums) if hasattr(left, "_make") else tuple(sums)
        return left + right

    def finalise(self, state: Any) -> Any:
        """Return the value of the statistic from the state of all rows."""
        return state


@dataclass(frozen=True)
class Together(Statistic):
    """Several statistics of the same rows, computed in one pass; the value is the tuple of their values."""

    parts: tuple[Statistic, ...]

    @property
    def journalled(self) -> bool:
        return all(part.journalled for part in self.parts)

    @property
    def keeps_blocks(self) -> bool:
        return any(part.keeps_blocks for part in self.parts)

    takes_sparse = True  # each of the statistics asks for what it takes

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Any, ...]:
        return tuple(part.state_of(start, *blocks) for part in self.parts)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(p.combine(a, b) for p, a, b in zip(self.parts, left, right))

    def finalise(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(p.finalise(s) for p, s in zip(self.parts, state))


def reduce_rows(
    statistic: Statistic, *arrays: RowArray, progress: Progress | None = None, name: str | None = None
) -> Any:
    """Compute a statistic of row-aligned arrays in one pass.

    One pass; none if the current journal holds the value. States are combined in a fixed tree by position,
    `COMBINE_EVERY` at a time.

    arrays: all NumPy, or at least one Dask array with known chunks; the others follow its row chunks. Two-dimensional
        Dask arrays have one block of columns.
    progress: returns the progress bar for a number of rows, which is updated as chunks complete; unused for NumPy
        input.
    name: name of the pass in the dashboard and in traces, see `mdh_dask._journal`; by default that of the statistic.
    Returns ``statistic.finalise`` of the state of all rows, computed by the current Dask scheduler.
    """
    check_lengths(arrays)

    def reduced() -> Any:
        first = arrays[0]
        counts = {"rows": first.shape[0], "chunks": first.numblocks[0] if is_dask(first) else 1}
        with traced(name or type(statistic).__name__, **counts):
            return _reduced(statistic, arrays, progress)

    journal = current_journal()
    return reduced() if journal is None else journal.recall(statistic, arrays, reduced)


def _reduced(statistic: Statistic, arrays: Sequence[RowArray], progress: Progress | None) -> Any:
    if not any(is_dask(a) for a in arrays):
        return statistic.finalise(_state_on_threads(statistic, arrays))
    followed = follow_chunks(arrays)
    # One node: the scheduler hands tasks to workers one by one only if they have fewer than five such nodes.
    shared = as_node((statistic, np.concatenate([[0], np.cumsum(followed[0].chunks[0])[:-1]])))
    states = _chunk_states(shared, followed)
    return statistic.finalise(_compute(_combined(shared, states), states, followed[0].chunks[0], progress))


def _state_on_threads(statistic: Statistic, arrays: Sequence[AnyArray]) -> Any:
    n_rows = len(arrays[0])
    n_blocks = min(n_rows // ROWS_OF_A_THREAD, 2 * CPU_COUNT)
    if n_blocks < 2 or statistic.keeps_blocks:
        return statistic.state_of(0, *arrays)
    ends = [n_rows * i // n_blocks for i in range(n_blocks + 1)]
    states: list[Any] = [None] * n_blocks

    def reduce_block(block: int) -> None:
        start, end = ends[block : block + 2]
        states[block] = statistic.state_of(start, *(a[start:end] for a in arrays))

    work_through(reduce_block, range(n_blocks))
    return reduce(statistic.combine, states)


def _chunk_states(shared: Delayed, followed: Sequence[RowArray]) -> list[Delayed]:
    rows = followed[0].chunks[0]
    numbers = da.map_blocks(_block_number, chunks=((1,) * len(rows),), dtype=np.int64, meta=np.empty(0, np.int64))
    pairs = [x for a in followed for x in (a, "ij"[: a.ndim])]
    # The states keep an axis for the columns: Dask fuses a task with the load of its block only if no axis is dropped.
    out = "ij"[: max(a.ndim for a in followed)]
    states = da.blockwise(
        _chunk_state, out, shared, None, numbers, "i", *pairs,
        dtype=object, align_arrays=False, meta=np.empty((0,) * len(out), dtype=object),
    )  # fmt: skip
    return _in_one_task(states)


def _in_one_task(states: da.Array) -> list[Delayed]:
    """Return the states, each computed in one task with all that only it needs.

    Dask fuses chains only. Blocks that are merged before would be tasks of their own, and wait in memory.
    """
    keys = list(flatten(states.__dask_keys__()))
    graph = convert_legacy_graph(ensure_dict(states.__dask_optimize__(states.__dask_graph__(), keys)))
    users = Counter(key for task in graph.values() for key in task.dependencies)
    for key in keys:
        fused = [graph.pop(key)]
        for task in fused:  # grows on the way
            own = [key for key in task.dependencies if users[key] == 1 and key in graph]
            fused += [graph.pop(key) for key in own if not getattr(graph[key], "block_fusion", False)]
        graph[key] = Task.fuse(*fused, key=key)
    whole = HighLevelGraph.from_collections(states.name, graph, dependencies=())
    return [Delayed(key, whole, layer=states.name) for key in keys]


def _combined(shared: Delayed, states: list[Delayed]) -> Delayed:
    """Return the state of all rows, with hand-made tasks: delayed calls take time with the square of the chunks."""
    name = f"combine-{uuid4().hex}"
    tasks: dict[Any, Task] = {}
    level = [state.key for state in states]
    while len(level) > 1:
        groups = [level[i : i + COMBINE_EVERY] for i in range(0, len(level), COMBINE_EVERY)]
        level = [(name, len(tasks) + i) for i in range(len(groups))]
        for key, group in zip(level, groups):
            tasks[key] = Task(key, _combine_states, TaskRef(shared.key), *map(TaskRef, group))
    if not tasks:
        return states[0]
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[shared, states[0]])
    return Delayed(level[0], graph, layer=name)


def _block_number(block_id: tuple[int]) -> AnyArray:
    return np.array(block_id)


def _chunk_state(shared: tuple[Statistic, AnyArray], number: AnyArray, *blocks: AnyArray) -> Any:
    statistic, starts = shared
    return statistic.state_of(int(starts[number[0]]), *blocks)


def _combine_states(shared: tuple[Statistic, Any], *states: Any) -> Any:
    return reduce(shared[0].combine, states)


def _compute(result: Delayed, states: list[Delayed], rows: Sequence[int], progress: Progress | None) -> Any:
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    if progress is None:
        with in_dashboard(client):
            return result.compute()
    rows_of = {state.key: n for state, n in zip(states, rows)}
    with progress(sum(rows)) as bar, in_dashboard(client):
        if client is None:
            with Callback(posttask=lambda key, *_: bar.update(rows_of.get(key, 0))):
                return result.compute()
        return _computed_on(client, result, states, lambda key: bar.update(rows_of[key]))


def _computed_on(client: Any, result: Delayed, states: list[Delayed], on_done: Callable[[str], object]) -> Any:
    """Compute on a cluster, releasing every state once it is reported and combined."""
    from distributed import as_completed

    if len(states) == 1:
        waits = [future := client.compute(result)]
    else:
        future, *waits = client.compute([result, *states])
    for done in as_completed(waits):
        if done.status != "finished":
            break
        on_done(done.key)
        if done is not future:
            done.release()
    return future.result()
