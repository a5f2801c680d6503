"""Figures of the papers drawn again from what is measured here, beside the numbers that are printed there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import figure_projections, figure_regret, figure_times
from .figure_regret import COMPARISONS
from .figure_times import FIGURES, times_table
from .shared import Table

SHORT: dict[str, Any] = {
    "rows": (1000, 2000),
    "columns": (250, 500),
    "clusters": (2, 4),
    "at": (500, 2000, 4),
    "repeats": 1,
    "projected": (250, 500),
    "names": ("digits", "mfeat_fac"),
    "seeds": (0,),
    "most_rows": 1000,
}


def run(
    rows: Sequence[int] = (2500, 5000, 10_000, 20_000),
    columns: Sequence[int] = (1000, 2000, 5000, 10_000),
    clusters: Sequence[int] = (5, 10, 20, 30),
    at: tuple[int, int, int] = (5000, 20_000, 10),
    repeats: int = 3,
    projected: Sequence[int] = (1000, 10_000, 19_000),
    names: Sequence[str] = ("coil20", "mfeat_fac", "optdigits", "usps", "yale_faces"),
    seeds: Sequence[int] = (0, 1, 2),
    most_rows: int | None = None,
    folder: str | None = None,
) -> Iterator[Table]:
    """Measure what figures 6.1 to 6.3 of the thesis, 6 of JMLR 17(156) and 2 of Yates and Pavlidis 2016 show.

    `at` holds the columns, rows and clusters that stay while others grow; `most_rows` bounds those of a labelled set.
    """
    yield from times_table(rows, columns, clusters, at, repeats)
    yield figure_projections.projections_table(projected, names, seeds, folder)
    for comparison in COMPARISONS.values():
        yield figure_regret.comparison_table(comparison, seeds, most_rows, folder)


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw every figure into a file of its own: what `path` is called, a dash and the number of the figure."""
    from matplotlib.figure import Figure

    plots = {f"thesis-{number}": (figure_times.draw, title) for number, title in FIGURES.items()}
    plots |= {"thesis-6.1": (figure_projections.draw, figure_projections.TITLE)}
    plots |= {end: (figure_regret.draw, comparison.title) for end, comparison in COMPARISONS.items()}
    for end, (draw, title) in plots.items():
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        draw(figure, *(table for table in tables if table.title.startswith(title)))
        figure.savefig(path.with_name(f"{path.stem}-{end}.png"), dpi=100)
