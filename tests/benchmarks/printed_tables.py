"""Is each method as good as where it was published: thesis tables 4.1 and 5.2, and tables 2 of the two papers."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mdh_dask import (
    PDDP,
    AffinityFeatures,
    BisectingKernelKMeans,
    ClusterabilityTree,
    DePDDP,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    HierarchicalSpectral,
    HyperplaneEnsemble,
    KernelKMeans,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    SpectralClustering,
)
from mdh_dask.metrics import binary_v_measure, normalized_mutual_information, success_ratio

from . import published_settings
from .figure_regret import ALPHA
from .mixtures import varied_mixture
from .published import (
    HIERARCHICAL,
    JMLR_METHODS,
    JMLR_TABLE,
    KERNEL_METHODS,
    KERNEL_TABLE,
    MIXTURES,
    TREE_METHODS,
    TREE_TABLE,
)  # fmt: skip
from .sets import any_set
from .shared import FOLDER, SKIPPED, Table

SHORT: dict[str, Any] = {"n_seeds": 1}

Maker = Callable[[int, int], Any]
"""A function of the seed and of the number of classes that returns an estimator."""


def _kernel(name: str, seed: int, variance: float = 1.0) -> KernelPCAFeatures:
    return KernelPCAFeatures(kernel=name, variance=variance, random_state=seed)


def _hyperplane(seed: int, variance: float, **options: Any) -> MinimumDensityHyperplane:
    features = _kernel("rbf", seed, variance)
    return MinimumDensityHyperplane(feature_map=features, alpha_max=ALPHA, random_state=seed, **options)


BI_PARTITIONS: dict[str, Maker] = {
    "KMDH (PCA)": lambda seed, k: _hyperplane(seed, 1.0),
    "KMDH (random)": lambda seed, k: _hyperplane(seed, 1.0, starts="random"),
    "S-KMDH": lambda seed, k: _hyperplane(seed, 0.9),
    "kernel k-means": lambda seed, k: KernelKMeans(n_clusters=2, feature_map=_kernel("rbf", seed), random_state=seed),
    "spectral": lambda seed, k: SpectralClustering(n_clusters=2, kernel="rbf", random_state=seed),
}
"""By the names of `KERNEL_METHODS`."""

HYPERPLANES: dict[str, Maker] = {
    "MDP²": lambda seed, k: published_settings.hyperplane(random_state=seed),
    "SCn": lambda seed, k: SpectralClustering(n_clusters=2, random_state=seed),
    "LDA-2m": lambda seed, k: ClusterabilityTree(random_state=seed).as_divisive(max_levels=1, stop_rule="none"),
    "2-means++": lambda seed, k: KernelKMeans(n_clusters=2, feature_map=None, random_state=seed),
    "PDDP": lambda seed, k: PDDP(max_clusters=2, random_state=seed),
    "dePDDP": lambda seed, k: DePDDP(random_state=seed).as_divisive(max_levels=1),
}
"""By the names of `JMLR_METHODS`, but for support vector regressions."""

TREES: dict[str, Maker] = {
    "KMDH_hier": lambda seed, k: published_settings.kernel_mdh(
        feature_map=_kernel("local_scaling", seed), random_state=seed
    ),
    "S-KMDH_hier": lambda seed, k: published_settings.kernel_mdh(
        feature_map=_kernel("local_scaling", seed, 0.9), random_state=seed
    ),
    "K-dePDDP": lambda seed, k: DePDDP(feature_map="local_scaling", random_state=seed),
    "kernel k-means": lambda seed, k: KernelKMeans(
        n_clusters=k, feature_map=_kernel("local_scaling", seed), random_state=seed
    ),
    "spectral": lambda seed, k: SpectralClustering(random_state=seed),
    "HierarchicalKernelMDH": lambda seed, k: HierarchicalKernelMDH(random_state=seed),
    "BisectingKernelKMeans, k given": lambda seed, k: BisectingKernelKMeans(max_clusters=k, random_state=seed),
    "SpectralClustering, k given": lambda seed, k: SpectralClustering(n_clusters=k, random_state=seed),
    "HierarchicalSpectral, k given": lambda seed, k: HierarchicalSpectral(max_clusters=k, random_state=seed),
    "HierarchicalSpectral of rbf, k given": lambda seed, k: HierarchicalSpectral(
        max_clusters=k, feature_map=AffinityFeatures(kernel="rbf", random_state=seed), random_state=seed
    ),
}
"""Those of `TREE_METHODS` first."""

ENSEMBLE = HyperplaneEnsemble(stop_rule="none", scale=False)
"""As in the thesis: of every hyperplane, on the columns as they are."""

OF_MIXTURES: dict[str, tuple[Maker, int]] = {
    "HierarchicalMDH": (lambda seed, k: HierarchicalMDH(random_state=seed), 0),
    "as_in_thesis": (lambda seed, k: published_settings.mdh(random_state=seed), 0),
    "HyperplaneEnsemble": (lambda seed, k: HyperplaneEnsemble(random_state=seed), 1),
    "of every hyperplane": (lambda seed, k: clone(ENSEMBLE).set_params(random_state=seed), 1),
}
"""By the names of the estimators, with the place of the values they stand beside: those of MDH_hier or of MDH_ens."""

HIERARCHICAL_TREES = OF_MIXTURES | {"DePDDP": (lambda seed, k: DePDDP(random_state=seed), 2)}


def run(
    n_seeds: int = 2,
    mixtures: Sequence[tuple[int, int]] = tuple(MIXTURES),
    sets: Sequence[str] | None = None,
    folder: str | None = None,
) -> Iterator[Table]:
    """Score every method that was published with these tables, one table for each set, and the means of all sets."""
    seeds = range(n_seeds)
    lines = [line for cell in mixtures for line in _mixture_lines(*cell, seeds)]
    columns = ("components", "columns", "method", "NMI", "clusters", "published NMI", "its clusters", "difference")
    yield Table(f"Simulated mixtures, thesis table 4.1: means of {n_seeds} sets", columns, lines)
    titles = "SR", "V", "published SR", "published V", "difference of SR", "difference of V"
    for title, methods, table, makers in (
        ("One split, table 2 of Yates and Pavlidis 2016", KERNEL_METHODS, KERNEL_TABLE, BI_PARTITIONS),
        ("One split, JMLR 17(156) table 2", JMLR_METHODS, JMLR_TABLE, HYPERPLANES),
    ):
        printed = {name: dict(zip(methods, zip(*table[name]))) for name in table}
        yield from _tables(title, titles, printed, makers, _split, seeds, sets, folder)
    nmi = {name: {method: (score,) for method, score in zip(TREE_METHODS, TREE_TABLE[name])} for name in TREE_TABLE}
    titles = "NMI", "clusters", "published NMI", "difference"
    yield from _tables("Trees, thesis table 5.2", titles, nmi, TREES, _labels, seeds, sets, folder)
    nmi = {
        name: {method: (own[place][0],) for method, (_, place) in HIERARCHICAL_TREES.items()}
        for name, own in HIERARCHICAL.items()
    }
    makers = {method: make for method, (make, _) in HIERARCHICAL_TREES.items()}
    yield from _tables("Trees, thesis table 4.4", titles, nmi, makers, _labels, seeds, sets, folder)


def _tables(
    title: str,
    titles: tuple[str, ...],
    printed: Mapping[str, Mapping[str, tuple[float, ...]]],
    makers: Mapping[str, Maker],
    score: Callable[[Any, Any], tuple[float, ...]],
    seeds: Sequence[int],
    sets: Sequence[str] | None,
    folder: str | None,
) -> Iterator[Table]:
    """Yield a table for each set, and one with the means over all of them."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for name in printed if sets is None else [name for name in printed if name in sets]:
        pair = any_set(name, folder)
        if pair is None:
            yield Table(f"{title}: {name} (folder: ${FOLDER})", ("set",), [(SKIPPED,)])
            continue
        lines = []
        for method, make in makers.items():
            scores = [score(pair[1], _fitted(make(seed, len(np.unique(pair[1]))), pair[0])) for seed in seeds]
            means = tuple(map(float, np.mean(scores, axis=0)))
            known = printed[name].get(method)
            away = () if known is None else tuple(mean - of for mean, of in zip(means, known))
            lines.append((method, *means, *(known or ()), *away))
            found.setdefault(method, []).append(lines[-1][1:])
        yield Table(f"{title}: {name}, means of {len(seeds)} seeds", ("method", *titles), _padded(lines, titles))
    if found:
        means_of_sets = [(method, *map(float, np.nanmean(values, axis=0))) for method, values in found.items()]
        n = max(map(len, found.values()))
        yield Table(f"{title}: means of {n} sets", ("method", *titles), _padded(means_of_sets, titles))


def _padded(lines: list[tuple[Any, ...]], titles: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return [line + ("-",) * (len(titles) + 1 - len(line)) for line in lines]


def _fitted(model: Any, X: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # of fewer clusters than wanted
        return np.asarray(model.fit(X).labels_)


def _split(y: Any, labels: Any) -> tuple[float, float]:
    return float(success_ratio(y, labels)), float(binary_v_measure(y, labels))


def _labels(y: Any, labels: Any) -> tuple[float, float]:
    return float(normalized_mutual_information(y, labels)), float(len(np.unique(labels)))


def _mixture_lines(n_clusters: int, n_columns: int, seeds: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    lazy = [varied_mixture(100 * n_clusters, n_columns, n_clusters, random_state=seed) for seed in seeds]
    data = [(X.compute(), y.compute()) for X, y in lazy]
    for name, (make, place) in OF_MIXTURES.items():
        scores = [_labels(y, _fitted(make(seed, n_clusters), X)) for seed, (X, y) in zip(seeds, data)]
        means = tuple(map(float, np.mean(scores, axis=0)))
        nmi, k = MIXTURES[n_clusters, n_columns][place]
        yield n_clusters, n_columns, name, *means, nmi, k, means[0] - nmi
