"""How fast random-projection trees are beside k-means, a pass beside reading, and ten times the rows."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import KMeans

from mdh_dask import RandomProjectionTree
from mdh_dask.chunks import merge_chunks, plans, reduce_rows
from mdh_dask.growth import examine
from mdh_dask.growth.sweeps import BranchPass
from mdh_dask.io import open_rows

from .shared import (
    RATIO_COLUMNS,
    TIME_COLUMNS,
    ReadOnly,
    Table,
    Times,
    interleaved,
    ratio_row,
    store_mixture,
    two_threads,
)

SHORT: dict[str, Any] = {"repeats": 3, "growth_rows": (100_000, 1_000_000), "growth_repeats": 2}

N_CLUSTERS = 20

LEVELS, DIRECTIONS, BINS = 3, 16, 1024


def run(
    n_rows: int = 1_000_000,
    n_columns: int = 50,
    repeats: int = 7,
    growth_rows: Sequence[int] = (100_000, 1_000_000, 10_000_000),
    growth_repeats: int = 3,
) -> Iterator[Table]:
    """Time fitting against k-means, a measuring pass against reading, and growth with the number of rows.

    The starting points of k-means, and with them its iterations, differ from repeat to repeat. On a machine with more
    than two processors, run this under ``taskset --cpu-list 0,1``: the work on samples takes a thread for each.
    """
    with TemporaryDirectory() as name, two_threads():
        folder = Path(name)
        _fit(store_mixture(folder / "warm.zarr", 50_000, n_columns, 5, seed=1))
        store = store_mixture(folder / "rows.zarr", n_rows, n_columns, N_CLUSTERS)
        yield from _against_k_means(store, repeats)
        yield from _measuring_pass(store, repeats)
    with TemporaryDirectory() as name, two_threads():
        yield from _growth(Path(name), growth_rows, growth_repeats)


def _fit(store: Path) -> RandomProjectionTree:
    model = RandomProjectionTree().fit(open_rows(store))
    model.labels_.compute()
    return model


def _read(store: Path) -> int:
    return reduce_rows(ReadOnly(), merge_chunks(open_rows(store)))


def _against_k_means(store: Path, repeats: int) -> Iterator[Table]:
    X = open_rows(store).compute()
    fits: list[list[tuple[str, float]]] = []
    clusters: dict[str, list[int]] = {"tree": [], "k-means": []}

    def tree() -> None:
        with _recorded_parts() as parts:
            model = RandomProjectionTree().fit(open_rows(store))
        start = time.perf_counter()
        model.labels_.compute()
        fits.append([*parts, ("labels", time.perf_counter() - start)])
        clusters["tree"].append(model.n_clusters_)

    def k_means() -> None:
        seed = len(clusters["k-means"])
        clusters["k-means"].append(KMeans(N_CLUSTERS, n_init=1, random_state=seed).fit(X).n_iter_)

    runs: dict[str, Callable[[], object]] = {"tree": tree, "k-means": k_means, "read": lambda: _read(store)}
    times = interleaved(repeats, runs)
    iterations = "{} to {}".format(min(clusters["k-means"]), max(clusters["k-means"]))
    about = {
        "tree": f"fit + labels from the store, {clusters['tree'][-1]} clusters",
        "k-means": f"KMeans(20, n_init=1) in memory, {iterations} iterations",
        "read": "reading the store only, once",
    }
    title = f"{X.shape[0]} rows of {X.shape[1]} columns, two threads of {os.cpu_count()} processors, {repeats} repeats"
    yield Table(title, ("what", *TIME_COLUMNS), [(about[name], *t.row()) for name, t in times.items()])
    yield Table(f"{title}: parts of fit + labels", ("part", "median s", "least s"), _part_lines(fits, times["tree"]))
    yield Table(
        "Tree against k-means", RATIO_COLUMNS, [ratio_row("tree / k-means", times["tree"], times["k-means"], 0.5)]
    )


@contextmanager
def _recorded_parts() -> Iterator[list[tuple[str, float]]]:
    """Record the seconds of every pass, and of looking at the samples of branches before and between the passes."""
    parts: list[tuple[str, float]] = []

    def recorded(function: Callable[..., Any], name_of: Callable[[Any], str]) -> Callable[..., Any]:
        def timed(first: Any, *others: Any, **options: Any) -> Any:
            start = time.perf_counter()
            value = function(first, *others, **options)
            name, seconds = name_of(first), time.perf_counter() - start
            if parts and parts[-1][0].endswith(name):  # the samples of one level after the other
                name, seconds = name, seconds + parts.pop()[1]
            parts.append((f"{len(parts) + 1}. {name}", seconds))
            return value

        return timed

    with (
        mock.patch.object(plans, "reduce_rows", recorded(reduce_rows, lambda pass_: type(pass_).__name__)),
        mock.patch.object(examine, "work_through", recorded(examine.work_through, lambda look: "looking at samples")),
    ):
        yield parts


def _part_lines(fits: list[list[tuple[str, float]]], total: Times) -> list[tuple[Any, ...]]:
    names = [name for name, _ in max(fits, key=len)]
    seconds = {name: np.array([dict(parts).get(name, 0.0) for parts in fits]) for name in names}
    seconds["the rest"] = total.wall - sum(seconds.values())
    return [(name, float(np.median(s)), float(s.min())) for name, s in seconds.items()]


def _measuring_pass(store: Path, repeats: int) -> Iterator[Table]:
    rows = merge_chunks(open_rows(store))
    statistic = measuring_pass(np.asarray(rows[:2000].compute(), dtype=float))
    reduce_rows(statistic, rows[:2000])
    runs: dict[str, Callable[[], object]] = {
        "measure": lambda: reduce_rows(statistic, rows),
        "read": lambda: reduce_rows(ReadOnly(), rows),
    }
    times = interleaved(2 * repeats, runs)
    what = {
        "measure": f"{2**LEVELS} leaves at depth {LEVELS}, {DIRECTIONS} directions, {BINS} bins",
        "read": "reading only",
    }
    title = f"One measuring pass over {len(rows)} rows, {2 * repeats} repeats"
    yield Table(title, ("what", *TIME_COLUMNS), [(what[name], *t.row()) for name, t in times.items()])
    line = ratio_row("measuring / reading", times["measure"], times["read"], 2.0)
    yield Table("Measuring against reading", RATIO_COLUMNS, [line])


def measuring_pass(sample: np.ndarray, seed: int = 0) -> BranchPass:
    """Return the pass that counts the leaves of a complete tree, which are about equally large."""
    rng = np.random.default_rng(seed)
    n_leaves, n_columns = 2**LEVELS, sample.shape[1]
    n_nodes = 2 * n_leaves - 1
    inner = np.arange(n_nodes) < n_leaves - 1
    planes = rng.normal(size=(n_nodes, n_columns))
    directions = rng.normal(size=(n_leaves * DIRECTIONS, n_columns))
    projections = directions @ sample.T
    low, high = projections.min(axis=1), projections.max(axis=1)
    first_child = 2 * np.arange(n_nodes, dtype=np.int32) + 1
    return BranchPass(
        seed=seed,
        left=np.where(inner, first_child, -1).astype(np.int32),
        right=np.where(inner, first_child + 1, -1).astype(np.int32),
        planes=planes,
        thresholds=np.median(sample @ planes.T, axis=0),
        first=np.cumsum([0, *np.where(inner, 0, DIRECTIONS)]),
        directions=directions,
        origin=low,
        width=np.maximum(high - low, 1e-9) / BINS,
        n_bins=BINS,
        bit=np.full(n_nodes, LEVELS),
        limit=np.zeros(n_nodes, dtype=np.uint64),
    )


def _growth(folder: Path, sizes: Sequence[int], repeats: int) -> Iterator[Table]:
    stores = {n: store_mixture(folder / f"{n}.zarr", n, 10, N_CLUSTERS) for n in sizes}
    _fit(stores[sizes[0]])
    runs: dict[str, Callable[[], object]] = {str(n): lambda store=store: _fit(store) for n, store in stores.items()}
    times = interleaved(repeats, runs)
    per_row = {n: np.median(times[str(n)].wall) / n for n in sizes}
    lines = [(n, *times[str(n)].row(), per_row[n] * 1e9, per_row[n] / per_row[sizes[0]]) for n in sizes]
    columns = ("rows", *TIME_COLUMNS, "ns per row", "relative")
    yield Table(f"Growth with the number of rows, 10 columns, fit + labels, {repeats} repeats", columns, lines)
    last, before = sizes[-1], sizes[-2]
    line = ratio_row(f"{last} / {before} rows", times[str(last)], times[str(before)], 1.1 * last / before)
    yield Table("No worse than linear, with a tenth for noise", RATIO_COLUMNS, [line])
