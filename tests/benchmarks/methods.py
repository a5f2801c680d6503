"""The methods that are compared: all of ours, and those of scikit-learn and HiPart."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from math import nan
from typing import Any, NamedTuple

import numpy as np

from mdh_dask.metrics import adjusted_rand_index, contingency_table, normalized_mutual_information

from .sets import load_set


def linear(n: int, d: int, k: int) -> float:
    """Return the bytes of a few copies of the rows."""
    return 24.0 * n * d


def condensed(n: int, d: int, k: int) -> float:
    """Return the bytes of the distances of all pairs."""
    return 4.0 * n * n


def square(n: int, d: int, k: int) -> float:
    """Return the bytes of the similarities of all rows with all rows."""
    return 8.0 * n * n


def covariances(n: int, d: int, k: int) -> float:
    """Return the bytes of a covariance and two factors for every cluster."""
    return 24.0 * k * d * d


class OfShape(NamedTuple):
    """A parameter that follows from the numbers of rows and columns."""

    text: str
    value: Callable[[int, int], Any]


@dataclass(frozen=True)
class Method:
    """A method of clustering.

    Parameters
    ----------
    module, kind : str
        Where its class is, and what that is called.
    k : str
        The parameter that is given the number of classes; empty if the method finds its own.
    options : dict
        Other parameters that are not the defaults, of which some are `OfShape`.
    seeded : bool
        Whether chance has a part in it.
    n_bytes : callable
        Memory that it needs at least, from the numbers of rows, columns and classes.
    """

    module: str
    kind: str
    k: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    seeded: bool = True
    n_bytes: Callable[[int, int, int], float] = linear

    @property
    def compiles(self) -> bool:
        """Return whether it compiles loops in every process, which takes longer than most fits."""
        return self.module in ("fast_hdbscan", "evoc")

    @property
    def ours(self) -> bool:
        """Return whether it is one of this package."""
        return self.module == "mdh_dask"

    def labels(self, X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
        """Return the cluster of every row."""
        parameters = {
            name: value.value(*X.shape) if isinstance(value, OfShape) else value for name, value in self.options.items()
        }
        parameters |= {self.k: n_clusters} if self.k else {}
        parameters |= {"random_state": seed} if self.seeded else {}
        return np.asarray(getattr(import_module(self.module), self.kind)(**parameters).fit_predict(X))

    def about(self) -> str:
        """Return what is not a default."""
        given = {self.k: "classes"} if self.k else {}
        named = {name: value.text if isinstance(value, OfShape) else value for name, value in self.options.items()}
        return ", ".join(f"{name}={value}" for name, value in {**given, **named}.items()) or "-"


def _ours(kind: str, seeded: bool = True) -> Method:
    return Method("mdh_dask", kind, seeded=seeded)


def _hipart(kind: str, **changes: Any) -> Method:
    return Method("HiPart.clustering", kind, "max_clusters_number", **changes)


PLAIN = {"visualization_utility": False}

FAIR = {"min_samples": 5, "min_cluster_size": OfShape("rows / 200", lambda n, d: max(n // 200, 5))}
"""What users of HDBSCAN set: with the defaults, most rows of many columns are noise, or thousands of clusters found."""


METHODS = {
    "RandomProjectionTree": _ours("RandomProjectionTree"),
    "HierarchicalMDH": _ours("HierarchicalMDH"),
    "HierarchicalKernelMDH": _ours("HierarchicalKernelMDH"),
    "DensityTree": _ours("DensityTree"),
    "ConsensusClustering": _ours("ConsensusClustering"),
    "PCATree": _ours("PCATree"),
    "ICATree": _ours("ICATree"),
    "DePDDP": _ours("DePDDP"),
    "IPDDP": _ours("IPDDP"),
    "PDDP": _ours("PDDP"),
    "KMeans": Method("sklearn.cluster", "KMeans", "n_clusters"),
    "KMeans, 5 starts": Method("sklearn.cluster", "KMeans", "n_clusters", options={"n_init": 5}),
    "MiniBatchKMeans": Method("sklearn.cluster", "MiniBatchKMeans", "n_clusters"),
    "BisectingKMeans": Method("sklearn.cluster", "BisectingKMeans", "n_clusters"),
    "GaussianMixture": Method("sklearn.mixture", "GaussianMixture", "n_components", n_bytes=covariances),
    "Ward": Method(
        "sklearn.cluster",
        "AgglomerativeClustering",
        "n_clusters",
        options={"linkage": "ward"},
        seeded=False,
        n_bytes=condensed,
    ),
    # With its own gamma of 1 it is lost on more than a few columns.
    "Spectral, RBF": Method(
        "sklearn.cluster",
        "SpectralClustering",
        "n_clusters",
        options={"gamma": OfShape("1 / columns", lambda n, d: 1 / d)},
        n_bytes=square,
    ),
    "Spectral, neighbours": Method(
        "sklearn.cluster", "SpectralClustering", "n_clusters", options={"affinity": "nearest_neighbors"}
    ),
    "HDBSCAN": Method("sklearn.cluster", "HDBSCAN", options={"copy": True}, seeded=False),
    "HDBSCAN, rows / 200": Method("sklearn.cluster", "HDBSCAN", options={"copy": True, **FAIR}, seeded=False),
    "fast_hdbscan, rows / 200": Method("fast_hdbscan", "HDBSCAN", options=FAIR, seeded=False),
    "Genie": Method("genieclust", "Genie", "n_clusters", seeded=False),
    "Lumbermark": Method("lumbermark", "Lumbermark", "n_clusters", seeded=False),
    "EVoC": Method("evoc", "EVoC"),
    "AuToMATo": Method("automato", "Automato", options={"parallelize": 0}),
    "HiPart DePDDP": _hipart("DePDDP", options=PLAIN, seeded=False),
    "HiPart IPDDP": _hipart("IPDDP", options=PLAIN, seeded=False),
    "HiPart KMPDDP": _hipart("KMPDDP", options=PLAIN),
    "HiPart MDH": _hipart("MDH"),
}
"""By their names; k is given to those that cannot do without, and for HiPart is the most that it may find."""


class Score(NamedTuple):
    """Agreement of a clustering with classes, of rows that have one (noise found is a cluster), and processor time."""

    nmi: float = nan
    ari: float = nan
    clusters: float = nan
    seconds: float = nan


@lru_cache(maxsize=1)
def standardised(name: str, folder: str | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the rows of a set in units of the deviations of its columns, without constant ones; classes; how many."""
    found = load_set(name, folder)
    X = found.X[:, found.X.min(axis=0) < found.X.max(axis=0)].astype(float, order="C")  # which some need
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, found.y, found.n_classes


def score(method: str, name: str, folder: str | None, seed: int) -> Score:
    """Return the scores of a method in `METHODS` on a set."""
    return score_of(METHODS[method], name, folder, seed)


def score_of(method: Method, name: str, folder: str | None, seed: int) -> Score:
    """Return the scores of any method on a set."""
    X, y, n_classes = standardised(name, folder)
    start = time.process_time()
    labels = method.labels(X, n_classes, seed).astype(int)
    seconds = time.process_time() - start
    known = y >= 0
    table = contingency_table(y[known], (labels - labels.min())[known])
    n_clusters = len(np.unique(labels[labels >= 0]))
    return Score(normalized_mutual_information(table), adjusted_rand_index(table), n_clusters, seconds)


def warm_up(method: str) -> None:
    """Compile the loops of a method, by two clusters of rows; peers take others for many rows, and for many columns."""
    rng = np.random.default_rng(0)
    for n, d in [(2000, 20), (2000, 40)] if METHODS[method].compiles else [(600, 3)]:
        METHODS[method].labels(rng.normal(size=(n, d)) + 9 * rng.integers(0, 2, n)[:, None], 2, 0)
