"""Support vector clustering of many rows: passes, seconds, memory; and scikit-learn on a tenth of them."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.svm import OneClassSVM

from mdh_dask import SupportVectorClustering
from mdh_dask.io import open_rows, write_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

from .memory import MEMORY_LIMIT, Peaks, trouble_of, workers
from .shared import CHUNK_ROWS, Table, interleaved, ratio_row, two_threads, verdict

MOST_PASSES = 4
"""A sample, rows nearest to the landmarks, levels, labels: landmarks must be known before rows are counted."""

MOST_OF_PEER = 0.1

WIDTH, OUTLIERS = 10.0, 0.05
"""For the comparison of seconds: scikit-learn has no sweep."""


def many_rows(n_rows: int, n_columns: int = 10, n_clusters: int = 10) -> Table:
    """Fit a mixture in a store, with a sweep, and write its labels, on two workers of 1 GB."""
    lines: list[tuple[Any, ...]] = []
    with TemporaryDirectory() as name:
        path = Path(name) / "rows.zarr"
        X, y = gaussian_mixture(n_rows, n_columns, n_clusters, sd=1.5, chunk_rows=CHUNK_ROWS, random_state=0)
        write_rows(X, path, chunk_rows=min(CHUNK_ROWS, n_rows))
        with workers() as client, Peaks(client) as peaks:
            few = Path(name) / "few.zarr"
            write_rows(X[:4000], few, chunk_rows=1000)
            # Every process compiles the loops once; few landmarks make the workers count, too.
            SupportVectorClustering(n_landmarks=100).fit(open_rows(few)).labels_.compute()
            start = time.perf_counter()
            model = SupportVectorClustering().fit(open_rows(path))
            fitted = time.perf_counter() - start
            write_rows(model.labels_, Path(name) / "labels.zarr")
            seconds = time.perf_counter() - start
            passes, trouble = model.n_passes_ + 1, trouble_of(client)
            labels = np.asarray(open_rows(Path(name) / "labels.zarr", ndim=1))
        found = normalized_mutual_information(y.compute(), labels), model.n_clusters_
        largest = peaks.largest_worker()
    lines.append(("passes with labels", passes, f"<= {MOST_PASSES}", verdict(passes <= MOST_PASSES)))
    lines += [("s, fit", fitted, "-", "-"), ("s, with labels", seconds, "-", "-")]
    held = largest < MEMORY_LIMIT and not any(trouble.values())
    lines.append(("largest worker, MB", round(largest / 1e6), "< 1000", verdict(held)))
    lines += [("NMI", found[0], "-", "-"), ("clusters", found[1], str(n_clusters), verdict(found[1] == n_clusters))]
    title = f"{n_rows} rows x {n_columns} in a store, sweep, two workers of 1 GB"
    return Table(title, ("what", "value", "required", "verdict"), lines)


def speed(many: int, few: int) -> Table:
    """Time ours on many rows, and a one-class machine with segments to neighbours on few of them."""
    X, _ = (part.compute() for part in gaussian_mixture(many, 2, 5, sd=1.0, random_state=0))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = SupportVectorClustering(width=WIDTH, outliers=OUTLIERS, scale=False)
    ours.fit(X[:few])  # compile
    with two_threads():
        times = interleaved(1, {"ours": lambda: ours.fit(X), "peer": lambda: peer_labels(X[:few], WIDTH)})
    title = f"Support vector clustering of {many} rows, and OneClassSVM with segments to 16 neighbours of {few}"
    (_, ratio, *_, required, met) = ratio_row("", times["ours"], times["peer"], MOST_OF_PEER)
    seconds = [float(times[name].wall[0]) for name in ("ours", "peer")]
    return Table(
        title, ("ours, s", "scikit-learn, s", "ratio", "required", "verdict"), [(*seconds, ratio, required, met)]
    )


def peer_labels(X: np.ndarray, width: float, n_neighbors: int = 16, n_segment: int = 20) -> np.ndarray:
    """Return clusters as a user of scikit-learn would write them: segments to neighbours rather than all pairs."""
    machine = OneClassSVM(kernel="rbf", gamma=width, nu=OUTLIERS, tol=1e-5).fit(X)
    inside = X[machine.decision_function(X) >= -1e-6]
    near = cKDTree(inside).query(inside, k=n_neighbors + 1)[1][:, 1:]
    pairs = np.unique(np.sort(np.column_stack([np.repeat(np.arange(len(inside)), n_neighbors), near.ravel()])), axis=0)
    t = (np.arange(n_segment) + 1) / (n_segment + 1)
    joined = np.empty(len(pairs), dtype=bool)
    for i in range(0, len(pairs), 1000):
        a, b = inside[pairs[i : i + 1000].T]
        points = a[:, None] + t[:, None] * (b - a)[:, None]
        values = machine.decision_function(points.reshape(-1, X.shape[1]))
        joined[i : i + 1000] = values.reshape(-1, n_segment).min(axis=1) >= -1e-6
    kept = pairs[joined]
    graph = coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(len(inside),) * 2)
    return np.asarray(connected_components(graph, directed=False)[1])
