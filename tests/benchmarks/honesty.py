"""Does it find clusters where there are none: the share of clouds without valleys that are split."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mdh_dask import RandomProjectionTree

from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 20, "n_tail_seeds": 6, "tail_rows": (5000,)}

MOST_SPLIT = 0.05

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]

CLOUDS: dict[str, Draw] = {
    "Gaussian": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "Student-t(5)": lambda rng, shape: rng.standard_t(5, size=shape),
}

LONG_TAILS: dict[str, Draw] = {
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}

COLUMNS = ("cloud", "rows", "columns", "stop rule", "seeds", "split", "share", "most clusters", "required", "verdict")


def run(
    n_seeds: int = 200,
    n_tail_seeds: int = 30,
    columns: Sequence[int] = (2, 10, 50),
    cloud_rows: int = 5000,
    tail_rows: Sequence[int] = (5000, 40_000),
    n_projections: int = 1000,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit clouds of independent coordinates, each seed drawing the rows and the directions."""
    share = Parallel(n_jobs=n_jobs)
    rows = [
        _line(share, cloud, (cloud_rows, d), "hold-out", n_seeds, n_projections, required=True)
        for cloud in CLOUDS
        for d in columns
    ]
    yield Table("Clouds without clusters, default parameters", COLUMNS, rows)
    rows = [
        _line(share, cloud, (n, d), rule, n_tail_seeds, n_projections, required=rule == "hold-out")
        for cloud in LONG_TAILS
        for n in tail_rows
        for d in columns
        for rule in ("hold-out", "hold-out-uniform")
    ]
    yield Table("Clouds with long tails", COLUMNS, rows)


def _line(
    share: Parallel, cloud: str, shape: tuple[int, int], rule: str, n_seeds: int, n_projections: int, required: bool
) -> tuple[Any, ...]:
    found = np.array(share(delayed(_clusters)(cloud, shape, rule, n_projections, seed) for seed in range(n_seeds)))
    split = int((found > 1).sum())
    bound = (f"<= {MOST_SPLIT:g}", verdict(split <= MOST_SPLIT * n_seeds)) if required else ("-", "-")
    return cloud, *shape, rule, n_seeds, split, split / n_seeds, int(found.max()), *bound


def _clusters(cloud: str, shape: tuple[int, int], rule: str, n_projections: int, seed: int) -> int:
    rng = np.random.default_rng([seed, *shape])
    X = (CLOUDS | LONG_TAILS)[cloud](rng, shape)
    return RandomProjectionTree(n_projections, stop_rule=rule, random_state=seed).fit(X).n_clusters_
