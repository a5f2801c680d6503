"""Blocks of rows that are written to a Zarr array, checked later, and kept where an attempt was interrupted."""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr

from .._journal import use_journal
from .._typing import AnyArray, RowArray
from ..chunks import Statistic, is_dask, reduce_rows
from .nodes import (
    MARK,
    RECORD,
    array_in,
    find_node,
    read_all_beside,
    read_beside,
    remove_node,
    unit_rows,
    write_beside,
)
from .paths import local_path
from .staging import remove_folder

PIECE_BYTES = 2**25

NOTES = "mdh_dask_written"
"""Folder beside the chunks of a staged array that holds a note for every written block."""

CONFIG = {"write_empty_chunks": True}
"""Write all chunks, also those of the fill value, so that a missing chunk is a lost chunk."""

Block = tuple[int, int, int]
"""First row, number of rows and CRC-32 of a written block."""


def incomplete(name: str | None) -> dict[str, Any]:
    """Return the attribute of an unfinished array, with a name if its write can be resumed."""
    return {MARK: {"complete": False} | _of(name)}


def complete(target: zarr.Array, blocks: list[Block], name: str | None) -> dict[str, Any]:
    """Record the written blocks beside an array, and return the attribute that then marks it as complete."""
    record = json.dumps(blocks)
    write_beside(target, RECORD, record)
    return {MARK: {"complete": True, "record": zlib.crc32(record.encode())} | _of(name)}


def _of(name: str | None) -> dict[str, str]:
    return {} if name is None else {"of": name}


