"""What many rows cost: passes, processor seconds and memory of every kind of method on two workers of 1 GB."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv
import pyarrow.parquet
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from threadpoolctl import threadpool_limits

import mdh_dask
from mdh_dask import GowerFeatures, KernelPCAFeatures
from mdh_dask.io import open_rows, write_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.workflows import fit

from .memory import MEMORY_LIMIT, Peaks, trouble_of, workers
from .sets import scaled
from .shape_sets import moons, with_noise
from .shared import CHUNK_ROWS, FOLDER, SKIPPED, Table, folder_of, interleaved, labelled_set, two_threads, verdict

SHORT: dict[str, Any] = {"n_rows": 100_000, "most_rows": 20_000, "widths": (54,)}

N_CLUSTERS, N_COLUMNS, SD = 20, 50, 2.5

KDD, TEXTS = "kddcup99_10pct.csv.gz", ("protocol_type", "service", "flag")


class Stored(NamedTuple):
    """Rows in a store, and the classes of some of them (-1 is none)."""

    path: Path
    y: np.ndarray


def _mixture(path: Path, n_rows: int, folder: str | None) -> np.ndarray:
    X, y = gaussian_mixture(n_rows, N_COLUMNS, N_CLUSTERS, sd=SD, chunk_rows=CHUNK_ROWS)
    write_rows(X, path / "rows.zarr", chunk_rows=min(CHUNK_ROWS, n_rows))
    return np.asarray(y)


def moons_in_noise(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two pairs of moons, of which a tenth is noise around them."""
    rng, n_noise = np.random.default_rng(0), n_rows // 11
    X, y = with_noise(rng, moons(rng, n_rows - n_noise, 0.09, pairs=2), n_noise / (n_rows - n_noise))
    return X.astype(np.float32), y


def _moons(path: Path, n_rows: int, folder: str | None) -> np.ndarray:
    X, y = moons_in_noise(n_rows)
    write_rows(X, path / "rows.zarr", chunk_rows=min(CHUNK_ROWS, n_rows))
    return y


def _labelled(name: str, path: Path, n_rows: int, folder: str | None) -> np.ndarray | None:
    if (found := labelled_set(name, folder)) is None:
        return None
    X, y = (array[:n_rows] for array in found)
    write_rows(X, path / "rows.zarr", chunk_rows=min(8192, len(X)))
    return np.asarray(y)


def _connections(texts: bool, path: Path, n_rows: int, folder: str | None) -> np.ndarray | None:
    file = Path(folder_of(folder) or "", KDD)
    if folder_of(folder) is None or not file.exists():
        return None
    table = pyarrow.csv.read_csv(file).slice(0, n_rows)
    y = np.unique(table["label"].to_numpy(zero_copy_only=False), return_inverse=True)[1]
    table = table.drop(["label", *(() if texts else TEXTS)])
    pyarrow.parquet.write_table(table, path / "rows.parquet", row_group_size=CHUNK_ROWS)
    return y


DATA: dict[str, Callable[[Path, int, str | None], np.ndarray | None]] = {
    "mixture": _mixture,
    "moons in noise": _moons,
    "mnist": partial(_labelled, "mnist"),
    "covertype": partial(_labelled, "covertype"),
    "KDD Cup 1999, numbers": partial(_connections, False),
    "KDD Cup 1999": partial(_connections, True),
}
"""Write rows into a folder and return their classes: simulated ones, and labelled sets if they are there."""

METHODS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "RandomProjectionTree": ("RandomProjectionTree", {}, ("mixture", "KDD Cup 1999, numbers")),
    "RandomProjectionTree on Gower": (
        "RandomProjectionTree",
        {"feature_map": GowerFeatures(n_landmarks=500)},
        ("KDD Cup 1999, numbers", "KDD Cup 1999"),
    ),
    "HierarchicalKernelMDH": ("HierarchicalKernelMDH", {}, ("mnist", "covertype")),
    "DensityTree": ("DensityTree", {}, ("mixture", "moons in noise")),
    "SupportVectorClustering": ("SupportVectorClustering", {}, ("mixture",)),
    "KernelKMeans, k given": ("KernelKMeans", {"n_clusters": N_CLUSTERS}, ("mixture",)),
    "SpectralClustering, k given": ("SpectralClustering", {"n_clusters": N_CLUSTERS}, ("mixture",)),
    "BisectingKernelKMeans, k given": ("BisectingKernelKMeans", {"max_clusters": N_CLUSTERS}, ("mixture",)),
    "HierarchicalSpectral, k given": ("HierarchicalSpectral", {"max_clusters": N_CLUSTERS}, ("mixture",)),
    "NormalisedCutTree": ("NormalisedCutTree", {}, ("mixture",)),
    "ClusterabilityTree": ("ClusterabilityTree", {}, ("mixture",)),
}
"""Class, parameters and data of each."""

PEERS = ("mnist", "covertype")
"""Data that `Nystroem` and `KMeans` of scikit-learn cluster in memory, too, with k given."""

COLUMNS = ("data", "rows", "method", "passes", "CPU s", "s", "largest worker, MB", "NMI", "clusters", "verdict")


