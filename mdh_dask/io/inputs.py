"""Rows from a path or URL of a Zarr array, a .npy file, a table in Parquet or CSV, or sparse rows."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import dask.array as da
import numpy as np

from .._errors import BugError
from .._locations import ending_of, has_query, hiding_credentials, name_of, without_query
from ..chunks import holds_compact
from ..columns import ColumnTypes
from ..columns.coding import Coder, is_single
from ..columns.coding import kind_of as kind_of_values
from ..columns.types import holds_dates
from .csv import csv_texts, csv_types, is_csv, open_csv
from .nodes import find_node
from .npy import open_npy
from .parquet import open_parquet, open_parquet_table, parquet_types
from .parquet_files import SUFFIXES, parquet_files
from .paths import filesystem, local_path, refuse_streams
from .repositories import revision_of
from .rows import open_array, open_rows
from .sparse import columns_of, is_sparse_group, open_sparse_file, open_sparse_group
from .tables import LazyColumn, LazyTable, not_numeric

Kind = Literal["Zarr", "npy", "Parquet", "CSV", "npz", "sparse Zarr"]

TABLES = ("Parquet", "CSV")
"""Kinds whose columns have names."""


class Table(NamedTuple):
    """Rows and the names of their columns, if they have names."""

    rows: da.Array
    names: tuple[str, ...] | None

    @property
    def source(self) -> da.Array:
        """Return what estimators take."""
        return self.rows


class TypedTable(NamedTuple):
    """A table with columns of any type."""

    rows: da.Array
    """The shape, dtype and chunks of the rows, whose codes only a fitted model knows."""
    names: tuple[str, ...]
    source: LazyTable
    """What estimators take."""


@hiding_credentials()
def open_features(
    path: str | os.PathLike[str],
    columns: Sequence[str | int] | None = None,
    *,
    missing_chunks: Literal["error", "fill"] = "error",
    block_bytes: int | str | None = None,
) -> Table:
    """Open rows of numbers at a path or URL lazily.

    Parameters
    ----------
    path : path or URL
        A Zarr array, a ``.npy`` file, a Parquet file or a folder of these, a ``.csv`` or ``.tsv`` file; or sparse rows:
        a ``.npz`` file of SciPy, or a Zarr group as AnnData writes it for its ``X`` by rows. URLs are those of fsspec,
        as ``s3://``, ``gs://`` and ``https://``.
    columns : sequence of str or int, optional
        Columns to use, in this order: names in a Parquet table, otherwise numbers from 0. All by default.
    missing_chunks : {"error", "fill"}, default "error"
        For Zarr; see `open_rows`.
    block_bytes : int or str, optional
        Approximate size of each block, for example ``"64MiB"``; see `open_rows`.

    Returns
    -------
    rows : dask Array of shape (n_rows, n_columns)
        Rows in chunks of known sizes. No row is read before it is computed, but of ``.npz`` files, which every
        process reads whole. Sparse rows stay so.
    names : tuple of str, or None
        Names of the columns of a table.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is none of these, is damaged or incomplete, or columns are missing or not numeric.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(12.0).reshape(4, 3))
    ...     open_features(f"{folder}/x.npy", columns=[2, 0]).rows.compute()[0]
    array([2., 0.])
    """
    kind = kind_of(path)
    if kind in TABLES:
        names = None if columns is None else [str(column) for column in columns]
        if kind == "Parquet":
            return Table(*open_parquet(path, names, block_bytes=block_bytes))
        table = open_csv(path, names, block_bytes=block_bytes)
        return _numbers_of(table, path)
    if kind == "Zarr":
        rows = open_rows(path, missing_chunks=missing_chunks, block_bytes=block_bytes)
    elif kind == "npy":
        rows = open_npy(path, block_bytes=block_bytes)
    elif kind == "npz":
        rows = open_sparse_file(path, block_bytes=block_bytes)
    else:
        rows = open_sparse_group(path, missing_chunks=missing_chunks, block_bytes=block_bytes)
    if rows.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: expected integers, booleans or floating-point numbers, got dtype {rows.dtype}; store the columns "
            "as numbers"
        )
    if columns is None:
        return Table(rows, None)
    chosen = places(columns, rows.shape[1], path)
    return Table(columns_of(rows, chosen) if holds_compact(rows) else rows[:, chosen], None)


@hiding_credentials()
def open_typed(
    path: str | os.PathLike[str],
    columns: Sequence[str | int] | None = None,
    *,
    missing_chunks: Literal["error", "fill"] = "error",
    block_bytes: int | str | None = None,
    as_written: bool = False,
) -> Table | TypedTable:
    """Open columns of any type of a table, or else rows of numbers; parameters and errors as for `open_features`.

    With `as_written` the columns of CSV are texts, as names of rows are.
    """
    kind = kind_of(path)
    if kind not in TABLES:
        return open_features(path, columns, missing_chunks=missing_chunks, block_bytes=block_bytes)
    chosen = None if columns is None else [str(column) for column in columns]
    opening = open_parquet_table if kind == "Parquet" else partial(open_csv, as_written=as_written)
    table = opening(path, chosen, block_bytes=block_bytes)
    names = tuple(table.column_names)
    assert table.n_rows is not None
    of_numbers = [
        table[name].type for name in names if kind_of_values(table[name].type) in "biufM" or holds_dates(table[name])
    ]
    dtype = np.dtype(np.float32 if all(map(is_single, of_numbers)) else np.float64)
    return TypedTable(table.rows(_refuse, names, table.n_rows, dtype), names, table)


@hiding_credentials()
def has_dates(path: str | os.PathLike[str], columns: Sequence[str | int] | None = None) -> bool:
    """Return whether a table has dates among some columns, by default all, and only numbers beside them.

    Texts beside dates raise the error of `open_features` for the columns without dates, so that it names no dates.
    """
    kind = kind_of(path)
    if kind not in TABLES:
        return False
    types = parquet_types(path) if kind == "Parquet" else csv_types(path)
    chosen = [str(name) for name in (types if columns is None else columns)]
    known = {name: LazyColumn(types[name]) for name in chosen if name in types}
    dates = [name for name, column in known.items() if holds_dates(column)]
    numbers = [name for name, column in known.items() if kind_of_values(column.type) in "biuf"]
    if dates and not {*known} <= {*dates, *numbers}:
        open_features(path, [name for name in chosen if name not in dates])
    return bool(dates) and {*chosen} <= {*dates, *numbers}


def _numbers_of(table: LazyTable, path: str | os.PathLike[str]) -> Table:
    """Return the columns of CSV as numbers after checking that all are."""
    names = tuple(table.column_names)
    assert table.n_rows is not None
    kinds = {name: kind_of_values(table[name].type) for name in names}
    if bad := [name for name in names if kinds[name] not in "biuf"]:
        found = csv_texts(path, bad)
        types = csv_types(path)
        numeric = [name for name, kind in types.items() if kind_of_values(kind) in "biuf"]
        without = "columns are separated by commas, semicolons, tabs or bars (|)" if len(types) == 1 else "it has none"
        raise not_numeric([f"{name} ({found[name]})" for name in bad], numeric, path, without)
    coder = Coder(ColumnTypes.continuous(len(names), names), names, np.dtype(np.float64))
    return Table(table.rows(coder, names, table.n_rows, coder.dtype), names)


def _refuse(table: Any) -> Any:
    raise BugError("expected types of columns before their codes are computed; got none: this is a bug of mdh_dask")


@hiding_credentials()
def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Return the kind of input at a path or URL, by an ending as ``.npy``, ``.csv`` or ``.parquet``, or its contents.

    The query of a URL does not belong to the name; URLs with a query are never Zarr.
    """
    suffix = ending_of(path)
    if revision_of(path) is None:
        filesystem(path)  # raises an error that names a missing package
        refuse_streams(path)
    if suffix == ".npy":
        return "npy"
    if suffix == ".npz":
        return "npz"
    if is_csv(name_of(path)):
        return "CSV"
    if "*" in without_query(path) or suffix in SUFFIXES:
        return "Parquet"
    if has_query(path):
        raise ValueError(
            f"expected the name of a .npy, .csv, .npz or Parquet file before the query of a URL; got {path}: name one"
        )
    if (node := find_node(path)) is not None:
        return "sparse Zarr" if is_sparse_group(node) else "Zarr"
    folder = local_path(path)
    if (folder is None or folder.is_dir()) and parquet_files(*filesystem(path)):
        return "Parquet"
    if folder is not None and folder.exists():
        raise ValueError(
            f"{path} is not a Zarr array, which has zarr.json or .zarray, nor a .npy, .csv or .npz file, nor "
            "Parquet: give the path of one of these"
        )
    open_array(path)  # raises the error for a missing input
    return "Zarr"


@hiding_credentials()
def column_names(
    path: str | os.PathLike[str], missing_chunks: Literal["error", "fill"] = "error"
) -> tuple[str, ...] | range:
    """Return the names of the columns of a table, otherwise their numbers from 0; errors as for `open_features`."""
    kind = kind_of(path)
    if kind == "CSV":
        return tuple(csv_types(path))
    if kind == "Parquet":
        return tuple(open_parquet_table(path).column_names)
    return range(open_features(path, missing_chunks=missing_chunks).rows.shape[1])


def places(columns: Sequence[str | int], n_columns: int, path: object) -> list[int]:
    """Return the numbers of columns that have no names."""
    numbers = [int(column) for column in columns if str(column).isdecimal()]
    if len(numbers) < len(columns) or any(number >= n_columns for number in numbers):
        raise ValueError(
            f"expected numbers of columns from 0 to {n_columns - 1}, as {path} has no names for them; got "
            f"{', '.join(map(str, columns))}"
        )
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"expected at least one column, and each once; got {', '.join(map(str, columns)) or 'none'}")
    return numbers
