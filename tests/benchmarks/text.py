"""Texts as sparse rows: clusters of news beside spherical k-means, and what many columns cost."""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer

from mdh_dask import HierarchicalMDH, RandomProjectionTree
from mdh_dask.metrics import normalized_mutual_information

from .shared import FOLDER, SKIPPED, Table, folder_of

SHORT: dict[str, Any] = {"n_seeds": 1, "shape": (5000, 5000)}

TREES = (RandomProjectionTree, HierarchicalMDH)


def run(
    n_seeds: int = 5, shape: tuple[int, int] = (100_000, 50_000), density: float = 0.001, folder: str | None = None
) -> Iterator[Table]:
    """Compare trees with spherical k-means on bbc_news, and measure memory and time for random sparse rows."""
    columns = ("weights", "method", "NMI, mean", "NMI, least", "clusters", "s")
    yield Table(f"bbc_news as sparse rows, {n_seeds} seeds (${FOLDER})", columns, list(_news(n_seeds, folder)))
    size = f"{shape[0]} x {shape[1]}, {density:g} of the values stored"
    lines = [_cost(cls.__name__, *shape, density) for cls in TREES]
    yield Table(f"Fit and labels of {size}, in a process of its own", ("method", "rows, MB", "further MB", "s"), lines)


def _news(n_seeds: int, folder: str | None) -> Iterator[tuple[Any, ...]]:
    path = Path(folder_of(folder) or "", "bbc_news.npz")
    if folder_of(folder) is None or not path.exists():
        yield "-", SKIPPED, "-", "-", "-", "-"
        return
    with np.load(path) as arrays:
        places = (arrays[name].astype(np.int32) for name in ("indices", "indptr"))
        words, y = csr_array((arrays["data"], *places), shape=tuple(arrays["shape"])), arrays["y"]
    k = len(np.unique(y))
    for name, sublinear in (("log tf-idf", True), ("tf-idf", False)):
        X = TfidfTransformer(sublinear_tf=sublinear).fit_transform(words)  # rows of length one
        makers = {f"spherical k-means, {k} given": lambda seed: KMeans(k, n_init=5, random_state=seed)}
        makers |= {cls.__name__: lambda seed, cls=cls: cls(random_state=seed) for cls in TREES}
        for method, make in makers.items():
            start = time.perf_counter()
            labels = [make(seed).fit(X).labels_ for seed in range(n_seeds)]
            seconds = (time.perf_counter() - start) / n_seeds
            scores = [normalized_mutual_information(y, own) for own in labels]
            clusters = float(np.mean([len(np.unique(own)) for own in labels]))
            yield name, method, float(np.mean(scores)), min(scores), clusters, seconds


def _cost(name: str, n_rows: int, n_columns: int, density: float) -> tuple[Any, ...]:
    code = f"from tests.benchmarks.text import cost; print(*cost({name!r}, {n_rows}, {n_columns}, {density}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    return name, *map(float, done.stdout.split())


def cost(name: str, n_rows: int, n_columns: int, density: float) -> tuple[float, float, float]:
    """Return the megabytes of random rows of five topics, those that a fit takes besides, and its seconds."""
    make = {cls.__name__: cls for cls in TREES}[name]
    make().fit(_topics(500, 2000, 0.01))  # loads the compiled loops
    X = _topics(n_rows, n_columns, density)
    own = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    make().fit(X)
    seconds = time.perf_counter() - start
    return own, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3, seconds


def _topics(n_rows: int, n_columns: int, density: float) -> csr_array:
    """Return rows whose columns are mostly those of one of five topics."""
    rng = np.random.default_rng(0)
    n = max(int(density * n_columns), 1)
    topic = rng.integers(5, size=(n_rows, 1))
    own = topic * (n_columns // 5) + rng.integers(n_columns // 5, size=(n_rows, n))
    columns = np.where(rng.random((n_rows, n)) < 0.8, own, rng.integers(n_columns, size=(n_rows, n)))
    starts = np.arange(0, n_rows * n + 1, n)
    X = csr_array((np.ones(n_rows * n, np.float32), columns.ravel(), starts), (n_rows, n_columns))
    X.sum_duplicates()
    return X