def run(
    n_rows: int = 1_000_000,
    most_rows: int | None = None,
    methods: Sequence[str] = tuple(METHODS),
    widths: Sequence[int] = (16, 54, 784),
    folder: str | None = None,
) -> Iterator[Table]:
    """Fit every method to rows in a store and write its labels; met if no worker was lost, paused or full.

    Simulated data have `n_rows`, labelled sets at most `most_rows`.
    """
    lines: list[tuple[Any, ...]] = []
    for name, make in DATA.items():
        chosen = [method for method in methods if name in METHODS[method][2]]
        if not chosen:
            continue
        with TemporaryDirectory() as scratch:
            y = make(Path(scratch), n_rows if name in ("mixture", "moons in noise") else most_rows or 10**9, folder)
            if y is None:
                lines.append((name, *["-"] * (len(COLUMNS) - 2), SKIPPED))
                continue
            stored = Stored(next(Path(scratch).glob("rows.*")), y)
            lines += [_peer_line(name, stored)] if name in PEERS else []
            lines += [_line(name, stored, method) for method in chosen]
    title = f"Rows in a store, two warm workers of one thread and 1 GB; peers in memory (folder: ${FOLDER})"
    yield Table(title, COLUMNS, lines)
    rows = [mapping_line(kernel, width) for width in widths for kernel in ("local_scaling", "nearest_neighbors")]
    columns = ("kernel", "columns", "us per row", "of its two products", "required", "verdict")
    yield Table("Mapping 20000 rows by 1000 landmarks on one thread, median of 5", columns, rows)


def _line(data: str, stored: Stored, method: str) -> tuple[Any, ...]:
    cls, parameters, _ = METHODS[method]

    model = getattr(mdh_dask, cls)(**parameters)
    labels = stored.path.with_name("labels.zarr")
    with workers() as client:
        _warm_up(client, cls, parameters)
        with Peaks(client) as peaks:
            before, start = _processor_seconds(peaks), time.perf_counter()
            fit(str(stored.path), model, labels=str(labels), overwrite=True)
            spent = _processor_seconds(peaks) - before, time.perf_counter() - start
        trouble = trouble_of(client)
    found = np.asarray(open_rows(labels, ndim=1))
    known = stored.y >= 0
    nmi = normalized_mutual_information(stored.y[known], found[known])
    held = peaks.largest_worker() < MEMORY_LIMIT and not any(trouble[what] for what in ("paused", "removed"))
    size = round(peaks.largest_worker() / 1e6)
    return data, len(stored.y), method, model.n_passes_ + 1, *spent, size, nmi, model.n_clusters_, verdict(held)


def _warm_up(client: Any, cls: str, parameters: dict[str, Any]) -> None:
    """Let every process compile its loops, by a fit of more rows than its sample holds."""
    few = {name: 5 for name in parameters if name in ("n_clusters", "max_clusters")}
    X = gaussian_mixture(4000, 5, 5, chunk_rows=1000)[0]
    model = getattr(mdh_dask, cls)(**parameters | few)
    own = {"sample_size": 500} if "sample_size" in model.get_params() else {}
    model.set_params(**own).fit(X).labels_.compute()


def _processor_seconds(peaks: Peaks) -> float:
    """Return the processor seconds of the workers and of this process until now."""
    return sum(sum(process.cpu_times()[:2]) for process in peaks.processes.values())


def _peer_line(data: str, stored: Stored) -> tuple[Any, ...]:
    X, k = scaled(open_rows(stored.path).compute()).astype(np.float32), len(np.unique(stored.y[stored.y >= 0]))
    with two_threads():
        cpu, start = time.process_time(), time.perf_counter()
        features = Nystroem(n_components=1000, gamma=0.5 / X.shape[1], random_state=0).fit_transform(X)
        found = KMeans(k, n_init=1, random_state=0).fit_predict(features)
        spent = time.process_time() - cpu, time.perf_counter() - start
    return data, len(X), "Nystroem and KMeans, k given", "-", *spent, "-", *(
        normalized_mutual_information(stored.y, found), k, "-"
    )  # fmt: skip


def mapping_line(kernel: str, n_columns: int, n_landmarks: int = 1000, n_rows: int = 20_000) -> tuple[Any, ...]:
    """Time mapping rows beside the two matrix products that it consists of."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(10, n_columns))
    X = (centres[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, n_columns))).astype(np.float32)
    feature_map = KernelPCAFeatures(kernel=kernel, n_landmarks=n_landmarks).fit(X).map_
    projection = feature_map.projection
    landmarks, rows = (array.astype(projection.dtype) for array in (feature_map.landmarks, X))

    def products() -> None:
        for i in range(0, len(rows), 192):
            (rows[i : i + 192] @ landmarks.T) @ projection

    with threadpool_limits(limits=1):
        times = interleaved(5, {"map": lambda: feature_map(X), "products": products})
    ratio = float(np.median(times["map"].wall / times["products"].wall))
    cost = float(np.median(times["map"].wall)) / len(X) * 1e6
    return kernel, n_columns, cost, ratio, "<= 1.5", verdict(ratio <= 1.5)
