"""Rows from a path or URL of a Zarr array, a .npy file or a Parquet table."""

import os
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import dask.array as da

from .._locations import has_query, hiding_credentials, name_of, without_query
from .nodes import Options, find_node, local_path, refuse_streams
from .npy import open_npy
from .parquet import SUFFIXES, open_parquet, parquet_files
from .remote import filesystem
from .rows import open_array, open_rows

Kind = Literal["Zarr", "npy", "Parquet"]


class Table(NamedTuple):
    """Rows and the names of their columns, if they have names."""

    rows: da.Array
    names: tuple[str, ...] | None


@hiding_credentials()
def open_features(
    path: str | os.PathLike[str],
    columns: Sequence[str | int] | None = None,
    *,
    missing_chunks: Literal["error", "fill"] = "error",
    block_bytes: int | str | None = None,
    storage_options: Options = None,
) -> Table:
    """Open rows of numbers at a path or URL lazily.

    Parameters
    ----------
    path : path or URL
        A Zarr array, a ``.npy`` file, a Parquet file, or a folder of Parquet files. URLs are those of fsspec, as
        ``s3://``, ``gs://`` and ``https://``.
    columns : sequence of str or int, optional
        Columns to use, in this order: names in a Parquet table, otherwise numbers from 0. All by default.
    missing_chunks : {"error", "fill"}, default "error"
        For Zarr; see `open_rows`.
    block_bytes : int or str, optional
        Approximate size of each block, for example ``"64MiB"``; see `open_rows`.
    storage_options : dict, optional
        Options of fsspec for URLs.

    Returns
    -------
    rows : dask Array of shape (n_rows, n_columns)
        Rows in chunks of known sizes. No row is read before it is computed.
    names : tuple of str, or None
        Names of the columns of a Parquet table.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is none of these, is damaged or incomplete, or columns are missing or not numeric.
    ImportError
        If a package is missing; the message gives the command to install it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(12.0).reshape(4, 3))
    ...     open_features(f"{folder}/x.npy", columns=[2, 0]).rows.compute()[0]
    array([2., 0.])
    """
    kind = kind_of(path, storage_options)
    if kind == "Parquet":
        names = None if columns is None else [str(column) for column in columns]
        return Table(*open_parquet(path, names, block_bytes=block_bytes, storage_options=storage_options))
    if kind == "npy":
        rows = open_npy(path, block_bytes=block_bytes, storage_options=storage_options)
    else:
        rows = open_rows(path, block_bytes=block_bytes, missing_chunks=missing_chunks, storage_options=storage_options)
    if rows.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: expected integers, booleans or floating-point numbers, got dtype {rows.dtype}; store the columns "
            "as numbers"
        )
    return Table(rows if columns is None else rows[:, places(columns, rows.shape[1], path)], None)


@hiding_credentials()
def kind_of(path: str | os.PathLike[str], storage_options: Options = None) -> Kind:
    """Return the kind of input at a path or URL, by the ending ``.npy`` or ``.parquet`` or else by its contents.

    The query of a URL does not belong to the name; URLs with a query are never Zarr.

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        As for `open_features`.
    """
    suffix = PurePosixPath(name_of(path)).suffix.lower()
    filesystem(path, storage_options)  # raises an error that names a missing package
    refuse_streams(path)
    if suffix == ".npy":
        return "npy"
    if "*" in without_query(path) or suffix in SUFFIXES:
        return "Parquet"
    if has_query(path):
        raise ValueError(f"expected the name of a .npy or Parquet file before the query of a URL; got {path}: name one")
    if find_node(path, storage_options) is not None:
        return "Zarr"
    folder = local_path(path)
    if (folder is None or folder.is_dir()) and parquet_files(*filesystem(path, storage_options)):
        return "Parquet"
    if folder is not None and folder.exists():
        raise ValueError(
            f"{path} is not a Zarr array, which has zarr.json or .zarray, nor a .npy file, nor Parquet: give the path "
            "of one of these"
        )
    open_array(path, storage_options)  # raises the error for a missing input
    return "Zarr"


def places(columns: Sequence[str | int], n_columns: int, path: object) -> list[int]:
    """Return the numbers of columns that have no names.

    Examples
    --------
    >>> places(["2", 0], 3, "x.npy")
    [2, 0]
    """
    numbers = [int(column) for column in columns if str(column).isdecimal()]
    if len(numbers) < len(columns) or any(number >= n_columns for number in numbers):
        raise ValueError(
            f"expected numbers of columns from 0 to {n_columns - 1}, as {path} has no names for them; got "
            f"{', '.join(map(str, columns))}"
        )
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"expected at least one column, and each once; got {', '.join(map(str, columns)) or 'none'}")
    return numbers
