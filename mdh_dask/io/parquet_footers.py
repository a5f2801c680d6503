"""The files of Parquet tables and the metadata in their footers."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from dask.utils import natural_sort_key

from .._locations import without_query
from .damage import naming
from .nodes import Options, refuse_streams
from .parquet_blocks import is_local, opened
from .remote import about_file, filesystem, version_of

SUFFIXES = (".parquet", ".parq", ".pq")


FOOTERS_AT_ONCE = 16


class Footer(NamedTuple):
    """The metadata in the footer of a file."""

    file: str
    version: Any
    """A version that changes with the contents."""
    names: tuple[str, ...]
    types: dict[str, Any]
    """The Arrow types of the columns by their names."""
    of_index: tuple[str, ...]
    """Columns that hold the index of pandas."""
    rows: tuple[int, ...]
    """Number of rows of every row group."""
    may_lack: frozenset[str]
    """Columns that may have missing values."""


def footers_of(path: str | os.PathLike[str], storage_options: Options) -> tuple[Any, list[Footer]]:
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
        file, version_of(fs, file), tuple(schema.names), dict(zip(schema.names, schema.types)),
        tuple(name for name in index if isinstance(name, str)), tuple(group.num_rows for group in groups),
        frozenset(lacks),
    )  # fmt: skip


def _is_full(chunk: Any) -> bool:
    """Return whether a column of a row group is known to have no missing values."""
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0
