"""CSV files as tables that are read in blocks of lines, by Arrow: Dask's own reader needs pandas."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from dask.utils import format_bytes
from fsspec.utils import read_block

from .._locations import hiding_credentials
from .._process import needed
from ..chunks import block_size
from .csv_head import Dialect, Head, first_texts, head_of, line_end, warn_of_numbers
from .paths import about_file, filesystem, version_of
from .tables import LazyColumn, LazyTable, chosen_columns

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

LARGEST_COMPRESSED = 2**24
"""Compressed files are one block, as they cannot be read from the middle."""

LARGEST_UNPACKED = 2**30
"""Most bytes of such a block: a compressed file of a few kilobytes may unpack to any number."""

BLOCKS_AT_ONCE = 4

Bytes = tuple[str, int, int | None]
"""A file, the first byte of a block and its length, None for all of a compressed file."""


def is_csv(name: str) -> bool:
    """Return whether a file name is one of CSV, also with tabs (``.tsv``), which may be compressed.

    >>> [is_csv(name) for name in ("x.csv", "x.TSV.gz", "x.gz", "x.csv.br")]
    [True, True, False, False]
    """
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1:] in ([".csv"], [".tsv"])


@hiding_credentials()
def open_csv(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    block_bytes: int | str | None = None,
    as_written: bool = False,
) -> LazyTable:
    """Open a CSV file with a header lazily, or some of its columns, in the order given.

    The comma, semicolon or tab in its header separates the values; of several, the one with which all lines have as
    many values, and the largest share of columns are of numbers. No value contains a line end. Columns with only
    numbers in the first MiB are columns of numbers, in which a comma may stand before fractions if it does not separate
    values, and those with only ``true`` and ``False`` are of booleans; empty values are missing, and those that pandas
    takes as missing, as ``NA``. With `as_written` all columns hold texts, as ``007`` and ``NA``. The file, which may be
    compressed if it has at most 16 MiB, is read once to count the lines.
    """
    fs, root = _found(path)
    import pyarrow as pa

    blocks = _blocks(root, fs.size(root), path, block_bytes)
    head = head_of(fs, root, path)
    warn_of_numbers(head, path)
    if as_written:
        head = head._replace(types=dict.fromkeys(head.types, pa.string()))
    names = chosen_columns(head.names, columns, path)
    with ThreadPoolExecutor(BLOCKS_AT_ONCE) as pool:
        lines = list(pool.map(partial(_lines, fs, head.dialect), blocks))
    if (i := next((i for i, own in enumerate(lines) if own.broken is not None), None)) is not None:
        raise line_end(path, sum(own.n for own in lines[:i]) + (lines[i].broken or 0))
    counts = [own.n_filled - (i == 0) for i, own in enumerate(lines)]  # without the header
    filled = [(block, n) for block, n in zip(blocks, counts) if n]
    if not filled:
        raise ValueError(f"{path}: expected at least one row below the header, got none")
    read = partial(_table_of, fs, head, ("",) if as_written else None)
    found = {name: LazyColumn(head.types[name]) for name in names}
    version = version_of(fs, root), names, as_written
    return LazyTable(found, tuple(b for b, _ in filled), read, tuple(n for _, n in filled), version)


def csv_types(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the Arrow types of all columns of a CSV file by their names; errors as for `open_csv`."""
    return head_of(*_found(path), path).types


def csv_texts(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, str]:
    """Return the first text in each of some columns of a CSV file, in words; errors as for `open_csv`."""
    return first_texts(*_found(path), path, names)


def _found(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the file system and the path of a file that is there."""
    needed("pyarrow", "parquet")
    if about_file(path)["type"] != "file":
        raise FileNotFoundError(f"there is no file {path}; check the path")
    return filesystem(path)


def _blocks(root: str, size: int, path: Any, block_bytes: int | str | None) -> list[Bytes]:
    if root.lower().endswith(COMPRESSED):
        if size > LARGEST_COMPRESSED:
            raise ValueError(
                f"expected compressed CSV of at most {format_bytes(LARGEST_COMPRESSED)}, which is read whole; got "
                f"{format_bytes(size)} in {path}: decompress it, or store it as Parquet"
            )
        return [(root, 0, None)]
    step = block_size(size, block_bytes)
    return [(root, start, step) for start in range(0, max(size, 1), step)]


def _bytes(fs: Any, block: Bytes) -> bytes:
    """Return the lines that begin in a block."""
    file, start, length = block
    if length is None:
        with fs.open(file, "rb", compression="infer") as stream:
            content = bytes(stream.read(LARGEST_UNPACKED + 1))
        if len(content) > LARGEST_UNPACKED:
            raise ValueError(
                f"expected compressed CSV of at most {format_bytes(LARGEST_UNPACKED)} of lines, which are read whole; "
                f"got more in {file}: decompress it, or store it as Parquet"
            )
        return content
    with fs.open(file, "rb") as stream:
        return bytes(read_block(stream, start, length, b"\n"))


class _Lines(NamedTuple):
    n: int
    n_filled: int
    broken: int | None
    """The first line, from 0, with a line end inside a value."""


def _lines(fs: Any, dialect: Dialect, block: Bytes) -> _Lines:
    content = _bytes(fs, block)
    n_filled = sum(1 for line in content.split(b"\n") if line not in (b"", b"\r"))  # as Arrow leaves out lines
    return _Lines(content.count(b"\n"), n_filled, dialect.broken_line(content))


@hiding_credentials()
def _table_of(fs: Any, head: Head, nulls: tuple[str, ...] | None, block: Bytes, names: tuple[str, ...]) -> Any:
    """Return some columns of a block of lines as a table of Arrow; see `Dialect.table` for `nulls`."""
    import pyarrow as pa

    lines = _bytes(fs, block)
    try:
        return head.dialect.table(
            lines, head.types, list(names), nulls=nulls, use_threads=False, column_names=head.names,
            skip_rows=int(block[1] == 0),
        )  # fmt: skip
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{block[0]}: expected columns whose values are all of the types of the first; {error}, in the "
            f"lines from byte {block[1]}: correct the line, or store the table as Parquet with the types wanted"
        ) from error
