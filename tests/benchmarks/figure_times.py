"""Figures 6.2 and 6.3 of the thesis: the time of a split and of a tree against rows, columns and clusters."""

from collections.abc import Iterator, Sequence
from typing import Any

from .pursuit_speed import BI_PARTITIONS, projection_times, warm_projections
from .shared import Table, two_threads

FIGURES = {"6.2": "Thesis figure 6.2", "6.3": "Thesis figure 6.3"}
"""How the titles of their tables begin."""

ROWS_EACH = 500
"""Rows of each cluster in figure 6.3."""


def times_table(
    rows: Sequence[int], columns: Sequence[int], clusters: Sequence[int], at: tuple[int, int, int], repeats: int
) -> Iterator[Table]:
    """Return median seconds for growing rows and columns of a bi-partition, growing clusters and columns of a tree.

    The thesis prints no numbers beside these figures: only that of one representative set, RP-1000 took 5 minutes,
    MDH 30, PCA 15 and ICA 20, in R on a node of a cluster.
    """
    n_columns, n_rows, n_clusters = at
    splits = [("rows", n, n_columns, 2) for n in rows] + [("columns", n_rows, d, 2) for d in columns]
    trees = [("clusters", ROWS_EACH * k, n_columns, k) for k in clusters]
    trees += [("columns", ROWS_EACH * n_clusters, d, n_clusters) for d in columns]
    with two_threads():
        warm_projections()
        yield _table(FIGURES["6.2"], "of one bi-partition", splits, repeats, max_levels=1)
        yield _table(FIGURES["6.3"], "of a tree", trees, repeats, max_levels=None)


def _table(name: str, what: str, cells: list[tuple[str, int, int, int]], repeats: int, max_levels: int | None) -> Table:
    lines = [(*cell, *projection_times(*cell[1:], repeats, max_levels)) for cell in cells]
    title = f"{name}: median seconds {what}, well separated clusters, {repeats} repeats"
    return Table(title, ("growing", "rows", "columns", "clusters", *BI_PARTITIONS, "least NMI"), lines)


def draw(figure: Any, table: Table) -> None:
    """Draw a panel for each of the two that grow."""
    kinds = list(dict.fromkeys(row[0] for row in table.rows))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(panels, kinds, strict=True):
        rows = [row for row in table.rows if row[0] == kind]
        place = table.columns.index(kind)
        for number, name in enumerate(BI_PARTITIONS):
            axes.semilogy([row[place] for row in rows], [row[4 + number] for row in rows], marker="o", label=name)
        others = {name: f"{value} {name}" for name, value in zip(("rows", "columns", "clusters"), rows[0][1:4])}
        if kind == "clusters":
            others["rows"] = f"{ROWS_EACH} rows a cluster"
        title = ", ".join(text for name, text in others.items() if name != kind)
        axes.set(xlabel=kind, title=title, xticks=[row[place] for row in rows])
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("seconds")
    panels[0].legend(fontsize="small")
    figure.suptitle(table.title, fontsize="medium")
