"""Hundreds and thousands of clear clusters: how many are found, in what time, and what looking for them costs."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import ndtr
from sklearn.cluster import KMeans

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree
from mdh_dask._typing import AnyArray, Floats, Integers
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.valleys.lines import errors_in_slabs
from mdh_dask.valleys.regions import WIDTHS

from .shared import Table, verdict

SHORT: dict[str, Any] = {
    "ks": (200,), "columns": (8, 32), "routed": ((200, 32), (150, 768)), "kinds": ("equal", "equal, 10% noise", "Zipf"),
}  # fmt: skip

ROWS = 100
"""Rows of each cluster, or of the smallest one."""

SPREAD = 3.0
"""Standard deviation of the centres in every column; that of the rows of a cluster is one."""

NOISE = 0.1
"""Share of rows that are uniform in a box around all others."""

CLEAR, FAR = 4.0, 8.0
"""Standard deviations of the rows between two centres: clusters without a nearer one are counted, and any two clusters
that are farther from each other are apart."""

BETWEEN = np.linspace(0.25, 0.75, 11)
"""Places of the slab between two centres that are tried."""

LEAST = NormalDist().inv_cdf(1 - 0.05 / len(WIDTHS))
"""Standard errors that show a valley where most tests show one, at the level of `DensityTree`."""

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
    on_average: bool = False
    """Whether clusters have `ROWS` rows on average; else, the smallest has."""
    noise: float = 0.0

    def of(self, k: int) -> Integers:
        """Return the number of rows of each of k clusters."""
        shares = 1 / np.arange(1, k + 1) if self.zipf else np.ones(k)
        return np.rint(ROWS * shares / (shares.mean() if self.on_average else shares.min())).astype(np.int64)


KINDS = {
    "equal": Sizes(),
    f"equal, {NOISE:.0%} noise": Sizes(noise=NOISE),
    "Zipf": Sizes(zipf=True),
    f"Zipf, {ROWS} on average": Sizes(zipf=True, on_average=True),
}


class Mixture(NamedTuple):
    """Rows of normal clusters with variance one."""

    rows: AnyArray
    labels: Integers
    """-1 for noise."""
    centres: Floats

    @property
    def likeliest(self) -> Integers:
        """The most likely cluster of each row that is no noise, for one who knows all of the mixture."""
        logs = np.log(np.bincount(self.labels + 1)[1:]) - np.square(self.centres).sum(axis=1) / 2
        parts = np.array_split(self.rows, max(len(self.rows) // 2**14, 1))
        return np.concatenate([(part @ self.centres.T + logs).argmax(axis=1) for part in parts])

    def pairs_within(self, distance: float) -> Integers:
        """Return the pairs of clusters with nearer centres, shape (n_pairs, 2)."""
        return np.asarray(cKDTree(self.centres).query_pairs(distance, output_type="ndarray"))

    @property
    def n_with_valleys(self) -> int:
        """The number of groups of clusters between which the rows would show a valley, for one who knows the centres.

        Two clusters are in a group if the rows that are expected have less `evidence` between them than `LEAST`.
        """
        pairs, k = self.pairs_within(FAR), len(self.centres)
        away = np.sqrt(np.square(self.centres[pairs[:, 0]] - self.centres[pairs[:, 1]]).sum(axis=1))
        shown = evidence(np.bincount(self.labels + 1)[1:][pairs], away) >= LEAST
        joined = pairs[~shown]
        return int(connected_components(coo_array((np.ones(len(joined)), joined.T), shape=(k, k)))[0])


def evidence(n_rows: Integers, away: Floats) -> Floats:
    """Return the evidence of a valley in the rows that are expected of two normal clusters.

    They are counted in slabs across the line of their centres, as in `mdh_dask.valleys.regions`, but without rows of
    other clusters, and the slab between is where it is best.

    n_rows (n_pairs, 2): their rows.
    away (n_pairs,): distance of their centres.
    """
    places = np.array([[0, place, 1] for place in BETWEEN])
    widths = np.array(WIDTHS)[:, None, None]

    def share(centre: int) -> Floats:
        """Return the share of the rows of a cluster in each slab, shape (n_pairs, n_widths, n_places, 3)."""
        edges = (places - centre + side * widths / 2 for side in (-1, 1))
        low, high = (ndtr(away[:, None, None, None] * edge) for edge in edges)
        return np.asarray(high - low)

    counts = sum(n[:, None, None, None] * share(centre) for centre, n in enumerate(n_rows.T))
    return np.asarray(errors_in_slabs(counts).min(axis=-1).max(axis=(1, 2)))


def run(
    ks: Sequence[int] = (200, 500, 1000, 5000),
    columns: Sequence[int] = (8, 32, 128),
    n_null: int = 1_000_000,
    repeats: int = 10,
    routed: Sequence[tuple[int, int]] = ((1000, 32), (150, 768)),
    methods: Sequence[str] = tuple(METHODS),
    kinds: Sequence[str] = tuple(KINDS),
) -> Iterator[Table]:
    """Find many clusters of several sizes, time one cluster with and without the look for many, and routing.

    A line also says how many clusters have `ROWS` rows, how many have no other centre within `CLEAR` standard
    deviations, and how many groups of clusters have valleys between them. The line of the mixture itself is
    what one finds who knows all of it: the most likely cluster of each row.

    methods, kinds: names in `METHODS` and `KINDS`.
    routed: numbers of clusters and columns of the trees that route rows.
    """
    of_cell = ("clusters", "columns", "sizes", f"of {ROWS} rows", f"{CLEAR:g} sd apart", "valleys")
    heads = (*of_cell, "method", "found", "NMI", "passes", "s", "verdict")
    for k in ks:
        lines = [line for d in columns for kind in kinds for line in _found(k, d, kind, methods)]
        yield Table(f"{k} clusters, without noise in the NMI", heads, lines)
    heads = ("method", "found", "s", "s without the look", "ratio", "verdict")
    nulls = [_null(name, n_null, repeats) for name in methods if name in TREES]
    yield Table(f"One cluster of {n_null} rows in 32 columns", heads, nulls)
    heads = ("clusters", "columns", "splits passed by a row", "us a row", "ns a column and split")
    yield Table("Processor time of labels by a tree of many clusters", heads, [_routing(k, d) for k, d in routed])


def clusters(k: int, n_columns: int, sizes: Sizes, seed: int = 0) -> Mixture:
    """Return normal clusters with normal centres, and noise."""
    rng = np.random.default_rng(seed)
    centres, labels = SPREAD * rng.standard_normal((k, n_columns)), np.repeat(np.arange(k), sizes.of(k))
    n_noise = round(sizes.noise / (1 - sizes.noise) * len(labels))
    rows = rng.standard_normal((len(labels) + n_noise, n_columns))
    rows[n_noise:] += centres[labels]
    low, high = rows[n_noise:].min(axis=0), rows[n_noise:].max(axis=0)
    rows[:n_noise] = rng.uniform(low, high, size=(n_noise, n_columns))
    order = rng.permutation(len(rows))
    return Mixture(rows.astype(np.float32)[order], np.append(np.full(n_noise, -1), labels)[order], centres)


def _found(k: int, n_columns: int, kind: str, methods: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    mixture = clusters(k, n_columns, KINDS[kind])
    rows, labels, _ = mixture
    near = len(np.unique(mixture.pairs_within(CLEAR)))
    cell = k, n_columns, kind, int(np.count_nonzero(KINDS[kind].of(k) >= ROWS)), k - near, mixture.n_with_valleys
    told = {"k-means, k given": lambda: KMeans(k, n_init=1, max_iter=20, random_state=0)}
    own = labels >= 0
    for name, make in ({name: METHODS[name] for name in methods} | told).items():
        start = time.perf_counter()
        model = make().fit(rows)
        found, seconds = np.asarray(model.labels_), time.perf_counter() - start
        n, score = len(np.unique(found)), normalized_mutual_information(labels[own], found[own])
        holds = verdict(abs(n - k) <= WITHIN * k and score >= LEAST_NMI) if name in METHODS else "-"
        yield *cell, name, n, score, getattr(model, "n_passes_", "-"), seconds, holds
    best = mixture.likeliest[own]
    score = normalized_mutual_information(labels[own], best)
    yield *cell, "the mixture itself", len(np.unique(best)), score, "-", "-", "-"


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
    rows = clusters(k, n_columns, Sizes()).rows
    tree = RandomProjectionTree(random_state=0).fit(rows).tree_
    splits = float(tree.level[tree.apply(rows)].mean())
    start = time.process_time()
    tree.labels(rows)
    each = (time.process_time() - start) / len(rows)
    return k, n_columns, splits, 1e6 * each, 1e9 * each / (n_columns * splits)
