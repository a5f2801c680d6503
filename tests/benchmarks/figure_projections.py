"""Figure 6.1 of the thesis: the success ratio of the best split against the number of random projections."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mdh_dask import KernelPCAFeatures
from mdh_dask.density.indices import connectivity, cuts_of, two_means
from mdh_dask.density.kde import BINS_PER_BANDWIDTH, kernel_density, kernel_height, relative_depth
from mdh_dask.metrics import success_ratio
from mdh_dask.projections.directions import uniform_sphere
from mdh_dask.simulate import noisy_axes_mixture
from mdh_dask.splits.costs import CUT

from .methods import standardised
from .shared import Table

N_CLUSTERS = 30

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

TITLE = "Thesis figure 6.1"

COLUMNS = ("rows", "columns", "data", "split", *map(str, COUNTS))

BEST, DEEPEST = "best by the classes", "deepest, as chosen"

FEATURES = KernelPCAFeatures(kernel="local_scaling")
"""The map of figures on features."""

Split = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""A function that returns the score of the best split of a projection, and on which side of it each row is."""


def projections_table(
    columns: Sequence[int], names: Sequence[str], seeds: Sequence[int], folder: str | None, kind: str = "6.1"
) -> Table:
    """Return the success ratio after some numbers of projections: of the best split so far, and of the deepest.

    The best one is what the thesis draws: it takes the classes to know it. The deepest, or that of the least cost, is
    what a tree chooses. `kind` is a name in `KINDS`.
    """
    lines: list[tuple[Any, ...]] = []
    for n_columns in columns:
        X, y = (part.compute() for part in noisy_axes_mixture(100 * N_CLUSTERS, n_columns, N_CLUSTERS))
        lines += _lines(f"{N_CLUSTERS} simulated clusters", X, y, seeds, kind)
    for name in names:
        try:
            X, y, _ = standardised(name, folder)
        except OSError as error:
            lines.append(("-", "-", name, f"missing: {error}", *["-"] * len(COUNTS)))
        else:
            lines += _lines(name, X, y, seeds, kind)
    return Table(
        f"{KINDS[kind].title}: success ratio by the number of projections, means of {len(seeds)} seeds", COLUMNS, lines
    )


def _lines(name: str, X: Any, y: Any, seeds: Sequence[int], kind: str) -> Iterator[tuple[Any, ...]]:
    rows = np.asarray(FEATURES.fit_transform(X)) if KINDS[kind].features else X
    for split in KINDS[kind].splits:
        curves = np.mean([_curves(rows, y, seed, SPLITS[split]) for seed in seeds], axis=0)
        for what, curve in zip((BEST, split), curves, strict=True):
            yield *X.shape, name, what, *map(float, curve[np.array(COUNTS) - 1])


def _curves(X: Any, y: Any, seed: int, split: Split | None = None) -> np.ndarray:
    """Return the success ratio of the best and of the deepest of the first 1, 2, ... projections."""
    directions = uniform_sphere(np.random.default_rng(seed), COUNTS[-1], X.shape[1])
    split = split or deepest_split
    splits = [split(projected) for projected in (X @ directions.T.astype(X.dtype)).T.astype(float)]
    ratios = np.array([success_ratio(y, parts) for _, parts in splits])
    depths = np.array([depth for depth, _ in splits])
    leader = np.maximum.accumulate(np.where(depths == np.maximum.accumulate(depths), np.arange(len(depths)), 0))
    return np.array([np.maximum.accumulate(ratios), ratios[leader]])


def deepest_split(projected: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the relative depth of the deepest valley of a projection, and on which side of it each row is.

    At least the root of the number of rows lies on either side, as in our trees: the thesis has no such bound, and cuts
    off the tails of many projections.
    """
    n = len(projected)
    bins, counts, width, bandwidth = _binned(projected)
    density = kernel_density(counts, np.array(width), np.array(bandwidth))
    depth = relative_depth(density, kernel_height(np.array(n), np.array(bandwidth)))
    below = counts.cumsum()
    depth[np.minimum(below, n - below) < np.sqrt(n)] = 0.0
    place = int(depth.argmax())
    return float(depth[place]), bins > place


def least_squares_split(projected: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the least sum of squares within the sides of a projection, and the side of each row."""
    bins, counts, width, _ = _binned(projected)
    within = two_means(counts[None])[0][0]
    return -float(within.min() * width**2), bins > int(within.argmin())


def least_cut_split(projected: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the second eigenvalue of a projection, and the sides of the least normalised cut."""
    bins, counts, width, bandwidth = _binned(projected)
    reach = CUT.reach * bandwidth / width
    return -connectivity(counts, reach), bins > int(cuts_of(counts[None], np.array([reach]))[0].argmin())


def _binned(projected: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the bin of each row, the counts of the bins, their width and the bandwidth."""
    bandwidth = projected.std() * (4 / (3 * len(projected))) ** 0.2
    width = bandwidth / BINS_PER_BANDWIDTH
    bins = ((projected - (projected.min() - 2 * width)) / width).astype(int)
    return bins, np.bincount(bins, minlength=bins.max() + 3), width, bandwidth


SPLITS: dict[str, Split] = {
    DEEPEST: lambda projected: deepest_split(projected),
    "sse": least_squares_split,
    "ev2": least_cut_split,
}


class Kind(NamedTuple):
    """A figure of success ratios: of which splits, and whether on kernel features."""

    title: str
    splits: tuple[str, ...] = (DEEPEST,)
    features: bool = False


KINDS = {
    "6.1": Kind(TITLE),
    "6.11": Kind("Thesis figure 6.11", features=True),
    "7.1": Kind("Thesis figure 7.1", ("sse", "ev2"), features=True),
}
"""By the numbers of the figures."""


def draw(figure: Any, table: Table) -> None:
    """Draw simulated data on the left and the labelled sets on the right."""
    drawn = [row for row in table.rows if row[0] != "-"]
    simulated = [row for row in drawn if row[2].endswith("simulated clusters")]
    sides = {f"{N_CLUSTERS} simulated clusters": simulated, "labelled sets": [r for r in drawn if r not in simulated]}
    sides = {title: rows for title, rows in sides.items() if rows}
    panels = figure.subplots(1, max(len(sides), 1), sharey=True, squeeze=False)[0]
    splits = dict.fromkeys(row[3] for row in drawn if row[3] != BEST)
    for axes, (title, rows) in zip(panels, sides.items()):
        for number, (best, chosen) in enumerate(zip(rows[::2], rows[1::2])):
            name = f"{best[1]} columns" if rows is simulated else best[2]
            label = f"{name}, {chosen[3]}" if len(splits) > 1 else name
            axes.semilogx(COUNTS, best[4:], "-", marker=".", color=f"C{number}", label=label)
            axes.semilogx(COUNTS, chosen[4:], ":", marker=".", color=f"C{number}")
        axes.set(xlabel="random projections", title=title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    panels[0].set_ylabel("success ratio")
    figure.suptitle(f"{table.title}\nsolid: {BEST}; dotted: as chosen", fontsize="medium")
