"""The files of Parquet tables: the metadata in their footers, and row groups as blocks of rows."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from dask.utils import natural_sort_key

from .._locations import hiding_credentials, without_query
from .._process import needed
from .._typing import AnyArray
from ..columns.coding import numbers
from ..columns.lists import Element, Expanded, sources_of, value_type
from .paths import about_file, filesystem, is_damage, naming, reaching, refuse_streams, version_of

PieceOfFile = tuple[str, tuple[int, ...]]
"""A file and the numbers of some of its row groups."""


@dataclass(frozen=True)
class ParquetReader:
    """Reader of row groups into an array of rows; `exact`: an integer that the dtype cannot represent is an error."""

    fs: Any
    elements: Mapping[str, Element]
    """The columns to read, which may be values of lists."""
    dtype: np.dtype
    exact: bool

    @hiding_credentials()
    def __call__(self, pieces: Sequence[PieceOfFile]) -> AnyArray:
        return np.concatenate([self._read(file, groups) for file, groups in pieces])

    def _read(self, file: str, groups: tuple[int, ...]) -> AnyArray:
        names = tuple(self.elements)
        table = table_of(self.fs, file, groups, sources_of(names, self.elements))
        rows = np.empty((table.num_rows, len(names)), self.dtype)
        for own, values in Expanded(table, self.elements).joined(names):
            rows[:, own] = self._held(values, file, self.elements[names[own.start]].source)
        for j, name in enumerate(names):
            if not self.elements[name].width:
                rows[:, j] = self._numbers(table.column(name), file, name)
        return rows

    def _numbers(self, column: Any, file: str, name: str) -> AnyArray:
        if self.exact and column.null_count and column.type != "bool":  # floating-point numbers would hide it
            from pyarrow.compute import min_max

            self._check_held(min_max(column).as_py().values(), file, name)
        return self._held(numbers(column), file, name)

    def _held(self, values: AnyArray, file: str, name: str) -> AnyArray:
        """Return values after checking that the common dtype represents them."""
        if self.dtype.kind != "f" and values.dtype.kind == "f":
            raise ValueError(f"{file}: column {name} has missing values that its footer does not report")
        if self.exact and values.dtype.kind in "iu":
            self._check_held((int(values.min()), int(values.max())), file, name)
        return values

    def _check_held(self, extremes: Iterable[int | None], file: str, name: str) -> None:
        """Raise an error if a column holds an integer that the common dtype cannot represent."""
        is_float = self.dtype.kind == "f"
        most = 2 ** (np.finfo(self.dtype).nmant + 1) if is_float else np.iinfo(self.dtype).max
        for value in extremes:
            if value is not None and (value > most or (is_float and value < -most)):
                raise ValueError(
                    f"expected integers that {self.dtype}, the common dtype of all columns, represents exactly; "
                    f"got {value} in column {name} of {file}: leave it out with columns=..., or store it as float64"
                )


@hiding_credentials()
def read_table(fs: Any, pieces: Sequence[PieceOfFile], names: tuple[str, ...]) -> Any:
    """Return some columns of row groups of several files as one table of Arrow."""
    import pyarrow as pa

    tables = [table_of(fs, file, groups, names) for file, groups in pieces]
    if any(not table.schema.equals(tables[0].schema) for table in tables):
        tables = [_decoded(table) for table in tables]  # other files may have other categories, or texts
    return pa.concat_tables(tables, promote_options="permissive")


def _decoded(table: Any) -> Any:
    """Return a table with texts and numbers in place of dictionaries of them."""
    for j, kind in enumerate(table.schema.types):
        if hasattr(kind, "ordered"):
            table = table.set_column(j, table.column_names[j], table.column(j).cast(kind.value_type))
    return table


def table_of(fs: Any, file: str, groups: tuple[int, ...], names: tuple[str, ...]) -> Any:
    """Return some columns of some row groups of a file."""
    with opened(fs, file) as parquet:
        read = partial(parquet.read_row_groups, columns=list(names), use_threads=False)
        try:
            return read(list(groups)).select(list(names))
        except Exception as error:
            if is_damage(error):
                for group in groups:
                    with naming(f"{file} is damaged: its row group {group} cannot be read"):
                        read([group])
            raise


def is_local(fs: Any) -> bool:
    """Return whether a file system is that of this machine."""
    return bool(fs.protocol == "file" or "file" in fs.protocol)


def opened(fs: Any, file: str) -> Any:
    """Return an open file that raises an error for pages with a wrong checksum."""
    from pyarrow.parquet import ParquetFile

    by_name = is_local(fs) and file.encode(errors="ignore").decode() == file  # Arrow takes no names but in UTF-8
    # Arrow requests exactly the ranges that it needs, so reading ahead would be wasted.
    source = file if by_name else fs.open(file, "rb", cache_type="none")
    return ParquetFile(source, pre_buffer=not by_name, page_checksum_verification=True)


SUFFIXES = (".parquet", ".parq", ".pq")


FOOTERS_AT_ONCE = 16


class Footer(NamedTuple):
    """The metadata in the footer of a file."""

    file: str
    version: Any
    """A version that changes with the contents."""
    names: tuple[str, ...]
    types: dict[str, Any]
    """The Arrow types of the columns by their names, of lists of one length those of their values."""
    widths: dict[str, int]
    """Lengths of lists, zero for other columns and for lists of several lengths."""
    of_index: tuple[str, ...]
    """Columns that hold the index of pandas."""
    rows: tuple[int, ...]
    """Number of rows of every row group."""
    may_lack: frozenset[str]
    """Columns that may have missing values."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns but those of the index."""
        return [name for name in self.names if name not in self.of_index]


