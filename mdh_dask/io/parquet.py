"""Parquet files and folders of them as rows and tables, and labels of rows as a Parquet file."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np

from .._locations import ending_of, hiding_credentials
from .._process import needed
from .._typing import RowArray
from .._words import full_count
from ..chunks import block_size
from ..columns.coding import is_decimal
from ..columns.lists import Element, elements_of, sources_of, value_type
from .parquet_files import SUFFIXES, Footer, ParquetReader, PieceOfFile, footers_of, read_table
from .rows import open_rows
from .staging import remove_array, staged_file
from .tables import LazyColumn, LazyTable, chosen_columns, grouped, lazy_rows, not_numeric, with_elements


def open_parquet(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    block_bytes: int | str | None = None,
) -> tuple[da.Array, tuple[str, ...]]:
    """Open numeric columns of a Parquet table lazily, in the order given, by default all but the index of pandas.

    The table is a file, a folder of files, also in subfolders like ``day=1``, or a pattern with ``*``. Files are in the
    order of their names, with numbers by value; those that begin with ``_`` or ``.`` are ignored. Blocks hold whole row
    groups.

    Rows have the common dtype of all columns. Missing values are NaN; columns of integers or booleans that may have
    them become floating-point numbers, to which integers beside them are rounded. Integers alone lose no bits: one that
    the dtype cannot represent is an error when it is read. Only the footers are read now.
    """
    fs, footers = footers_of(path)
    elements = _chosen(footers[0], columns, path)
    names, sources = tuple(elements), sources_of(tuple(elements), elements)
    _check_numeric(footers[0], sources, path)
    types = {_type(footer, name) for footer in footers for name in _checked(footer, sources, footers[0].widths)}
    dtype = _common(_dtype(footer, name) for footer in footers for name in sources)
    blocks, rows = _blocks(footers, dtype.itemsize * len(names), path, block_bytes)
    exact = dtype.kind != "b" and all(kind.kind in "biu" for kind in types)
    reader = ParquetReader(fs, elements, dtype, exact)
    return lazy_rows(reader, blocks, rows, len(names), dtype, _version(footers, names)), names


@hiding_credentials()
def open_parquet_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    block_bytes: int | str | None = None,
) -> LazyTable:
    """Open columns of any type of a Parquet table lazily; parameters and errors are those of `open_parquet`."""
    fs, footers = footers_of(path)
    elements = _chosen(footers[0], columns, path)
    names, sources = tuple(elements), sources_of(tuple(elements), elements)
    _check_flat(footers[0], sources, path)
    types = {name: _common_type(footers, name) for name in sources}
    there = {name: LazyColumn(types[element.source]) for name, element in elements.items()}
    blocks, rows = _blocks(footers, 8 * len(names), path, block_bytes)
    read = with_elements(partial(read_table, fs), elements)
    return LazyTable(there, tuple(blocks), read, tuple(rows), _version(footers, names))


def parquet_types(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the Arrow types of all columns but the index of pandas by their names, from the first file of a table."""
    footer = footers_of(path, most=1)[1][0]
    return {name: footer.types[name] for name in footer.columns}


def _blocks(
    footers: Sequence[Footer], row_bytes: int, path: Any, block_bytes: int | str | None
) -> tuple[list[list[PieceOfFile]], list[int]]:
    """Return the row groups of every block of rows, and the numbers of their rows."""
    groups = [(f.file, i, n) for f in footers for i, n in enumerate(f.rows) if n]
    n_rows = sum(n for *_, n in groups)
    if not n_rows:
        raise ValueError(f"{path}: expected at least one row, got none in {full_count(len(footers), 'file')}")
    block = block_size(n_rows * row_bytes, block_bytes)
    blocks = [[groups[i] for i in places] for places in grouped((n * row_bytes for *_, n in groups), block)]
    return [_pieces(block) for block in blocks], [sum(n for *_, n in block) for block in blocks]


def _version(footers: Sequence[Footer], names: tuple[str, ...]) -> Any:
    return [(f.file, f.version) for f in footers], names


def _common_type(footers: Sequence[Footer], name: str) -> Any:
    """Return the Arrow type of a column in all files: the widest for different numbers, string for different texts."""
    import pyarrow as pa

    for footer in footers:
        if name not in footer.types:
            raise ValueError(
                f"expected a column {name} in every file of the table; got none in {footer.file}: name columns that "
                "all files have with columns=..., or fewer files"
            )
        if footer.widths[name] != footers[0].widths[name]:
            raise ValueError(
                f"expected lists of one length in column {name} of every file of the table; got "
                f"{_described(footers[0], name)} and {_described(footer, name)} in {footer.file}: leave it out"
            )
    first, *others = found = [footer.types[name] for footer in footers]
    if all(kind == first for kind in others):
        return first
    numeric = [_is_numeric(kind) for kind in found]
    if any(numeric) and not all(numeric):
        raise ValueError(f"expected a column {name} of one kind in every file of the table; got {first} and others")
    if all(pa.types.is_signed_integer(kind) for kind in found):
        return pa.int64()
    return pa.float64() if all(numeric) else pa.string()


