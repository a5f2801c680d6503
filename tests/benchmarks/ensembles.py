"""Do many trees, and many hyperplanes, find better and steadier clusters than one, and none where there are none."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mdh_dask import ConsensusClustering, HyperplaneEnsemble, RandomProjectionTree, consensus
from mdh_dask.io import open_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import varied_mixture

from .honesty import CLOUDS, MOST_SPLIT
from .shared import FOLDER, SKIPPED, Table, interleaved, labelled_set, store_mixture, two_threads, verdict

CLOUDS_OF_ENSEMBLES = ("normal", "uniform square", "Student t3", "lognormal", "exponential")

SHORT: dict[str, Any] = {
    "seeds": (0, 1), "mixture_seeds": (0, 1), "n_rows": 100_000, "clouds": 2, "mixtures": ((5, 10), (10, 10)),
}  # fmt: skip

SETS = ("pendigits", "mfeat_fac", "coil20_32x32", "yale_faces", "optdigits")

LEAST_ABOVE = 4
"""Sets of which the consensus is above the median tree."""

OF_CLOUDS = ("normal", "uniform square", "lognormal", "exponential", "Student t3")
"""Clouds of `honesty` that consensus and hyperplanes are fitted to."""

N_TREES, N_PROJECTIONS = 30, 100

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
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    mixture_seeds: Sequence[int] = tuple(range(30)),
    mixtures: Sequence[tuple[int, int]] = tuple(TABLE_4_1),
    n_rows: int = 1_000_000,
    clouds: int = 20,
    folder: str | None = None,
) -> Iterator[Table]:
    """Score the consensus beside its trees, time it, and score ensembles of hyperplanes beside what was published."""
    yield from _consensus(seeds, folder)
    yield _times(n_rows)
    yield _mixtures(mixtures, mixture_seeds)
    yield _hyperplanes(seeds, folder)
    yield _clouds(clouds)


def _consensus(seeds: Sequence[int], folder: str | None) -> Iterator[Table]:
    columns = ("set", "rows", "columns", "seeds", "median tree", "best tree", "consensus", "clusters",
               "mixture of leaves", "its clusters", "confidence", "NMI between trees", "NMI between seeds",
               "above the median", "verdict")  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    above = 0
    for name in SETS:
        found = labelled_set(name, folder)
        if found is None:
            rows.append((name, *["-"] * (len(columns) - 2), SKIPPED))
            continue
        X, y = found
        models = [_consensus_of(X, seed) for seed in seeds]
        trees = [[tree.labels(X) for tree in model.trees_] for model in models]
        single = np.array([[normalized_mutual_information(y, own) for own in labels] for labels in trees])
        both = np.array([normalized_mutual_information(y, model.labels_) for model in models])
        # As with combine="mixture", without growing the trees again.
        mixed = [consensus(*own, method="mixture", random_state=m._seed()) for own, m in zip(trees, models)]
        wins = int((both > np.median(single, axis=1)).sum())
        above += np.mean(both) > np.mean(np.median(single, axis=1))
        firsts = [labels[0] for labels in trees]
        rows.append((
            name, *X.shape, len(seeds), float(np.median(single, axis=1).mean()), float(single.max(axis=1).mean()),
            float(both.mean()), float(np.mean([model.n_clusters_ for model in models])),
            float(np.mean([normalized_mutual_information(y, own.labels) for own in mixed])),
            float(np.mean([own.n_clusters for own in mixed])),
            float(np.mean([model.confidence(X).mean() for model in models])), _stability(firsts),
            _stability([model.labels_ for model in models]), f"{wins} of {len(seeds)}", "-",
        ))  # fmt: skip
    yield Table(f"{N_TREES} trees of {N_PROJECTIONS} projections (folder: ${FOLDER})", columns, rows)
    there = sum(row[-1] == "-" for row in rows)
    required = f">= {LEAST_ABOVE} of {len(SETS)}"
    yield Table(
        "Sets with a mean NMI above that of the median tree", ("above", "of", "required", "verdict"),
        [(above, there, required, verdict(above >= LEAST_ABOVE) if there == len(SETS) else "-")],
    )  # fmt: skip


def _consensus_of(X: Any, seed: int) -> ConsensusClustering:
    return ConsensusClustering(RandomProjectionTree(N_PROJECTIONS), n_trees=N_TREES, random_state=seed).fit(X)


def _stability(labels: Sequence[Any]) -> float:
    """Return the mean NMI of all pairs."""
    pairs = [normalized_mutual_information(a, b) for a, b in combinations(labels, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")


def _times(n_rows: int) -> Table:
    with TemporaryDirectory() as name, two_threads():
        rows = open_rows(store_mixture(Path(name) / "rows.zarr", n_rows, 10))
        models = {
            "one tree": RandomProjectionTree(N_PROJECTIONS),
            f"{N_TREES} trees": ConsensusClustering(RandomProjectionTree(N_PROJECTIONS), n_trees=N_TREES),
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
