"""What a million rows cost by the methods of classical objectives, and by density trees: passes, time and memory."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import mdh_dask
from mdh_dask.io import open_rows, write_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

from .cells import Begin, run_cell
from .methods import METHODS as METHODS_OF_PEERS
from .methods import warm_up
from .peers import why_missing
from .shape_sets import Shape, moons, with_noise
from .shared import CHUNK_ROWS, Table, store_mixture, two_threads

SHORT: dict[str, Any] = {"n_rows": 100_000}

N_CLUSTERS, N_COLUMNS, SD = 20, 50, 2.5

METHODS: dict[str, dict[str, Any]] = {
    "KernelKMeans": {"n_clusters": N_CLUSTERS},
    "SpectralClustering": {"n_clusters": N_CLUSTERS},
    "BisectingKernelKMeans": {"max_clusters": N_CLUSTERS},
    "HierarchicalSpectral": {"max_clusters": N_CLUSTERS},
    "NormalisedCutTree": {},
    "ClusterabilityTree": {},
    "DensityTree": {},
    "DensityTree on moons": {},
}
"""Parameters by class; kernels have 1000 landmarks, and the last four find the number of clusters."""

ON_MOONS = " on moons"
"""Ends the names of methods that cluster two pairs of moons in the plane, and noise, instead of the mixture."""

LIMIT = 3600.0

PEERS = {"fast_hdbscan": "fast_hdbscan, rows / 200", "HDBSCAN": "HDBSCAN, rows / 200"}
"""Peers of density trees, with their names in `tests.benchmarks.methods`."""

PEER_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Numbers of rows of which peers cluster more and more, in memory, until one is too much."""

PEER_LIMITS = 200.0, 6e9
"""Seconds and bytes that a peer may take."""


def run(
    n_rows: int = 1_000_000, methods: Sequence[str] | None = None, peers: Sequence[str] = tuple(PEERS)
) -> Iterator[Table]:
    """Fit every method to a store and compute its labels, each in a new process; a table for each, and one for all.

    Peers of density trees get rows in memory, and have compiled their loops before. They get more and more rows, until
    they take more than their limits.
    """
    title = f"{n_rows} rows of {N_COLUMNS} columns in a store, {N_CLUSTERS} clusters: fit and labels, two threads"
    columns = ("method", "passes", "CPU s", "s", "peak MB", "above before, MB", "NMI", "clusters")
    lines = []
    with TemporaryDirectory() as folder:
        with two_threads():
            store_mixture(Path(folder) / "rows.zarr", n_rows, N_COLUMNS, N_CLUSTERS, sd=SD)
            store_mixture(Path(folder) / "warm.zarr", min(n_rows, 50_000), 5, 5, seed=1)
            X, y = moons_in_noise(n_rows)
            write_rows(X, Path(folder) / "moons.zarr", chunk_rows=min(CHUNK_ROWS, n_rows))
            np.save(Path(folder) / "moons.npy", y)
            np.save(Path(folder) / "rows.npy", gaussian_mixture(n_rows, N_COLUMNS, N_CLUSTERS, sd=SD)[1].compute())
        for name in METHODS if methods is None else methods:
            cell = run_cell(fitted, LIMIT, name=name, folder=Path(folder))
            if cell.failure:
                lines.append((name, cell.failure, *["-"] * (len(columns) - 2)))
            else:
                passes, cpu, seconds, *scores = cell.value
                peaks = (round(1e-6 * cell.peaks["cell"]), round(1e-6 * (cell.peaks["cell"] - cell.before["cell"])))
                lines.append((name, passes, cpu, seconds, *peaks, *scores))
            yield Table(f"{title}: {name}", columns, lines[-1:], detail=True)
        if lines:
            yield Table(title, columns, lines)
        lines = []
        for peer in peers:
            for data in ("rows", "moons"):
                lines += _peer_lines(peer, data, Path(folder), n_rows)
                yield Table(f"Peers in memory: {peer}, {data}", PEER_COLUMNS, lines, detail=True)
    if lines:
        seconds, memory = PEER_LIMITS
        said = f"Peers of density trees, in memory, up to {seconds:g} s and {1e-9 * memory:g} GB, two threads"
        yield Table(said, PEER_COLUMNS, lines)


