"""The division of rows into chunks."""

from collections.abc import Sequence

import dask
import dask.array as da
import numpy as np
from dask.array.dispatch import concatenate_lookup
from dask.utils import parse_bytes
from scipy.sparse import csr_array

from .._sparse import CompactRows, RepeatedRows, concatenated, sparse_rows
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
    is `default_block_bytes`. A NumPy array is returned as it is, and so are blocks of compact rows of unknown bytes.
    """
    if not is_dask(array) or holds_compact(array):
        return array
    if block_bytes is None:
        block_bytes = default_block_bytes(array.nbytes)
    row_bytes = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:])))
    merged = _merged(array.chunks[0], block_bytes // row_bytes)
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
