"""Writing of an array with some blocks from an earlier attempt."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr

from .._journal import keeping
from .._typing import RowArray
from ..chunks import is_dask, reduce_rows
from .blocks import CONFIG, NOTES, Block, DamagedBlocks, rows_from
from .nodes import (
    MARK,
    RECORD,
    Options,
    array_in,
    find_node,
    local_path,
    read_all_beside,
    read_beside,
    remove_beside,
    url_options,
)

BLOCKS_OF_A_TASK = 16


def find_begun(
    path: str | os.PathLike[str], name: str | None, inside: str, storage_options: Options, **layout: Any
) -> zarr.Array | None:
    """Return the array that an earlier attempt of the same name began, if it has the layout of a new one.

    The remains of an interrupted creation are removed. The path of an array within a group is `inside`.
    """
    if name is None:
        return None
    folder = local_path(path)
    if folder is not None and is_unborn(folder):
        shutil.rmtree(folder)
    node = find_node(path, storage_options)
    if isinstance(node, zarr.Group) and inside:
        node = array_in(node, inside)
    mark = node.attrs.get(MARK) if isinstance(node, zarr.Array) else None
    if not isinstance(mark, dict) or mark.get("of") != name:
        return None
    if any(getattr(node, key) != value for key, value in layout.items()):
        return None
    where = "/".join(filter(None, [str(folder or os.fspath(path)), inside]))
    options = url_options(storage_options) if folder is None else None
    return zarr.open_array(where, mode="r+", storage_options=options).with_config(CONFIG)


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