PEER_COLUMNS = ("method", "data", "rows", "CPU s", "s", "peak MB", "above before, MB", "NMI", "clusters")


def _peer_lines(peer: str, data: str, folder: Path, n_rows: int) -> list[tuple[Any, ...]]:
    """Return what more and more rows cost a peer, the last of them too much, or all rows."""
    if (reason := why_missing(METHODS_OF_PEERS[PEERS[peer]].module)) is not None:
        return [(peer, data, "-", reason, *["-"] * 5)]
    lines: list[tuple[Any, ...]] = []
    for n in (n for n in PEER_ROWS if n <= n_rows):
        cell = run_cell(fitted_peer, *PEER_LIMITS, peer=peer, rows=folder / f"{data}.zarr", n_rows=n)
        if cell.failure:
            return [*lines, (peer, data, n, cell.failure, *["-"] * 5)]
        cpu, seconds, *scores = cell.value
        peak = cell.peaks["cell"]
        lines.append(
            (peer, data, n, cpu, seconds, round(1e-6 * peak), round(1e-6 * (peak - cell.before["cell"])), *scores)
        )
    return lines


def fitted_peer(begin: Begin, peer: str, rows: Path, n_rows: int) -> tuple[float, float, float, int]:
    """Return processor seconds and seconds of a peer on some rows of a store, NMI, and the number of clusters."""
    method, every = METHODS_OF_PEERS[PEERS[peer]], open_rows(rows)
    warm_up(PEERS[peer])
    # Every n-th row might be of a few clusters only.
    which = np.sort(np.random.default_rng(0).permutation(every.shape[0])[:n_rows])
    X, y = np.asarray(every)[which], np.load(rows.with_suffix(".npy"))[which]
    begin()
    cpu, start = time.process_time(), time.perf_counter()
    labels = method.labels(X, N_CLUSTERS, 0).astype(int)
    spent = time.process_time() - cpu, time.perf_counter() - start
    known = y >= 0
    found = normalized_mutual_information(y[known], labels[known] - labels.min())
    return *spent, found, len(np.unique(labels[labels >= 0]))


def fitted(begin: Begin, name: str, folder: Path) -> tuple[int, float, float, float, int]:
    """Return passes, processor seconds and seconds of a fit and its labels, their NMI, and the number of clusters."""
    make, on_moons = getattr(mdh_dask, name.removesuffix(ON_MOONS)), name.endswith(ON_MOONS)
    with two_threads():
        make(**METHODS[name] | ({"n_clusters": 5} if "n_clusters" in METHODS[name] else {})).fit(
            open_rows(folder / "warm.zarr")
        ).labels_.compute()
        rows = open_rows(folder / ("moons.zarr" if on_moons else "rows.zarr"))
        begin()
        cpu, start = time.process_time(), time.perf_counter()
        model = make(**METHODS[name]).fit(rows)
        labels = model.labels_.compute()
        spent = time.process_time() - cpu, time.perf_counter() - start
    y = np.load((folder / ("moons" if on_moons else "rows")).with_suffix(".npy"))
    known = y >= 0
    return model.n_passes_ + 1, *spent, normalized_mutual_information(y[known], labels[known]), model.n_clusters_


def moons_in_noise(n_rows: int) -> Shape:
    """Return rows of two pairs of moons, of which a tenth is noise around them."""
    rng = np.random.default_rng(0)
    n_noise = n_rows // 11
    X, y = with_noise(rng, moons(rng, n_rows - n_noise, 0.09, pairs=2), n_noise / (n_rows - n_noise))
    return X.astype(np.float32), y
