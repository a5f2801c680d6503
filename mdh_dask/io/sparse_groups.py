"""Sparse rows in Zarr groups, as AnnData stores them: values, their columns, and where each row begins."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import zarr
from scipy.sparse import csr_array

from .._locations import hiding_credentials
from .._sparse import SparseRows, sparse_rows
from .._typing import Integers
from .damage import naming
from .nodes import Options, array_in, find_node
from .rows import check_complete
from .sparse_files import columns_of, lazy_sparse_rows, row_blocks
from .stored import StoredArray

VALUES, COLUMNS, STARTS = PARTS = ("data", "indices", "indptr")
"""Names of the arrays in a group: values, their columns, and the first value of each row."""


def is_sparse_group(node: object) -> bool:
    """Return whether a Zarr node is a group of the three arrays of a sparse matrix."""
    return isinstance(node, zarr.Group) and all(array_in(node, name) is not None for name in PARTS)


@hiding_credentials()
def open_sparse_group(
    path: str | os.PathLike[str],
    columns: Sequence[int] | None = None,
    *,
    missing_chunks: Any = "error",
    block_bytes: int | str | None = None,
    storage_options: Options = None,
) -> da.Array:
    """Open the sparse rows of a Zarr group lazily, such as ``X`` of AnnData; parameters are those of `open_features`.

    Returns
    -------
    dask Array of shape (n_rows, n_columns)
        With blocks of `SparseRows`. The beginnings of all rows are read now, 8 bytes of each; values only when a block
        is computed.

    Raises
    ------
    ValueError
        If the arrays are not those of a matrix stored by rows, with its attribute ``shape``, or chunks are missing.
    """
    group = find_node(path, storage_options)
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
    kept = None if columns is None else tuple(columns)
    return lazy_sparse_rows(read, blocks, kept, n_columns, values.dtype, tuple(s.array for s in stored))


def read_block(
    values: StoredArray,
    places: StoredArray,
    indptr: StoredArray,
    n_columns: int,
    source: str,
    part: tuple[int, int, tuple[int, ...] | None],
) -> SparseRows:
    """Return the rows of a range (first, end), and all columns or some."""
    first, end, columns = part
    starts = indptr[first : end + 1].astype(np.int64)
    held = slice(int(starts[0]), int(starts[-1]))
    stored = values[held], places[held], starts - starts[0]
    with naming(f"{source} is damaged"):
        csr = csr_array(stored, shape=(end - first, n_columns))
        csr.check_format(full_check=True)
    return columns_of(sparse_rows(csr), columns)


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