def _chosen(footer: Footer, columns: Sequence[str] | None, path: Any) -> dict[str, Element]:
    """Return the columns to take, those of lists as columns of their values."""
    elements = elements_of(footer.widths)
    return {name: elements[name] for name in chosen_columns(footer.names, columns, path, footer.columns, elements)}


def _check_numeric(footer: Footer, names: tuple[str, ...], path: Any) -> None:
    if bad := [_described(footer, name) for name in names if not _is_numeric(footer.types[name])]:
        raise not_numeric(bad, [name for name in footer.columns if _is_numeric(footer.types[name])], path)


def _described(footer: Footer, name: str) -> str:
    kind, width = footer.types[name], footer.widths[name]
    several = " of several lengths, or some are missing" if value_type(kind) is not None else ""
    return f"{name} (lists of {width} values, {kind})" if width else f"{name} ({kind}{several})"


def _check_flat(footer: Footer, names: tuple[str, ...], path: Any) -> None:
    from pyarrow.types import is_nested

    if nested := [_described(footer, name) for name in names if is_nested(footer.types[name])]:
        raise ValueError(
            f"expected columns with one value in every row; got {', '.join(nested)} in {path}: name other columns with "
            "columns=..., or store the values in columns of their own"
        )


def _checked(footer: Footer, names: tuple[str, ...], widths: Mapping[str, int]) -> tuple[str, ...]:
    """Return the columns after checking that a file of the table has them, too, with lists of the same lengths."""
    for name in names:
        if footer.widths.get(name) != widths[name] or not _is_numeric(footer.types[name]):
            found = f"{_described(footer, name)}" if name in footer.types else "none"
            raise ValueError(
                f"expected a numeric column {name} in every file of the table; got {found} in {footer.file}: name "
                "columns that all files have with columns=..., or fewer files"
            )
    return names


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return any(is_it(kind) for is_it in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _common(dtypes: Iterable[np.dtype]) -> np.dtype:
    """Return the common dtype of all columns, which for integers alone is exact if possible."""
    found = set(dtypes)
    # NumPy promotes uint64 and signed integers to float64, which loses eleven bits of both.
    if all(dtype.kind in "biu" for dtype in found) and np.result_type(*found).kind == "f":
        return np.dtype(np.int64)
    return np.result_type(*found)


def _type(footer: Footer, name: str) -> np.dtype:
    kind = footer.types[name]
    return np.dtype(np.float64 if is_decimal(kind) else kind.to_pandas_dtype())


def _dtype(footer: Footer, name: str) -> np.dtype:
    dtype = _type(footer, name)
    # Missing values become NaN, and the first pass reports where they are.
    return np.result_type(dtype, np.float32) if name in footer.may_lack else dtype


def _pieces(block: Sequence[tuple[str, int, int]]) -> list[PieceOfFile]:
    pieces: dict[str, tuple[int, ...]] = {}
    for file, group, _ in block:
        pieces[file] = (*pieces.get(file, ()), group)
    return list(pieces.items())


ROWS_AT_ONCE = 2**20

ROW, LABEL = "row", "label"
"""Names of the columns of numbers of rows, from 0, and of labels."""


def is_label_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL is that of a Parquet file, by its ending."""
    return ending_of(path) in SUFFIXES


@contextmanager
def label_table(
    path: str, overwrite: bool, ids: RowArray | None = None, id_name: str = ROW, id_type: Any = None
) -> Iterator[str]:
    """Provide the path of a Zarr array of labels, beside a Parquet file that is written from it in the end.

    `ids`, shape (n_rows,), in the column `id_name`, name the rows; by default their numbers, from 0. They are numbers,
    or values of the Arrow type `id_type`. One process copies the labels in the order of the rows, a million at a time,
    and reads `ids` once. The array is removed.
    """
    parent, slash, name = path.rpartition("/")
    array = f"{parent}{slash}.{name}.labels-{uuid4().hex}.zarr"
    try:
        yield array
        import pyarrow as pa

        parquet = needed("pyarrow.parquet", "parquet")
        labels = open_rows(array, ndim=1)
        ids = da.arange(len(labels), chunks=ROWS_AT_ONCE) if ids is None else da.asarray(ids)
        ends = np.cumsum([0, *ids.chunks[0]])
        schema = pa.schema([(id_name, _plain(id_type or pa.from_numpy_dtype(ids.dtype))), (LABEL, pa.int32())])
        with staged_file(path, overwrite) as file, parquet.ParquetWriter(file, schema) as writer:
            for i, block in enumerate(ids.blocks):
                own = np.asarray(block)
                found = np.asarray(labels[ends[i] : ends[i + 1]]).astype(np.int32)
                values = pa.array(own.tolist() if own.dtype == object else own, type=schema[0].type)
                writer.write_table(pa.table([values, pa.array(found)], schema=schema))
    finally:
        remove_array(array)


def _plain(kind: Any) -> Any:
    """Return the Arrow type of the values of a column: without a dictionary, and texts where all are missing."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_null(kind) else kind
