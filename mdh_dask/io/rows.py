"""Zarr arrays of rows as Dask arrays in blocks of whole shards or chunks."""

import math
import os
from typing import Literal

import dask.array as da
import numpy as np
import zarr
from dask.base import tokenize
from dask.utils import format_bytes, parse_bytes

from .._locations import hiding_credentials, missing
from ..chunks import default_block_bytes
from .lazy import check_blocks
from .nodes import MARK, Options, count_missing, find_node, is_unwritten, local_path, unit_rows
from .stored import StoredArray


@hiding_credentials()
def open_rows(
    source: str | os.PathLike[str] | zarr.Array,
    *,
    ndim: int = 2,
    block_bytes: int | str | None = None,
    missing_chunks: Literal["error", "fill"] = "error",
    storage_options: Options = None,
) -> da.Array:
    """Open a Zarr array of rows lazily, in blocks of whole shards or chunks that hold all columns.

    Parameters
    ----------
    source : path, URL or zarr.Array
        A Zarr array of format 2 or 3; for an array in a group, the path of the array: ``store.zarr/features``.
    ndim : int, default 2
        2 for rows of columns, 1 for labels.
    block_bytes : int or str, optional
        Approximate size of each block, for example ``"64MiB"``. The default is the Dask configuration value
        ``mdh-dask.block-size`` (32 MiB), or less to make at least 32 blocks, but not below 4 MiB.
    missing_chunks : {"error", "fill"}, default "error"
        Whether missing chunks, which Zarr reads as the fill value, are an error. ``"fill"`` is right for
        arrays whose writer omits chunks that hold only this value, and the store is listed only up to a first chunk.
    storage_options : dict, optional
        Options of fsspec for URLs.

    Returns
    -------
    dask Array of shape (n_rows, n_columns) or (n_rows,)
        Nothing is read before it is computed.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is not a Zarr array, has another number of dimensions or no rows, was left incomplete by
        an interrupted `write_rows`, or lacks chunks, or all of them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mdh_dask.io import write_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(np.eye(6, 2), f"{folder}/x.zarr", chunk_rows=2)
    ...     open_rows(f"{folder}/x.zarr", block_bytes=64).chunks
    ((4, 2), (2,))
    """
    if missing_chunks not in ("error", "fill"):
        raise ValueError(f"missing_chunks must be 'error' or 'fill'; got {missing_chunks!r}")
    array = source if isinstance(source, zarr.Array) else open_array(source, storage_options)
    _check_shape(array, source, ndim)
    check_complete(array, source, missing_chunks)
    if ndim == 2 and missing_chunks == "fill" and is_unwritten(array):
        raise ValueError(
            f"{source}: none of its chunks is stored, so that all values would be the fill value {array.fill_value}: "
            "write the rows first, or check the path"
        )
    chunks = (_block_rows(array, block_bytes), *array.shape[1:])
    check_blocks(array.shape[0], chunks[0], source)
    stored = StoredArray(array, str(source if isinstance(source, str | os.PathLike) else array.store_path))
    name = f"from-zarr-{tokenize(array, chunks)}"
    return da.from_array(stored, chunks, name=name, meta=np.empty((0,) * ndim, array.dtype))


@hiding_credentials()
def open_array(source: str | os.PathLike[str], storage_options: Options = None) -> zarr.Array:
    """Open the Zarr array at a path or URL for reading, or raise an error that says what it is instead.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is a group, or not Zarr.
    """
    node = find_node(source, storage_options)
    if isinstance(node, zarr.Array):
        return node
    path = local_path(source)
    if node is None and path is not None and path.exists():
        raise ValueError(
            f"{source} is not a Zarr array: it has neither zarr.json nor .zarray; write it with write_rows"
        )
    if node is None:
        raise missing(source)
    names = sorted(name for name, member in node.members(max_depth=None) if isinstance(member, zarr.Array))
    rows = [name.removesuffix("/indptr") for name in names if name.endswith("/indptr")] or names  # sparse ones first
    remedy = f"add one to the path, for example {source}/{rows[0]}" if names else "there is nothing to read"
    raise ValueError(f"{source} is a Zarr group of {len(names)} arrays ({', '.join(names[:10])}): {remedy}")


def _check_shape(array: zarr.Array, source: object, ndim: int) -> None:
    if array.ndim != ndim:
        remedy = "store one row per sample or pixel" + (", or pass ndim=1 to read labels" if array.ndim == 1 else "")
        raise ValueError(f"{source}: expected {ndim} dimension(s), got an array of shape {array.shape}; {remedy}")
    if 0 in array.shape:
        raise ValueError(f"{source}: expected at least one row and one column, got an array of shape {array.shape}")


def check_complete(array: zarr.Array, source: object, missing_chunks: str) -> None:
    """Raise an error if an array was left incomplete, or lacks chunks and `missing_chunks` is not ``"fill"``."""
    mark = array.attrs.get(MARK)
    ours = isinstance(mark, dict) and "complete" in mark
    if ours and not mark["complete"]:
        raise ValueError(f"{source} was left incomplete by an interrupted write: write it again, with overwrite=True")
    if missing_chunks == "fill":
        return
    missing, expected = count_missing(array)
    if not missing:
        return
    what = "shards" if array.shards else "chunks"
    remedy = (
        "they were written, but are gone: restore them or write the array again"
        if ours
        else "restore them, or pass missing_chunks='fill' if they hold nothing else (Zarr does not store such chunks)"
    )
    raise ValueError(
        f"{source}: {missing} of {expected} {what} are missing and would be read as the fill value "
        f"{array.fill_value}; {remedy}"
    )


def _block_rows(array: zarr.Array, block_bytes: int | str | None) -> int:
    row_bytes = array.dtype.itemsize * math.prod(array.shape[1:])
    size = default_block_bytes(array.shape[0] * row_bytes) if block_bytes is None else parse_bytes(block_bytes)
    if size < 1:
        raise ValueError(f"block_bytes must be positive; got {format_bytes(size)}")
    unit = unit_rows(array)
    return int(unit * max(1, size // (unit * row_bytes)))
