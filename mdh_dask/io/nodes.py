"""Zarr nodes in folders and at URLs, and their stored objects.

Only this module imports `zarr.core`: Zarr has no public way to read and write objects beside chunks, to list a store,
or to wait for its tasks, from code that is not asynchronous.
"""

import asyncio
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import zarr
from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]
from zarr.abc.store import Store
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.errors import ZarrUserWarning

from .paths import filesystem, local_path, reaching
from .repositories import revision_of, snapshot_of, store_of

Location = Any
"""A path or URL, a Zarr array, group or store, or a session of Icechunk."""

MARK = "mdh_dask"
"""The attribute in which `write_rows` records whether an array is complete."""

RECORD = "mdh_dask_blocks.json"
"""The file beside the chunks in which `write_rows` lists the written blocks."""

NUMBER = re.compile("[0-9]{1,18}")
"""Most digits in the number of a chunk."""

CODECS = {
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize", "sharding_indexed",
    "shuffle", "transpose", "vlen-bytes", "vlen-utf8", "zfpy", "zlib", "zstd",
}  # fmt: skip
"""Names of the codecs that may decode chunks: others, such as that of pickle, may run code of the chunk."""


def find_node(location: Location) -> zarr.Array | zarr.Group | None:
    """Return the Zarr array or group at a location, opened for reading, or None."""
    if is_node(location):
        return given_node(location)
    store, inside = local_path(location) or os.fspath(location), None
    if (revision := revision_of(location)) is not None:
        store, inside = store_of(revision), revision.path
    if isinstance(store, str):
        filesystem(location)  # raises an error that says what is wrong with the location
    try:
        with reaching(location), warnings.catch_warnings():
            # Zarr 3.4 warns of chunks of no rows, and reads all that is stored in them as fill values.
            warnings.filterwarnings("error", ".*stored chunk shape .* is invalid", ZarrUserWarning)
            node = zarr.open(store, path=inside, mode="r")
        if isinstance(node, zarr.Array):
            _check(node)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, UserWarning) as error:
        raise ValueError(f"{location} is damaged: Zarr cannot read its metadata ({error}); write it again") from error
    return node


def is_node(given: Any) -> bool:
    """Return whether a value is a Zarr array, group or store, or a session of Icechunk, rather than a location."""
    return isinstance(getattr(given, "store", given), Store)


def given_node(given: Any) -> zarr.Array | zarr.Group:
    """Return the Zarr array or group that a session of Icechunk or a Zarr store holds, or the one that is given."""
    store = getattr(given, "store", given)
    if not is_node(given):
        raise TypeError(
            f"expected a path, a URL, a Zarr array or group, a Zarr store or an Icechunk session; got a "
            f"{type(given).__name__}"
        )
    snapshot_of(store)
    node = given if isinstance(given, zarr.Array | zarr.Group) else zarr.open(store, mode="r")
    if isinstance(node, zarr.Array):
        _check(node)
    return node


def name_of_node(node: zarr.Array | zarr.Group) -> str:
    """Return a name for a Zarr array or group that was given without a location."""
    snapshot = snapshot_of(node.store)
    return f"snapshot {snapshot}/{node.path}".rstrip("/") if snapshot else str(node.store_path)


def array_in(group: zarr.Group, name: str) -> zarr.Array | None:
    """Return the array at a path in a group, or None if there is none; errors as for `find_node`."""
    node = group.get(name)
    if isinstance(node, zarr.Array):
        _check(node)
    return node if isinstance(node, zarr.Array) else None


def dimensions_of(array: zarr.Array) -> tuple[str, ...]:
    """Return the names of an array's dimensions in format 3, or as xarray writes them in format 2; empty if unknown."""
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    return tuple(map(str, names)) if names and all(names) else ()


def group_of(array: zarr.Array, location: Location) -> zarr.Group | None:
    """Return the group that holds an array at a location, or None if there is none, or it cannot be read."""
    with suppress(OSError, ValueError):
        if array.path:
            return zarr.open_group(array.store, path=array.path.rpartition("/")[0], mode="r")
        if isinstance(location, str | os.PathLike):
            node = find_node(os.fspath(location).rstrip("/").rpartition("/")[0])
            return node if isinstance(node, zarr.Group) else None
    return None


def _check(array: zarr.Array) -> None:
    """Raise an error for chunks of no rows, and codecs that are not in `CODECS`."""
    if 0 in (*array.chunks, *(array.shards or ())):
        raise ValueError(f"it has chunks of shape {array.chunks}")
    about = array.metadata.to_dict()
    codecs = [about.get("codecs"), about.get("filters"), about.get("compressor")]
    for name in _names_of_codecs(codecs):
        if name.removeprefix("numcodecs.") not in CODECS and not name.startswith("imagecodecs_"):
            raise ValueError(f"its chunks have the codec {name!r}, which is none of {', '.join(sorted(CODECS))}")


