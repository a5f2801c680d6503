"""Statistics of rows that are computed chunk by chunk, and the functions that run them.

A statistic is a frozen value with three functions and one law::

    finalise(combine(chunk(A), chunk(B))) == finalise(chunk(A_then_B))

`reduce_rows` runs any statistic over a NumPy array (the one-chunk case) or a Dask array on whichever scheduler
is current; `map_rows` applies a function to every chunk and keeps the rows where they are. This is the only module
that builds task graphs for numerics.

To add a statistic, subclass `Statistic` as a frozen dataclass and add an instance to
``tests/test_statistics.py``, which checks the law and chunk invariance for all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.callbacks import Callback
from dask.delayed import Delayed
from dask.system import CPU_COUNT
from dask.utils import parse_bytes
from threadpoolctl import threadpool_limits

from ._journal import current_journal
from ._typing import AnyArray, RowArray

LEAST_BLOCKS, LEAST_BLOCK_BYTES = 32, 4 * 2**20

ROWS_OF_A_THREAD = 2**14
"""Rows of a NumPy array that a thread maps at once."""

COMBINE_EVERY = 8
"""States that one combining task adds up: the fan-in of the reduction tree."""


class Statistic(ABC):
    """A statistic of rows that can be computed per chunk and merged.

    Subclasses are frozen dataclasses that hold their parameters only. States must be picklable and small beside a
    chunk; `combine` must be associative, and exact (integer counts, minima, maxima, selections) wherever a decision
    hangs on the result, so that the result does not depend on the chunking.
    """

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

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Any, ...]:
        """Return the states of all parts."""
        return tuple(part.chunk(start, *blocks) for part in self.parts)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine part by part."""
        return tuple(p.combine(a, b) for p, a, b in zip(self.parts, left, right))

    def finalise(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of all parts."""
        return tuple(p.finalise(s) for p, s in zip(self.parts, state))


Progress = Callable[[int], Any]
"""Makes a progress bar for that many chunks: a context manager with ``update(n)``, as ``tqdm(total=n)`` is."""


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
        Makes the bar that is updated as chunks complete; nothing is shown for NumPy input.

    Returns
    -------
    object
        ``statistic.finalise`` of the state of all rows, computed by the current Dask scheduler.

    Notes
    -----
    One pass; none if the current journal has the value. States are combined in a fixed tree by position,
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
    _check_lengths(arrays)
    journal = current_journal()
    if journal is not None:
        return journal.recall(statistic, arrays, lambda: _reduced(statistic, arrays, progress))
    return _reduced(statistic, arrays, progress)


def map_rows(
    function: Callable[..., AnyArray],
    *arrays: RowArray,
    dtype: npt.DTypeLike,
    n_columns: int | None = None,
    shared: Any = None,
) -> RowArray:
    """Apply ``function(shared, *blocks)`` to every chunk; the result has the same rows, lazily for Dask input.

    Parameters
    ----------
    function : callable
        Returns one row (or one number, when `n_columns` is None) for each row of its blocks.
    *arrays : NumPy arrays or Dask arrays, row-aligned
        As for `reduce_rows`.
    dtype : dtype of the result
    n_columns : int, optional
        Columns of the result; None for a one-dimensional result.
    shared : object
        A parameter that enters the graph once, however many chunks there are.

    Returns
    -------
    ndarray or dask Array of shape (n_rows,) or (n_rows, n_columns)
        NumPy for NumPy input, of which `function` gets parts, too, on the threads of this process. Computing it is one
        pass.

    Examples
    --------
    >>> import numpy as np
    >>> map_rows(lambda scale, block: scale * block.sum(axis=1), np.ones((3, 2)), dtype=float, shared=10.0)
    array([20., 20., 20.])
    """
    _check_lengths(arrays)
    if not any(is_dask(a) for a in arrays):
        return _map_on_threads(function, arrays, dtype, n_columns, shared)
    pairs = [x for a in _follow_chunks(arrays) for x in (a, "ij"[: a.ndim])]
    out = "i" if n_columns is None else "ij"
    columns = {} if n_columns is None else {"j": n_columns}
    has_columns = any(a.ndim == 2 for a in arrays)
    return da.blockwise(
        _call_shared, out, _as_node(shared), None, function, None, *pairs,
        adjust_chunks=columns if has_columns else {}, new_axes={} if has_columns else columns,
        dtype=dtype, concatenate=True, align_arrays=False,
        meta=np.empty((0,) * len(out), dtype=dtype),
    )  # fmt: skip


def work_through(function: Callable[[Any], Iterable[Any]], items: Iterable[Any]) -> None:
    """Apply a NumPy or numba function to every item, and to the items it returns, on the threads of this process.

    An item is begun as soon as there is a thread for it, in no particular order. BLAS is held to one thread each.

    Examples
    --------
    >>> seen = []
    >>> work_through(lambda n: seen.append(n) or range(n), [2])
    >>> sorted(seen)
    [0, 0, 1, 2]
    """
    with threadpool_limits(limits=1), ThreadPoolExecutor(CPU_COUNT) as pool:
        pending = {pool.submit(function, item) for item in items}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            pending |= {pool.submit(function, item) for future in done for item in future.result()}


def is_dask(array: object) -> bool:
    """Tell whether `array` is a Dask array."""
    return isinstance(array, da.Array)


def known_chunks(array: RowArray) -> bool:
    """Tell whether the row chunks of a Dask array have known sizes."""
    return not any(np.isnan(rows) for rows in array.chunks[0])


def default_block_bytes(nbytes: int) -> int:
    """Return the bytes of a block of rows: ``mdh-dask.block-size``, less if that would make fewer than 32 blocks.

    Fewer blocks would leave workers idle at the end of a pass; below 4 MiB they cost more than that.

    Examples
    --------
    >>> default_block_bytes(2**40), default_block_bytes(2**28), default_block_bytes(2**10)
    (33554432, 8388608, 4194304)
    """
    size = parse_bytes(dask.config.get("mdh-dask.block-size", "32MiB"))
    return min(size, max(nbytes // LEAST_BLOCKS, LEAST_BLOCK_BYTES))


def merge_chunks(array: RowArray, block_bytes: int | None = None) -> RowArray:
    """Merge neighbouring row chunks of a Dask array until each holds about `block_bytes`; none is divided.

    A task costs the scheduler about a millisecond, so many small chunks are slower than a few large ones. The default
    is `default_block_bytes`. A NumPy array is returned as it is.

    Examples
    --------
    >>> merge_chunks(da.zeros((10, 2), chunks=(1, 2)), block_bytes=64).chunks[0]
    (4, 4, 2)
    """
    if not is_dask(array):
        return array
    if block_bytes is None:
        block_bytes = default_block_bytes(array.nbytes)
    row_bytes = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:])))
    merged = _merged(array.chunks[0], block_bytes // row_bytes)
    return array if len(merged) == array.numblocks[0] else array.rechunk({0: tuple(merged)})


def fit_chunks(array: RowArray, row_bytes: int) -> RowArray:
    """Merge and divide the row chunks of a Dask array for rows that become `row_bytes` long in every block.

    Examples
    --------
    >>> fit_chunks(da.zeros((3000, 2), chunks=((10, 990, 2000), 2)), 8192).chunks[0]
    (10, 495, 495, 500, 500, 500, 500)
    """
    if not is_dask(array):
        return array
    most = max(1, default_block_bytes(row_bytes * len(array)) // row_bytes)
    divided = []
    for rows in _merged(array.chunks[0], most):
        parts = -(-rows // most)
        divided += [rows // parts + (i < rows % parts) for i in range(parts)]
    return array.rechunk({0: tuple(divided)})


def _merged(chunks: Sequence[int], most: int) -> list[int]:
    merged: list[int] = []
    for rows in chunks:
        if merged and merged[-1] + rows <= most:
            merged[-1] += rows
        else:
            merged.append(rows)
    return merged


def _as_node(value: Any) -> Delayed:
    # A node of its own: inlined into every task it would be sent to the workers once per task.
    return dask.delayed(value, name=f"shared-{uuid4().hex}", traverse=False)


def _reduced(statistic: Statistic, arrays: Sequence[RowArray], progress: Progress | None) -> Any:
    if not any(is_dask(a) for a in arrays):
        return statistic.finalise(statistic.chunk(0, *arrays))
    shared = _as_node(statistic)
    states = level = _chunk_states(shared, arrays)
    while len(level) > 1:
        level = [
            dask.delayed(_combine_states)(shared, level[i : i + COMBINE_EVERY])
            for i in range(0, len(level), COMBINE_EVERY)
        ]
    return statistic.finalise(_compute(level[0], states, progress))


def _map_on_threads(
    function: Callable[..., AnyArray],
    arrays: Sequence[AnyArray],
    dtype: npt.DTypeLike,
    n_columns: int | None,
    shared: Any,
) -> AnyArray:
    n_rows = len(arrays[0])
    if n_rows <= ROWS_OF_A_THREAD:
        return np.asarray(function(shared, *arrays), dtype=dtype)
    out = np.empty(n_rows if n_columns is None else (n_rows, n_columns), dtype=dtype)

    def fill(start: int) -> tuple[()]:
        part = slice(start, start + ROWS_OF_A_THREAD)
        out[part] = function(shared, *(a[part] for a in arrays))
        return ()

    work_through(fill, range(0, n_rows, ROWS_OF_A_THREAD))
    return out


def _call_shared(shared: Any, function: Callable[..., AnyArray], *blocks: AnyArray) -> AnyArray:
    return function(shared, *blocks)


def _check_lengths(arrays: Sequence[RowArray]) -> None:
    lengths = {len(a) for a in arrays}
    if len(lengths) > 1:
        raise ValueError(f"row-aligned arrays must have equally many rows; got {sorted(lengths)}")


def _follow_chunks(arrays: Sequence[RowArray]) -> list[RowArray]:
    rows = next(a.chunks[0] for a in arrays if is_dask(a))
    return [
        a.rechunk((rows, *a.shape[1:])) if is_dask(a) else da.from_array(a, chunks=(rows, *a.shape[1:])) for a in arrays
    ]


def _chunk_states(shared: Delayed, arrays: Sequence[RowArray]) -> list[Delayed]:
    followed = _follow_chunks(arrays)
    rows = followed[0].chunks[0]
    starts = np.concatenate([[0], np.cumsum(rows)[:-1]])
    numbers = da.map_blocks(_block_number, chunks=((1,) * len(rows),), dtype=np.int64, meta=np.empty(0, np.int64))
    pairs = [x for a in followed for x in (a, "ij"[: a.ndim])]
    # The columns stay an axis of the states: Dask fuses a task with those that load its block only if none goes.
    out = "ij"[: max(a.ndim for a in followed)]
    states = da.blockwise(
        _chunk_state, out, shared, None, _as_node(starts), None, numbers, "i", *pairs,
        dtype=object, align_arrays=False, meta=np.empty((0,) * len(out), dtype=object),
    )  # fmt: skip
    return list(states.to_delayed().ravel())


def _block_number(block_id: tuple[int]) -> AnyArray:
    return np.array(block_id)


def _chunk_state(statistic: Statistic, starts: AnyArray, number: AnyArray, *blocks: AnyArray) -> Any:
    return statistic.chunk(int(starts[number[0]]), *blocks)


def _combine_states(statistic: Statistic, states: list[Any]) -> Any:
    return reduce(statistic.combine, states)


def _compute(result: Delayed, states: list[Delayed], progress: Progress | None) -> Any:
    if progress is None:
        return result.compute()
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    with progress(len(states)) as bar:
        if client is None:
            keys = {state.key for state in states}
            with Callback(posttask=lambda key, *_: bar.update(key in keys)):
                return result.compute()
        from distributed import as_completed

        future, *waits = client.compute([result, *states])
        for _ in as_completed(waits):
            bar.update(1)
        return future.result()
