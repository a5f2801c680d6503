"""Sparse rows: in files of SciPy, which are held whole, and in Zarr groups as of AnnData."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from threading import Lock, Timer
from typing import Any
from zipfile import ZipFile

import dask.array as da
import fsspec  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import zarr
from scipy.sparse import csr_array, load_npz

from .._locations import hiding_credentials, name_of
from .._process import check_memory
from .._sparse import SparseRows, sparse_rows
from .._typing import Integers
from ..chunks import block_size
from .nodes import array_in, find_node
from .paths import about_file, filesystem, local_path, naming, version_of
from .rows import StoredArray, check_complete
from .tables import lazy_rows

ROW_BYTES = 8
"""Bytes that a row takes beside its values."""

IN_PARTS = (
    ": store the rows in a Zarr group like X of AnnData, which is read in parts, or use a machine with more memory"
)

HELD_FOR = 60.0
"""Seconds for which a process holds the rows of a file after it has read a block of them."""


class _Held:
    """The rows of the file that was read last: every block of it needs all of the file."""

    def __init__(self) -> None:
        self.rows: dict[Any, SparseRows] = {}
        self.lock = Lock()
        self.timer: Timer | None = None

    def read(self, version: Any, read: Callable[[], SparseRows]) -> SparseRows:
        """Return the rows of a version of a file, which are read unless they are held."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            if (found := self.rows.get(version)) is None:
                self.rows.clear()
                found = self.rows[version] = read()
            self.timer = Timer(HELD_FOR, self.rows.clear)
            self.timer.daemon = True
            self.timer.start()
            return found


_HELD = _Held()


@dataclass(frozen=True)
class SparseFile:
    """A file of sparse rows of SciPy, which every process that needs some of them reads once."""

    location: str = field(repr=False)
    version: Any

    @hiding_credentials()
    def rows(self) -> SparseRows:
        """Return all rows."""
        return _HELD.read(self.version, self._read)

    def read(self, part: tuple[int, int]) -> SparseRows:
        """Return the rows of a range (first, end)."""
        return self.rows()[slice(*part)]

    def _read(self) -> SparseRows:
        remedy = "write it with scipy.sparse.save_npz, or store dense rows by numpy.save in a .npy file"
        with naming(f"{self.location} is not a file of sparse rows of SciPy", remedy):
            with fsspec.open(self.location, "rb") as file:
                content = BytesIO(file.read())
            members = ZipFile(content).infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if "format" not in names:
                raise ValueError(f"it holds the arrays {', '.join(names)}")
        n_bytes = sum(member.file_size for member in members)
        check_memory(n_bytes, f"{self.location}: holding all of its rows", IN_PARTS)
        with naming(f"{self.location} is not a file of sparse rows of SciPy", remedy):
            rows = sparse_rows(load_npz(content))
            rows.csr.check_format(full_check=True)
        if len(rows.shape) != 2 or 0 in rows.shape:
            raise ValueError(
                f"{self.location}: expected rows of columns, at least one of each; got an array of shape {rows.shape}"
            )
        return rows


def open_sparse_file(path: str | os.PathLike[str], *, block_bytes: int | str | None = None) -> da.Array:
    """Open a file of sparse rows of SciPy.

    It is read now, and once by every worker process. Blocks are `SparseRows`, whose stored values take about
    `block_bytes`.
    """
    file = _file_at(path)
    rows = file.rows()
    csr = rows.csr
    starts = csr.indptr.astype(np.int64)
    blocks = list(row_blocks(starts, csr.data.itemsize + csr.indices.itemsize, block_bytes))
    return _lazy(file.read, blocks, rows.shape[1], rows.dtype, file.version)


@hiding_credentials()
def held_bytes(path: str | os.PathLike[str]) -> int:
    """Return how many bytes every process holds of a file of sparse rows; 0 for others, which are read in parts."""
    return _file_at(path).rows().nbytes if name_of(path).lower().endswith(".npz") else 0


def _file_at(path: str | os.PathLike[str]) -> SparseFile:
    location = os.fspath(local_path(path) or path)
    about_file(path)  # raises the error for a missing file
    version = version_of(*filesystem(location))
    return SparseFile(location, version)


def _lazy(read: Any, blocks: Sequence[tuple[int, int]], n_columns: int, dtype: np.dtype, version: Any) -> da.Array:
    """Return lazy sparse rows, as `lazy_rows`, from a function of (first, end) of every block."""
    sizes = [b - a for a, b in blocks]
    return lazy_rows(read, blocks, sizes, n_columns, dtype, version, meta=_no_rows(n_columns, dtype))


def _no_rows(n_columns: int, dtype: np.dtype) -> SparseRows:
    return sparse_rows(np.empty((0, n_columns), dtype))


