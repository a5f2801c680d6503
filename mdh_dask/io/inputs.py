"""Rows of whatever is at a path or URL: a Zarr array, a .npy file or a Parquet table."""

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
    """Rows, and the names of their columns if they have any."""

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
    """Open what is at a path or URL as rows of numbers, lazily.

    Parameters
    ----------
    path : path or URL
        A Zarr array, a ``.npy`` file, a Parquet file, or a folder of Parquet files. URLs are those of fsspec, as
        ``s3://``, ``gs://`` and ``https://``.
    columns : sequence of str or int, optional
        Which columns, and in which order: by name in a Parquet table, else by number from 0. By default all.
    missing_chunks : {"error", "fill"}, default "error"
        For Zarr; see `open_rows`.
    block_bytes : int or str, optional
        About how large each block is, for example ``"64MiB"``; see `open_rows`.
    storage_options : dict, optional
        For URLs: what fsspec needs to reach them.

    Returns
    -------
    rows : dask Array of shape (n_rows, n_columns)
        With chunks of known sizes. No row is read before it is computed.
    names : tuple of str, or None
        Of the columns of a Parquet table.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is none of these, is damaged or incomplete, or its columns are not numbers or not those asked for.
    ImportError
        If a package is missing, with the command that installs it.

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
    """Tell what is at a path or URL: by its name where that ends with ``.npy`` or ``.parquet``, else by what is there.

    The query of a URL is no part of the name; there is no Zarr behind one.

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        As `open_features` does.
    """
    suffix = PurePosixPath(name_of(path)).suffix.lower()
    filesystem(path, storage_options)  # a package that is missing is named
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
    open_array(path, storage_options)  # tells that nothing is there
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
