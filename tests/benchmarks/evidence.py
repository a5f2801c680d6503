"""Are p-values right: of plateaus and clouds without clusters, and false splits in forests of splits and merges."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import mdh_dask
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.splits.null import unimodal_p_value

from .honesty import CLOUDS, OF_ANY_WIDTH
from .kept import run_cells
from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 20, "shapes": ((200, 2),)}

SHAPES = ((300, 2), (1500, 5))
"""Rows and columns: divisions of few rows vote, of more rows one half tests the other."""

MERGING = ("DensityTree", "HierarchicalKernelMDH", "ConsensusClustering", "SupportVectorClustering")
"""Methods that merge cells, leaves, clusters of trees, or components of contours."""

OPTIONS = {"ConsensusClustering": {"estimator": mdh_dask.RandomProjectionTree(n_projections=100), "merge": True}}
"""By method: a consensus tests nothing unless it merges."""

METHODS = ("RandomProjectionTree", "HierarchicalMDH", *MERGING)

PLATEAUS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "beside a mode": lambda rng, n: np.where(rng.random(n) < 0.6, rng.uniform(size=n), rng.normal(1.2, 0.1, n)),
}
"""Densities that are flat about .5: the edge of those without a valley, where no test of a valley can do better."""

ROWS_OF_PLATEAUS = (200, 1000, 5000)

DRAWS_A_SEED = 20
"""Draws of every plateau for each seed."""

RATES = (0.05, 0.1)

MOST = 0.2
"""P-values up to this are compared with uniform ones: nobody takes larger ones for evidence."""

CHANCE = 0.01
"""Probability that any of the distances of right p-values would be too large."""

TREES_A_SEED = 4
"""Trees of a forest for each seed: of two clouds, and of two mixtures."""


def run(
    n_seeds: int = 100,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    methods: Sequence[str] = METHODS,
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Draw plateaus, fit clouds of every kind, and forests of clouds and mixtures; see `run_cells` for `cells`."""
    flat = [(name, n) for name in PLATEAUS for n in ROWS_OF_PLATEAUS]
    found = [np.array([_at_a_place(*draw, i) for i in range(DRAWS_A_SEED * n_seeds)]) for draw in flat]
    drawn = dict(zip((f"{name}, {n}" for name, n in flat), found), all=np.concatenate(found))
    yield _uniform("One place of plateaus, not chosen", "plateau", drawn)
    clouds, drawn = [(kind, cloud) for kind in OF_ANY_WIDTH for cloud in CLOUDS[kind]], {}
    for name in methods:
        keys = [(name, *draw, *size, seed) for draw in clouds for size in shapes for seed in range(n_seeds)]
        drawn[name] = np.array(run_cells(_least if name in MERGING else _root, keys, cells, n_jobs))
    sizes = " and ".join(f"{n} x {d}" for n, d in shapes)
    what = f"{len(clouds)} kinds of clouds, {sizes} (roots; of methods that merge, the least family-wise)"
    yield _uniform(what, "method", drawn)
    trees = [(name, seed) for name in methods for seed in range(TREES_A_SEED * n_seeds)]
    yield _discoveries({
        name: run_cells(_pairs if name in MERGING else _tree, [key for key in trees if key[0] == name], cells, n_jobs)
        for name in methods
    })  # fmt: skip


def _at_a_place(name: str, n: int, i: int) -> float:
    """Return the p-value of a valley at .5."""
    rng = np.random.default_rng([i, n, crc32(name.encode())])
    counts, edges = np.histogram(PLATEAUS[name](rng, n), 300, (-1, 2))
    rule = BANDWIDTHS["normal"]
    return unimodal_p_value(Histograms(counts[None], edges[:1], np.diff(edges[:2]), rule), 149, rng)


def _uniform(what: str, head: str, drawn: Mapping[str, np.ndarray]) -> Table:
    """Return the distances of p-values from uniform ones on the side of p-values that are too small."""
    rows = []
    for name, own in drawn.items():
        distance, most = distance_above(own), np.sqrt(-np.log(CHANCE / len(drawn)) / 2 / len(own))
        shares = ((own <= rate).mean() for rate in RATES)
        rows.append((name, len(own), distance, *shares, f"<= {most:.3f}", verdict(distance <= most)))
    title = f"{what}: how far p-values without clusters are below uniform ones (Kolmogorov, one-sided)"
    return Table(title, (head, "fits", "distance", *map(_up_to, RATES), "required", "verdict"), rows)


