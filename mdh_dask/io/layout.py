"""The layout of rows in a Zarr array: valid arrays, chunk sizes, and blocks that fit them."""

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import zarr

from .._typing import RowArray
from ..chunks import is_dask

LEAST_CHUNK, MOST_CHUNK = 2**20, 2**26
NUMPY_CHUNK = 2**22


@dataclass(frozen=True)
class Layout:
    """Rows per chunk and per shard of a Zarr array, and whether chunks are compressed."""

    chunk: int
    shard: int | None = None
    compressed: bool = True

    @property
    def unit(self) -> int:
        """Rows per stored object, which only one task may write."""
        return self.shard or self.chunk


def check_array(array: RowArray) -> RowArray:
    """Return `array` if it can be written to Zarr: one or two dimensions of known sizes, booleans or numbers.

    Raises
    ------
    ValueError
        If it has another number of dimensions, no rows or columns, or unknown chunk sizes.
    TypeError
        If it is a masked array, a Zarr array or of another dtype.
    """
    if isinstance(array, zarr.Array):
        raise TypeError("expected a NumPy or Dask array, got a Zarr array; open it with open_rows")
    if np.ma.isMaskedArray(array):
        raise TypeError("expected an array without a mask, got a masked array, which Zarr cannot store: fill it first")
    array = array if is_dask(array) else np.asarray(array)
    if array.ndim not in (1, 2):
        raise ValueError(f"expected an array of one or two dimensions, got shape {array.shape}; reshape it to rows")
    if array.dtype.kind not in "biufc":
        raise TypeError(f"expected booleans or numbers, got dtype {array.dtype}; convert the array with astype")
    if any(np.isnan(n) for n in array.shape):
        raise ValueError(
            f"expected known chunk sizes, got an array of shape {array.shape}; call compute_chunk_sizes() on it first"
        )
    if 0 in array.shape:
        raise ValueError(
            f"expected at least one row and one column, got shape {array.shape}; there is nothing to write"
        )
    return array


def choose_layout(
    array: RowArray, chunk_rows: int | None = None, shard_rows: int | None = None, compressed: bool = True
) -> Layout:
    """Return the requested layout, or one that follows the Dask chunks.

    Raises
    ------
    ValueError
        If the numbers of rows are not positive, or shards do not consist of whole chunks.

    Examples
    --------
    >>> choose_layout(np.zeros((10, 3)), chunk_rows=2, shard_rows=4)
    Layout(chunk=2, shard=4, compressed=True)
    """
    for name, rows in (("chunk_rows", chunk_rows), ("shard_rows", shard_rows)):
        if rows is not None and rows < 1:
            raise ValueError(f"{name} must be at least 1; got {rows}")
    if shard_rows is not None and (chunk_rows is None or shard_rows % chunk_rows):
        raise ValueError(
            f"shard_rows must be a multiple of chunk_rows; got shard_rows={shard_rows} and chunk_rows={chunk_rows}"
        )
    return Layout(chunk_rows or _default_rows(array), shard_rows, compressed)


def align_rows(array: RowArray, unit: int) -> RowArray:
    """Return `array` in blocks that end at multiples of `unit` rows or at its end, with one block of columns.

    Examples
    --------
    >>> import dask.array as da
    >>> align_rows(da.zeros((10, 2), chunks=((1, 4, 5), 1)), unit=2).chunks
    ((2, 4, 4), (2,))
    """
    if not is_dask(array):
        return array
    n_rows = array.shape[0]
    ends = {min(n_rows, -(-end // unit) * unit) for end in accumulate(array.chunks[0])}
    rows = tuple(b - a for a, b in pairwise(sorted(ends | {0})))
    # Merging neighbours needs no shuffle; "p2p" would send all rows through the disks of all workers.
    return array.rechunk((rows, *array.shape[1:]), method="tasks")


def _default_rows(array: RowArray) -> int:
    row_bytes = array.dtype.itemsize * int(np.prod(array.shape[1:]))
    least, most = -(-LEAST_CHUNK // row_bytes), max(1, MOST_CHUNK // row_bytes)
    rows = max(array.chunks[0]) if is_dask(array) else max(1, NUMPY_CHUNK // row_bytes)
    if rows > most:
        # A divisor of the chunks, so that no block has to be cut and joined with its neighbour.
        pieces = -(-rows // most)
        rows = next((rows // k for k in range(pieces, 2 * pieces + 1) if rows % k == 0), most)
    elif rows < least:
        rows *= -(-least // rows)
    return int(min(rows, array.shape[0]))
