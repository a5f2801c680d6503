"""Are the levels of single columns clusters: tables with clusters and tables without, with and without that rule."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mdh_dask import GowerFeatures, HierarchicalMDH
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import latent_mixture, mixed_mixture

from .shared import Table, verdict

SIZES = ((5, 5), (10, 5), (10, 10), (20, 10))
"""Columns of either kind, and clusters."""

N_ROWS = 600


def _independent(n_continuous: int, n_binary: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: np.hstack([rng.normal(size=(N_ROWS, n_continuous)), rng.integers(0, 2, (N_ROWS, n_binary))])


def _one_factor(rng: np.random.Generator) -> np.ndarray:
    """Return five columns and five signs of columns that follow one normal variable and noise: no clusters."""
    factor = rng.normal(size=(N_ROWS, 1))
    return np.hstack([factor + rng.normal(size=(N_ROWS, 5)), factor + rng.normal(size=(N_ROWS, 5)) > 0])


NULLS: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], int]] = {
    "8 independent columns of two levels": (_independent(0, 8), 0),
    "5 normal columns and 5 of two levels": (_independent(5, 5), 5),
    "5 normal columns and 1 of two levels": (_independent(5, 1), 5),
    "one factor behind 5 columns and 5 signs": (_one_factor, 5),
}
"""Tables without clusters, and their numbers of continuous columns, which are the first."""


def single_levels(seeds: Sequence[int], sizes: Sequence[tuple[int, int]] = SIZES) -> Table:
    """Fit `HierarchicalMDH` to simulated tables by `GowerFeatures` with and without `single_levels`."""
    columns = ("table", "seeds", "NMI", "clusters", "NMI with single levels", "clusters ", "required", "verdict")
    rows: list[tuple[Any, ...]] = []
    for name, simulate in (("MixGen1", latent_mixture), ("MixGen2", mixed_mixture)):
        for d, k in sizes:
            drawn = [simulate(None, d, d, k, random_state=seed) for seed in seeds]
            scores = [_scores(np.asarray(X), np.asarray(y), kinds) for X, y, kinds in drawn]
            rows.append((f"{name}, {k} clusters, {d} and {d} columns", len(seeds), *_means(scores), "-", "-"))
    for name, (draw, n_continuous) in NULLS.items():
        tables = [draw(np.random.default_rng(seed)) for seed in seeds]
        scores = [_scores(X, np.zeros(len(X), int), _kinds(X, n_continuous)) for X in tables]
        means = _means(scores)
        rows.append((name, len(seeds), "-", means[1], "-", means[3], "1 cluster", verdict(means[1] == 1)))
    return Table("Levels of single columns as clusters (single_levels of GowerFeatures)", columns, rows)


def _kinds(X: np.ndarray, n_continuous: int) -> dict[str, list[int]]:
    return {"continuous": list(range(n_continuous)), "categorical": list(range(n_continuous, X.shape[1]))}


def _scores(X: np.ndarray, y: np.ndarray, column_types: dict[str, list[int]]) -> list[float]:
    scores: list[float] = []
    for single in (False, True):
        model = HierarchicalMDH(feature_map=GowerFeatures(single_levels=single), column_types=column_types).fit(X)
        scores += [normalized_mutual_information(y, model.labels_), model.n_clusters_]
    return scores


def _means(scores: list[list[float]]) -> list[float]:
    return [float(mean) for mean in np.mean(scores, axis=0)]
