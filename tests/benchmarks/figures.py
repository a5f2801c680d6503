"""Figures of the papers drawn again from what is measured here, beside the numbers that are printed there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import figure_criteria, figure_projections, figure_regret, figure_times
from .figure_criteria import EXPERIMENTS
from .figure_regret import COMPARISONS
from .figure_times import FIGURES, times_table
from .shared import Table

REGRETS = {"6.10": "6.6", "6.16": "6.12"}
"""The experiments whose regret other figures show."""

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
    "simulated": ((10, 200),),
    "counts": (100,),
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
    simulated: Sequence[tuple[int, int]] = ((10, 1000), (50, 1000), (10, 19_000), (50, 19_000)),
    counts: Sequence[int] = (100, 1000),
    folder: str | None = None,
) -> Iterator[Table]:
    """Measure what chapters 6 and 7 of the thesis, JMLR 17(156) and Yates and Pavlidis 2016 show in figures.

    `at` holds the columns, rows and clusters that stay while others grow; `most_rows` bounds those of a labelled set;
    `simulated` holds the clusters and columns of mixtures, and `counts` numbers of projections.
    """
    yield from times_table(rows, columns, clusters, at, repeats)
    for number in figure_projections.KINDS:
        wide = projected if number == "6.1" else ()
        yield figure_projections.projections_table(wide, names, seeds, folder, number)
    for comparison in COMPARISONS.values():
        yield figure_regret.comparison_table(comparison, seeds, most_rows, folder)
    for experiment in EXPERIMENTS.values():
        wide = () if experiment.features else simulated
        yield figure_criteria.experiment_table(experiment, wide, names, counts, seeds, most_rows, folder)


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw every figure into a file of its own: what `path` is called, a dash and the number of the figure."""
    from matplotlib.figure import Figure

    plots = {f"thesis-{number}": (figure_times.draw, title) for number, title in FIGURES.items()}
    kinds = figure_projections.KINDS.items()
    plots |= {f"thesis-{number}": (figure_projections.draw, f"{kind.title}:") for number, kind in kinds}
    plots |= {f"thesis-{number}": (figure_criteria.draw, e.title) for number, e in EXPERIMENTS.items()}
    plots |= {f"thesis-{end}": (figure_criteria.draw_regret, EXPERIMENTS[of].title) for end, of in REGRETS.items()}
    plots |= {"thesis-6.4": (figure_criteria.draw_rows, None)}
    plots |= {end: (figure_regret.draw, comparison.title) for end, comparison in COMPARISONS.items()}
    for end, (draw, title) in plots.items():
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        draw(figure, *(table for table in tables if title and table.title.startswith(title)))
        figure.savefig(path.with_name(f"{path.stem}-{end}.png"), dpi=100)
