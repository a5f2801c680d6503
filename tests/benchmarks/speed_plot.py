"""The seconds and the memory of every method along the three sizes of the data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .contestants import OURS
from .shared import Table
from .speed_verdicts import AS_GOOD

SIZES = ("rows", "columns", "clusters")


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw seconds against each size, the others in the middle, and memory against rows; hollow where NMI is less."""
    from matplotlib.figure import Figure

    seconds, nmi, memory = (
        next(table for table in tables if table.title.startswith(f"Speed: {what}"))
        for what in ("median seconds", "mean NMI", "peak")
    )
    cases = [
        row for table in tables if table.title.startswith(("Speed: median s", "Speed: not run")) for row in table.rows
    ]
    middle = [_middle({case[i] for case in cases}) for i in range(len(SIZES))]
    figure = Figure(figsize=(10, 8), layout="constrained")
    for axes, varied, table, what in zip(
        figure.subplots(2, 2).flat, (*SIZES, "rows"), (seconds, seconds, seconds, memory), (*["seconds"] * 3, "MB")
    ):
        _draw(axes, varied, table, nmi, middle)
        axes.set(xscale="log", yscale="log", xlabel=varied, ylabel=what)
        axes.tick_params(axis="x", which="minor", labelbottom=False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    figure.suptitle(f"Hollow: NMI more than {AS_GOOD} below that of ours", fontsize=9)
    figure.savefig(path, dpi=120)


def _draw(axes: Any, varied: str, table: Table, nmi: Table, middle: Sequence[int]) -> None:
    at = SIZES.index(varied)
    kept = [
        (row, scores)
        for row, scores in zip(table.rows, nmi.rows, strict=True)
        if all(row[i] == middle[i] for i in range(len(SIZES)) if i != at)
    ]
    axes.set_title(", ".join(f"{size} {middle[i]}" for i, size in enumerate(SIZES) if i != at), fontsize=9)
    for number, name in enumerate(table.columns[len(SIZES) :]):
        place = number + len(SIZES)
        points = [(row, scores) for row, scores in kept if isinstance(row[place], int | float)]
        x, y = [row[at] for row, _ in points], [row[place] for row, _ in points]
        marker, line = "os"[number // 10], "-" if name in OURS else "--"
        style = {"color": f"C{number % 10}", "linestyle": line, "marker": marker}
        axes.plot(x, y, linewidth=2 if name in OURS else 1, label=name, markerfacecolor="none", **style)
        good = [_as_good(scores, place, nmi.columns) for _, scores in points]
        axes.plot([v for v, g in zip(x, good) if g], [v for v, g in zip(y, good) if g], marker, color=style["color"])


def _middle(values: set[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


def _as_good(scores: Sequence[Any], place: int, columns: Sequence[str]) -> bool:
    """Tell whether a clustering is as good as the best of ours."""
    ours = [score for name, score in zip(columns, scores) if name in OURS and isinstance(score, float)]
    return scores[place] >= max(ours, default=0.0) - AS_GOOD
