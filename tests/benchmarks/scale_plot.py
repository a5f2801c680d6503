"""Empty tasks and the modelled seconds, drawn."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from .shared import Table


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw the seconds of empty tasks against chunks, and those that are modelled against workers."""
    from matplotlib.figure import Figure

    empty = next(table for table in tables if table.title.startswith("The same graph"))
    model = next(table for table in tables if table.title.startswith("Model, not measured"))
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    chunks, _, building, computing, *_ = zip(*empty.rows, strict=True)
    left.loglog(chunks, building, marker="o", label="building the graph (client)")
    left.loglog(chunks, computing, marker="o", label="sending, scheduling, doing nothing")
    left.set(xlabel="chunks of a pass", ylabel="seconds", title="Measured: empty tasks, two workers")
    left.legend(fontsize=8)
    for number, (rows, lines) in enumerate(groupby(model.rows, key=lambda row: row[0])):
        _, workers, _, *parts = zip(*lines, strict=True)
        best, worst = parts[-2:]
        right.loglog(workers, best, marker="o", color=f"C{number}", label=f"{float(rows):.0e} rows")
        right.fill_between(workers, best, worst, color=f"C{number}", alpha=0.2)
    right.set(xlabel="workers of one thread", ylabel="seconds", title="Model: fit and labels, 50 columns")
    right.legend(fontsize=7, title_fontsize=7, title="from: at the same time; to: one after the other")
    figure.savefig(path, dpi=120)
