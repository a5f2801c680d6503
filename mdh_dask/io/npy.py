"""Rows in ``.npy`` files, which are memory-mapped if local and otherwise read by byte ranges."""

import math
import os
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import dask.array as da
import fsspec  # type: ignore[import-untyped, unused-ignore]
import numpy as np

from .._locations import hiding_credentials
from .._typing import AnyArray
from ..chunks import block_size
from .paths import about_file, filesystem, local_path, naming, version_of
from .tables import check_blocks, lazy_rows

HEADER_BYTES = 4096
"""More bytes than the header of a numeric array has."""

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class NpyFile:
    """An array in a file at a path or URL."""

    location: str = field(repr=False)
    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool
    offset: int

    @property
    def row_bytes(self) -> int:
        """Bytes per row."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @hiding_credentials()
    def read(self, part: tuple[int, int]) -> AnyArray:
        """Return the rows of a range (first, end)."""
        if (path := local_path(self.location)) is not None:
            # Mapped copy-on-write: the file is never written, but arrays are not read-only, so loops compile only once.
            order = "F" if self.by_columns else "C"
            with naming(f"{self.location} is damaged", "it has changed since it was opened: write it again"):
                mapped = np.memmap(path, self.dtype, "c", self.offset, self.shape, order=order)  # type: ignore[call-overload]
            return np.asarray(mapped)[slice(*part)]
        start, end = (self.offset + row * self.row_bytes for row in part)
        content = _bytes(self.location, start, end)
        return np.frombuffer(bytearray(content), self.dtype).reshape(-1, *self.shape[1:])


def open_npy(path: str | os.PathLike[str], *, block_bytes: int | str | None = None) -> da.Array:
    """Open a ``.npy`` file of rows lazily, in blocks of about `block_bytes`; only its header is read now.

    Local files are memory-mapped, and must be visible to all workers.
    """
    location = os.fspath(local_path(path) or path)
    file, size, version = _opened(location, path)
    if file.dtype.hasobject or file.dtype.kind not in "biufc":
        raise ValueError(f"{path}: expected numbers, got dtype {file.dtype}; save an array of numbers with numpy.save")
    if len(file.shape) != 2 or min(file.shape) < 1:
        remedy = "; save x.reshape(-1, 1) for one column" if len(file.shape) == 1 else ""
        raise ValueError(
            f"{path}: expected rows of columns, at least one of each; got an array of shape {file.shape}{remedy}"
        )
    nbytes = file.row_bytes * file.shape[0]
    if size is not None and size < file.offset + nbytes:
        raise ValueError(
            f"{path} is truncated: its header promises {file.offset + nbytes} bytes, and it has {size}; copy or write "
            "it again"
        )
    if file.by_columns and local_path(path) is None:
        raise ValueError(
            f"{path} is stored column by column, so that rows cannot be read by ranges: copy it here, or save "
            "numpy.ascontiguousarray of the array"
        )
    block = block_size(nbytes, block_bytes)
    step = max(1, block // file.row_bytes)
    check_blocks(file.shape[0], step, path)
    parts = [(i, min(i + step, file.shape[0])) for i in range(0, file.shape[0], step)]
    return lazy_rows(file.read, parts, [b - a for a, b in parts], file.shape[1], file.dtype, version)


@hiding_credentials()
def load_npy(path: str | os.PathLike[str]) -> AnyArray:
    """Return the array of a ``.npy`` file of any shape, which is read at once."""
    about_file(path)
    with naming(f"{path} is not a .npy file of numbers", "write it with numpy.save"), fsspec.open(path, "rb") as file:
        found: AnyArray = np.load(file, allow_pickle=False)
    return found


def _opened(location: str, path: Any) -> tuple[NpyFile, int | None, Any]:
    """Return the file, its size if known, and a version that changes with its contents."""
    about = about_file(path)
    if about["type"] == "directory":
        raise ValueError(f"{path} is a folder, not a .npy file: give the path of a file")
    size = about["size"]
    header = BytesIO(_bytes(location, 0, HEADER_BYTES if size is None else min(size, HEADER_BYTES)))
    with naming(f"{path} is not a .npy file of numbers", "write it with numpy.save"):
        shape, by_columns, dtype = HEADERS[np.lib.format.read_magic(header)](header)
    version = version_of(*filesystem(location))
    return NpyFile(location, shape, dtype, by_columns, header.tell()), size, version


def _bytes(location: str, start: int, end: int) -> bytes:
    fs, name = filesystem(location)
    content: bytes = fs.cat_file(name, start=start, end=end)
    if len(content) != end - start:
        raise ValueError(
            f"{location}: expected {end - start} bytes from byte {start}, got {len(content)}: the server does not "
            "serve ranges of files, or the file has changed; copy it here first"
        )
    return content