def _up_to(rate: float) -> str:
    return f"share up to {rate:g}"


def distance_above(p_values: np.ndarray) -> float:
    """Return by how much the distribution function of p-values exceeds that of uniform ones up to `MOST` at most."""
    ordered = np.sort(p_values)
    excess = np.arange(1, len(ordered) + 1) / len(ordered) - ordered
    return float(max(excess[ordered <= MOST].max(initial=0.0), 0.0))


def _discoveries(of_methods: Mapping[str, list[list[list[float]]]]) -> Table:
    """Return the false discoveries of the fits of a forest by their adjusted p-values."""
    rows = []
    for (name, fits), rate, (what, column) in product(of_methods.items(), RATES, (("FDR", 1), ("family-wise", 0))):
        made = [[split[2] for split in fit if split[column] <= rate] for fit in fits]
        shares = np.array([np.mean(false) if false else 0.0 for false in made])
        false = shares if what == "FDR" else shares > 0
        error = float(np.std(false) / len(false) ** 0.5)
        share, n = float(np.mean(false)), sum(map(len, made))
        rows.append((name, len(fits), what, rate, n, share, error, f"<= {rate:g}", verdict(share <= rate)))
    heads = ("method", "fits", "rate", "at", "splits", "false", "standard error", "required", "verdict")
    return Table("False splits, half of the fits of clouds and half of mixtures", heads, rows)


def _root(name: str, kind: str, cloud: str, n: int, d: int, seed: int) -> float:
    """Return the p-value of the root; one if no valley was tested."""
    p_value = _fitted(name, _cloud(kind, cloud, n, d, seed), seed).tree_.p_value[0]
    return 1.0 if np.isnan(p_value) else float(p_value)


def _least(name: str, kind: str, cloud: str, n: int, d: int, seed: int) -> float:
    """Return the least family-wise p-value of all splits and merges of a cloud; one if there are none."""
    p_values = _fitted(name, _cloud(kind, cloud, n, d, seed), seed).evidence()["p_family"]
    return float(np.nanmin(p_values, initial=1.0))


def _cloud(kind: str, cloud: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n, d, crc32(cloud.encode())])
    return np.asarray(CLOUDS[kind][cloud](rng, n, d))


def _forest(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a cloud or a mixture, and the cluster of each."""
    rng = np.random.default_rng([seed, 39])
    n, d = int(rng.integers(200, 3000)), int(rng.integers(2, 8))
    if seed % 2:
        kind = OF_ANY_WIDTH[rng.integers(len(OF_ANY_WIDTH))]
        cloud = list(CLOUDS[kind])[rng.integers(len(CLOUDS[kind]))]
        rows, y = CLOUDS[kind][cloud](rng, n, d), np.zeros(n, dtype=int)
    else:
        y = rng.choice(k := int(rng.integers(2, 9)), n, p=rng.dirichlet(np.full(k, 3.0)))
        rows = rng.normal(size=(n, d)) + rng.normal(0, 4, (k, d))[y]
    return rows, y


def _tree(name: str, seed: int) -> list[list[float]]:
    """Return family-wise and FDR-adjusted p-values of all splits of a tree, and whether each cuts a cluster."""
    rows, y = _forest(seed)
    model = _fitted(name, rows, seed)
    table, held = model.evidence(), _held(model.tree_, rows)
    made = np.flatnonzero(table["separates"])
    sides = ((held[table["first"][i]], held[table["second"][i]]) for i in made)
    false = [float(_cuts(np.bincount(y[one], minlength=9), np.bincount(y[other], minlength=9))) for one, other in sides]
    return [[float(table["p_family"][i]), float(table["p_fdr"][i]), cut] for i, cut in zip(made, false)]


def _pairs(name: str, seed: int) -> list[list[float]]:
    """Return the largest adjusted p-values of what separates, for all pairs of clusters, and whether they cut one."""
    rows, y = _forest(seed)
    model = _fitted(name, rows, seed)
    table = model.evidence()
    largest = [float(np.nanmax(table[p][table["separates"]], initial=0.0)) for p in ("p_family", "p_fdr")]
    held = [np.bincount(y[model.labels_ == label], minlength=9) for label in range(model.n_clusters_)]
    return [[*largest, float(_cuts(one, other))] for one, other in combinations(held, 2)]


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
    return getattr(mdh_dask, name)(random_state=seed, **OPTIONS.get(name, {})).fit(rows)
