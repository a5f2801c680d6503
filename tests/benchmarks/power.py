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

SHORT: dict[str, Any] = {"n_seeds": 5, "sizes": (100, 300), "columns": (2, 10), "separations": (4.0, 5.0)}

MOST_COMPONENTS = 4
"""Of the mixtures, among which the criterion chooses."""

REQUIRED = {(100, 2, 5.0): 0.9, (300, 2, 4.0): 1.0, (300, 10, 5.0): 1.0}
"""Least share of `HierarchicalMDH`, by rows, columns and distance."""

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
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit two distributions of the same size along a random line, each seed drawing the rows and the line."""
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
    yield Table(title, ("rows", "columns", "apart", *methods, "required", "verdict"), rows)


def _found(name: str, n: int, d: int, separation: float, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng([seed, n, d, int(100 * separation)])
    labels, line = rng.permutation(np.arange(n) % 2), rng.normal(size=d)
    rows = rng.normal(size=(n, d)) + separation * np.outer(labels - 0.5, line / np.linalg.norm(line))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mixtures that do not converge, of more parameters than rows
        found = METHODS[name](StandardScaler().fit_transform(rows), seed)
    return float(len(set(found[found >= 0].tolist())) == 2), float(adjusted_rand_score(labels, found))