def footers_of(path: str | os.PathLike[str], most: int | None = None) -> tuple[Any, list[Footer]]:
    """Return the file system and the footers of the files of a table, or of the first of them."""
    needed("pyarrow.parquet", "parquet")
    fs, root = filesystem(path)
    with reaching(path):
        files = parquet_files(fs, root)
    if not files:
        with suppress(FileNotFoundError):
            about_file(path)  # raises an error if the server is not reached
        raise FileNotFoundError(f"there are no Parquet files at {path}; check the path")
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        return fs, list(pool.map(partial(_footer, fs), files[:most]))


def parquet_files(fs: Any, root: str) -> list[str]:
    """Return the Parquet files at a path of a file system in order, or an empty list."""
    found_by = _matching if "*" in without_query(root) else _in_folder
    return [root] if fs.isfile(root) else sorted(found_by(fs, root), key=natural_sort_key)


def _matching(fs: Any, pattern: str) -> set[str]:
    """Return the files that match a pattern, and those of the tables whose folders match it."""
    found = set()
    for path, about in fs.glob(pattern, detail=True).items():
        name = PurePosixPath(path).name
        if name[0] in "_.":
            continue
        if not _is_folder(fs, path, about):
            found.add(path)
        elif "=" in name or _is_parquet(name):
            found |= _in_folder(fs, path)
    return found


def _in_folder(fs: Any, root: str, around: frozenset[str] = frozenset()) -> set[str]:
    """Return the files of a table in a folder, also behind links, of which none leads back to a folder around it."""
    here = os.path.realpath(root) if is_local(fs) else root
    if here in around:
        return set()
    above, found = len(PurePosixPath(root).parts), set()
    for path, about in fs.find(root, detail=True).items():
        # Object stores may list the folder itself, too.
        *folders, file = PurePosixPath(path).parts[above:] or [""]
        if not all("=" in folder for folder in folders):
            continue  # of another table
        if "=" in file and _is_folder(fs, path, about):
            found |= _in_folder(fs, path, around | {here})
        elif _is_parquet(file) and file[0] not in "_.":
            found.add(path)
    return found


def _is_folder(fs: Any, path: str, about: Mapping[str, Any]) -> bool:
    return about["type"] == "directory" or (about.get("islink", False) and fs.isdir(path))


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _footer(fs: Any, file: str) -> Footer:
    if is_local(fs):
        refuse_streams(file)
    with naming(f"{file} is not Parquet, or is damaged", "write it again"), opened(fs, file) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        types = dict(zip(schema.names, schema.types))
        widths = {name: 0 if value_type(kind) is None else _width(name, kind, groups) for name, kind in types.items()}
    if any(group.num_rows < 0 for group in groups):
        raise ValueError(f"{file} is damaged: it has row groups with a negative number of rows; write it again")
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    lacks = (c.path_in_schema for g in groups for c in map(g.column, range(g.num_columns)) if not _is_full(c))
    types |= {name: value_type(types[name]) for name, width in widths.items() if width}
    return Footer(
        file, version_of(fs, file), tuple(schema.names), types, widths,
        tuple(name for name in index if isinstance(name, str)), tuple(group.num_rows for group in groups),
        frozenset(_column_of(path, widths) for path in lacks),
    )  # fmt: skip


def _column_of(path: str, widths: Mapping[str, int]) -> str:
    """Return the column of the schema with the values at a path in the schema of Parquet."""
    return next((name for name, width in widths.items() if width and path.startswith(f"{name}.")), path)


def _width(name: str, kind: Any, groups: Sequence[Any]) -> int:
    """Return the length of all lists in a column, which Parquet stores one after the other, or zero if they differ.

    Missing lists count as one value each, so they must be those of a type with a length.
    """
    if hasattr(kind, "list_size"):
        return int(kind.list_size)
    own = [(g.num_rows, c.num_values) for g in groups for c in map(g.column, range(g.num_columns))
           if c.path_in_schema.startswith(f"{name}.") and g.num_rows]  # fmt: skip
    found = {divmod(n_values, n_rows) for n_rows, n_values in own}
    width, rest = found.pop() if len(found) == 1 else (0, 1)
    return 0 if rest else width


def _is_full(chunk: Any) -> bool:
    """Return whether a column of a row group is known to have no missing values."""
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0
