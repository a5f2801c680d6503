"""Row groups of Parquet files as blocks of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._locations import hiding_credentials
from .._typing import AnyArray
from .damage import is_damage, naming

PieceOfFile = tuple[str, tuple[int, ...]]
"""A file and the numbers of some of its row groups."""


@dataclass(frozen=True)
class ParquetReader:
    """Reader of row groups into an array of rows.

    Parameters
    ----------
    fs : file system of fsspec
    names : tuple of str
        Names of the columns.
    dtype : dtype
    exact : bool
        Whether an integer that the dtype cannot represent is an error.
    """

    fs: Any
    names: tuple[str, ...]
    dtype: np.dtype
    exact: bool

    @hiding_credentials()
    def __call__(self, pieces: Sequence[PieceOfFile]) -> AnyArray:
        """Return the rows of some row groups of some files."""
        return np.concatenate([self._read(file, groups) for file, groups in pieces])

    def _read(self, file: str, groups: tuple[int, ...]) -> AnyArray:
        with opened(self.fs, file) as parquet:
            table = table_of(parquet, self.names, file, groups)
        rows = np.empty((table.num_rows, len(self.names)), self.dtype)
        for j, name in enumerate(self.names):
            rows[:, j] = self._numbers(table.column(name), file, name)
        return rows

    def _numbers(self, column: Any, file: str, name: str) -> AnyArray:
        if self.exact and column.type != "bool":
            self._check_held(column, file, name)
        if column.null_count:
            if self.dtype.kind != "f":
                raise ValueError(f"{file}: column {name} has missing values that its footer does not report")
            column = column.cast("uint8") if column.type == "bool" else column
            column = column.cast("float64", safe=False)
        return column.to_numpy()

    def _check_held(self, column: Any, file: str, name: str) -> None:
        """Raise an error if a column holds an integer that the common dtype cannot represent."""
        from pyarrow.compute import min_max

        is_float = self.dtype.kind == "f"
        most = 2 ** (np.finfo(self.dtype).nmant + 1) if is_float else np.iinfo(self.dtype).max
        for value in min_max(column).as_py().values():
            if value is not None and (value > most or (is_float and value < -most)):
                raise ValueError(
                    f"expected integers that {self.dtype}, the common dtype of all columns, represents exactly; "
                    f"got {value} in column {name} of {file}: leave it out with columns=..., or store it as float64"
                )


@dataclass(frozen=True)
class ParquetTables:
    """Reader of row groups as tables of Arrow.

    Parameters
    ----------
    fs : file system of fsspec
    """

    fs: Any

    @hiding_credentials()
    def __call__(self, pieces: Sequence[PieceOfFile], names: tuple[str, ...]) -> Any:
        """Return some columns of some row groups of some files."""
        import pyarrow as pa

        tables = []
        for file, groups in pieces:
            with opened(self.fs, file) as parquet:
                tables.append(table_of(parquet, names, file, groups))
        if any(not table.schema.equals(tables[0].schema) for table in tables):
            tables = [_decoded(table) for table in tables]  # other files may have other categories, or texts
        return pa.concat_tables(tables, promote_options="permissive")


def _decoded(table: Any) -> Any:
    """Return a table with texts and numbers in place of dictionaries of them."""
    for j, kind in enumerate(table.schema.types):
        if hasattr(kind, "value_type"):
            table = table.set_column(j, table.column_names[j], table.column(j).cast(kind.value_type))
    return table


def table_of(parquet: Any, names: tuple[str, ...], file: str, groups: tuple[int, ...]) -> Any:
    """Return some columns of some row groups of an open file."""
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

    by_name = is_local(fs) and is_utf8(file)  # Arrow takes no other names
    # Arrow requests exactly the ranges that it needs, so reading ahead would be wasted.
    source = file if by_name else fs.open(file, "rb", cache_type="none")
    return ParquetFile(source, pre_buffer=not by_name, page_checksum_verification=True)


def is_utf8(name: str) -> bool:
    """Return whether all bytes of a file name are UTF-8; others are surrogates in a text."""
    return name.encode(errors="ignore").decode() == name
