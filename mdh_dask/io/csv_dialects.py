"""How the values of a CSV file are separated and written, which follows from its first lines."""

import io
import re
from functools import cache
from typing import Any, NamedTuple

QUOTED = re.compile(rb'"[^"]*+"')

DECIMAL_COMMAS = re.compile(
    rb"[\r\n]*+(?:(?:[+-]?(?:\d++(?:,\d*+)?|,\d++)(?:[eE][+-]?\d++)?+|N/?A|n/a|[Nn]a[Nn]|NULL|null)(?:[\r\n]++|\Z))++"
)
"""Lines of one number each, with commas before fractions, or of a word for a missing one."""


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

    def table(self, content: bytes, types: dict[str, Any] | None = None, names: Any = None, **read: Any) -> Any:
        """Return lines as a table of Arrow: all their columns, or those that are named."""
        from pyarrow import csv

        return csv.read_csv(
            io.BytesIO(content.lstrip(b"\r\n")),  # empty lines are no header
            read_options=csv.ReadOptions(block_size=len(content) + 1, **read),  # no line is longer
            parse_options=csv.ParseOptions(delimiter=self.delimiter),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=names, decimal_point=self.decimal, strings_can_be_null=True
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
    that are as frequent, a comma is the least likely, as it is in names and numbers, too. Below a header without a
    mark, commas in numbers stand before fractions.

    Examples
    --------
    >>> dialects_of(b"a,b"), dialects_of(b"a;b")[1]
    ([Dialect(delimiter=',', decimal='.')], Dialect(delimiter=';', decimal=','))
    """
    header, _, values = head.partition(b"\n")
    header = QUOTED.sub(b"", header)
    counts = {mark: header.count(mark.encode()) for mark in "\t;|,"}
    delimiters = sorted((mark for mark in counts if counts[mark]), key=lambda mark: -counts[mark])
    if not delimiters and b"," in values and DECIMAL_COMMAS.fullmatch(values):
        return [Dialect(";", ",")]
    return [Dialect(mark, decimal) for mark in delimiters or "," for decimal in ("." if mark == "," else ".,")]
