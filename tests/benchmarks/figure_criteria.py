"""Figures 6.4 to 6.17 and 7.1 to 7.3 of the thesis: criteria of random projections, on rows and on kernel features."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mdh_dask import (
    BisectingKernelKMeans,
    ConsensusClustering,
    DivisiveClustering,
    ICATree,
    KernelPCAFeatures,
    PCATree,
)
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import noisy_axes_mixture

from .methods import standardised
from .published_settings import random_projections
from .regret import box_plot
from .shared import Table

ROWS_OF_A_CLUSTER = 100

LANDMARKS = 1000
"""Rows that span the feature space; the thesis has all."""

COLUMNS = ("data", "classes", "method", "projections", "seed", "NMI", "clusters")

Maker = Callable[[int, int], Any]
"""A function of the number of projections or None, and of the number of classes, that returns an estimator."""


def _letter(criterion: str) -> Maker:
    return lambda r, k: random_projections(r, criterion=criterion)


def _objective(criterion: str, rule: str, order: str) -> Maker:
    """Return trees of chapter 7, which are told the number of clusters."""

    def make(r: int, k: int) -> Any:
        return DivisiveClustering(
            projection="uniform_sphere", n_projections=r, criterion=criterion, threshold_rule=rule, order=order,
            stop_rule="none", max_clusters=k, min_cluster_size=1, n_candidates=1,
        )  # fmt: skip

    return make


CRITERIA: dict[str, Maker] = {
    "depth": _letter("relative_depth"),
    "dip": _letter("dip"),
    "variance": _letter("variance"),
    "kurtosis": _letter("kurtosis"),
}

OBJECTIVES: dict[str, Maker] = {
    "sse": _objective("sse", "two_means", "scatter"),
    "ev2": _objective("eigenvalue", "normalised_cut", "criterion"),
}

OTHERS: dict[str, Maker] = {
    "PCA": lambda r, k: PCATree(n_projections=1).as_divisive(n_candidates=1),
    "ICA": lambda r, k: ICATree(n_projections=1).as_divisive(n_candidates=1),
}

OF_KERNELS: dict[str, Maker] = {"bisecting k-means": lambda r, k: BisectingKernelKMeans(max_clusters=k)}


class Experiment(NamedTuple):
    """Trees by several criteria on the same data: the parts of a figure."""

    title: str
    makers: dict[str, Maker]
    others: dict[str, Maker]
    features: bool
    ensembles: bool = False


EXPERIMENTS = {
    "6.6": Experiment("Thesis figures 6.6 to 6.10, criteria on rows", CRITERIA, OTHERS, features=False),
    "6.12": Experiment("Thesis figures 6.12 to 6.17, criteria on features", CRITERIA, OTHERS, features=True),
    "7.2": Experiment("Thesis figures 7.2 and 7.3, objectives on features", OBJECTIVES, OF_KERNELS, True, True),
}
"""By the ends of the names of their plots."""


def experiment_table(
    experiment: Experiment,
    simulated: Sequence[tuple[int, int]],
    names: Sequence[str],
    counts: Sequence[int],
    seeds: Sequence[int],
    most_rows: int | None,
    folder: str | None,
) -> Table:
    """Return NMI and number of clusters of each method on each data set, one line for a seed.

    `simulated` holds the clusters and the columns of mixtures, whose rows the seed draws too; `names` are those of
    labelled sets.
    """
    lines: list[tuple[Any, ...]] = []
    for name, draw_rows in data_sets(simulated, names, most_rows, folder):
        try:
            first = draw_rows(seeds[0])
        except OSError as error:
            lines.append((name, "-", f"missing: {error}", *["-"] * (len(COLUMNS) - 3)))
            continue
        for seed in seeds:
            X, y = draw_rows(seed) if name.endswith("columns") else first
            lines += [(name, len(np.unique(y)), *line) for line in _lines(experiment, X, y, counts, seed)]
    return Table(f"{experiment.title}: {len(seeds)} seeds", COLUMNS, lines)


def data_sets(
    simulated: Sequence[tuple[int, int]], names: Sequence[str], most_rows: int | None, folder: str | None
) -> Iterator[tuple[str, Callable[[int], tuple[Any, Any]]]]:
    """Yield the names of data sets, and the functions of a seed that return rows and classes."""
    for k, d in simulated:

        def mixture(seed: int, k: int = k, d: int = d) -> tuple[Any, Any]:
            X, y = noisy_axes_mixture(ROWS_OF_A_CLUSTER * k, d, k, random_state=seed)
            return X.compute(), y.compute()

        yield f"{k} clusters, {d} columns", mixture
    for name in names:

        def labelled(seed: int, name: str = name) -> tuple[Any, Any]:
            X, y, _ = standardised(name, folder)
            some = np.random.default_rng(0).permutation(len(X))[:most_rows]
            return X[some], y[some]

        yield name, labelled


def _lines(experiment: Experiment, X: Any, y: Any, counts: Sequence[int], seed: int) -> Iterator[tuple[Any, ...]]:
    k = len(np.unique(y))
    chosen = [(name, r, make) for name, make in experiment.makers.items() for r in counts]
    chosen += [(name, None, make) for name, make in experiment.others.items()]
    features = KernelPCAFeatures(kernel="local_scaling", n_landmarks=LANDMARKS, random_state=seed)
    rows = np.asarray(features.fit_transform(X)) if experiment.features else X
    for name, r, make in chosen:
        tree = make(r or 1, k)
        # The features are computed once for all trees.
        tree = tree.set_params(random_state=seed, **({"feature_map": None} if name in OF_KERNELS else {}))
        if experiment.features:
            tree = tree.set_params(scale=False)
        yield name, r or "-", seed, *_scored(tree, rows, y)
        if experiment.ensembles and r is not None:
            ensemble = ConsensusClustering(
                estimator=clone(tree), n_trees=10, n_clusters=k, combine="votes", random_state=seed
            )
            yield f"{name}-E", r, seed, *_scored(ensemble, rows, y)


def _scored(model: Any, X: Any, y: Any) -> tuple[float, int]:
    labels = np.asarray(model.fit(X).labels_)
    return normalized_mutual_information(y, labels), len(np.unique(labels))


def values_of(table: Table, data: str, column: int) -> dict[str, list[float]]:
    """Return the values of a column on a data set, by the names of the methods and their numbers of projections."""
    found: dict[str, list[float]] = {}
    for row in table.rows:
        if row[0] == data and row[4] != "-":
            found.setdefault(row[2] if row[3] == "-" else f"{row[2]}-{row[3]}", []).append(float(row[column]))
    return found


def draw(figure: Any, table: Table) -> None:
    """Draw NMI above the number of clusters, a column of boxes for each data set; a line is the number of classes."""
    data = list(dict.fromkeys(row[0] for row in table.rows if row[4] != "-"))
    figure.set_size_inches(3.2 * max(len(data), 2), 6.4)
    panels = figure.subplots(2, max(len(data), 1), squeeze=False, sharex=False)
    for column, name in enumerate(data):
        for axes, measure, at in zip(panels[:, column], ("NMI", "clusters"), (5, 6)):
            values = values_of(table, name, at)
            axes.boxplot(list(values.values()), showmeans=True, medianprops={"color": "black"})
            axes.set_xticks(range(1, len(values) + 1), list(values), rotation=90, fontsize="small")
            axes.set_ylabel(measure if column == 0 else "")
            axes.grid(axis="y", alpha=0.3)
        panels[0, column].set(title=name, ylim=(-0.02, 1.02))
        panels[1, column].set_yscale("log")
        panels[1, column].axhline(next(row[1] for row in table.rows if row[0] == name), color="tab:red", linewidth=1)
    figure.suptitle(table.title)


def draw_regret(figure: Any, table: Table) -> None:
    """Draw the regret of each method in the mean NMI of the data sets."""
    data = list(dict.fromkeys(row[0] for row in table.rows if row[4] != "-"))
    means = [{name: np.mean(values) for name, values in values_of(table, d, 5).items()} for d in data]
    names = list(means[0]) if means else []
    scores = np.array([[of.get(name, np.nan) for name in names] for of in means])
    if names:
        box_plot(figure.subplots(), names, scores, [n for n in names if n.startswith("depth")], "regret, NMI")
    figure.suptitle(table.title)


def draw_rows(figure: Any, simulated: Sequence[tuple[int, int]] = ((10, 2), (10, 1000))) -> None:
    """Draw simulated rows along their first two principal components."""
    panels = figure.subplots(1, len(simulated))
    for axes, (k, d) in zip(panels, simulated):
        X, y = (part.compute() for part in noisy_axes_mixture(ROWS_OF_A_CLUSTER * k, d, k, random_state=1))
        centred = X - X.mean(axis=0)
        plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        axes.scatter(*plane.T, c=y, s=5, cmap="tab20")
        axes.set(title=f"{k} clusters, {d} columns", xlabel="first component", ylabel="second component")
    figure.suptitle("Thesis figures 6.4 and 6.5: simulated rows")
