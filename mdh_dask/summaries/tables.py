"""Texts of tables: names of levels, rounded means, and drift as text and as plain Python objects."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .changes import Change
    from .drift import Drift

UNKNOWN, MISSING = "(unknown)", "(missing)"
"""Names for values that are no known level, and for missing values."""


class Table(ABC):
    """Base of the results that are tables, which notebooks show."""

    @abstractmethod
    def _parts(self) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
        """Yield the columns and the cells of each table."""

    def to_text(self) -> str:
        """Return the tables as text."""
        return "\n\n".join(text_table(*part) for part in self._parts())

    def __repr__(self) -> str:
        """Return the tables as text."""
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the tables in HTML."""
        return "".join(_html(columns, rows) for columns, rows in self._parts())

    @abstractmethod
    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict for every row of the table."""

    def to_pandas(self) -> Any:
        """Return the records as a frame of pandas.

        Raises an ImportError if pandas is missing.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas; or take to_records()") from error
        return DataFrame(self.to_records())


class Records(Table):
    """Base of the results whose records are their only table."""

    def _parts(self) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
        if records := self.to_records():
            yield list(records[0]), [[_cell(value) for value in one.values()] for one in records]


def _cell(value: Any) -> str:
    """Return a value as text, of numbers four digits."""
    if value is None or value != value:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def bracketed(name: str, taken: Collection[str]) -> str:
    """Bracket a name until it is unique."""
    while name in taken:
        name = f"({name})"
    return name


def shortened(text: str, most: int = 40) -> str:
    r"""Return a text of one line and few characters."""
    line = " ".join(text.split()) if not text.isprintable() else text
    line = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


def as_precise(mean: float, sd: float) -> tuple[str, str]:
    """Return a mean and a standard deviation as text, rounded to two digits of the deviation.

    Examples
    --------
    >>> as_precise(1234.567, 8.9), as_precise(0.001234, 0.00021), as_precise(2.0, 0.0), as_precise(1.7e9, 60.0)
    (('1,234.6', '8.9'), ('0.00123', '0.00021'), ('2', '0'), ('1,700,000,000', '60'))
    >>> as_precise(-0.01, 1.3)  # no minus before zero
    ('0.0', '1.3')
    """
    if not sd > 0 or not 1e-4 < max(abs(mean), sd) < 1e12 or sd < 1e-8:
        return f"{mean:.4g}", f"{sd:.2g}"
    digits = max(1 - int(np.floor(np.log10(sd))), 0)
    return f"{mean:z,.{digits}f}", f"{sd:,.{digits}f}"


def dict_of(drift: "Drift") -> dict[str, Any]:
    """Return all comparisons as plain Python objects for JSON.

    Returns ``drift``, ``alarms``, ``rows``, ``design_effect``, the limits ``threshold``, ``filled`` and
        ``false_alarms``, ``shares`` (a change), and ``splits``, ``clusters`` and, for columns with levels, ``levels``:
        lists of dicts. Values for old and new rows are lists of two; a change has ``value`` and ``lower_bound``, by
        confidence. None replaces NaN and infinity.
    """
    splits = []
    for split in drift.splits:
        density, depth, filled = split.valley or (None, None, None)
        own = {"node": split.node, "rows": split.rows, "left": split.left, "density": density, "relative_depth": depth}
        splits.append(own | {"filled": filled, "distance": split.distance})
    levels = [
        {
            "column": of_column.column,
            "levels": {level: [old, new] for level, old, new in of_column.frequencies()},
            "unseen": dict(of_column.unseen),
            "distance": of_column.distance,
        }
        for of_column in drift.levels
    ]
    limits = {name: getattr(drift, name) for name in ("threshold", "filled", "false_alarms", "design_effect")}
    found = {
        "drift": drift.found, "alarms": drift.alarms, "rows": drift.n_rows, **limits, "shares": drift.shares,
        "splits": splits, "clusters": [vars(cluster) for cluster in drift.clusters],
        **({"levels": levels} if levels else {}),
    }  # fmt: skip
    return plain(found)


