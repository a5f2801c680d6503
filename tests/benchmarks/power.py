"""Does it find two clusters where there are two: two normal distributions by rows, columns and their distance."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import mdh_dask

from .kept import run_cells
from .shared import Table, verdict

KINDS = ("apart", "tails")
"""Two distributions along a random line; and along one column, beside unrelated columns of many kinds."""

SHORT: dict[str, Any] = {
    "n_seeds": 5,
    "kinds": ("apart",),
    "sizes": (100, 300),
    "columns": (2, 10),
    "separations": (4.0, 5.0),
}

MOST_COMPONENTS = 4
"""Of the mixtures, among which the criterion chooses."""

REQUIRED = {(100, 2, 5.0): 0.9, (300, 2, 4.0): 1.0, (300, 10, 5.0): 1.0}
"""Least share of `HierarchicalMDH`, by rows, columns and distance."""

UNRELATED: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "Student t, 2 df": lambda rng, shape: rng.standard_t(2, size=shape),
    "gamma(2)": lambda rng, shape: rng.gamma(2, size=shape),
    "Poisson(4)": lambda rng, shape: rng.poisson(4, shape).astype(float),
}
"""Columns that have nothing to do with the clusters."""

LEAST_FOUND = 0.95
"""Least share of seeds that find two clusters beside unrelated columns of each kind."""

Labels = np.ndarray


def _mixture(*covariances: str) -> Callable[[np.ndarray, int], Labels]:
    def fit(rows: np.ndarray, seed: int) -> Labels:
        models = [
            GaussianMixture(k, covariance_type=kind, random_state=seed, n_init=2).fit(rows)
            for kind in covariances
            for k in range(1, MOST_COMPONENTS + 1)
        ]
        return min(models, key=lambda model: model.bic(rows)).predict(rows)

    return fit


def _ours(name: str) -> Callable[[np.ndarray, int], Labels]:
    return lambda rows, seed: getattr(mdh_dask, name)(random_state=seed).fit(rows).labels_


METHODS: dict[str, Callable[[np.ndarray, int], Labels]] = {
    "RandomProjectionTree": _ours("RandomProjectionTree"),
    "HierarchicalMDH": _ours("HierarchicalMDH"),
    "HierarchicalKernelMDH": _ours("HierarchicalKernelMDH"),
    "DensityTree": _ours("DensityTree"),
    "ConsensusClustering": _ours("ConsensusClustering"),
    "mixture, full": _mixture("full"),
    "mixture, spherical or tied": _mixture("spherical", "tied"),
    "HDBSCAN": lambda rows, seed: HDBSCAN(min_cluster_size=ceil(sqrt(len(rows))), copy=False).fit_predict(rows),
}
"""Trees with default parameters, mixtures with the number of components that the BIC chooses, HDBSCAN with the least
size of a cluster that trees have. All take scaled columns."""


def run(
    n_seeds: int = 10,
    sizes: Sequence[int] = (100, 300, 1000),
    columns: Sequence[int] = (2, 10, 50),
    separations: Sequence[float] = (3.0, 4.0, 5.0, 6.0),
    methods: Sequence[str] = tuple(METHODS),
    kinds: Sequence[str] = KINDS,
    n_rows: int = 100_000,
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit two distributions of the same size along a random line, and two of `n_rows` rows beside unrelated columns.

    Each seed draws the rows and the line.
    """
    if "apart" in kinds:
        yield _apart(n_seeds, sizes, columns, separations, methods, cells, n_jobs)
    if "tails" in kinds:
        trees = [name for name in methods if hasattr(mdh_dask, name)]
        yield _beside_unrelated(n_seeds, n_rows, trees, cells, n_jobs)


def _apart(
    n_seeds: int,
    sizes: Sequence[int],
    columns: Sequence[int],
    separations: Sequence[float],
    methods: Sequence[str],
    cells: Path | None,
    n_jobs: int,
) -> Table:
    rows = []
    for cell in product(sizes, columns, separations):
        keys = [(name, *cell, seed) for name in methods for seed in range(n_seeds)]
        found = np.array(run_cells(_found, keys, cells, n_jobs))
        two, agreement = found.reshape(len(methods), n_seeds, 2).mean(axis=1).T
        least = REQUIRED.get(cell) if "HierarchicalMDH" in methods else None
        bound = (
            (f">= {least:g}", verdict(two[list(methods).index("HierarchicalMDH")] >= least)) if least else ("-", "-")
        )
        rows.append((*cell, *(f"{a:.2g}, {b:.2f}" for a, b in zip(two, agreement)), *bound))
    title = "Two normal distributions so many standard deviations apart: share of k = 2, and mean ARI"
    return Table(title, ("rows", "columns", "apart", *methods, "required", "verdict"), rows)


def _found(name: str, n: int, d: int, separation: float, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng([seed, n, d, int(100 * separation)])
    labels, line = rng.permutation(np.arange(n) % 2), rng.normal(size=d)
    rows = rng.normal(size=(n, d)) + separation * np.outer(labels - 0.5, line / np.linalg.norm(line))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mixtures that do not converge, of more parameters than rows
        found = METHODS[name](StandardScaler().fit_transform(rows), seed)
    return float(len(set(found[found >= 0].tolist())) == 2), float(adjusted_rand_score(labels, found))


def _beside_unrelated(n_seeds: int, n_rows: int, methods: Sequence[str], cells: Path | None, n_jobs: int) -> Table:
    """Count the seeds that find two clusters, of 16 and 84 % of the rows, five standard deviations apart."""
    rows = []
    for kind, d in product(UNRELATED, (2, 5, 20)):
        keys = [(name, kind, n_rows, d, seed) for name in methods for seed in range(n_seeds)]
        found = np.array(run_cells(_found_beside, keys, cells, n_jobs)).reshape(len(methods), n_seeds, 2)
        two, agreement = found.mean(axis=1).T
        least = two.min()
        counts = (f"{n_seeds * n:g} of {n_seeds}, {a:.2f}" for n, a in zip(two, agreement))
        rows.append((kind, d, *counts, f">= {LEAST_FOUND:g}", verdict(least >= LEAST_FOUND)))
    title = f"Two clusters of {n_rows:,} rows in one column, beside unrelated columns: seeds with k = 2, and mean ARI"
    return Table(title, ("columns", "number", *methods, "required", "verdict"), rows)


def _found_beside(name: str, kind: str, n: int, d: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng([seed, n, d])
    labels = (rng.random(n) < 0.16).astype(int)
    rows = np.column_stack([rng.normal(size=n) + 5 * labels, UNRELATED[kind](rng, (n, d))])
    found = getattr(mdh_dask, name)(random_state=seed).fit(rows).labels_
    return float(len(np.unique(found)) == 2), float(adjusted_rand_score(labels, found))
