"""What is timed: ours and what a user would pick instead, each with how it gets its rows and its labels."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mdh_dask import HierarchicalMDH, RandomProjectionTree
from mdh_dask.io import open_rows

from . import spark
from .peers import why_missing

Labelled = tuple[Any, Any]
"""Labels, and the classes of the same rows."""


@dataclass(frozen=True)
class Contestant:
    """A method of clustering.

    Parameters
    ----------
    load : callable
        Opens the folder of a data set; what it takes is not counted.
    fit : callable
        Of what was loaded, the number of clusters and a seed; gives labels and the classes of the same rows.
    module, package : str
        What it needs, and what has a version.
    ours : bool
    most_rows, least_rows : int
        Beyond which it is not run.
    missing : callable
        Says why it cannot be run, besides that its module is missing.
    """

    load: Callable[[Path], Any]
    fit: Callable[[Any, int, int], Labelled]
    module: str
    package: str
    ours: bool = False
    most_rows: float = float("inf")
    least_rows: int = 0
    missing: Callable[[], str | None] = lambda: None

    def why_missing(self) -> str | None:
        """Return why it cannot be run here, None if it can."""
        return why_missing(self.module) or self.missing()


def in_memory(folder: Path) -> Labelled:
    """Return rows and classes as NumPy arrays."""
    return open_rows(folder / "rows.zarr").compute(), np.load(folder / "y.npy")


def in_store(folder: Path) -> Labelled:
    """Return rows that are read from the store whenever they are asked for."""
    return open_rows(folder / "rows.zarr"), np.load(folder / "y.npy")


def _persisted(folder: Path) -> Labelled:
    X, y = in_store(folder)
    return X.persist(), y


def _ours(method: Callable[..., Any], load: Callable[[Path], Labelled], least_rows: int = 0) -> Contestant:
    def fit(data: Labelled, k: int, seed: int) -> Labelled:
        labels = method(random_state=seed).fit(data[0]).labels_
        return np.asarray(labels), data[1]

    return Contestant(load, fit, "mdh_dask", "mdh_dask", ours=True, least_rows=least_rows)


def _theirs(
    module: str, package: str, make: Callable[[Any, int, int, int], Any], load: Any = in_memory, **limits: Any
) -> Contestant:
    """Return a method with scikit-learn's interface that ``make(module, k, seed, n_rows)`` sets up."""

    def fit(data: Labelled, k: int, seed: int) -> Labelled:
        model = make(import_module(module), k, seed, len(data[0]))
        return np.asarray(model.fit(data[0]).labels_).astype(np.int64), data[1]  # some give whole floats

    return Contestant(load, fit, module, package, **limits)


def _sklearn(make: Callable[[Any, int, int, int], Any], **limits: Any) -> Contestant:
    return _theirs("sklearn.cluster", "scikit-learn", make, **limits)


def _hipart(make: Callable[[Any, int, int, int], Any]) -> Contestant:
    return _theirs("HiPart.clustering", "HiPart", make)


def _spark(name: str) -> Contestant:
    def fit(data: Any, k: int, seed: int) -> Labelled:
        return spark.fit(name, data, k, seed)

    return Contestant(spark.load, fit, "pyspark.ml.clustering", "pyspark", missing=spark.why_missing)


def _depddp(of: Any, k: int, seed: int, n_rows: int) -> Any:
    return of.DePDDP(max_clusters_number=k, random_state=seed, visualization_utility=False)


FROM_STORE = 1_000_000
"""Rows from which on ours are also timed on rows that are never in memory together."""

CONTESTANTS: dict[str, Contestant] = {
    "RandomProjectionTree": _ours(RandomProjectionTree, in_memory),
    "HierarchicalMDH": _ours(HierarchicalMDH, in_memory),
    "RandomProjectionTree, store": _ours(RandomProjectionTree, in_store, FROM_STORE),
    "HierarchicalMDH, store": _ours(HierarchicalMDH, in_store, FROM_STORE),
    "KMeans": _sklearn(lambda of, k, seed, n: of.KMeans(k, n_init=1, random_state=seed)),
    "KMeans, 5 starts": _sklearn(lambda of, k, seed, n: of.KMeans(k, n_init=5, random_state=seed)),
    "MiniBatchKMeans": _sklearn(lambda of, k, seed, n: of.MiniBatchKMeans(k, n_init=1, random_state=seed)),
    "BisectingKMeans": _sklearn(lambda of, k, seed, n: of.BisectingKMeans(k, random_state=seed)),
    "HDBSCAN": _sklearn(lambda of, k, seed, n: of.HDBSCAN(n_jobs=2, copy=False), most_rows=20_000),
    "HDBSCAN, rows / 200": _sklearn(
        lambda of, k, seed, n: of.HDBSCAN(max(n // 200, 5), min_samples=5, n_jobs=2, copy=False), most_rows=20_000
    ),
    "fast_hdbscan, rows / 200": _theirs(
        "fast_hdbscan",
        "fast_hdbscan",
        lambda of, k, seed, n: of.HDBSCAN(min_cluster_size=max(n // 200, 5), min_samples=5),
        most_rows=100_000,
    ),
    "Genie": _theirs("genieclust", "genieclust", lambda of, k, seed, n: of.Genie(k), most_rows=100_000),
    "EVoC": _theirs("evoc", "evoc", lambda of, k, seed, n: of.EVoC(random_state=seed), most_rows=100_000),
    "dask-ml KMeans": _theirs(
        "dask_ml.cluster", "dask-ml", lambda of, k, seed, n: of.KMeans(k, random_state=seed), load=_persisted
    ),
    "Spark KMeans": _spark("KMeans"),
    "Spark BisectingKMeans": _spark("BisectingKMeans"),
    "HiPart DePDDP": _hipart(_depddp),
    "HiPart MDH": _hipart(lambda of, k, seed, n: of.MDH(max_clusters_number=k, random_state=seed)),
}
"""Those that need the number of clusters are given it; ours find it."""

OURS = tuple(name for name, contestant in CONTESTANTS.items() if contestant.ours)
