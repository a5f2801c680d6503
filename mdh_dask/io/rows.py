"""Zarr arrays of rows as Dask arrays in blocks of whole shards or chunks, with errors that name what is damaged."""

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import dask.array as da
import numpy as np
import zarr
from dask.base import tokenize
from zarr.storage import LocalStore

from .._errors import ContentsError
from .._locations import hiding_credentials, missing
from .._process import check_memory
from .._typing import AnyArray
from .._words import full_count
from ..chunks import block_size
from ..chunks.mapping import DataNode, Task
from .nodes import MARK, count_missing, find_node, is_unwritten, read_object, unit_rows
from .paths import REMEDY, is_damage, local_path, naming
from .tables import check_blocks

COPIES = 3
"""What is read is in memory so many times at once: a decoded chunk, the region that it is part of, and its numbers in
another type."""


@dataclass(frozen=True)
class StoredArray:
    """A Zarr array with the user's name for it; `part` is the word for what a store decodes itself, as tiles."""

    array: zarr.Array
    source: str
    part: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype."""
        return np.dtype(self.array.dtype)

    @hiding_credentials()
    def __getitem__(self, where: Any) -> AnyArray:
        self._check_memory(where)
        if isinstance(self.array.store, LocalStore):
            self._refuse_cut_files(self.array.store.root, where)
        try:
            return np.asarray(self.array[where])
        except Exception as error:
            if is_damage(error):
                self._raise_for_damage(where)
            raise

    def _check_memory(self, where: Any) -> None:
        """Raise an error for chunks too large to decode, which a file of a few bytes may hold."""
        read = [len(_places(index, n)) for index, n in zip(self._indices(where), self.shape)]
        check_chunks(self.source, self.array.chunks, self.dtype, read)

    def _indices(self, where: Any) -> tuple[Any, ...]:
        """Return the index of every axis."""
        given = where if isinstance(where, tuple) else (where,)
        return (*given, *[slice(None)] * (self.ndim - len(given)))

    def _refuse_cut_files(self, root: Path, where: Any) -> None:
        """Raise an error for a truncated file, as from a full disk, that could be read as something else.

        An empty shard would be read as the fill value, and Blosc reads beyond the end of its input.
        """
        blosc = not self.array.shards and any("Blosc" in type(codec).__name__ for codec in self.array.compressors)
        if not blosc and not self.array.shards:
            return
        for key, _ in self._objects(where):
            file = root / self.array.path / key
            if file.exists() and file.stat().st_size < (_blosc_bytes(file) if blosc else 1):
                what = "shard" if self.array.shards else "chunk"
                raise ContentsError(f"{self.source} is damaged: its {what} {key} was cut; {REMEDY}")

    def _raise_for_damage(self, where: Any) -> None:
        """Read the stored objects of a region one by one; raise an error for the first that cannot be decoded."""
        what = self.part or ("shard" if self.array.shards else "chunk")
        for key, region in self._objects(where):
            if self.part is None:
                read_object(self.array, key)  # raises if the object cannot be fetched, which is not damage
            with naming(f"{self.source} is damaged: its {what} {key} cannot be decoded"):
                self.array[region]

    def _objects(self, where: Any) -> Iterator[tuple[str, tuple[slice, ...]]]:
        """Yield the keys and regions of the stored objects that a region needs."""
        unit = self.array.shards or self.array.chunks
        places = [_numbers(index, n, step) for index, n, step in zip(self._indices(where), self.shape, unit)]
        for index in itertools.product(*places):
            region = tuple(slice(i * u, (i + 1) * u) for i, u in zip(index, unit))
            yield self.array.metadata.encode_chunk_key(index), region


def check_chunks(source: str, chunks: Sequence[int], dtype: np.dtype, read: Sequence[int] = ()) -> None:
    """Raise an error for chunks, or a region of such lengths, that do not fit in memory `COPIES` times."""
    held = [max(pair) for pair in itertools.zip_longest(chunks, read, fillvalue=0)]
    check_memory(
        COPIES * dtype.itemsize * math.prod(held),
        f"{source}: reading chunks of shape {tuple(chunks)}, {COPIES} times in memory at once,",
        ": write it again in smaller chunks, as with mdh_dask.io.write_rows, or give workers more memory",
    )


def _places(index: Any, n: int) -> Sequence[int]:
    """Return the entries of an axis of length n that an index reads."""
    return range(*index.indices(n)) if isinstance(index, slice) else np.atleast_1d(index).tolist()


def _numbers(index: Any, n: int, unit: int) -> Sequence[int]:
    """Return the numbers of the stored objects, of `unit` entries each, that an index of an axis of length n reads."""
    places = _places(index, n)
    if not isinstance(places, range):
        return sorted({int(i) // unit for i in places})
    if not places:
        return range(0)
    return range(min(places[0], places[-1]) // unit, max(places[0], places[-1]) // unit + 1)


def _blosc_bytes(file: Path) -> int:
    """Return the number of bytes that a Blosc file has according to its header."""
    with file.open("rb") as stream:
        header = stream.read(16)
    return int.from_bytes(header[12:], "little") if len(header) == 16 else 16


def zarr_inputs(graph: Mapping[Any, Any]) -> Iterator[zarr.Array]:
    """Yield the Zarr arrays that a task graph reads, anywhere in the arguments of its tasks."""
    stack = list(graph.values())
    while stack:
        value = stack.pop()
        if isinstance(value, zarr.Array):
            yield value
        elif isinstance(value, StoredArray):
            yield value.array
        elif isinstance(value, Mapping):
            stack.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            stack.extend(value)
        elif isinstance(value, partial):
            stack.extend((value.args, value.keywords))
        elif isinstance(value, Task):
            stack.extend((value.args, value.kwargs))
        elif isinstance(value, DataNode):
            stack.append(value.value)


@hiding_credentials()
def open_rows(
    source: str | os.PathLike[str] | zarr.Array,
    *,
    ndim: int = 2,
    block_bytes: int | str | None = None,
    missing_chunks: Literal["error", "fill"] = "error",
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
    array = source if isinstance(source, zarr.Array) else open_array(source)
    _check_shape(array, source, ndim)
    check_complete(array, source, missing_chunks)
    if ndim == 2 and missing_chunks == "fill" and is_unwritten(array):
        raise ValueError(
            f"{source}: none of its chunks is stored, so that all values would be the fill value {array.fill_value}: "
            "write the rows first, or check the path"
        )
    row_bytes, unit = array.dtype.itemsize * math.prod(array.shape[1:]), unit_rows(array)
    n_units = max(1, block_size(array.shape[0] * row_bytes, block_bytes) // (unit * row_bytes))
    chunks = (unit * n_units, *array.shape[1:])
    check_blocks(array.shape[0], chunks[0], source)
    stored = StoredArray(array, str(source if isinstance(source, str | os.PathLike) else array.store_path))
    name = f"mdh-rows-{tokenize(array, chunks)}"
    return da.from_array(stored, chunks, name=name, meta=np.empty((0,) * ndim, array.dtype))


@hiding_credentials()
def open_array(source: str | os.PathLike[str]) -> zarr.Array:
    """Open the Zarr array at a path or URL for reading, or raise an error that says what it is instead."""
    return as_array(find_node(source), source)


def as_array(node: zarr.Array | zarr.Group | None, source: str | os.PathLike[str]) -> zarr.Array:
    """Return the node at a path or URL if it is an array, or raise an error that says what it is instead."""
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
    raise ValueError(
        f"{source} is a Zarr group of {full_count(len(names), 'array')} ({', '.join(names[:10])}): {remedy}"
    )


def _check_shape(array: zarr.Array, source: object, ndim: int) -> None:
    if array.ndim != ndim:
        remedy = "store one row per sample or pixel" + (", or pass ndim=1 to read labels" if array.ndim == 1 else "")
        raise ValueError(
            f"{source}: expected {full_count(ndim, 'dimension')}, got an array of shape {array.shape}; {remedy}"
        )
    if 0 in array.shape:
        raise ValueError(f"{source}: expected at least one row and one column, got an array of shape {array.shape}")


def check_complete(array: zarr.Array, source: object, missing_chunks: str) -> None:
    """Raise an error if an array was left incomplete, or lacks chunks and `missing_chunks` is not ``"fill"``."""
    if missing_chunks not in ("error", "fill"):
        raise ValueError(f"missing_chunks must be 'error' or 'fill'; got {missing_chunks!r}")
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