@dataclass(frozen=True)
class WriteBlocks(Statistic):
    """Write all blocks but those already written to their rows of a Zarr array; the value is the list of all blocks."""

    target: zarr.Array
    folder: Path | None
    """Folder in which the array is staged; None for a URL."""
    done: Mapping[int, list[Block]] = field(default_factory=dict)
    """Blocks written earlier, by the first row of a block."""
    noted: bool = False
    """Whether to note every written block beside the array."""
    array: int = 0
    """Index of the array to write among row-aligned ones."""

    # What is written is dense, and sparse rows beside it must not divide its blocks.
    takes_sparse = True

    # The written rows are not in the journal.
    journalled = False

    # Blocks end where stored objects end, and only one task may write an object.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: AnyArray) -> list[Block]:
        """Write one block, or return its earlier record."""
        if start in self.done:
            return self.done[start]
        written = []
        for first, n_rows, where, piece in self.pieces(start, blocks[self.array]):
            store(self.target, self.folder, where, piece)
            written.append((first, n_rows, zlib.crc32(piece)))
        if self.noted:
            write_beside(self.target, f"{NOTES}/{start}.json", json.dumps(written))
        return written

    def pieces(self, start: int, block: AnyArray) -> Iterator[tuple[int, int, Any, AnyArray]]:
        """Yield the first row, number of rows, region and contents of each piece; pieces are whole stored objects."""
        block = self._checked(block)
        step = unit_rows(self.target)
        step *= max(1, PIECE_BYTES // (step * block[:1].nbytes))
        for i in range(0, len(block), step):
            piece = np.ascontiguousarray(block[i : i + step], self.target.dtype)
            yield start + i, len(piece), rows_from(start + i, len(piece)), piece

    def _checked(self, block: AnyArray) -> AnyArray:
        # Zarr would cast and broadcast silently, and NumPy would drop a mask.
        shape, dtype = self.target.shape[1:], self.target.dtype
        if np.ma.isMaskedArray(block):
            raise TypeError("a block is a masked array, which Zarr cannot store: fill it first")
        block = np.asarray(block)
        if block.shape[1:] != shape or not np.can_cast(block.dtype, dtype, "safe"):
            raise ValueError(
                f"expected blocks of {dtype} with columns {shape}, as the Dask array declares; got a block of "
                f"{block.dtype} and shape {block.shape}: correct dtype= or chunks= where the array is made"
            )
        return block


def store(target: zarr.Array, folder: Path | None, where: Any, block: AnyArray) -> None:
    """Write a region of a staged array, in a folder that must still exist or at a URL.

    Raises a FileNotFoundError if the folder is gone because the write was abandoned.
    """
    if folder is not None and not (folder / "zarr.json").exists():
        raise FileNotFoundError(
            f"{folder} is missing: the write was abandoned, or this worker does not share the file system "
            "of the process that started it; write to a shared folder or to a URL"
        )
    try:
        target[where] = block
    finally:
        # Otherwise a thread or worker that outlives the failure of the others would create the removed folder again.
        if folder is not None and not (folder / "zarr.json").exists():
            remove_folder(folder)


def rows_from(start: int, n_rows: int) -> slice:
    """Return the region of a block in an array of rows."""
    return slice(start, start + n_rows)


@dataclass(frozen=True)
class Grid:
    """Blocks of whole chunks of a two-dimensional array, by rows of blocks."""

    array: zarr.Array
    side: int
    """Approximate lines and columns of a block."""

    @property
    def sides(self) -> tuple[int, int]:
        """Return lines and columns of blocks."""
        lines, columns = (max(self.side // chunk, 1) * chunk for chunk in self.array.chunks)
        return lines, columns

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of blocks."""
        (height, width), (lines, columns) = self.array.shape, self.sides
        return -(-height // lines), -(-width // columns)

    def block(self, i: int) -> tuple[slice, slice]:
        """Return the `i`-th block."""
        (height, width), (lines, columns) = self.array.shape, self.sides
        y, x = divmod(i, self.shape[1])
        return (slice(y * lines, min((y + 1) * lines, height)), slice(x * columns, min((x + 1) * columns, width)))

    def numbers(self) -> da.Array:
        """Return the numbers of the blocks, one in a chunk."""
        return da.arange(self.shape[0] * self.shape[1], chunks=1)


@dataclass(frozen=True)
class DamagedBlocks(Statistic):
    """Row ranges of the blocks, given by their numbers, whose contents differ from the record."""

    array: zarr.Array
    blocks: tuple[Block, ...]
    where: Callable[[int, int], Any] = rows_from
    """Returns the region of a block in the array from its first row and its number of rows."""

    # The array may have changed since.
    journalled = False

    def chunk(self, start: int, *blocks: AnyArray) -> list[tuple[int, int]]:
        """Check the blocks with these numbers."""
        return [(b[0], b[0] + b[1]) for b in (self.blocks[int(i)] for i in blocks[0]) if not self._intact(b)]

    def _intact(self, block: Block) -> bool:
        start, rows, crc = block
        try:
            stored = np.ascontiguousarray(self.array[self.where(start, rows)])
        except Exception:  # codecs raise anything for bytes that they did not write
            return False
        return zlib.crc32(stored) == crc


BLOCKS_OF_A_TASK = 16


def find_begun(path: str | os.PathLike[str], name: str | None, inside: str, **layout: Any) -> zarr.Array | None:
    """Return the array that an earlier attempt of the same name began, if it has the layout of a new one.

    The remains of an interrupted creation are removed. The path of an array within a group is `inside`.
    """
    if name is None:
        return None
    folder = local_path(path)
    if folder is not None and folder.is_dir() and all(one.name.endswith(".partial") for one in folder.iterdir()):
        shutil.rmtree(folder)
    node = find_node(path)
    if isinstance(node, zarr.Group) and inside:
        node = array_in(node, inside)
    mark = node.attrs.get(MARK) if isinstance(node, zarr.Array) else None
    if not isinstance(mark, dict) or mark.get("of") != name:
        return None
    if any(getattr(node, key) != value for key, value in layout.items()):
        return None
    where = "/".join(filter(None, [str(folder or os.fspath(path)), inside]))
    return zarr.open_array(where, mode="r+").with_config(CONFIG)


def blocks_done(
    target: zarr.Array, aligned: RowArray, where: Callable[[int, int], Any] = rows_from
) -> dict[int, list[Block]]:
    """Return the noted blocks with intact contents by their first rows, after one pass over them.

    `where` returns the region of a block in the array from its first row and its number of rows.
    """
    pieces: dict[int, Block] = {}
    texts = read_all_beside(target, NOTES)
    with suppress(FileNotFoundError):
        texts = [read_beside(target, RECORD), *texts]
    for text in texts:
        try:
            pieces |= {start: (start, rows, crc) for start, rows, crc in json.loads(text)}
        except (ValueError, TypeError):  # a truncated note
            continue
    noted = tuple(pieces[start] for start in sorted(pieces))
    if noted:
        numbers = da.arange(len(noted), chunks=BLOCKS_OF_A_TASK)
        with use_journal(None):  # not a result of the job, as it depends on where the job was interrupted
            damaged = {start for start, _ in reduce_rows(DamagedBlocks(target, noted, where), numbers)}
        noted = tuple(block for block in noted if block[0] not in damaged)
    starts = np.array([block[0] for block in noted], dtype=np.int64)
    done = {}
    for first, end in pairwise(_ends(aligned)):
        own = list(noted[slice(*np.searchsorted(starts, [first, end]))])
        if sum(rows for _, rows, _ in own) == end - first:
            done[first] = own
    return done


def with_stored(aligned: RowArray, target: zarr.Array, done: Mapping[int, list[Block]], needed: bool) -> RowArray:
    """Return an array that reads finished blocks from storage; unless `needed`, their values are undefined."""
    if not is_dask(aligned) or not done:
        return aligned
    if needed:
        stored = da.from_array(target, chunks=aligned.chunks, name=False)
    else:
        stored = da.zeros(aligned.shape, dtype=aligned.dtype, chunks=aligned.chunks)
    runs = groupby(pairwise(_ends(aligned)), key=lambda block: block[0] in done)
    parts = []
    for is_done, blocks in runs:
        together = list(blocks)
        parts.append((stored if is_done else aligned)[together[0][0] : together[-1][1]])
    return da.concatenate(parts)


def tidy(target: zarr.Array, folder: Path | None) -> None:
    """Remove the notes and the leftovers of interrupted writes."""
    remove_node(target.store, f"{target.path}/{NOTES}".lstrip("/"))
    if folder is not None:
        shutil.rmtree(folder / target.path / NOTES, ignore_errors=True)
        for path in folder.rglob("*.partial"):
            path.unlink(missing_ok=True)


def _ends(aligned: RowArray) -> list[int]:
    sizes: Any = aligned.chunks[0] if is_dask(aligned) else (len(aligned),)
    return [0, *np.cumsum(sizes).tolist()]
