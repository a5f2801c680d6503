"""Are the clusters the right ones: agreement with known labels, with default parameters."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mdh_dask import RandomProjectionTree
from mdh_dask.metrics import adjusted_rand_index, contingency_table, normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

from .shared import FOLDER, SKIPPED, Table, labelled_set, verdict

SHORT: dict[str, Any] = {"seeds": (0,)}


class Required(NamedTuple):
    """Bounds of a set; a set without them is shown only."""

    nmi: float
    clusters: tuple[int, int]

    def __str__(self) -> str:
        return f"NMI >= {self.nmi:g}, {self.clusters[0]} to {self.clusters[1]} clusters"


SETS: dict[str, Required | None] = {
    "pendigits": Required(0.75, (10, 30)),
    "optdigits": None,
    "image_segmentation": None,
    "mfeat_fac": None,
    "breast_cancer_wisconsin": None,
    "usps": None,
    "shapes2d/s3": None,
}

SIMULATED = Required(0.98, (18, 22))

COLUMNS = ("set", "rows", "columns", "classes", "seed", "NMI", "ARI", "clusters", "passes", "s", "required", "verdict")


def run(seeds: Sequence[int] = (0, 1, 2), n_rows: int = 1_000_000, folder: str | None = None) -> Iterator[Table]:
    """Score labelled sets, as far as they are there, and a simulated mixture of which the seed draws the rows too."""
    rows = [line for name in SETS for line in _set_lines(name, folder, seeds)]
    yield Table(f"Labelled sets (folder: ${FOLDER})", COLUMNS, rows)
    rows = []
    for seed in seeds:
        X, y = gaussian_mixture(n_rows, 50, 20, centre_range=(-10, 10), sd=2.5, random_state=seed)
        rows.append(_line("20 Gaussian clusters", X, y, 20, seed, SIMULATED))
    yield Table("Simulated mixture", COLUMNS, rows)


def _set_lines(name: str, folder: str | None, seeds: Sequence[int]) -> list[tuple[Any, ...]]:
    found = labelled_set(name, folder)
    if found is None:
        return [(name, *["-"] * (len(COLUMNS) - 2), SKIPPED)]
    X, y = found
    return [_line(name, X, y, len(np.unique(y)), seed, SETS[name]) for seed in seeds]


def _line(name: str, X: Any, y: Any, n_classes: int, seed: int, required: Required | None) -> tuple[Any, ...]:
    start = time.perf_counter()
    model = RandomProjectionTree(random_state=seed).fit(X)
    table = contingency_table(y, model.labels_)
    seconds = time.perf_counter() - start
    nmi, k = normalized_mutual_information(table), model.n_clusters_
    shape = (*X.shape, n_classes, seed)
    scores = (nmi, adjusted_rand_index(table), k, model.n_passes_, seconds)
    if required is None:
        return name, *shape, *scores, "-", "-"
    holds = nmi >= required.nmi and required.clusters[0] <= k <= required.clusters[1]
    return name, *shape, *scores, str(required), verdict(holds)
