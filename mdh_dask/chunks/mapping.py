"""Functions applied to every chunk, with row-aligned results; rows kept in memory; names of tasks; threads.

Only this module imports `dask._task_spec`, and others import its names from here: the public functions that make
arrays of tasks cannot give each block an argument of its own, and share one node among all.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, Literal
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask._task_spec import DataNode as DataNode
from dask._task_spec import Task as Task
from dask._task_spec import TaskRef as TaskRef
from dask._task_spec import convert_legacy_graph as convert_legacy_graph
from dask.array.dispatch import concatenate_lookup
from dask.delayed import Delayed
from dask.system import CPU_COUNT
from dask.utils import format_bytes, parse_bytes
from scipy.sparse import csr_array

from .._blas import one_blas_thread
from .._process import memory_limit
from .._sparse import CompactRows, RepeatedRows, concatenated, parts_of, sparse_rows
from .._typing import AnyArray, Integers, RowArray

LEAST_BLOCKS, LEAST_BLOCK_BYTES = 32, 4 * 2**20

concatenate_lookup.register(CompactRows, concatenated)


def is_dask(array: object) -> bool:
    """Return whether `array` is a Dask array."""
    return isinstance(array, da.Array)


def known_chunks(array: RowArray) -> bool:
    """Return whether the row chunks of a Dask array have known sizes."""
    return not any(np.isnan(rows) for rows in array.chunks[0])


def holds_compact(array: object) -> bool:
    """Return whether rows, or the blocks of a Dask array, are `CompactRows`."""
    return isinstance(array._meta if is_dask(array) else array, CompactRows)  # type: ignore[attr-defined]


def sparse_blocks(array: RowArray) -> RowArray:
    """Return rows with blocks of `SparseRows`, instead of those of SciPy or of the package sparse."""
    if holds_compact(array):
        return array
    dtype = array.dtype if array.dtype.kind in "biuf" else np.float64  # the estimator refuses others
    meta = sparse_rows(csr_array((0, max(array.shape[1], 1)), dtype=dtype))
    return da.map_blocks(sparse_rows, array, dtype=array.dtype, meta=meta)


def repeated_rows(array: RowArray, ends: Integers) -> RowArray:
    """Repeat rows, given their cumulative counts."""
    if not is_dask(array):
        return RepeatedRows(array, ends)
    borders = np.cumsum([0, *array.chunks[0]])
    before = np.concatenate([[0], ends])[borders]
    own = [ends[a:b] - start for a, b, start in zip(borders, borders[1:], before)]
    counts = da.from_array(np.concatenate(own)[:, None], chunks=(array.chunks[0], 1))
    chunks, meta = (tuple(np.diff(before).tolist()), array.chunks[1]), RepeatedRows(array._meta[:0], ends[:0])
    return da.map_blocks(_repeated, array, counts, chunks=chunks, dtype=array.dtype, meta=meta)


def _repeated(rows: AnyArray, ends: Integers) -> RepeatedRows:
    return RepeatedRows(rows, ends[:, 0])


def default_block_bytes(nbytes: int) -> int:
    """Return the bytes of a block of rows: ``mdh-dask.block-size``, or less to make at least 32 blocks.

    Fewer blocks leave workers idle at the end of a pass; blocks below 4 MiB cost more than this saves.

    >>> default_block_bytes(2**40), default_block_bytes(2**28), default_block_bytes(2**10)
    (33554432, 8388608, 4194304)
    """
    size = parse_bytes(dask.config.get("mdh-dask.block-size", "32MiB"))
    return min(size, max(nbytes // LEAST_BLOCKS, LEAST_BLOCK_BYTES))


def block_size(nbytes: int, block_bytes: int | str | None) -> int:
    """Return the bytes of a block as asked for, by default `default_block_bytes` of all; a ValueError if none."""
    if block_bytes is None:
        return default_block_bytes(nbytes)
    if (size := parse_bytes(block_bytes)) < 1:
        raise ValueError(f"block_bytes must be positive; got {format_bytes(size)}")
    return size


def merge_chunks(array: RowArray) -> RowArray:
    """Merge neighbouring row chunks of a Dask array until each holds about `default_block_bytes`; none is divided.

    A task costs the scheduler about a millisecond, so many small chunks are slower than a few large ones. A NumPy
    array is returned as it is, and so are blocks of compact rows of unknown bytes.
    """
    if not is_dask(array) or holds_compact(array):
        return array
    row_bytes = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:])))
    merged = _merged(array.chunks[0], default_block_bytes(array.nbytes) // row_bytes)
    return array if len(merged) == array.numblocks[0] else array.rechunk({0: tuple(merged)})


def fit_chunks(array: RowArray, row_bytes: int) -> RowArray:
    """Merge and divide the row chunks of a Dask array for rows that become `row_bytes` long in every block.

    Others than Dask arrays, and blocks of compact rows of unknown bytes, are returned as they are.
    """
    if not is_dask(array) or holds_compact(array):
        return array
    most = max(1, default_block_bytes(row_bytes * len(array)) // row_bytes)
    divided = []
    for rows in _merged(array.chunks[0], most):
        n_blocks = -(-rows // most)
        divided += [rows // n_blocks + (i < rows % n_blocks) for i in range(n_blocks)]
    return array.rechunk({0: tuple(divided)})


def _merged(chunks: Sequence[int], most: int) -> list[int]:
    merged: list[int] = []
    for rows in chunks:
        if merged and merged[-1] + rows <= most:
            merged[-1] += rows
        else:
            merged.append(rows)
    return merged


def check_lengths(arrays: Sequence[RowArray]) -> None:
    """Raise an error unless row-aligned arrays have the same number of rows."""
    lengths = {len(a) for a in arrays}
    if len(lengths) > 1:
        raise ValueError(f"row-aligned arrays must have the same number of rows; got {sorted(lengths)}")


def follow_chunks(arrays: Sequence[RowArray]) -> list[RowArray]:
    """Return row-aligned arrays in the row chunks of the first Dask array among them."""
    rows = next(a.chunks[0] for a in arrays if is_dask(a))
    # Merging neighbours needs no shuffle; "p2p" would send all rows through the disks of all workers.
    return [
        a.rechunk((rows, *a.shape[1:]), method="tasks") if is_dask(a) else da.from_array(a, chunks=(rows, *a.shape[1:]))
        for a in arrays
    ]


ROWS_OF_A_THREAD = 2**14
"""Fewest rows that are worth a thread."""

Cache = Literal["auto", "memory"]

logger = logging.getLogger(__name__)


def map_rows(
    function: Callable[..., AnyArray],
    *arrays: RowArray,
    dtype: npt.DTypeLike,
    n_columns: int | None = None,
    shared: Any = None,
) -> RowArray:
    """Apply ``function(shared, *blocks)`` to every chunk and return the row-aligned result, lazy for Dask input.

    function: returns one row (or one number, when `n_columns` is None) for each row of its blocks.
    n_columns: columns of the result; None for a one-dimensional result.
    shared: a parameter that enters the graph only once, for any number of chunks. Blocks of sparse rows are given to
        `function` a few dense rows at a time, unless it has an attribute `takes_sparse` that is True.
    Returns (n_rows,) or (n_rows, n_columns): NumPy for NumPy input, which `function` also sees in blocks,
        on the threads of this process. Computing it is one pass.
    """
    check_lengths(arrays)
    if not any(is_dask(a) for a in arrays):
        return _map_on_threads(function, arrays, dtype, n_columns, shared)
    pairs = [x for a in follow_chunks(arrays) for x in (a, "ij"[: a.ndim])]
    out = "i" if n_columns is None else "ij"
    columns = {} if n_columns is None else {"j": n_columns}
    has_columns = any(a.ndim == 2 for a in arrays)
    return da.blockwise(
        _call_shared, out, as_node(shared), None, function, None, *pairs,
        adjust_chunks=columns if has_columns else {}, new_axes={} if has_columns else columns,
        dtype=dtype, concatenate=True, align_arrays=False,
        meta=np.empty((0,) * len(out), dtype=dtype),
    )  # fmt: skip


def select_rows(function: Callable[[AnyArray], AnyArray], array: RowArray, n_rows: Sequence[int]) -> RowArray:
    """Return the rows that a function keeps of every block, whose numbers are known; lazy for Dask input.

    >>> import numpy as np
    >>> select_rows(lambda block: block[block[:, 0] > 1], np.array([[1], [2], [3]]), [2])
    array([[2],
           [3]])
    """
    if not is_dask(array):
        return function(array)
    return da.map_blocks(function, array, chunks=(tuple(n_rows), array.chunks[1]), dtype=array.dtype, meta=array._meta)


def _map_on_threads(
    function: Callable[..., AnyArray],
    arrays: Sequence[AnyArray],
    dtype: npt.DTypeLike,
    n_columns: int | None,
    shared: Any,
) -> AnyArray:
    n_rows = len(arrays[0])
    if n_rows <= ROWS_OF_A_THREAD:
        return np.asarray(_call_shared(shared, function, *arrays), dtype=dtype)
    out = np.empty(n_rows if n_columns is None else (n_rows, n_columns), dtype=dtype)

    def fill(start: int) -> None:
        block = slice(start, start + ROWS_OF_A_THREAD)
        out[block] = _call_shared(shared, function, *(a[block] for a in arrays))

    work_through(fill, range(0, n_rows, ROWS_OF_A_THREAD))
    return out


def _call_shared(shared: Any, function: Callable[..., AnyArray], *blocks: AnyArray) -> AnyArray:
    parts = [function(shared, *part) for _, part in parts_of(blocks, getattr(shared, "takes_sparse", False))]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def work_through(function: Callable[[Any], Iterable[Any] | None], items: Iterable[Any]) -> None:
    """Apply a NumPy or numba function to every item, and to items that it returns, on the threads of this process.

    Items start as threads become free, in no particular order. BLAS is limited to one thread each.
    """
    with one_blas_thread(), ThreadPoolExecutor(CPU_COUNT) as pool:
        pending = {pool.submit(function, item) for item in items}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                pending |= {pool.submit(function, item) for future in done for item in future.result() or ()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # else what is queued would be worked through first
            raise


def as_node(value: Any) -> Delayed:
    """Return a value as one node of a graph; inlined, it would be sent to the workers with every task."""
    return dask.delayed(value, name=f"shared-{uuid4().hex}", traverse=False)


def under_own_names(array: da.Array) -> da.Array:
    """Return the same array with task names that no other graph shares.

    The scheduler remembers the tasks of a persisted array. Another graph that starts with the same tasks, but was
    fused differently, would redefine them; Dask warns that this causes deadlocks (dask/dask#9888).
    """
    (array,) = dask.optimize(array)
    graph = convert_legacy_graph(dict(array.__dask_graph__()))
    suffix = f"-{uuid4().hex}"

    def own(key: Any) -> Any:
        return (key[0] + suffix, *key[1:]) if isinstance(key, tuple) else f"{key}{suffix}"

    names = {key: own(key) for key in graph}
    renamed = {names[key]: node.substitute(names, key=names[key]) for key, node in graph.items()}
    return da.Array(renamed, array.name + suffix, array.chunks, meta=array._meta)


def kept(rows: RowArray, cache: Cache | None) -> RowArray:
    """Return lazy rows that are computed once, into the memory of the workers or of this process.

    With ``"auto"`` only if they take at most a quarter of it. Otherwise, and with None, every pass computes
    them. The memory is free once nothing refers to the rows.
    """
    if not is_dask(rows) or cache is None or (cache == "auto" and rows.nbytes > 0.25 * memory_of_workers()):
        return rows
    logger.info("%.3g MB of features kept in memory", rows.nbytes / 1e6)
    return under_own_names(rows).persist()


def memory_of_workers() -> float:
    """Return the memory of all workers of the current cluster in bytes, or of this machine without one."""
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    if client is None:
        return memory_limit()
    return sum(worker["memory_limit"] or 0 for worker in client.scheduler_info(n_workers=-1)["workers"].values())