def columns_of(rows: da.Array, columns: Sequence[int]) -> da.Array:
    """Return some columns of lazy sparse rows, in the order given."""
    chunks, meta = (rows.chunks[0], (len(columns),)), _no_rows(len(columns), rows.dtype)
    return rows.map_blocks(_taken, list(columns), chunks=chunks, dtype=rows.dtype, meta=meta)


def _taken(rows: SparseRows, columns: list[int]) -> SparseRows:
    return sparse_rows(rows.csr[:, columns])


def row_blocks(starts: Integers, value_bytes: int, block_bytes: int | str | None) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows of about `block_bytes` each, by the number of the first value of every row."""
    ends = starts * value_bytes + ROW_BYTES * np.arange(len(starts))
    size = block_size(int(ends[-1]), block_bytes)
    first = 0
    while first < len(starts) - 1:
        end = max(first + 1, int(np.searchsorted(ends, ends[first] + size, side="right")) - 1)
        yield first, end
        first = end


VALUES, COLUMNS, STARTS = PARTS = ("data", "indices", "indptr")
"""Names of the arrays in a group: values, their columns, and the first value of each row."""


def is_sparse_group(node: object) -> bool:
    """Return whether a Zarr node is a group of the three arrays of a sparse matrix."""
    return isinstance(node, zarr.Group) and all(array_in(node, name) is not None for name in PARTS)


def open_sparse_group(
    path: str | os.PathLike[str], *, missing_chunks: Any = "error", block_bytes: int | str | None = None
) -> da.Array:
    """Open the sparse rows of a Zarr group lazily, such as ``X`` of AnnData; parameters are those of `open_features`.

    The beginnings of all rows are read now, 8 bytes of each; values only when a block of `SparseRows` is computed.
    """
    group = find_node(path)
    assert isinstance(group, zarr.Group)
    n_rows, n_columns = _shape(group, path)
    stored = []
    for name in PARTS:
        array = array_in(group, name)
        assert array is not None
        check_complete(array, f"{path}/{name}", missing_chunks)
        stored.append(StoredArray(array, f"{path}/{name}"))
    values, places, indptr = stored
    starts = _checked_starts(indptr, n_rows, (values, places), path)
    blocks = list(row_blocks(starts, values.dtype.itemsize + places.dtype.itemsize, block_bytes))
    read = partial(read_block, values, places, indptr, n_columns, str(path))
    return _lazy(read, blocks, n_columns, values.dtype, tuple(s.array for s in stored))


def read_block(
    values: StoredArray,
    places: StoredArray,
    indptr: StoredArray,
    n_columns: int,
    source: str,
    part: tuple[int, int],
) -> SparseRows:
    """Return the rows of a range (first, end)."""
    first, end = part
    starts = indptr[first : end + 1].astype(np.int64)
    held = slice(int(starts[0]), int(starts[-1]))
    stored = values[held], places[held], starts - starts[0]
    with naming(f"{source} is damaged"):
        csr = csr_array(stored, shape=(end - first, n_columns))
        csr.check_format(full_check=True)
    return sparse_rows(csr)


def _shape(group: zarr.Group, path: Any) -> tuple[int, int]:
    """Return the shape that a group claims, after checking that it is stored by rows."""
    attributes = dict(group.attrs)
    kind, shape = attributes.get("encoding-type", "csr_matrix"), attributes.get("shape")
    if kind != "csr_matrix":
        raise ValueError(
            f"{path}: expected sparse rows, encoding-type 'csr_matrix'; got {kind!r}, whose rows cannot be read by "
            "themselves: write it again by rows, as with adata.X = adata.X.tocsr() in AnnData"
        )
    whole = isinstance(shape, list | tuple) and len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)
    if not whole:
        raise ValueError(
            f"{path}: expected the attribute shape of the group, as [n_rows, n_columns], at least one of each; got "
            f"{shape!r}: set it, as with group.attrs['shape'] = X.shape"
        )
    return shape[0], shape[1]  # type: ignore[index]


def _checked_starts(indptr: StoredArray, n_rows: int, others: Sequence[StoredArray], path: Any) -> Integers:
    """Return the number of the first value of each row, and of all values, after checking that they can be so."""
    lengths = [stored.shape for stored in others]
    integers = all(stored.dtype.kind in "iu" for stored in (indptr, others[1]))
    if integers and indptr.shape == (n_rows + 1,) and lengths[0] == lengths[1] and len(lengths[0]) == 1:
        starts = np.asarray(indptr[:]).astype(np.int64)
        if starts[0] == 0 and starts[-1] == lengths[0][0] and (np.diff(starts) >= 0).all():
            return starts
    raise ValueError(
        f"{path} is damaged: expected {n_rows + 1} ascending integers from 0 in indptr, up to the number of values in "
        f"data, and as many integers in indices; got shapes {indptr.shape}, {lengths[0]} and {lengths[1]}: write it "
        "again"
    )
