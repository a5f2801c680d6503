"""Clusters of simulated mixtures of columns of both kinds beside thesis tables 3.1, 3.2 and 4.2."""

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mdh_dask.simulate import mixed_mixture

from .kept import run_cells
from .mixed import EMBEDDINGS, OTHERS, OURS, MixedSet, labels_of_prototypes, labels_of_tree, nmi_and_clusters
from .mixtures import latent_mixture
from .shared import Table

SHORT: dict[str, Any] = {"n_seeds": 1, "shapes": ((5, 5), (5, 20)), "methods": ("MDH_hier on CSE", "dePDDP on CSE")}

TABLE_3_1 = {
    (5, 5): (0.816, 0.810, 0.451), (5, 10): (0.846, 0.824, 0.314), (5, 20): (0.768, 0.781, 0.331),
    (10, 5): (0.785, 0.809, 0.661), (10, 10): (0.864, 0.877, 0.563), (10, 20): (0.886, 0.881, 0.718),
    (20, 5): (0.299, 0.806, 0.816), (20, 10): (0.842, 0.879, 0.706), (20, 20): (0.903, 0.930, 0.540),
}  # fmt: skip
"""NMI of MDH_hier with MDS, CSE and mPPCA on `latent_mixture`, by columns of either kind and clusters."""

TABLE_3_2 = {
    (5, 5): (0.546, 0.586, 0.137), (5, 10): (0.680, 0.621, 0.305), (5, 20): (0.761, 0.639, 0.282),
    (10, 5): (0.488, 0.806, 0.220), (10, 10): (0.826, 0.739, 0.111), (10, 20): (0.948, 0.699, 0.213),
    (20, 5): (0.217, 0.949, 0.049), (20, 10): (0.629, 0.964, 0.033), (20, 20): (0.976, 0.935, 0.033),
}  # fmt: skip
"""The same on `mixed_mixture`; the CSE column is also that of table 4.2."""

TABLE_4_2 = {
    (5, 5): (0.639, 34.2), (10, 5): (0.729, 35.4), (20, 5): (0.811, 35.8), (5, 10): (0.698, 64.8),
    (10, 10): (0.704, 71.3), (20, 10): (0.818, 70.6), (5, 20): (0.748, 142.9), (10, 20): (0.656, 118.3),
    (20, 20): (0.752, 141.2),
}  # fmt: skip
"""NMI and number of clusters of dePDDP with CSE on `mixed_mixture`."""

COLUMNS = ("MDS", "CSE", "mPPCA")
"""Of tables 3.1 and 3.2."""


class Simulation(NamedTuple):
    """A simulator, and the NMI that was published of methods on it, by columns of either kind and clusters."""

    simulate: Callable[..., Any]
    published: dict[str, dict[tuple[int, int], float]]


def _columns_of(table: dict[tuple[int, int], tuple[float, ...]]) -> dict[str, dict[tuple[int, int], float]]:
    return {f"MDH_hier on {name}": {size: line[i] for size, line in table.items()} for i, name in enumerate(COLUMNS)}


SIMULATIONS = {
    "MixGen1": Simulation(latent_mixture, _columns_of(TABLE_3_1)),
    "MixGen2": Simulation(
        mixed_mixture, _columns_of(TABLE_3_2) | {"dePDDP on CSE": {size: nmi for size, (nmi, _) in TABLE_4_2.items()}}
    ),
}

METHODS = (
    *(f"MDH_hier on {embedding}" for embedding in COLUMNS), "dePDDP on CSE",
    *(f"{name} on CSE, single levels" for name in ("MDH_hier", "dePDDP")), *(f"{name} on CSE" for name in OTHERS),
    *(["k-prototypes"] if find_spec("kmodes") else []),
)  # fmt: skip


def run(
    n_seeds: int = 30,
    shapes: Sequence[tuple[int, int]] = tuple(TABLE_3_1),
    methods: Sequence[str] = METHODS,
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit every method to mixtures of the shapes, columns of either kind and clusters; see `run_cells` for `cells`."""
    unknown = sorted({*methods} - {*METHODS})
    if unknown:
        raise ValueError(f"expected methods among {', '.join(METHODS)}; got {', '.join(unknown)}")
    lines = [(name, method, *shape) for name in SIMULATIONS for method in methods for shape in shapes]
    # The seeds are in the outermost loop, so that an interrupted run has cells of every line.
    keys = [(*line, seed) for seed in range(n_seeds) for line in lines]
    found = np.array(run_cells(_cell, keys, cells, n_jobs)).reshape(n_seeds, len(lines), 2)
    columns = (
        "simulator", "method", "columns of each kind", "clusters", "seeds", "NMI", "standard error", "found",
        "published", "difference",
    )  # fmt: skip
    yield Table("Simulated mixtures of columns of both kinds", columns, list(map(_line, lines, found.swapaxes(0, 1))))


def _line(line: tuple[str, str, int, int], found: np.ndarray) -> tuple[Any, ...]:
    nmi, clusters = found.T
    error = float(nmi.std(ddof=1) / np.sqrt(len(nmi))) if len(nmi) > 1 else "-"
    published = SIMULATIONS[line[0]].published.get(line[1].partition(",")[0], {}).get(line[2:])
    beside = ("-", "-") if published is None else (published, f"{nmi.mean() - published:+.3f}")
    return *line, len(nmi), float(nmi.mean()), error, float(clusters.mean()), *beside


def _cell(simulation: str, method: str, d: int, k: int, seed: int) -> list[float]:
    X, y, column_types = SIMULATIONS[simulation].simulate(None, d, d, k, random_state=seed)
    drawn = MixedSet(np.asarray(X), np.asarray(y), column_types)
    if method == "k-prototypes":
        return _numbers(drawn, labels_of_prototypes(drawn))
    name, _, embedding = method.partition(" on ")
    transformer = EMBEDDINGS[embedding]().set_params(column_types=column_types)
    if name in OURS:
        return _numbers(drawn, labels_of_tree(OURS[name], transformer, drawn, seed))
    return _numbers(drawn, OTHERS[name](transformer.fit_transform(drawn.X), drawn.y))


def _numbers(drawn: MixedSet, labels: np.ndarray) -> list[float]:
    return [float(own[0]) for own in nmi_and_clusters(drawn.y, [labels])]
