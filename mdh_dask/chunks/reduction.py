"""Computation of a statistic of all rows in one pass."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Task, TaskRef, convert_legacy_graph
from dask.callbacks import Callback
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.system import CPU_COUNT
from dask.utils import ensure_dict

from .._journal import current_journal
from .._typing import AnyArray, RowArray
from .layout import check_lengths, follow_chunks, is_dask
from .nodes import as_node
from .progress import Progress
from .statistic import Statistic
from .threads import ROWS_OF_A_THREAD, work_through

COMBINE_EVERY = 8
"""States per combining task, the fan-in of the reduction tree."""


def reduce_rows(statistic: Statistic, *arrays: RowArray, progress: Progress | None = None) -> Any:
    """Compute a statistic of row-aligned arrays in one pass.

    Parameters
    ----------
    statistic : Statistic
        What to compute.
    *arrays : NumPy arrays or Dask arrays, row-aligned
        All NumPy, or at least one Dask array with known chunks; the others follow its row chunks. Two-dimensional
        Dask arrays have one block of columns.
    progress : callable, optional
        Returns the progress bar for a number of rows, which is updated as chunks complete; unused for NumPy input.

    Returns
    -------
    object
        ``statistic.finalise`` of the state of all rows, computed by the current Dask scheduler.

    Notes
    -----
    One pass; none if the current journal holds the value. States are combined in a fixed tree by position,
    `COMBINE_EVERY` at a time.

    Examples
    --------
    >>> import numpy as np
    >>> class RowCount(Statistic):
    ...     def chunk(self, start, *blocks):
    ...         return len(blocks[0])
    ...
    ...     def combine(self, left, right):
    ...         return left + right
    >>> reduce_rows(RowCount(), np.zeros((5, 2)))
    5
    """
    check_lengths(arrays)
    journal = current_journal()
    if journal is not None:
        return journal.recall(statistic, arrays, lambda: _reduced(statistic, arrays, progress))
    return _reduced(statistic, arrays, progress)


def _reduced(statistic: Statistic, arrays: Sequence[RowArray], progress: Progress | None) -> Any:
    if not any(is_dask(a) for a in arrays):
        return statistic.finalise(_state_on_threads(statistic, arrays))
    shared = as_node(statistic)
    followed = follow_chunks(arrays)
    states = _chunk_states(shared, followed)
    return statistic.finalise(_compute(_combined(shared, states), states, followed[0].chunks[0], progress))


def _state_on_threads(statistic: Statistic, arrays: Sequence[AnyArray]) -> Any:
    n_rows = len(arrays[0])
    n_blocks = min(n_rows // ROWS_OF_A_THREAD, 2 * CPU_COUNT)
    if n_blocks < 2 or statistic.keeps_blocks:
        return statistic.state_of(0, *arrays)
    ends = [n_rows * i // n_blocks for i in range(n_blocks + 1)]
    states: dict[int, Any] = {}

    def reduce_block(block: int) -> tuple[()]:
        start, end = ends[block : block + 2]
        states[block] = statistic.state_of(start, *(a[start:end] for a in arrays))
        return ()

    work_through(reduce_block, range(n_blocks))
    return _combine_states(statistic, *(states[block] for block in range(n_blocks)))


def _chunk_states(shared: Delayed, followed: Sequence[RowArray]) -> list[Delayed]:
    rows = followed[0].chunks[0]
    starts = np.concatenate([[0], np.cumsum(rows)[:-1]])
    numbers = da.map_blocks(_block_number, chunks=((1,) * len(rows),), dtype=np.int64, meta=np.empty(0, np.int64))
    pairs = [x for a in followed for x in (a, "ij"[: a.ndim])]
    # The states keep an axis for the columns: Dask fuses a task with the load of its block only if no axis is dropped.
    out = "ij"[: max(a.ndim for a in followed)]
    states = da.blockwise(
        _chunk_state, out, shared, None, as_node(starts), None, numbers, "i", *pairs,
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


def _chunk_state(statistic: Statistic, starts: AnyArray, number: AnyArray, *blocks: AnyArray) -> Any:
    return statistic.state_of(int(starts[number[0]]), *blocks)


def _combine_states(statistic: Statistic, *states: Any) -> Any:
    return reduce(statistic.combine, states)


def _compute(result: Delayed, states: list[Delayed], rows: Sequence[int], progress: Progress | None) -> Any:
    if progress is None:
        return result.compute()
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    rows_of = {state.key: n for state, n in zip(states, rows)}
    with progress(sum(rows)) as bar:
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
