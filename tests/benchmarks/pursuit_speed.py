"""How fast minimum density hyperplanes are found, beside other implementations, k-means and other projections."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from mdh_dask import DivisiveClustering, HierarchicalMDH, ICATree, PCATree, RandomProjectionTree
from mdh_dask.io import open_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture, separated_mixture

from .shared import (
    FOLDER,
    RATIO_COLUMNS,
    SKIPPED,
    TIME_COLUMNS,
    Table,
    Times,
    interleaved,
    labelled_set,
    ratio_row,
    store_mixture,
    two_threads,
    verdict,
)

SHORT: dict[str, Any] = {
    "repeats": 2,
    "wide_rows": 4000,
    "wide_columns": (1000, 2000),
    "hipart_rows": 1000,
}


class Bounds(NamedTuple):
    """Half of the seconds that the R package of the papers' authors took, with loops in C++, and its NMI."""

    seconds: float
    nmi: float


SETS = {"optdigits": Bounds(1.8, 0.717), "pendigits": Bounds(1.05, 0.741)}

HIPART_SET = "pendigits"

N_CLUSTERS, N_COLUMNS = 20, 50

SPREADS = (2.5, 5.0)

BI_PARTITIONS: dict[str, Callable[[], Any]] = {
    "RP-100": lambda: DivisiveClustering(n_projections=100, max_levels=1),
    "RP-1000": lambda: DivisiveClustering(n_projections=1000, max_levels=1),
    "PCA": lambda: PCATree().as_divisive(max_levels=1),
    "ICA": lambda: ICATree().as_divisive(max_levels=1),
    "MDH": lambda: HierarchicalMDH().as_divisive(max_levels=1),
}

WIDE = "One bi-partition"
"""How the title of the table begins that `plot` draws."""


