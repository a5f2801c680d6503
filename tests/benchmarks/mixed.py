"""Clusters of continuous, ordinal and categorical columns beside those of the thesis, by three embeddings."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from mdh_dask import (
    DePDDP,
    GowerFeatures,
    HierarchicalMDH,
    HyperplaneEnsemble,
    MixedPCA,
    MultidimensionalScaling,
    RandomProjectionTree,
)
from mdh_dask.metrics import normalized_mutual_information

from .shared import FOLDER, SKIPPED, Table, folder_of, verdict

SHORT: dict[str, Any] = {"seeds": (0, 1), "embeddings": ("CSE",)}

SETS = ("auto_mpg", "credit_approval", "dermatology", "voting")

NEAR = 0.02
"""From the published NMI of MDH_hier with CSE."""

LEAST = {"credit_approval": 0.24, "dermatology": 0.90, "voting": 0.45}
"""Least NMI of the best method on CSE."""

EMBEDDINGS: dict[str, Callable[[], Any]] = {
    "MDS": lambda: MultidimensionalScaling(dissimilarity="gower"),
    "CSE": lambda: GowerFeatures(missing="pairs"),
    "CSE, missing is a level": lambda: GowerFeatures(missing="level"),
    "CSE, single levels": lambda: GowerFeatures(missing="pairs", single_levels=True),
    "mPPCA": MixedPCA,
}

TABLE_3_4 = {
    "MDH_hier": {
        "MDS": (0.799, 0.297, 0.000, 0.296), "CSE": (0.778, 0.241, 0.909, 0.337), "mPPCA": (0.0, 0.0, 0.0, 0.294)},
    "MDH_ens": {
        "MDS": (0.642, 0.163, 0.522, 0.445), "CSE": (0.908, 0.287, 0.843, 0.492),
        "mPPCA": (0.401, 0.069, 0.122, 0.237)},
    "dePDDP": {
        "MDS": (0.516, 0.020, 0.000, 0.000), "CSE": (0.674, 0.258, 0.860, 0.395), "mPPCA": (0.0, 0.0, 0.339, 0.0)},
    "GMM": {
        "MDS": (0.590, 0.069, 0.697, 0.315), "CSE": (0.631, 0.015, 0.700, 0.353), "mPPCA": (0.348, 0.055, 0.0, 0.309)},
    "spectral": {"CSE": (0.902, 0.258, 0.734, 0.103)},
    "DBSCAN": {"CSE": (0.739, 0.012, 0.000, 0.000)},
}  # fmt: skip
"""NMI on `SETS` in thesis tables 3.4 and 4.5; its *autodata* has other columns and classes than ``auto_mpg``."""


class MixedSet(NamedTuple):
    """Codes of mixed columns, NaN where missing, their classes, and the numbers of the columns of each kind."""

    X: np.ndarray
    y: np.ndarray
    column_types: dict[str, list[int]]


def run(
    seeds: Sequence[int] = (0, 1, 2, 3, 4), embeddings: Sequence[str] = tuple(EMBEDDINGS), folder: str | None = None
) -> Iterator[Table]:
    """Score trees and mixtures on the sets of chapter 3, and what single columns do to trees."""
    yield from _sets(seeds, embeddings, folder)


def mixed_set(name: str, folder: str | None = None) -> MixedSet | None:
    """Return a set whose columns the file ``column_types.json`` describes, or None if it is not there."""
    path = Path(folder_of(folder) or "")
    if not (path / "column_types.json").exists() or not (path / f"{name}.csv.gz").exists():
        return None
    kinds = json.loads((path / "column_types.json").read_text())[f"{name}.csv.gz"]
    with gzip.open(path / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    columns, column_types = [], {}
    for kind in ("continuous", "ordinal", "categorical"):
        column_types[kind] = list(range(len(columns), len(columns) + len(kinds[kind])))
        columns += [_codes([row[key] for row in rows], kind) for key in kinds[kind]]
    classes = np.unique([row[kinds["label"]] for row in rows], return_inverse=True)[1]
    return MixedSet(np.column_stack(columns), classes, column_types)


def _codes(values: list[str], kind: str) -> np.ndarray:
    levels = sorted(set(values) - {""})
    code = levels.index if kind == "categorical" else float
    return np.array([code(value) if value else np.nan for value in values], dtype=float)


def _sets(seeds: Sequence[int], embeddings: Sequence[str], folder: str | None) -> Iterator[Table]:
    columns = ("set", "embedding", "columns", "method", "seeds", "NMI", "sd", "clusters", "published", "difference")
    bars: list[tuple[Any, ...]] = []
    for place, name in enumerate(SETS):
        found = mixed_set(name, folder)
        rows: list[tuple[Any, ...]] = []
        best = ("-", 0.0)
        for embedding in embeddings if found is not None else ():
            features, scores = _scores(found, embedding, seeds)
            for method, (nmi, k) in scores.items():
                published = TABLE_3_4.get(method, {}).get(embedding.partition(",")[0])
                printed = ("-", "-") if published is None else (published[place], nmi.mean() - published[place])
                rows.append((name, embedding, features, method, len(nmi), nmi.mean(), nmi.std(), k.mean(), *printed))
                if embedding.startswith("CSE") and method in OURS and nmi.mean() > best[1]:
                    best = (f"{method}, {embedding}", float(nmi.mean()))
        yield Table(f"{name} (folder: ${FOLDER})", columns, rows or [(name, *["-"] * (len(columns) - 2), SKIPPED)])
        least = max(TABLE_3_4["MDH_hier"]["CSE"][place] - NEAR, LEAST.get(name, 0.0))
        bars.append((name, *best, f">= {least:.3f}", verdict(best[1] >= least) if found is not None else SKIPPED))
    yield Table("The best of our methods on CSE", ("set", "method", "NMI", "required", "verdict"), bars)


OURS: dict[str, Any] = {
    "MDH_hier": HierarchicalMDH(), "MDH_hier from pca2": HierarchicalMDH(starts="pca2"), "dePDDP": DePDDP(),
    "random projections": RandomProjectionTree(), "MDH_ens": HyperplaneEnsemble(scale=False),
}  # fmt: skip


def _scores(found: MixedSet, embedding: str, seeds: Sequence[int]) -> tuple[int, dict[str, tuple[Any, Any]]]:
    """Return the number of features, and NMI and number of clusters of every method and seed."""
    transformer = EMBEDDINGS[embedding]().set_params(column_types=found.column_types)
    features = transformer.fit_transform(found.X)
    labels = {name: [labels_of_tree(method, transformer, found, s) for s in seeds] for name, method in OURS.items()}
    labels |= {name: [own] for name, own in _others(found, features).items()}
    return features.shape[1], {name: nmi_and_clusters(found.y, own) for name, own in labels.items()}


def labels_of_tree(method: Any, transformer: Any, found: MixedSet, seed: int) -> np.ndarray:
    """Return the labels of an estimator with a map of mixed columns."""
    model = clone(method).set_params(random_state=seed)
    if "feature_map" not in model.get_params():
        return model.fit_predict(transformer.fit_transform(found.X))
    # The map tells trees where the levels of single columns lie.
    return model.set_params(feature_map=clone(transformer), column_types=found.column_types).fit_predict(found.X)


def nmi_and_clusters(y: np.ndarray, labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return NMI and number of clusters of labels."""
    return (
        np.array([normalized_mutual_information(y, own) for own in labels]),
        np.array([len(np.unique(own[own >= 0])) for own in labels]),
    )


