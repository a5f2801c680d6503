"""Writing of an array with some blocks from an earlier attempt."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr

from .._journal import keeping
from .._typing import AnyArray, RowArray
from ..chunks import is_dask, reduce_rows
from .blocks import Block, DamagedBlocks, WriteBlocks, rows_from
from .layout import Layout
from .nodes import MARK, RECORD, read_all_beside, read_beside, remove_beside, write_beside

NOTES = "mdh_dask_written"
"""The folder beside the chunks of a staged array that holds a note for every written block."""

BLOCKS_OF_A_TASK = 16


@dataclass(frozen=True)
class WriteAndNote(WriteBlocks):
    """Write and note every block that is not done; the value is the list of all blocks."""

    done: Mapping[int, list[Block]]
    """Blocks written earlier, by the first row of a block."""

    def chunk(self, start: int, *blocks: AnyArray) -> list[Block]:
        """Write one block, or return its earlier record."""
        if start in self.done:
            return self.done[start]
        written = super().chunk(start, *blocks)
        write_beside(self.target, f"{NOTES}/{start}.json", json.dumps(written))
        return written


def is_begun(node: zarr.Array | zarr.Group | None, name: str, array: RowArray, layout: Layout) -> bool:
    """Return whether a node is an array that was begun under a name with the layout that it would have now."""
    if not isinstance(node, zarr.Array):
        return False
    mark = node.attrs.get(MARK)
    columns = array.shape[1:]
    laid_out = (layout.chunk, *columns), layout.shard and (layout.shard, *columns)
    return (
        isinstance(mark, dict)
        and mark.get("of") == name
        and (node.shape, node.dtype) == (array.shape, array.dtype.newbyteorder("="))
        and (node.chunks, node.shards) == laid_out
    )


def is_unborn(folder: Path) -> bool:
    """Return whether a folder holds only what an interrupted creation of an array leaves."""
    return folder.is_dir() and all(path.name.endswith(".partial") for path in folder.iterdir())


def blocks_done(
    target: zarr.Array, aligned: RowArray, where: Callable[[int, int], Any] = rows_from
) -> dict[int, list[Block]]:
    """Return the noted blocks with intact contents by their first rows, after one pass over them.

    `where` returns the region of a block in the array from its first row and its number of rows.
    """
    pieces: dict[int, Block] = {}
    for text in [*_record(target), *read_all_beside(target, NOTES)]:
        try:
            pieces |= {start: (start, rows, crc) for start, rows, crc in json.loads(text)}
        except (ValueError, TypeError):  # a truncated note
            continue
    noted = tuple(pieces[start] for start in sorted(pieces))
    if noted:
        numbers = da.arange(len(noted), chunks=BLOCKS_OF_A_TASK)
        with keeping(None):  # not a result of the job, as it depends on where the job was interrupted
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
    """Return an array that reads the blocks which are done from storage, or leaves them arbitrary if not `needed`."""
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
    remove_beside(target, NOTES)
    if folder is not None:
        shutil.rmtree(folder / target.path / NOTES, ignore_errors=True)
        for path in folder.rglob("*.partial"):
            path.unlink(missing_ok=True)


def _record(target: zarr.Array) -> list[str]:
    try:
        return [read_beside(target, RECORD)]
    except FileNotFoundError:
        return []


def _ends(aligned: RowArray) -> list[int]:
    sizes: Any = aligned.chunks[0] if is_dask(aligned) else (len(aligned),)
    return [0, *np.cumsum(sizes).tolist()]