def run(
    repeats: int = 5,
    n_rows: int = 1_000_000,
    wide_rows: int = 20_000,
    wide_columns: Sequence[int] = (1000, 2000, 5000, 10_000),
    hipart_rows: int | None = None,
    folder: str | None = None,
) -> Iterator[Table]:
    """Time trees of hyperplanes on labelled sets, on a store of many rows, and on wide rows.

    On a machine with more than two processors, run this under ``taskset --cpu-list 0,1``: the work on samples takes a
    thread for each.
    """
    sets = {name: labelled_set(name, folder) for name in SETS}
    with two_threads():
        _compile([pair[0] for pair in sets.values() if pair])
        yield _labelled(sets, repeats)
        yield _against_hipart(sets[HIPART_SET], hipart_rows)
        for sd in SPREADS:
            yield from _against_k_means(n_rows, sd, max(1, repeats // 2))
        yield _wide(wide_rows, wide_columns, 1 + (repeats > 1))


def _compile(labelled: list[Any]) -> None:
    """Compile the loops for every type of rows that is timed, for one pass and for several."""
    rows = warm_projections()
    for X in (rows.astype(float), *(X[:2000] for X in labelled)):
        HierarchicalMDH().fit(X)
    with TemporaryDirectory() as folder:
        store = store_mixture(Path(folder) / "rows.zarr", 50_000, 5, 5, seed=1)
        for method in (HierarchicalMDH, RandomProjectionTree):
            method().fit(open_rows(store)).labels_.compute()


def warm_projections() -> Any:
    """Compile the loops of every kind of projections, and return the rows that served for it."""
    rows = gaussian_mixture(2000, 5, 3)[0].compute()
    for method in BI_PARTITIONS.values():
        method().fit(rows)
    return rows


def recorded(fit: Callable[[int], Any]) -> tuple[Callable[[], None], list[Any]]:
    """Return a function that fits with the number of its call as seed, and the list that gets the labels."""
    labels: list[Any] = []
    return lambda: labels.append(fit(len(labels))), labels


def _labelled(sets: dict[str, tuple[Any, Any] | None], repeats: int) -> Table:
    lines: list[tuple[Any, ...]] = []
    columns = ("set", *TIME_COLUMNS, "NMI", "clusters", "required", "verdict")
    for name, pair in sets.items():
        if pair is None:
            lines.append((name, *["-"] * (len(columns) - 2), SKIPPED))
            continue
        X, y = pair
        fit, labels = recorded(lambda seed, X=X: HierarchicalMDH(random_state=seed).fit(X).labels_)
        times = interleaved(repeats, {name: fit})[name]
        (nmi, clusters), bounds = _scores(y, labels), SETS[name]
        required = f"<= {bounds.seconds:g} s, NMI > {bounds.nmi:g}"
        holds = np.median(times.wall) <= bounds.seconds and nmi > bounds.nmi
        lines.append((name, *times.row(), nmi, clusters, required, verdict(holds)))
    title = f"HierarchicalMDH on labelled sets, {repeats} repeats with as many seeds (folder: ${FOLDER})"
    return Table(title, columns, lines)


def _scores(y: Any, labels: list[Any]) -> tuple[float, float]:
    """Return the mean NMI and the mean number of clusters of the repeats."""
    nmi = [normalized_mutual_information(y, found) for found in labels]
    return float(np.mean(nmi)), float(np.mean([len(np.unique(found)) for found in labels]))


def _against_hipart(pair: tuple[Any, Any] | None, n_rows: int | None) -> Table:
    """Time the first split against HiPart, which looks for one in both of its parts before it stops."""
    columns = ("set", *RATIO_COLUMNS[:-2], "seconds", "HiPart's seconds", "NMI", "HiPart's NMI", *RATIO_COLUMNS[-2:])
    title = "Two clusters by HierarchicalMDH(max_levels=2, max_clusters=2) against HiPart's MDH, one run"
    skipped = (HIPART_SET, *["-"] * (len(columns) - 2))
    try:
        from HiPart.clustering import MDH
    except ImportError:
        return Table(title, columns, [(*skipped, "not installed: skipped")])
    if pair is None:
        return Table(title, columns, [(*skipped, SKIPPED)])
    X, y = pair[0][:n_rows].astype(float), pair[1][:n_rows]
    ours, our_labels = recorded(
        lambda seed: HierarchicalMDH(max_clusters=2, random_state=seed).as_divisive(max_levels=2).fit(X).labels_
    )
    theirs, their_labels = recorded(
        lambda seed: MDH(max_clusters_number=2, random_state=seed).fit(X).labels_.astype(int)
    )
    with warnings.catch_warnings(action="ignore"):  # of densities with a single mode, and of slow convergence
        times = interleaved(1, {"ours": ours, "theirs": theirs})
    what, *ratio = ratio_row("mdh_dask / HiPart", times["ours"], times["theirs"], 0.02)
    seconds = [float(t.wall[0]) for t in times.values()]
    scores = [_scores(y, labels)[0] for labels in (our_labels, their_labels)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("mdh_dask", "HiPart"))
    line = (f"{HIPART_SET}, {len(X)} rows", what, *ratio[:-2], *seconds, *scores, *ratio[-2:])
    return Table(f"{title} ({versions})", columns, [line])


def _against_k_means(n_rows: int, sd: float, repeats: int) -> Iterator[Table]:
    with TemporaryDirectory() as folder:
        store = store_mixture(Path(folder) / "rows.zarr", n_rows, N_COLUMNS, N_CLUSTERS, sd=sd)
        y = gaussian_mixture(n_rows, N_COLUMNS, N_CLUSTERS, sd=sd)[1].compute()
        X = open_rows(store).compute()

        def tree(method: Callable[..., Any]) -> Callable[[int], Any]:
            return lambda seed: method(random_state=seed).fit(open_rows(store)).labels_.compute()

        def k_means(seed: int) -> Any:
            return KMeans(N_CLUSTERS, n_init=1, random_state=seed).fit(X).labels_

        fits = {method.__name__: tree(method) for method in (HierarchicalMDH, RandomProjectionTree)}
        fits[f"KMeans({N_CLUSTERS}, n_init=1)"] = k_means
        runs = {name: recorded(fit) for name, fit in fits.items()}
        times = interleaved(repeats, {name: fit for name, (fit, _) in runs.items()})
    scores = {name: _scores(y, labels) for name, (_, labels) in runs.items()}
    *trees, last = fits
    title = f"{n_rows} rows of {N_COLUMNS} columns, {N_CLUSTERS} clusters with sd {sd:g}, {repeats} repeats"
    where = f"two threads of {os.cpu_count()} processors, trees from the store, k-means in memory"
    lines = [_mixture_line(name, times[name], *scores[name], name in trees) for name in fits]
    yield Table(f"{title}: {where}", ("what", *TIME_COLUMNS, "NMI", "clusters", "required", "verdict"), lines)
    lines = [ratio_row(f"{name} / k-means", times[name], times[last], 1.0) for name in trees]
    yield Table(f"{title}: fit + labels against k-means", RATIO_COLUMNS, lines)


def _mixture_line(name: str, times: Times, nmi: float, clusters: float, bounded: bool) -> tuple[Any, ...]:
    line = (name, *times.row(), nmi, clusters)
    if not bounded:
        return *line, "-", "-"
    return *line, f"NMI >= 0.99, {N_CLUSTERS} clusters", verdict(nmi >= 0.99 and clusters == N_CLUSTERS)


def _wide(n_rows: int, columns: Sequence[int], repeats: int) -> Table:
    title = f"{WIDE} of {n_rows} rows in two clusters, thesis figure 6.2: median seconds of {repeats} repeats"
    lines = [_wide_line(n_rows, n_columns, repeats) for n_columns in columns]
    return Table(title, ("columns", *BI_PARTITIONS, "least NMI"), lines)


def _wide_line(n_rows: int, n_columns: int, repeats: int) -> tuple[Any, ...]:
    return n_columns, *projection_times(n_rows, n_columns, 2, repeats, max_levels=1)


def projection_times(
    n_rows: int, n_columns: int, n_clusters: int, repeats: int, max_levels: int | None
) -> tuple[float, ...]:
    """Return the median seconds of every kind of projections on well separated clusters, and the least mean NMI."""
    X, y = (array.compute() for array in separated_mixture(n_rows, n_columns, n_clusters))

    def tree(model: Any) -> Callable[[int], Any]:
        return lambda seed: model.set_params(max_levels=max_levels, random_state=seed).fit(X).labels_

    runs = {name: recorded(tree(make())) for name, make in BI_PARTITIONS.items()}
    times = interleaved(repeats, {name: fit for name, (fit, _) in runs.items()})
    least = min(_scores(y, labels)[0] for _, labels in runs.values())
    return *(float(np.median(t.wall)) for t in times.values()), least


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw the seconds of a bi-partition against the number of columns."""
    from matplotlib.figure import Figure

    (table,) = (table for table in tables if table.title.startswith(WIDE))
    n_columns, *seconds, _ = zip(*table.rows, strict=True)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, values in zip(BI_PARTITIONS, seconds, strict=True):
        axes.semilogy(n_columns, values, marker="o", label=name)
    axes.set(xlabel="columns", ylabel="seconds", title=table.title.partition(",")[0])
    axes.legend()
    figure.savefig(path, dpi=150)
