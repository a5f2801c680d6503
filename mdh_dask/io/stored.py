"""Zarr arrays whose errors name the file and the chunk that cannot be decoded."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from dask._task_spec import DataNode, Task
from zarr.storage import LocalStore

from .._errors import ContentsError
from .._locations import hiding_credentials
from .._process import check_memory
from .._typing import AnyArray
from .damage import REMEDY, is_damage, naming
from .nodes import read_object

COPIES = 3
"""What is read is in memory so many times at once: a decoded chunk, the region that it is part of, and its numbers in
another type."""


@dataclass(frozen=True)
class StoredArray:
    """A Zarr array with the user's name for it.

    Parameters
    ----------
    array : zarr.Array
    source : str
        Path or URL, for errors.
    part : str, optional
        Word for the stored objects in errors, for a store that decodes them itself.
    """

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
        """Read a region.

        Raises
        ------
        ContentsError
            If a chunk cannot be decoded.
        ValueError
            If it, or a chunk of it, does not fit in the memory of this process `COPIES` times.
        """
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
