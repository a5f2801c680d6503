"""The head of a CSV file: the names and types of its columns, and how its values are separated and written."""

import io
import logging
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from dask.utils import format_bytes

QUOTED = re.compile(rb'"[^"]*+"')


class Dialect(NamedTuple):
    """What separates the values of a line, and the integer part of a number from its fraction."""

    delimiter: str = ","
    decimal: str = "."

    def broken_line(self, content: bytes) -> int | None:
        """Return the first line, from 0, with a value that does not end in it, or with a carriage return inside."""
        if b'"' not in content and content.count(b"\r") == content.count(b"\r\n"):
            return None
        whole = _whole_line(self.delimiter)
        lines = (line.removesuffix(b"\r") for line in content.split(b"\n"))
        broken = (i for i, line in enumerate(lines) if b"\r" in line or (b'"' in line and not whole.fullmatch(line)))
        return next(broken, None)

    def table(
        self, content: bytes, types: dict[str, Any] | None = None, names: Any = None, *, nulls: Any = None, **read: Any
    ) -> Any:
        """Return lines as a table of Arrow: all their columns, or those that are named.

        Values that are one of `nulls` are missing, by default those that are for pandas, as ``NA`` and ``nan``.
        """
        from pyarrow import csv

        return csv.read_csv(
            io.BytesIO(content.lstrip(b"\r\n")),  # empty lines are no header
            read_options=csv.ReadOptions(block_size=len(content) + 1, **read),  # no line is longer
            parse_options=csv.ParseOptions(delimiter=self.delimiter),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=names,
                decimal_point=self.decimal,
                strings_can_be_null=True,
                null_values=nulls,
            ),
        )


@cache
def _whole_line(delimiter: str) -> re.Pattern[bytes]:
    """Return what matches a line whose values all end in it.

    A quote opens a value only at its beginning, as in Arrow's parser.
    """
    mark = delimiter.encode()
    value = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^%b]*+|[^"%b][^%b]*+|)' % (mark, mark, mark)
    return re.compile(value + b"(?:" + re.escape(mark) + value + b")*+")


def dialects_of(head: bytes) -> list[Dialect]:
    """Return the dialects that the first lines of a file may be in, the likeliest first.

    Those of a comma, a semicolon, a tab and a bar that are in the header may separate values: one of them may be part
    of a name, as in ``length, cm``. Where it is no comma, a comma may stand before the fractions of numbers. Of marks
    that are as frequent, a comma is the least likely, as it is in names and numbers, too.
    """
    header = QUOTED.sub(b"", head.partition(b"\n")[0])
    counts = {mark: header.count(mark.encode()) for mark in "\t;|,"}
    delimiters = sorted((mark for mark in counts if counts[mark]), key=lambda mark: -counts[mark])
    return [Dialect(mark, decimal) for mark in delimiters or "," for decimal in ("." if mark == "," else ".,")]


HEAD, LONGEST = 2**20, 2**26
"""Bytes from which the types of the columns follow, and the most where lines are long."""

LINES = 100
"""Fewest lines from which they follow: a line of many columns may be longer than a megabyte."""

NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")

logger = logging.getLogger(__name__)


class Head(NamedTuple):
    """Names and Arrow types of the columns, and the dialect; one without a name has that of pandas."""

    names: list[str]
    types: dict[str, Any]
    dialect: Dialect


def head_of(fs: Any, root: str, path: Any) -> Head:
    """Return the names of the columns, their types and the dialect: the one with the largest share of numbers."""
    head = _first_lines(fs, root, path)
    found, errors = [], []
    for dialect in dialects_of(head.lstrip(b"\r\n")):
        try:
            found.append(_read_head(head, dialect, path))
        except ValueError as error:
            errors.append(error)
    if not found:
        raise errors[0]  # that of the likeliest dialect
    return max(found, key=lambda one: sum(str(own) == "double" for own in one.types.values()) / len(one.names))


def _first_lines(fs: Any, root: str, path: Any) -> bytes:
    """Return whole lines from which the types of the columns follow, or all of a short file."""
    size = HEAD
    with fs.open(root, "rb", compression="infer") as stream:
        content = bytes(stream.read(size))
        while len(content) == size < LONGEST and content.count(b"\n") < LINES:
            content += stream.read(size)
            size *= 2
    if len(content) < size:
        return content
    if not (lines := content[: content.rfind(b"\n") + 1]):
        raise ValueError(
            f"{path}: expected a first line with the names of the columns, of at most {format_bytes(LONGEST)}; got a "
            "longer one: end lines by line feeds, or store the table as Parquet"
        )
    return lines


def _read_head(head: bytes, dialect: Dialect, path: Any) -> Head:
    import pyarrow as pa

    if (line := dialect.broken_line(head)) is not None:
        raise line_end(path, line)
    try:
        schema = dialect.table(head).schema
        names = [name or f"Unnamed: {i}" for i, name in enumerate(schema.names)]  # as the index of a frame
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: expected CSV with a header; {error}: write it again, or as Parquet") from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    if any(map(pa.types.is_binary, schema.types)):
        raise _not_utf8(path)
    types = {}
    for name, column in zip(names, schema):
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        types[name] = pa.float64() if is_number else pa.string() if pa.types.is_null(column.type) else column.type
    return Head(names, types, dialect)


def first_texts(fs: Any, root: str, path: Any, names: Sequence[str]) -> dict[str, str]:
    """Return where the head of a file has the first text in each of some columns, in words."""
    head = head_of(fs, root, path)
    lines = _first_lines(fs, root, path)
    texts = head.dialect.table(lines, head.types, list(names), column_names=head.names, skip_rows=1)
    return {name: _first_text(texts[name].to_pylist()) for name in names}


def _first_text(values: list[Any]) -> str:
    known = [(i, value) for i, value in enumerate(values) if value is not None]
    if not known:
        return f"no value in {len(values)} rows"
    i, text = next(((i, value) for i, value in known if not NUMBER.fullmatch(str(value))), known[0])
    return f"{str(text)[:40]!r} in row {i}"


def _not_utf8(path: Any) -> ValueError:
    return ValueError(f"{path}: expected texts in UTF-8; got other bytes: write it again in UTF-8, or as Parquet")


def warn_of_numbers(head: Head, path: Any) -> None:
    """Warn of a line of numbers that is taken for names, unless these count the columns, as of frames without names."""
    counted = [str(i) for i in range(len(head.names))]
    if head.names != counted and all(map(NUMBER.fullmatch, head.names)):
        logger.warning(
            "%s: its first line has only numbers, which become the names of its columns: if it is a row, put a line of "
            "names above it", path,
        )  # fmt: skip


def line_end(path: Any, line: int) -> ValueError:
    """Return the error for a line, from 0, with a line end inside a value."""
    return ValueError(
        f"{path}: expected no line end inside a value; got one in line {line + 1}: replace it by a space, or store the "
        "table as Parquet"
    )
