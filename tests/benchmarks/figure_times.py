"""Figures 6.2 and 6.3 of the thesis: the time of a split and of a tree against rows, columns and clusters."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mdh_dask import DivisiveClustering, HierarchicalMDH, ICATree, PCATree
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture, separated_mixture

from .shared import Table, interleaved, two_threads

BI_PARTITIONS: dict[str, Callable[[], Any]] = {
    "RP-100": lambda: DivisiveClustering(n_projections=100, max_levels=1),
    "RP-1000": lambda: DivisiveClustering(n_projections=1000, max_levels=1),
    "PCA": lambda: PCATree().as_divisive(max_levels=1),
    "ICA": lambda: ICATree().as_divisive(max_levels=1),
    "MDH": lambda: HierarchicalMDH().as_divisive(max_levels=1),
}

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


def warm_projections() -> None:
    """Compile the loops of every kind of projections."""
    rows = gaussian_mixture(2000, 5, 3)[0].compute()
    for method in BI_PARTITIONS.values():
        method().fit(rows)


def recorded(fit: Callable[[int], Any]) -> tuple[Callable[[], None], list[Any]]:
    """Return a function that fits with the number of its call as seed, and the list that gets the labels."""
    labels: list[Any] = []
    return lambda: labels.append(fit(len(labels))), labels


def projection_times(
    n_rows: int, n_columns: int, n_clusters: int, repeats: int, max_levels: int | None
) -> tuple[float, ...]:
    """Return the median seconds of every kind of projections on well separated clusters, and the least mean NMI."""
    X, y = (array.compute() for array in separated_mixture(n_rows, n_columns, n_clusters))

    def tree(model: Any) -> Callable[[int], Any]:
        return lambda seed: model.set_params(max_levels=max_levels, random_state=seed).fit(X).labels_

    runs = {name: recorded(tree(make())) for name, make in BI_PARTITIONS.items()}
    times = interleaved(repeats, {name: fit for name, (fit, _) in runs.items()})
    nmi = [np.mean([normalized_mutual_information(y, own) for own in labels]) for _, labels in runs.values()]
    least = float(min(nmi))
    return *(float(np.median(t.wall)) for t in times.values()), least


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
