"""The consensus of many trees beside its trees, on labelled and on generated sets."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from mdh_dask import ConsensusClustering, RandomProjectionTree, consensus
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import bolton_mixture, gaussian_mixture, noisy_axes_mixture

from .kept import run_cells
from .mixtures import varied_mixture
from .shape_sets import draw
from .shared import FOLDER, SKIPPED, Table, labelled_set, verdict

SETS = ("pendigits", "mfeat_fac", "coil20_32x32", "yale_faces", "optdigits")

LEAST_ABOVE = 4
"""Sets of which the consensus is above the median tree."""

N_TREES, N_PROJECTIONS = 30, 100

MIXTURES: dict[str, Callable[..., Any]] = {
    "5 varied clusters in 10 columns": lambda seed: varied_mixture(1000, 10, 5, random_state=seed),
    "20 varied clusters in 20 columns": lambda seed: varied_mixture(4000, 20, 20, random_state=seed),
    "8 correlated clusters in 8 columns": lambda seed: bolton_mixture(8, random_state=seed),
    "20 clusters, sd 5, in 50 columns": lambda seed: gaussian_mixture(5000, 50, 20, sd=5.0, random_state=seed),
    "6 clusters in noise in 20 columns": lambda seed: noisy_axes_mixture(2000, 20, 6, random_state=seed),
}

SHAPES = ("moons-2000", "rings-3000", "blobs-4000-uneven", "ellipses-1000", "waves-600", "core-400")

COLUMNS = ("set", "rows", "columns", "seeds", "median tree", "best tree", "votes", "their clusters",
           "linkage", "its clusters", "NMI between trees", "NMI between votes", "NMI between linkages",
           "votes above the median", "linkage above votes", "verdict")  # fmt: skip


def tables_of_trees(
    seeds: Sequence[int], sets: Sequence[str], generated: Sequence[str], cells: Path | None, folder: str | None
) -> Iterator[Table]:
    """Score the consensus beside its trees; see `run_cells` for `cells`."""
    there = [name for name in sets if labelled_set(name, folder) is not None]
    keys = [(name, seed, folder) for name in (*there, *generated) for seed in seeds]
    found = dict(zip(keys, run_cells(score_of_trees, keys, cells, n_jobs=1)))
    lines = {name: _line(name, [found[name, seed, folder] for seed in seeds]) for name in (*there, *generated)}
    missing = [(name, *["-"] * (len(COLUMNS) - 2), SKIPPED) for name in sets if name not in there]
    title = f"{N_TREES} trees of {N_PROJECTIONS} projections"
    yield Table(f"{title} (folder: ${FOLDER})", COLUMNS, [*(lines[name] for name in there), *missing])
    above = sum(lines[name][8] > lines[name][4] for name in there)
    required = f">= {LEAST_ABOVE} of {len(SETS)}"
    met = verdict(above >= LEAST_ABOVE) if len(there) == len(SETS) else "-"
    yield Table(
        "Sets on which the linkage has a mean NMI above that of the median tree",
        ("above", "of", "required", "verdict"), [(above, len(there), required, met)],
    )  # fmt: skip
    yield Table(f"{title}, generated sets", COLUMNS, [lines[name] for name in generated])


def rows_of_set(name: str, seed: int, folder: str | None) -> tuple[Any, Any]:
    """Return the rows and classes of a labelled set, or of a generated one with its seed."""
    if name in MIXTURES:
        X, y = MIXTURES[name](seed)
        return X.compute(), y.compute()
    if name in SHAPES:
        return draw(name, seed)
    found = labelled_set(name, folder)
    assert found is not None
    return found


def score_of_trees(name: str, seed: int, folder: str | None) -> list[Any]:
    """Return the scores of one consensus by votes and by linkage; and the labels of both and of its first tree."""
    X, y = rows_of_set(name, seed, folder)
    trees = RandomProjectionTree(n_projections=N_PROJECTIONS)
    model = ConsensusClustering(estimator=trees, n_trees=N_TREES, combine="votes", random_state=seed).fit(X)
    leaves = [tree.labels(X) for tree in model.trees_]
    known = np.asarray(y) >= 0
    own = [_nmi(y, labels, known) for labels in leaves]
    # As with combine="linkage", without growing the trees again.
    linked = consensus(*leaves, method="linkage")
    scores = [
        *map(float, (np.median(own), np.max(own))), _nmi(y, model.labels_, known), int(model.n_clusters_),
        _nmi(y, linked.labels, known), int(linked.n_clusters),
    ]  # fmt: skip
    return [
        scores,
        list(X.shape),
        *(np.asarray(labels).tolist() for labels in (leaves[0], model.labels_, linked.labels)),
    ]


def _nmi(y: Any, labels: Any, known: Any) -> float:
    return float(normalized_mutual_information(np.asarray(y)[known], np.asarray(labels)[known]))


def _line(name: str, found: Sequence[list[Any]]) -> tuple[Any, ...]:
    scores = np.array([cell[0] for cell in found])
    median, _, votes, _, linkage, _ = scores.T
    # Rows of generated sets differ from seed to seed.
    stable = [_stability([cell[i] for cell in found]) if name not in (*MIXTURES, *SHAPES) else "-" for i in (2, 3, 4)]
    wins = [f"{int((a > b).sum())} of {len(found)}" for a, b in ((votes, median), (linkage, votes))]
    return (name, *found[0][1], len(found), *map(float, scores.mean(axis=0)), *stable, *wins, "-")


def _stability(labels: Sequence[Any]) -> float:
    """Return the mean NMI of all pairs."""
    pairs = [normalized_mutual_information(np.asarray(a), np.asarray(b)) for a, b in combinations(labels, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")
