"""Do many trees, and many hyperplanes, find better and steadier clusters than one, and none where there are none."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mdh_dask import ConsensusClustering, HyperplaneEnsemble, RandomProjectionTree
from mdh_dask.io import open_rows
from mdh_dask.metrics import normalized_mutual_information

from .honesty import CLOUDS, MOST_SPLIT
from .many_trees import MIXTURES, N_PROJECTIONS, N_TREES, SETS, SHAPES, tables_of_trees
from .mixtures import varied_mixture
from .shared import FOLDER, SKIPPED, Table, interleaved, labelled_set, store_mixture, two_threads, verdict

CLOUDS_OF_ENSEMBLES = ("normal", "uniform square", "Student t3", "lognormal", "exponential")

SHORT: dict[str, Any] = {
    "n_seeds": 2, "mixture_seeds": (0, 1), "n_rows": 100_000, "clouds": 2, "mixtures": ((5, 10), (10, 10)),
}  # fmt: skip


TABLE_4_1 = {
    (5, 10): (0.663, 6.7), (5, 20): (0.776, 6.0), (5, 40): (0.919, 5.7),
    (10, 10): (0.875, 10.5), (10, 20): (0.975, 10.0), (10, 40): (0.998, 10.0),
    (20, 10): (0.973, 19.8), (20, 20): (0.997, 19.8), (20, 40): (1.000, 19.2),
}  # fmt: skip
"""NMI and number of clusters of MDH_ens in thesis table 4.1, by clusters and columns."""

NEAR = 0.02
"""From the published NMI, for 10 and 20 clusters."""

TABLE_4_4 = {
    "optdigits": (0.708, 20), "pendigits": (0.660, 20), "image_segmentation": (0.641, 7), "mfeat_fac": (0.583, 7),
}  # fmt: skip
"""The same of thesis table 4.4; ``mfeat_fac`` is one of the six tables of *multi digits*."""


def run(
    n_seeds: int = 5,
    sets: Sequence[str] = SETS,
    generated: Sequence[str] = (*MIXTURES, *SHAPES),
    mixture_seeds: Sequence[int] = tuple(range(30)),
    mixtures: Sequence[tuple[int, int]] = tuple(TABLE_4_1),
    n_rows: int = 1_000_000,
    clouds: int = 20,
    cells: Path | None = None,
    folder: str | None = None,
) -> Iterator[Table]:
    """Score the consensus beside its trees, time it, and score ensembles of hyperplanes beside what was published.

    See `run_cells` for `cells`, which holds the scores of the consensus.
    """
    seeds = range(n_seeds)
    yield from tables_of_trees(seeds, sets, generated, cells, folder)
    yield _times(n_rows)
    yield _mixtures(mixtures, mixture_seeds)
    yield _hyperplanes(seeds, folder)
    yield _clouds(clouds)


def _times(n_rows: int) -> Table:
    with TemporaryDirectory() as name, two_threads():
        rows = open_rows(store_mixture(Path(name) / "rows.zarr", n_rows, 10))
        models = {
            "one tree": RandomProjectionTree(n_projections=N_PROJECTIONS),
            f"{N_TREES} trees": ConsensusClustering(
                estimator=RandomProjectionTree(n_projections=N_PROJECTIONS), n_trees=N_TREES
            ),
        }
        times = interleaved(1, {name: lambda model=model: model.fit(rows) for name, model in models.items()})
    one, many = (float(found.wall[0]) for found in times.values())
    passes = [model.n_passes_ for model in models.values()]
    # The tree alone is one of many: another of them may take a pass more.
    return Table(
        f"{n_rows} rows of 10 columns from Zarr", ("model", "s", "times one tree", "passes", "required", "verdict"),
        [("one tree", one, 1.0, passes[0], "-", "-"),
         (f"{N_TREES} trees", many, many / one, passes[1], "passes of one + 1", verdict(passes[1] == passes[0] + 1))],
    )  # fmt: skip


def _mixtures(mixtures: Sequence[tuple[int, int]], seeds: Sequence[int]) -> Table:
    columns = ("components", "columns", "seeds", "published NMI", "k", "NMI of every hyperplane", "its k",
               "NMI by default", "default k", "required", "verdict")  # fmt: skip
    rows = []
    for k, d in mixtures:
        every, default = np.array([_mixture_scores(k, d, seed) for seed in seeds]).mean(axis=0)
        nmi, clusters = TABLE_4_1[k, d]
        bound = ("-", "-") if k < 10 else (f">= {nmi - NEAR:.3f}", verdict(every[0] >= nmi - NEAR))
        rows.append((k, d, len(seeds), nmi, clusters, *map(float, every), *map(float, default), *bound))
    return Table("Ensembles of hyperplanes on simulated mixtures (thesis table 4.1)", columns, rows)


def _mixture_scores(k: int, d: int, seed: int) -> list[tuple[float, int]]:
    X, y = (part.compute() for part in varied_mixture(100 * k, d, k, random_state=seed))
    return [_ensemble_score(X, y, stop_rule=rule, scale=False, random_state=seed) for rule in ("none", "hold-out")]


def _ensemble_score(X: Any, y: Any, **parameters: Any) -> tuple[float, int]:
    model = HyperplaneEnsemble(**parameters).fit(X)
    return normalized_mutual_information(y, model.labels_), model.n_clusters_


def _hyperplanes(seeds: Sequence[int], folder: str | None) -> Table:
    columns = ("set", "seeds", "published NMI", "k", "NMI of every hyperplane, raw columns", "its k", "NMI by default",
               "default k", "verdict")  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for name, published in TABLE_4_4.items():
        found = labelled_set(name, folder)
        if found is None:
            rows.append((name, *["-"] * (len(columns) - 2), SKIPPED))
            continue
        scores = [
            np.mean([_ensemble_score(*found, random_state=seed, **own) for seed in seeds], axis=0)
            for own in ({"stop_rule": "none", "scale": False}, {})
        ]
        rows.append((name, len(seeds), *published, *map(float, scores[0]), *map(float, scores[1]), "-"))
    return Table(f"Ensembles of hyperplanes on labelled sets (thesis table 4.4; folder: ${FOLDER})", columns, rows)


def _clouds(n_seeds: int) -> Table:
    columns = ("cloud", "rows", "columns", "method", "seeds", "split", "required", "verdict")
    rows = []
    every = {cloud: draw for kind in CLOUDS.values() for cloud, draw in kind.items()}
    for cloud, draw in ((cloud, every[cloud]) for cloud in CLOUDS_OF_ENSEMBLES):
        for shape in ((1000, 2), (2000, 10)):
            for method in (ConsensusClustering, HyperplaneEnsemble):
                split = 0
                for seed in range(n_seeds):
                    X = draw(np.random.default_rng([seed, *shape]), *shape)
                    own = {"n_trees": 10} if method is ConsensusClustering else {}
                    split += method(random_state=seed, **own).fit(X).n_clusters_ > 1
                bound = f"<= {MOST_SPLIT:g}"
                # Of few seeds, one that is split is no evidence.
                rows.append((cloud, *shape, method.__name__, n_seeds, split, bound,
                             verdict(split <= max(MOST_SPLIT * n_seeds, 1))))  # fmt: skip
    return Table("Clouds without clusters, default parameters", columns, rows)
