"""Writing of rows to Zarr arrays that appear only when they are complete.

Zarr does not lock: two tasks that write parts of one chunk or shard silently lose rows (dask/dask#12583,
zarr-developers/zarr-python#3682). Here every block covers whole chunks or shards and is written once, and the written
blocks are recorded and compared with the array's shape before the array appears under its name.
"""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate, pairwise
from typing import Any

import dask.array as da
import numpy as np
import zarr
from scipy.sparse import issparse

from .._locations import hiding_credentials
from .._typing import RowArray
from ..chunks import Progress, Statistic, Together, follow_chunks, holds_compact, is_dask, reduce_rows
from .blocks import (
    CONFIG,
    Block,
    DamagedBlocks,
    WriteBlocks,
    blocks_done,
    complete,
    find_begun,
    incomplete,
    tidy,
    with_stored,
)
from .nodes import MARK, RECORD, count_missing, read_beside, unit_rows
from .rows import open_array, zarr_inputs
from .staging import ARRAY, Stage, refuse_input, staged, will_replace

LEAST_CHUNK, MOST_CHUNK = 2**20, 2**26
NUMPY_CHUNK = 2**22


def check_array(array: RowArray) -> RowArray:
    """Return `array` if it can be written to Zarr: one or two dimensions of known sizes, booleans or numbers."""
    if isinstance(array, zarr.Array):
        raise TypeError("expected a NumPy or Dask array, got a Zarr array; open it with open_rows")
    if np.ma.isMaskedArray(array):
        raise TypeError("expected an array without a mask, got a masked array, which Zarr cannot store: fill it first")
    if issparse(array) or holds_compact(array):
        own = "array.compute().csr" if is_dask(array) else "array"
        raise TypeError(f"expected a dense array, got sparse rows: store them by scipy.sparse.save_npz(path, {own})")
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


def choose_layout(array: RowArray, chunk_rows: int | None = None, shard_rows: int | None = None) -> dict[str, Any]:
    """Return shape, dtype, chunks and shards of the stored array: as requested, or following the Dask chunks."""
    for name, rows in (("chunk_rows", chunk_rows), ("shard_rows", shard_rows)):
        if rows is not None and rows < 1:
            raise ValueError(f"{name} must be at least 1; got {rows}")
    if shard_rows is not None and (chunk_rows is None or shard_rows % chunk_rows):
        raise ValueError(
            f"shard_rows must be a multiple of chunk_rows; got shard_rows={shard_rows} and chunk_rows={chunk_rows}"
        )
    columns = array.shape[1:]
    return {
        "shape": array.shape,
        "dtype": array.dtype.newbyteorder("="),
        "chunks": (chunk_rows or _default_rows(array), *columns),
        "shards": shard_rows and (shard_rows, *columns),
    }


def align_rows(array: RowArray, unit: int) -> RowArray:
    """Return `array` in blocks that end at multiples of `unit` rows or at its end, with one block of columns."""
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