def _names_of_codecs(part: Any) -> Iterator[str]:
    """Yield the names in lists of codecs, also of those inside shards."""
    if isinstance(part, list | tuple):
        for codec in part:
            yield from _names_of_codecs(codec)
    elif isinstance(part, Mapping):
        yield str(part.get("name", part.get("id")))
        inner = part.get("configuration")
        if isinstance(inner, Mapping):
            yield from _names_of_codecs([inner.get("codecs"), inner.get("index_codecs")])
    elif part is not None:
        yield str(getattr(part, "codec_id", part))


def write_beside(array: zarr.Array, name: str, text: str) -> None:
    """Store a small text beside the chunks of an array."""
    sync(array.store.set(_key(array, name), default_buffer_prototype().buffer.from_bytes(text.encode())))


def read_object(array: zarr.Array, key: str) -> bytes | None:
    """Return the bytes that an array stores under a key, such as a chunk, or None."""
    content = sync(array.store.get(_key(array, key), default_buffer_prototype()))
    return None if content is None else content.to_bytes()


def read_beside(array: zarr.Array, name: str) -> str:
    """Return a text stored by `write_beside`; a FileNotFoundError says that there is none of that name."""
    text = read_object(array, name)
    if text is None:
        raise FileNotFoundError(f"{array.store_path}: there is no {name}; only write_rows makes one")
    return text.decode()


def read_all_beside(array: zarr.Array, name: str) -> list[str]:
    """Return all texts in a folder beside the chunks of an array."""

    async def texts() -> list[str]:
        keys = sorted(await _keys(array.store, _key(array, name)))
        parts = await asyncio.gather(*(array.store.get(key, default_buffer_prototype()) for key in keys))
        return [part.to_bytes().decode(errors="replace") for part in parts if part is not None]

    return sync(texts())


def unit_rows(array: zarr.Array) -> int:
    """Return the rows per stored object: per shard, or per chunk without shards."""
    return int((array.shards or array.chunks)[0])


def count_missing(array: zarr.Array) -> tuple[int, int]:
    """Return the numbers of missing and of expected stored objects (shards, or chunks without shards).

    Zarr's ``nchunks_initialized`` takes quadratic time, and counts every inner chunk of a ragged outer shard.
    Memory depends on the stored objects, not on the metadata, a few bytes of which can claim more chunks than fit.
    """
    grid = _grid(array)

    async def n_stored() -> int:
        return sum([_is_chunk(array, grid, key) async for key in array.store.list_prefix(array.path)])

    expected = math.prod(grid)
    return expected - sync(n_stored()), expected


def is_unwritten(array: zarr.Array) -> bool:
    """Return whether a store lists an array without any stored object; False where it lists nothing, as over HTTP."""
    grid = _grid(array)

    async def lists_metadata_only() -> bool:
        listed = False
        async for key in array.store.list_prefix(array.path):
            listed = True
            if _is_chunk(array, grid, key):
                return False
        return listed

    return sync(lists_metadata_only())


def _grid(array: zarr.Array) -> tuple[int, ...]:
    return tuple(-(-n // u) for n, u in zip(array.shape, array.shards or array.chunks))


def _is_chunk(array: zarr.Array, grid: tuple[int, ...], key: str) -> bool:
    """Return whether a key of the store is that of one of the array's chunks or shards."""
    numbers = NUMBER.findall(key.removeprefix(_key(array, "")))
    index = tuple(map(int, numbers[len(numbers) - len(grid) :]))
    inside = len(index) == len(grid) and all(i < n for i, n in zip(index, grid))
    return inside and _key(array, array.metadata.encode_chunk_key(index)) == key


def _key(array: zarr.Array | zarr.Group, name: str) -> str:
    return f"{array.path}/{name}" if array.path else name


def wait_for_zarr() -> None:
    """Wait until Zarr's running tasks in this process are done."""

    async def others_done() -> None:
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    sync(others_done())


async def _keys(store: Store, prefix: str) -> set[str]:
    return {key async for key in store.list_prefix(prefix)}


def keys_of(node: zarr.Array | zarr.Group) -> set[str]:
    """Return the keys of all objects of an array or group in its store."""
    return sync(_keys(node.store, node.path))


def copy_objects(source: Any, target: Any, keys: Sequence[tuple[str, str]]) -> None:
    """Copy objects, given by their keys in both stores, from one store to another, as they are."""

    async def copied() -> None:
        for key, to in keys:
            if (content := await source.get(key, default_buffer_prototype())) is None:
                raise FileNotFoundError(f"{source}: {key} is gone")
            await target.set(to, content)

    sync(copied())


def remove_node(store: Any, path: str) -> None:
    """Remove the array, group or folder at a path of a store, if it is there."""
    sync(store.delete_dir(path))


def overlaps(location: str | os.PathLike[str], array: zarr.Array) -> bool:
    """Return whether an array is stored at a location, inside it or around it.

    Protocols are not compared: an array opened through ``file://`` may be the one in a folder.
    """
    root = getattr(array.store, "root", None) or getattr(array.store, "path", None)
    if root is None:
        return False
    place = local_path(location) or url_to_fs(os.fspath(location))[1]
    ours, theirs = (Path(os.path.realpath(p)) for p in (place, f"{root}/{array.path}"))
    return ours.is_relative_to(theirs) or theirs.is_relative_to(ours)
