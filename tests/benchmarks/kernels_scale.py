"""What feature spaces cost: labels of large sets end to end, mapping beside its matrix products, growth with rows."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from mdh_dask import HierarchicalKernelMDH, KernelPCAFeatures
from mdh_dask.io import open_rows, write_rows
from mdh_dask.metrics import normalized_mutual_information

from .memory import Peaks, workers
from .pursuit import scaled
from .shared import FOLDER, SKIPPED, Table, interleaved, labelled_set, two_threads, verdict

SHORT: dict[str, Any] = {"most_rows": 20_000, "widths": (54,), "sizes": (5000, 10_000, 20_000)}

SETS = ("mnist", "covertype")

LIMIT = 2 * 10**9

CHUNK_ROWS = 8192

KERNELS = ("local_scaling", "rbf", "nearest_neighbors")


def run(
    most_rows: int | None = None,
    n_landmarks: int = 1000,
    widths: Sequence[int] = (16, 54, 784),
    sizes: Sequence[int] = (50_000, 100_000, 200_000, 400_000),
    folder: str | None = None,
) -> Iterator[Table]:
    """Time trees on features against scikit-learn's Nyström features and k-means, and the map against its products."""
    lines = [line for name in SETS for line in _end_to_end(name, most_rows, n_landmarks, folder)]
    columns = (
        "set",
        "rows",
        "what",
        "s",
        "passes",
        "components",
        "largest worker, MB",
        "NMI",
        "clusters",
        "of peer's s",
        "verdict",
    )
    title = f"Labels of a store, two warm workers of 2 GB, {n_landmarks} landmarks; peer in memory (folder: ${FOLDER})"
    yield Table(title, columns, lines)
    lines = [_mapping(kernel, width, n_landmarks) for width in widths for kernel in KERNELS]
    columns = ("kernel", "columns", "components", "us per row", "of its two products", "required", "verdict")
    yield Table(f"Mapping 20000 rows by {n_landmarks} landmarks on one thread, median of 5", columns, lines)
    yield _growth(sizes, n_landmarks)


def _end_to_end(name: str, most_rows: int | None, n_landmarks: int, folder: str | None) -> Iterator[tuple[Any, ...]]:
    pair = labelled_set(name, folder)
    if pair is None:
        yield name, *["-"] * 9, SKIPPED
        return
    X, y = (array[:most_rows] for array in pair)
    k = len(np.unique(y))
    start = time.perf_counter()
    with two_threads():
        peer = make_pipeline(
            Nystroem(n_components=n_landmarks, gamma=0.5 / X.shape[1], random_state=0),
            KMeans(k, n_init=1, random_state=0),
        )
        theirs = normalized_mutual_information(y, peer.fit_predict(scaled(X).astype(np.float32)))
    seconds = time.perf_counter() - start
    yield name, len(X), f"Nystroem + KMeans, {k} given", seconds, "-", n_landmarks, "-", theirs, k, 1.0, "-"
    with TemporaryDirectory() as place:
        path = Path(place) / "rows.zarr"
        write_rows(X, path, chunk_rows=min(CHUNK_ROWS, len(X)))
        few = Path(place) / "few.zarr"
        write_rows(X[:6000], few, chunk_rows=min(500, len(X)))
        for kernel in KERNELS:
            with workers(LIMIT) as client, Peaks(client) as peaks:
                # Every process compiles the loops once; a small sample makes it count on the workers, too.
                HierarchicalKernelMDH(feature_map=kernel, sample_size=500).fit(open_rows(few)).labels_.compute()
                start = time.perf_counter()
                features = KernelPCAFeatures(kernel=kernel, n_landmarks=n_landmarks)
                model = HierarchicalKernelMDH(feature_map=features).fit(open_rows(path))
                labels = model.labels_.compute()
                ours = time.perf_counter() - start
            nmi = normalized_mutual_information(y, labels)
            found = (model.n_passes_ + 1, model.feature_map_.n_components_, round(peaks.largest_worker() / 1e6))
            yield name, len(X), kernel, ours, *found, nmi, model.n_clusters_, ours / seconds, verdict(ours <= seconds)


def _mapping(kernel: str, n_columns: int, n_landmarks: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(10, n_columns))
    X = (centres[rng.integers(10, size=20_000)] + rng.normal(size=(20_000, n_columns))).astype(np.float32)
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
    return kernel, n_columns, feature_map.n_components, cost, ratio, "<= 1.5", verdict(ratio <= 1.5)


def _growth(sizes: Sequence[int], n_landmarks: int) -> Table:
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(10, 54))
    lines: list[tuple[Any, ...]] = []
    for n_rows in sizes:
        X = (centres[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, 54))).astype(np.float32)
        start = time.perf_counter()
        with two_threads():
            model = HierarchicalKernelMDH(feature_map=KernelPCAFeatures(n_landmarks=n_landmarks, n_components=50)).fit(
                X
            )
        seconds = time.perf_counter() - start
        lines.append((n_rows, seconds, seconds / n_rows * 1e6, model.n_clusters_))
    return Table(
        "Fit and labels of rows in memory, 54 columns, 50 components", ("rows", "s", "us per row", "clusters"), lines
    )