@hiding_credentials()
def write_rows(
    array: RowArray,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    chunk_rows: int | None = None,
    shard_rows: int | None = None,
    compress: bool = True,
    attributes: Mapping[str, Any] | None = None,
    also: Statistic | None = None,
    beside: RowArray | Sequence[RowArray] = (),
    companions: Mapping[str, RowArray] | None = None,
    progress: Progress | None = None,
    resume: str | None = None,
) -> Any:
    """Write rows to a Zarr array of format 3 that appears under its name only when it is complete.

    Parameters
    ----------
    array : ndarray or dask Array of shape (n_rows,) or (n_rows, n_columns)
        Booleans or numbers; written in its own dtype. Row chunks may be irregular; their sizes must be known.
    path : path or URL
        Path or URL of the array; a separate ``.zarr`` or inside a group.
    overwrite : bool, default False
        Replace an existing Zarr array. Nothing else is ever replaced.
    chunk_rows : int, optional
        Rows per Zarr chunk, with all columns; by default as in the Dask chunks, within 1 to 64 MiB.
    shard_rows : int, optional
        Rows per shard, a multiple of `chunk_rows`, which must then be given; not sharded by default.
    compress : bool, default True
        Compress chunks by Zarr's default. Noisy data such as features are read faster without compression.
    attributes : dict, optional
        Attributes of the array, as JSON; ``"mdh_dask"`` is reserved.
    also : Statistic, optional
        A statistic to compute from the rows in the same pass.
    beside : ndarray or dask Array, or sequence of these
        Row-aligned arrays whose blocks `also` gets as well, in the same row chunks.
    companions : mapping of path or URL to ndarray or dask Array, optional
        Row-aligned arrays, of rows of as many bytes, that are written to these in the same pass and chunks.
    progress : callable, optional
        As for `mdh_dask.chunks.reduce_rows`.
    resume : str, optional
        A name for the rows: intact blocks from an earlier call with the same name are reused. The
        array is then written at `path` itself, marked incomplete until the end, and an interrupt removes nothing.

    Returns
    -------
    object
        The value of `also`; None without it.

    Raises
    ------
    FileExistsError
        If the path exists, before any work; see `overwrite`.
    ValueError
        If the array has unknown chunk sizes or no rows, reads from the path to write to, or holds blocks of
        a different shape or dtype than it declares.
    TypeError
        If it does not hold booleans or numbers.

    Notes
    -----
    One pass; with `resume`, only over the missing blocks. In folders the array is staged under a hidden name beside
    `path` and renamed at the end; after any failure or interrupt the hidden folder is removed and an older array stays
    as it was. The folder must be visible to all workers. Object stores cannot rename: there an older array is deleted
    first and the new one is marked incomplete until the end, and `open_rows` refuses it until then.

    Examples
    --------
    >>> import tempfile
    >>> from mdh_dask.io import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(da.ones((5, 2), chunks=(2, 2)), f"{folder}/x.zarr", chunk_rows=3)
    ...     float(open_rows(f"{folder}/x.zarr").sum())
    10.0
    """
    array = check_array(array)
    layout = choose_layout(array, chunk_rows, shard_rows)
    begun = find_begun(path, resume, "", **layout)
    replace = begun is None and will_replace(path, overwrite, ARRAY)
    if is_dask(array):
        refuse_input(path, zarr_inputs(array.__dask_graph__()))

    others = list(beside) if isinstance(beside, Sequence) else [beside]
    pairs = {place: _companion(one, array) for place, one in (companions or {}).items()}
    if any(map(is_dask, aligned := [array, *others, *pairs.values()])):
        array = follow_chunks(aligned)[0]
    there = {place: will_replace(place, overwrite, ARRAY) for place in pairs}
    with ExitStack() as stages:
        stage = stages.enter_context(staged(path, replace, in_place=resume is not None))
        target = begun
        if target is None:
            target = _created(stage, layout, compress, dict(attributes or {}), resume)
        aligned = align_rows(array, unit_rows(target))
        done = {} if begun is None else blocks_done(begun, aligned)
        writes = [WriteBlocks(target, stage.folder, done, noted=resume is not None)]
        aligned = with_stored(aligned, target, done, needed=also is not None)
        for place, one in pairs.items():
            others.append(one)
            own = stages.enter_context(staged(place, there[place]))
            created = _created(own, choose_layout(one, layout["chunks"][0], shard_rows), compress, {}, None)
            writes.append(WriteBlocks(created, own.folder, array=len(others)))
        every = Together((*writes, *([] if also is None else [also])))
        found = reduce_rows(every, aligned, *others, progress=progress)
        for write, blocks in zip(writes, found):
            check_blocks(blocks, write.target)
        for write, blocks in zip(writes[1:], found[1:]):
            write.target.update_attributes(complete(write.target, blocks, None))
        target.update_attributes(dict(attributes or {}) | complete(target, found[0], resume))
        if resume is not None:
            tidy(target, stage.folder)
    return None if also is None else found[-1]


def _companion(array: RowArray, first: RowArray) -> RowArray:
    """Return an array that can be written in the chunks of another."""
    array = check_array(array)
    if array[:1].nbytes != first[:1].nbytes:
        raise ValueError(f"expected rows of as many bytes as those of {first.dtype}, for the same chunks; got {array}")
    return array


def _created(
    stage: Stage, layout: dict[str, Any], compress: bool, attributes: dict[str, Any], name: str | None
) -> zarr.Array:
    """Create an array that is marked as incomplete."""
    stage.clear()
    return zarr.create_array(
        stage.place, **layout, compressors="auto" if compress else None, config=CONFIG,
        attributes=attributes | incomplete(name),
    )  # fmt: skip


@hiding_credentials()
def verify_rows(path: str | os.PathLike[str]) -> list[tuple[int, int]]:
    """Compare an array from `write_rows` with its recorded checksums.

    Returns
    -------
    list of (first row, end row)
        The row ranges that differ from the written rows or cannot be read; empty if the array is intact.

    Raises
    ------
    FileNotFoundError
        If the array or its record is missing.
    ValueError
        If the record does not belong to the array.

    Notes
    -----
    One pass.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(np.ones((4, 2)), f"{folder}/x.zarr")
    ...     verify_rows(f"{folder}/x.zarr")
    []
    """
    array = open_array(path)
    record = read_beside(array, RECORD)
    mark = array.attrs.get(MARK)
    if not isinstance(mark, dict) or mark.get("record") != zlib.crc32(record.encode()):
        raise ValueError(f"{path}: {RECORD} is not the record of this array; write the array again with write_rows")
    blocks = tuple((start, rows, crc) for start, rows, crc in json.loads(record))
    return list(reduce_rows(DamagedBlocks(array, blocks), da.arange(len(blocks), chunks=1)))


def check_blocks(blocks: list[Block], target: zarr.Array) -> None:
    """Raise an error unless blocks cover all rows of an array, and all its chunks are stored."""
    end, unit = 0, unit_rows(target)
    for start, rows, _ in [*blocks, (target.shape[0], 0, 0)]:
        if start != end or (rows and start % unit):
            raise ValueError(
                f"expected a block to end at row {start}, got one that ends at row {end}: the chunks of the Dask array "
                "do not hold the rows that they declare; call compute_chunk_sizes() on it first"
            )
        end += rows
    missing, expected = count_missing(target)
    if missing:
        raise RuntimeError(
            f"all rows were written, but {missing} of {expected} chunks or shards are not visible here; "
            "write to a folder that this process and all workers share, or to a URL"
        )
