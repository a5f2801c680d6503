"""Are p-values right: of roots and merges of clouds without clusters, and false discoveries in forests of splits."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import mdh_dask
from mdh_dask.summaries.evidence import adjusted

from .honesty import CLOUDS, OF_ANY_WIDTH
from .kept import run_cells
from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 20, "shapes": ((200, 2),)}

SHAPES = ((300, 2), (1500, 5))
"""Rows and columns: divisions of few rows vote, of more rows one half tests the other."""

METHODS = ("RandomProjectionTree", "HierarchicalMDH")

MERGING = ("DensityTree", "HierarchicalKernelMDH")
"""Methods that merge cells, or leaves."""

RATES = (0.05, 0.1)

CHANCE = 0.01
"""Probability that any of the distances of right p-values would be too large."""

TREES_A_SEED = 4
"""Trees of a forest for each seed: of two clouds, and of two mixtures."""


def run(
    n_seeds: int = 100,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    methods: Sequence[str] = METHODS,
    merging: Sequence[str] = MERGING,
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit clouds of every kind, and forests of clouds and mixtures; see `run_cells` for `cells`."""
    clouds = [(kind, cloud) for kind in OF_ANY_WIDTH for cloud in CLOUDS[kind]]
    for name in [*methods, *merging]:
        keys = [(name, *draw, *size, seed) for draw in clouds for size in shapes for seed in range(n_seeds)]
        found = np.array(run_cells(_least if name in merging else _root, keys, cells, n_jobs)).reshape(-1, n_seeds)
        what = "least family-wise p-values of merges" if name in merging else "p-values of roots"
        yield _uniform(f"{name}: {what}", [(cloud, *size) for _, cloud in clouds for size in shapes], found)
    for name in methods:
        trees = [(name, seed) for seed in range(TREES_A_SEED * n_seeds)]
        yield _discoveries(name, run_cells(_tree, trees, cells, n_jobs))


def _uniform(what: str, drawn: list[tuple[str, int, int]], found: np.ndarray) -> Table:
    """Return the distances of p-values from uniform ones on the side of p-values that are too small."""
    most = np.sqrt(-np.log(CHANCE / len(found)) / 2 / found.shape[1])
    far = [distance_above(p_values) for p_values in found]
    rows = [
        (f"{cloud}, {n} x {d}", len(own), distance, *((own <= rate).mean() for rate in RATES), verdict(distance < most))
        for (cloud, n, d), own, distance in zip(drawn, found, far)
    ]
    every = distance_above(found.ravel())
    least = np.sqrt(-np.log(CHANCE) / 2 / found.size)
    rows.append(("all", found.size, every, *((found <= rate).mean() for rate in RATES), verdict(every < least)))
    title = f"{what}: how far those of clouds without clusters are below uniform ones (Kolmogorov, one-sided)"
    return Table(f"{title}, at most {most:.3f}", ("cloud", "fits", "distance", *map(_up_to, RATES), "verdict"), rows)


def _up_to(rate: float) -> str:
    return f"share up to {rate:g}"


def distance_above(p_values: np.ndarray) -> float:
    """Return by how much the distribution function of p-values exceeds that of uniform ones at most."""
    ordered = np.sort(p_values)
    return float(max((np.arange(1, len(ordered) + 1) / len(ordered) - ordered).max(), 0.0))


def _discoveries(name: str, trees: list[list[list[float]]]) -> Table:
    """Return the false discoveries of the trees of a forest by their adjusted p-values."""
    rows = []
    for rate in RATES:
        for what, column in (("FDR", 1), ("family-wise", 0)):
            made = [[split[2] for split in tree if split[column] <= rate] for tree in trees]
            shares = np.array([np.mean(false) if false else 0.0 for false in made])
            false = shares if what == "FDR" else shares > 0
            error = float(np.std(false) / len(false) ** 0.5)
            share, n = float(np.mean(false)), sum(map(len, made))
            rows.append((what, rate, n, share, error, f"<= {rate:g}", verdict(share <= rate)))
    title = f"{name}: false splits of {len(trees)} trees, half of clouds and half of mixtures"
    return Table(title, ("rate", "at", "splits", "false", "standard error", "required", "verdict"), rows)


def _root(name: str, kind: str, cloud: str, n: int, d: int, seed: int) -> float:
    """Return the p-value of the root; one if no valley was tested."""
    p_value = _fitted(name, _cloud(kind, cloud, n, d, seed), seed).tree_.p_value[0]
    return 1.0 if np.isnan(p_value) else float(p_value)


def _least(name: str, kind: str, cloud: str, n: int, d: int, seed: int) -> float:
    """Return the least family-wise p-value of all merges of a cloud; one if there are none."""
    table = _fitted(name, _cloud(kind, cloud, n, d, seed), seed).evidence()
    of_merges = table["p_value"][table["kind"] == "merge"]
    return float(min(adjusted(of_merges)[0], default=1.0))


def _cloud(kind: str, cloud: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n, d, crc32(cloud.encode())])
    return np.asarray(CLOUDS[kind][cloud](rng, n, d))


def _tree(name: str, seed: int) -> list[list[float]]:
    """Return family-wise and FDR-adjusted p-values of all splits of a tree, and whether each cuts a cluster."""
    rng = np.random.default_rng([seed, 39])
    n, d = int(rng.integers(200, 3000)), int(rng.integers(2, 8))
    if seed % 2:
        kind = OF_ANY_WIDTH[rng.integers(len(OF_ANY_WIDTH))]
        cloud = list(CLOUDS[kind])[rng.integers(len(CLOUDS[kind]))]
        rows, y = CLOUDS[kind][cloud](rng, n, d), np.zeros(n, dtype=int)
    else:
        y = rng.choice(k := int(rng.integers(2, 9)), n, p=rng.dirichlet(np.full(k, 3.0)))
        rows = rng.normal(size=(n, d)) + rng.normal(0, 4, (k, d))[y]
    model = _fitted(name, rows, seed)
    table, held = model.evidence(), _held(model.tree_, rows)
    made = np.flatnonzero(table["separates"])
    sides = ((held[table["first"][i]], held[table["second"][i]]) for i in made)
    false = [float(_cuts(np.bincount(y[one], minlength=9), np.bincount(y[other], minlength=9))) for one, other in sides]
    return [[float(table["p_family"][i]), float(table["p_fdr"][i]), cut] for i, cut in zip(made, false)]


def _cuts(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether most rows of all clusters are on the same side."""
    return not ((one > other).any() and (other > one).any())


def _held(tree: Any, rows: np.ndarray) -> np.ndarray:
    """Return which rows each node holds."""
    held = tree.apply(rows) == np.arange(tree.n_nodes)[:, None]
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        held[node] = held[tree.left[node]] | held[tree.right[node]]
    return held


def _fitted(name: str, rows: np.ndarray, seed: int) -> Any:
    return getattr(mdh_dask, name)(random_state=seed).fit(rows)
