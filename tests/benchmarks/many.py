"""Hundreds and thousands of clear clusters: how many are found, in what time, and what looking for them costs."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree
from mdh_dask._typing import AnyArray, Integers
from mdh_dask.metrics import normalized_mutual_information

from .shared import Table, verdict

SHORT: dict[str, Any] = {"ks": (200,), "columns": (8, 32), "repeats": 2, "routed": ((200, 32), (150, 768))}

ROWS = 100
"""Rows for each cluster, on average."""

SPREAD = 3.0
"""Standard deviation of the centres in every column; that of the rows of a cluster is one."""

NOISE = 0.1
"""Share of rows that are uniform in a box around all others."""

WITHIN, LEAST_NMI = 0.05, 0.95
"""Required: the number of clusters within this share, and at least this NMI."""

MOST_TIME = 1.3
"""Required: most time for a single cluster, in times of that without the look at neighbourhoods."""

METHODS: dict[str, Callable[[], Any]] = {
    "RandomProjectionTree": partial(RandomProjectionTree, random_state=0),
    "HierarchicalMDH": partial(HierarchicalMDH, random_state=0),
    "DensityTree": partial(DensityTree, random_state=0),
}
TREES = ("RandomProjectionTree", "HierarchicalMDH")
"""Those that look at neighbourhoods before they grow."""


class Sizes(NamedTuple):
    """How the rows are distributed to clusters, and the share of noise."""

    zipf: bool = False
    noise: float = 0.0


KINDS = {"equal": Sizes(), "Zipf": Sizes(zipf=True), f"equal, {NOISE:.0%} noise": Sizes(noise=NOISE)}


def run(
    ks: Sequence[int] = (200, 500, 1000, 5000),
    columns: Sequence[int] = (8, 32, 128),
    n_null: int = 1_000_000,
    repeats: int = 3,
    routed: Sequence[tuple[int, int]] = ((1000, 32), (150, 768)),
    methods: Sequence[str] = tuple(METHODS),
) -> Iterator[Table]:
    """Find many clusters of several sizes, time one cluster with and without the look for many, and routing.

    methods: names in `METHODS`.
    routed: numbers of clusters and columns of the trees that route rows.
    """
    heads = ("clusters", "columns", "sizes", "method", "found", "NMI", "passes", "s", "verdict")
    for k in ks:
        lines = [line for d in columns for kind in KINDS for line in _found(k, d, kind, methods)]
        yield Table(f"{k} clusters of {ROWS} rows on average, without noise in the NMI", heads, lines)
    heads = ("method", "found", "s", "s without the look", "ratio", "verdict")
    nulls = [_null(name, n_null, repeats) for name in methods if name in TREES]
    yield Table(f"One cluster of {n_null} rows in 32 columns", heads, nulls)
    heads = ("clusters", "columns", "splits passed by a row", "us a row", "ns a column and split")
    yield Table("Processor time of labels by a tree of many clusters", heads, [_routing(k, d) for k, d in routed])


def clusters(k: int, n_columns: int, sizes: Sizes, seed: int = 0) -> tuple[AnyArray, Integers]:
    """Return rows of normal clusters with normal centres, and their labels, -1 for noise."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, k + 1) if sizes.zipf else np.ones(k)
    labels = rng.choice(k, size=ROWS * k, p=shares / shares.sum())
    rows = SPREAD * rng.standard_normal((k, n_columns))[labels] + rng.standard_normal((ROWS * k, n_columns))
    noise = rng.random(len(rows)) < sizes.noise
    rows[noise] = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(np.count_nonzero(noise), n_columns))
    return rows.astype(np.float32), np.where(noise, -1, labels)


def _found(k: int, n_columns: int, kind: str, methods: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    rows, labels = clusters(k, n_columns, KINDS[kind])
    told = {"k-means, k given": lambda: KMeans(k, n_init=1, max_iter=20, random_state=0)}
    own = labels >= 0
    for name, make in ({name: METHODS[name] for name in methods} | told).items():
        start = time.perf_counter()
        model = make().fit(rows)
        found, seconds = np.asarray(model.labels_), time.perf_counter() - start
        n, score = len(np.unique(found)), normalized_mutual_information(labels[own], found[own])
        holds = verdict(abs(n - k) <= WITHIN * k and score >= LEAST_NMI) if name in METHODS else "-"
        yield k, n_columns, kind, name, n, score, getattr(model, "n_passes_", "-"), seconds, holds


def _null(name: str, n_rows: int, repeats: int) -> tuple[Any, ...]:
    rows = np.random.default_rng(0).standard_normal((n_rows, 32)).astype(np.float32)
    make = METHODS[name]
    # A limit of levels that no tree reaches: then there is no look.
    ways = make, lambda: make().as_divisive(max_levels=99)
    seconds: list[list[float]] = [[], []]
    found = make().fit(rows).n_clusters_  # loads the compiled loops
    for _ in range(repeats):
        for way, own in zip(ways, seconds, strict=True):
            start = time.perf_counter()
            way().fit(rows)
            own.append(time.perf_counter() - start)
    looked, usual = (min(own) for own in seconds)
    return name, found, looked, usual, looked / usual, verdict(found == 1 and looked <= MOST_TIME * usual)


def _routing(k: int, n_columns: int) -> tuple[Any, ...]:
    rows, _ = clusters(k, n_columns, Sizes())
    tree = RandomProjectionTree(random_state=0).fit(rows).tree_
    splits = float(tree.level[tree.apply(rows)].mean())
    start = time.process_time()
    tree.labels(rows)
    each = (time.process_time() - start) / len(rows)
    return k, n_columns, splits, 1e6 * each, 1e9 * each / (n_columns * splits)