def _gmm(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the labels of the normal mixture of the least BIC."""
    models = [GaussianMixture(k, random_state=0, reg_covar=1e-4).fit(features) for k in range(1, 11)]
    return min(models, key=lambda model: model.bic(features)).predict(features)


def _spectral(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    return SpectralClustering(len(np.unique(y)), random_state=0).fit_predict(features)


def _dbscan(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the labels with the 90 % quantile of distances to the fourth neighbour as the radius."""
    distances = NearestNeighbors(n_neighbors=5).fit(features).kneighbors()[0][:, -1]
    return DBSCAN(max(float(np.quantile(distances, 0.9)), 1e-6)).fit_predict(features)


OTHERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "GMM": _gmm, "spectral": _spectral, "DBSCAN": _dbscan,
}  # fmt: skip


def labels_of_prototypes(found: MixedSet) -> np.ndarray:
    """Return the labels of k-prototypes for the number of classes: k-modes or k-means of columns of one kind."""
    numbers = [j for kind in ("continuous", "ordinal") for j in found.column_types.get(kind, [])]
    X = found.X.astype(float)
    means, deviations = np.nanmean(X[:, numbers], axis=0), np.nanstd(X[:, numbers], axis=0)
    X[:, numbers] = np.nan_to_num((X[:, numbers] - means) / np.maximum(deviations, 1e-12))
    X = np.where(np.isnan(X), -1.0, X)  # a missing category is one of its own
    settings = {"n_clusters": len(np.unique(found.y)), "n_init": 2, "random_state": 0}
    categories = found.column_types.get("categorical", [])
    if not categories:
        return KMeans(settings["n_clusters"], n_init=2, random_state=0).fit_predict(X)
    import kmodes.kmodes
    import kmodes.kprototypes

    if not numbers:
        return np.asarray(kmodes.kmodes.KModes(**settings).fit_predict(X))
    model = kmodes.kprototypes.KPrototypes(max_iter=20, **settings)
    return np.asarray(model.fit_predict(X, categorical=categories))


def _others(found: MixedSet, features: np.ndarray) -> dict[str, np.ndarray]:
    """Return the labels of comparators, of k-prototypes if kmodes is there."""
    labels = {name: method(features, found.y) for name, method in OTHERS.items()}
    return labels | ({"k-prototypes": labels_of_prototypes(found)} if find_spec("kmodes") else {})
