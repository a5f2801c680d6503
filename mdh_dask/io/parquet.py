"""Rows of numeric columns in Parquet files, in blocks of whole row groups."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.utils import natural_sort_key, parse_bytes

from .._locations import hiding_credentials, without_query
from ..chunks import default_block_bytes
from .damage import naming
from .lazy import grouped, lazy_rows
from .nodes import Options, refuse_streams
from .parquet_blocks import ParquetReader, ParquetTables, PieceOfFile, is_local, opened
from .remote import about_file, filesystem
from .tables import LazyColumn, LazyTable

SUFFIXES = (".parquet", ".parq", ".pq")

FOOTERS_AT_ONCE = 16


class Footer(NamedTuple):
    """The metadata in the footer of a file."""

    file: str
    version: Any
    """A version that changes with the contents."""
    schema: Any
    """The Arrow schema."""
    of_index: tuple[str, ...]
    """Columns that hold the index of pandas."""
    rows: tuple[int, ...]
    """Number of rows of every row group."""
    may_lack: frozenset[str]
    """Columns that may have missing values."""


@hiding_credentials()
def open_parquet(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    block_bytes: int | str | None = None,
    storage_options: Options = None,
) -> tuple[da.Array, tuple[str, ...]]:
    """Open numeric columns of a Parquet table lazily.

    Parameters
    ----------
    path : path or URL
        A file, a folder of files, also in subfolders like ``day=1``, or a pattern with ``*``. Files are in the order of
        their names, with numbers by value; those that begin with ``_`` or ``.`` are ignored.
    columns : sequence of str, optional
        Columns to use, in this order; by default all but the index of pandas.
    block_bytes : int or str, optional
        As for `open_rows`; blocks hold whole row groups, at least one.
    storage_options : dict, optional
        Options of fsspec for URLs.

    Returns
    -------
    rows : dask Array of shape (n_rows, n_columns)
        Rows of the common dtype of all columns. Missing values are NaN; columns of integers or booleans that
        may have them become floating-point numbers, to which integers beside them are rounded. Integers alone lose no
        bits: one that the dtype cannot represent is an error when it is read. Only the footers are read before the rows
        are computed.
    names : tuple of str

    Raises
    ------
    FileNotFoundError
        If there are no files.
    ValueError
        If a column is missing or not numeric, or a file is not Parquet; on computing, if pages do not match the
        checksums written with them.
    ImportError
        If pyarrow is missing.
    """
    fs, footers = _footers(path, storage_options)
    names = _chosen(footers[0], columns, path)
    _check_numeric(footers[0], names, path)
    types = {_type(footer, name) for footer in footers for name in _checked(footer, names)}
    dtype = _common(_dtype(footer, name) for footer in footers for name in names)
    blocks, rows = _blocks(footers, dtype.itemsize * len(names), path, block_bytes)
    reader = ParquetReader(fs, names, dtype, exact=all(kind.kind in "biu" for kind in types))
    return lazy_rows(reader, blocks, rows, len(names), dtype, _version(footers, names)), names


@hiding_credentials()
def open_parquet_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    block_bytes: int | str | None = None,
    storage_options: Options = None,
) -> LazyTable:
    """Open columns of any type of a Parquet table lazily; parameters and errors are those of `open_parquet`."""
    fs, footers = _footers(path, storage_options)
    names = _chosen(footers[0], columns, path)
    there = {name: LazyColumn(_common_type(footers, name)) for name in names}
    blocks, rows = _blocks(footers, 8 * len(names), path, block_bytes)
    return LazyTable(there, tuple(blocks), ParquetTables(fs), tuple(rows), _version(footers, names))


def _footers(path: str | os.PathLike[str], storage_options: Options) -> tuple[Any, list[Footer]]:
    """Return the file system and the footers of the files of a table."""
    _require_pyarrow()
    fs, root = filesystem(path, storage_options)
    files = parquet_files(fs, root)
    if not files:
        with suppress(FileNotFoundError):
            about_file(path, storage_options)  # raises an error if the server is not reached
        raise FileNotFoundError(f"there are no Parquet files at {path}; check the path")
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        return fs, list(pool.map(partial(_footer, fs), files))


def _blocks(
    footers: Sequence[Footer], row_bytes: int, path: Any, block_bytes: int | str | None
) -> tuple[list[list[PieceOfFile]], list[int]]:
    """Return the row groups of every block of rows, and the numbers of their rows."""
    groups = [(f.file, i, n) for f in footers for i, n in enumerate(f.rows) if n]
    n_rows = sum(n for *_, n in groups)
    if not n_rows:
        raise ValueError(f"{path}: expected at least one row, got none in {len(footers)} files")
    block = default_block_bytes(n_rows * row_bytes) if block_bytes is None else parse_bytes(block_bytes)
    blocks = [[groups[i] for i in places] for places in grouped((n * row_bytes for *_, n in groups), block)]
    return [_pieces(block) for block in blocks], [sum(n for *_, n in block) for block in blocks]


def _version(footers: Sequence[Footer], names: tuple[str, ...]) -> Any:
    return [(f.file, f.version) for f in footers], names


def _common_type(footers: Sequence[Footer], name: str) -> Any:
    """Return the Arrow type of a column in all files: double for different numbers, string for different texts."""
    import pyarrow as pa

    for footer in footers:
        if name not in footer.schema.names:
            raise ValueError(
                f"expected a column {name} in every file of the table; got none in {footer.file}: name columns that "
                "all files have with columns=..., or fewer files"
            )
    first, *others = found = [footer.schema.field(name).type for footer in footers]
    if all(kind == first for kind in others):
        return first
    numeric = [_is_numeric(kind) for kind in found]
    if any(numeric) and not all(numeric):
        raise ValueError(f"expected a column {name} of one kind in every file of the table; got {first} and others")
    return pa.float64() if all(numeric) else pa.string()


def parquet_files(fs: Any, root: str) -> list[str]:
    """Return the Parquet files at a path of a file system in order, or an empty list."""
    if "*" in without_query(root):
        found = [file for file in fs.glob(root) if PurePosixPath(file).name[0] not in "_."]
    elif fs.isfile(root):
        found = [root]
    else:
        above = len(PurePosixPath(root).parts)
        found = [file for file in fs.find(root) if _is_part(*PurePosixPath(file).parts[above:])]
    return sorted(found, key=natural_sort_key)


def _is_part(*parts: str) -> bool:
    """Return whether a file in a folder belongs to its table: not hidden, nor part of another table in a subfolder."""
    *folders, file = parts
    return file.endswith(SUFFIXES) and file[0] not in "_." and all("=" in folder for folder in folders)


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError('Parquet is read with pyarrow, which is missing: pip install "mdh_dask[parquet]"') from error


def _footer(fs: Any, file: str) -> Footer:
    if is_local(fs):
        refuse_streams(file)
    with naming(f"{file} is not Parquet, or is damaged", "write it again"), opened(fs, file) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if any(group.num_rows < 0 for group in groups):
        raise ValueError(f"{file} is damaged: it has row groups with a negative number of rows; write it again")
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    lacks = (c.path_in_schema for g in groups for c in map(g.column, range(g.num_columns)) if not _is_full(c))
    return Footer(
        file, fs.ukey(file), schema, tuple(name for name in index if isinstance(name, str)),
        tuple(group.num_rows for group in groups), frozenset(lacks),
    )  # fmt: skip


def _is_full(chunk: Any) -> bool:
    """Return whether a column of a row group is known to have no missing values."""
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0


def _chosen(footer: Footer, columns: Sequence[str] | None, path: Any) -> tuple[str, ...]:
    """Return the requested columns, or all, after checking that each exists and is given once."""
    there = footer.schema.names
    names = tuple(name for name in there if name not in footer.of_index) if columns is None else tuple(columns)
    missing = [name for name in names if name not in there]
    if missing:
        raise ValueError(f"{path} has no column {', '.join(missing)}; its columns are {', '.join(there)}")
    if twice := sorted({name for name in names if names.count(name) > 1 or there.count(name) > 1}):
        raise ValueError(f"{path}: expected every column once; got {', '.join(twice)} twice: name others")
    if not names:
        raise ValueError(f"{path}: expected at least one column, got none")
    return names


def _check_numeric(footer: Footer, names: tuple[str, ...], path: Any) -> None:
    there = footer.schema.names
    types = {name: footer.schema.field(name).type for name in names}
    if bad := [f"{name} ({types[name]})" for name in names if not _is_numeric(types[name])]:
        fields = [footer.schema.field(name) for name in there if name not in footer.of_index]
        numeric = ",".join(field.name for field in fields if _is_numeric(field.type))
        remedy = f"name the columns to take with columns=..., as {numeric}" if numeric else "it has none"
        raise ValueError(
            f"expected numeric columns; got {', '.join(bad)} in {path}: {remedy}; feature_map='gower' takes others, too"
        )


def _checked(footer: Footer, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns after checking that a file of the table has them, too."""
    for name in names:
        if name not in footer.schema.names or not _is_numeric(footer.schema.field(name).type):
            found = footer.schema.field(name).type if name in footer.schema.names else "none"
            raise ValueError(
                f"expected a numeric column {name} in every file of the table; got {found} in {footer.file}: name "
                "columns that all files have with columns=..., or fewer files"
            )
    return names


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _common(dtypes: Iterable[np.dtype]) -> np.dtype:
    """Return the common dtype of all columns, which for integers alone is exact if possible."""
    found = set(dtypes)
    # NumPy promotes uint64 and signed integers to float64, which loses eleven bits of both.
    if all(dtype.kind in "biu" for dtype in found) and np.result_type(*found).kind == "f":
        return np.dtype(np.int64)
    return np.result_type(*found)


def _type(footer: Footer, name: str) -> np.dtype:
    return np.dtype(footer.schema.field(name).type.to_pandas_dtype())


def _dtype(footer: Footer, name: str) -> np.dtype:
    dtype = _type(footer, name)
    # Missing values become NaN, and the first pass reports where they are.
    return np.result_type(dtype, np.float32) if name in footer.may_lack else dtype


def _pieces(block: Sequence[tuple[str, int, int]]) -> list[PieceOfFile]:
    pieces: dict[str, tuple[int, ...]] = {}
    for file, group, _ in block:
        pieces[file] = (*pieces.get(file, ()), group)
    return list(pieces.items())
