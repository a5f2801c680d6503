"""Statistics that write blocks of rows to a Zarr array and check them later."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from .._typing import AnyArray
from ..chunks import Statistic
from .folders import remove_folder
from .nodes import unit_rows

PIECE_BYTES = 2**25

Block = tuple[int, int, int]
"""First row, number of rows and CRC-32 of a written block."""


@dataclass(frozen=True)
class WriteBlocks(Statistic):
    """Write every block to its rows of a Zarr array; the value is the list of written blocks."""

    target: zarr.Array
    folder: Path | None
    """Folder in which the array is staged; None for a URL."""

    @property
    def journalled(self) -> bool:
        """False: what it writes is not in the journal."""
        return False

    @property
    def keeps_blocks(self) -> bool:
        """True, as blocks end where stored objects end, and only one task may write an object."""
        return True

    def chunk(self, start: int, *blocks: AnyArray) -> list[Block]:
        """Write one block, in pieces of whole stored objects if it is large."""
        block = self._checked(blocks[0])
        step = unit_rows(self.target)
        step *= max(1, PIECE_BYTES // (step * block[:1].nbytes))
        pieces = range(0, len(block), step)
        return [self._write(start + i, np.ascontiguousarray(block[i : i + step], self.target.dtype)) for i in pieces]

    def combine(self, left: list[Block], right: list[Block]) -> list[Block]:
        """Concatenate the lists."""
        return left + right

    def _write(self, start: int, block: AnyArray) -> Block:
        store(self.target, self.folder, slice(start, start + len(block)), block)
        return start, len(block), zlib.crc32(block)

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

    Raises
    ------
    FileNotFoundError
        If the folder is gone because the write was abandoned.
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
class DamagedBlocks(Statistic):
    """Row ranges of the blocks, given by their numbers, whose contents differ from the record."""

    array: zarr.Array
    blocks: tuple[Block, ...]
    where: Callable[[int, int], Any] = rows_from
    """Returns the region of a block in the array from its first row and its number of rows."""

    @property
    def journalled(self) -> bool:
        """False: the array may have changed since."""
        return False

    def chunk(self, start: int, *blocks: AnyArray) -> list[tuple[int, int]]:
        """Check the blocks with these numbers."""
        return [(b[0], b[0] + b[1]) for b in (self.blocks[int(i)] for i in blocks[0]) if not self._intact(b)]

    def combine(self, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Concatenate the lists."""
        return left + right

    def _intact(self, block: Block) -> bool:
        start, rows, crc = block
        try:
            stored = np.ascontiguousarray(self.array[self.where(start, rows)])
        except Exception:  # codecs raise anything for bytes that they did not write
            return False
        return zlib.crc32(stored) == crc