def records_of(drift: "Drift") -> list[dict[str, Any]]:
    """Return a dict for every cluster: its rows and shares, the distance of its rows, and a lower bound of it."""
    return [
        {
            "cluster": one.label,
            **dict(zip(("rows_old", "rows_new"), one.rows)),
            **dict(zip(("share_old", "share_new"), map(float, one.share))),
            **dict(zip(("distance", "lower_bound"), map(float, one.distance))),
        }
        for one in drift.clusters
    ]


SPLIT_COLUMNS = (
    "split", "rows old", "rows new", "left old", "left new", "density old", "density new", "relative depth old",
    "relative depth new", "filled", "distance",
)  # fmt: skip

CLUSTER_COLUMNS = ("cluster", "rows old", "rows new", "share old", "share new", "distance")


LEVEL_COLUMNS = ("column", "level", "rows old", "rows new", "share old", "share new")

MOST_LEVELS = 12
"""Most levels of a column in a table: those whose shares differ most."""


def parts_of(drift: "Drift") -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Yield tables of the splits, the clusters and the levels, with lower bounds in brackets."""
    if drift.splits:
        yield SPLIT_COLUMNS, split_cells(drift)
    yield CLUSTER_COLUMNS, cluster_cells(drift)
    if drift.levels:
        yield LEVEL_COLUMNS, level_cells(drift)


def text_of(drift: "Drift") -> str:
    """Return all comparisons as text, with the alarms at the end."""
    return "\n\n".join([*(text_table(*part) for part in parts_of(drift)), summary_of(drift)])


def summary_of(drift: "Drift") -> str:
    """Return a line that says whether there is drift, and one line for each alarm."""
    n_old, n_new = drift.n_rows
    limits = f"changes over {drift.threshold:g} and valleys filled over {drift.filled:g} count"
    found = "drift" if drift.found else "no drift"
    return "\n".join([f"{found} among {n_new:,} rows, compared with {n_old:,}: {limits}", *drift.alarms])


def split_cells(drift: "Drift") -> list[list[str]]:
    """Return the cells of the table of splits."""
    rows = []
    for split in drift.splits:
        valley = split.valley
        found = [*map(_short, (*valley.density, *valley.depth)), change_text(valley.filled)] if valley else ["-"] * 5
        own = [str(split.node), *(f"{n:,}" for n in split.rows), *map(_share, split.left)]
        rows.append([*own, *found, change_text(split.distance)])
    return rows


def cluster_cells(drift: "Drift") -> list[list[str]]:
    """Return the cells of the table of clusters."""
    return [
        [str(c.label), *(f"{n:,}" for n in c.rows), *map(_share, c.share), change_text(c.distance)]
        for c in drift.clusters
    ]


def level_cells(drift: "Drift") -> list[list[str]]:
    """Return the cells of the table of levels, whose shares are those of old and of new rows."""
    rows = []
    for of_column in drift.levels:
        n_old, n_new = (max(int(counts.sum()), 1) for counts in (of_column.old, of_column.new))
        found = sorted(of_column.frequencies(), key=lambda level: -abs(level[1] / n_old - level[2] / n_new))
        if others := found[MOST_LEVELS:]:
            found[MOST_LEVELS:] = [(f"{len(others)} others", sum(o for _, o, _ in others), sum(n for *_, n in others))]
        for level, old, new in found:
            shares = _share(old / n_old), _share(new / n_new)
            rows.append([shortened(of_column.column), shortened(level), f"{old:,}", f"{new:,}", *shares])
    return rows


def change_text(change: "Change") -> str:
    """Return a change as text, with its lower confidence bound in brackets if that is positive."""
    if np.isnan(change.value):
        return "-"
    return f"{change.value:z.2f}" + (f" ({change.lower_bound:.2f})" if change.lower_bound > 0 else "")


def text_table(columns: Sequence[str], rows: list[list[str]]) -> str:
    """Return a table as text, its columns to the right."""
    lines = [list(columns), *rows]
    widths = [max(map(len, cells)) for cells in zip(*lines)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)


def _html(columns: Sequence[str], rows: list[list[str]]) -> str:
    lines = [("th", columns), *(("td", row) for row in rows)]
    head, *body = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in body)}</tbody></table>"


def _share(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"


def _short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:z.3g}"


def plain(value: Any) -> Any:
    """Return a value for JSON: named tuples as dicts, others as lists, and None for NaN and infinity."""
    if isinstance(value, dict):
        return {name: plain(own) for name, own in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    return value
