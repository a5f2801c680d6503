"""Writing of rows to Zarr arrays that appear only when they are complete.

Zarr does not lock: two tasks that write parts of one chunk or shard silently lose rows (dask/dask#12583,
zarr-developers/zarr-python#3682). Here every block covers whole chunks or shards and is written once, and the written
blocks are recorded and compared with the array's shape before the array appears under its name.
"""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dask.array as da
import zarr

from .._locations import hiding_credentials
from .._typing import RowArray
from ..chunks import Progress, Statistic, Together, is_dask, reduce_rows
from .blocks import CONFIG, Block, DamagedBlocks, WriteBlocks, complete, incomplete
from .layout import Layout, align_rows, check_array, choose_layout
from .nodes import MARK, RECORD, Options, count_missing, read_beside
from .resuming import blocks_done, find_begun, tidy, with_stored
from .rows import open_array
from .stored import zarr_inputs
from .targets import ARRAY, refuse_input, will_replace, write_at


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
    progress: Progress | None = None,
    resume: str | None = None,
    storage_options: Options = None,
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
    progress : callable, optional
        As for `mdh_dask.chunks.reduce_rows`.
    resume : str, optional
        A name for the rows: intact blocks from an earlier call with the same name are reused. The
        array is then written at `path` itself, marked incomplete until the end, and an interrupt removes nothing.
    storage_options : dict, optional
        Options of fsspec for URLs.

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
    layout = choose_layout(array, chunk_rows, shard_rows, compress)
    shape = shape_of(array, layout)
    begun = find_begun(path, resume, "", storage_options, **shape)
    replace = begun is None and will_replace(path, overwrite, ARRAY, storage_options)
    if is_dask(array):
        refuse_input(path, zarr_inputs(array.__dask_graph__()), storage_options)

    def fill(place: Path | str, replace: bool, options: Options) -> Any:
        aligned, target, done = align_rows(array, layout.unit), begun, {}
        if target is None:
            marked = dict(attributes or {}) | incomplete(resume)
            target = zarr.create_array(
                place, **shape, compressors="auto" if layout.compressed else None, config=CONFIG, attributes=marked,
                overwrite=replace, storage_options=options,
            )  # fmt: skip
        else:
            done = blocks_done(target, aligned)
        others = tuple(beside) if isinstance(beside, Sequence) else (beside,)
        return _fill(target, aligned, done, place, layout.unit, attributes or {}, resume, also, others, progress)

    return write_at(path, fill, replace, storage_options, in_place=resume is not None)


@hiding_credentials()
def verify_rows(path: str | os.PathLike[str], storage_options: Options = None) -> list[tuple[int, int]]:
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
    array = open_array(path, storage_options)
    record = read_beside(array, RECORD)
    mark = array.attrs.get(MARK)
    if not isinstance(mark, dict) or mark.get("record") != zlib.crc32(record.encode()):
        raise ValueError(f"{path}: {RECORD} is not the record of this array; write the array again with write_rows")
    blocks = tuple((start, rows, crc) for start, rows, crc in json.loads(record))
    return list(reduce_rows(DamagedBlocks(array, blocks), da.arange(len(blocks), chunks=1)))


def shape_of(array: RowArray, layout: Layout) -> dict[str, Any]:
    """Return shape, dtype, chunks and shards of the stored array."""
    columns = array.shape[1:]
    return {
        "shape": array.shape,
        "dtype": array.dtype.newbyteorder("="),
        "chunks": (layout.chunk, *columns),
        "shards": layout.shard and (layout.shard, *columns),
    }


def _fill(
    target: zarr.Array,
    aligned: RowArray,
    done: Mapping[int, list[Block]],
    place: Path | str,
    unit: int,
    attributes: Mapping[str, Any],
    name: str | None,
    also: Statistic | None,
    beside: tuple[RowArray, ...],
    progress: Progress | None,
) -> Any:
    """Write the missing rows, mark the array as complete, and return the value of `also`."""
    folder = place if isinstance(place, Path) else None
    write = WriteBlocks(target, folder, done, noted=name is not None)
    aligned = with_stored(aligned, target, done, needed=also is not None)
    both = Together((write,) if also is None else (write, also))
    blocks, *value = reduce_rows(both, aligned, *beside, progress=progress)
    check_blocks(blocks, target, unit)
    target.update_attributes(dict(attributes) | complete(target, blocks, name))
    if name is not None:
        tidy(target, folder)
    return value[0] if value else None


def check_blocks(blocks: list[Block], target: zarr.Array, unit: int) -> None:
    """Raise an error unless blocks cover all rows of an array, and all its chunks are stored."""
    end = 0
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
