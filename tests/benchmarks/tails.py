"""Do random projections as in chapter 6 of the thesis need a bound on thresholds that its text omits."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mdh_dask.metrics import normalized_mutual_information

from .published_settings import random_projections
from .sets import any_set
from .shared import FOLDER, SKIPPED, Table

SHORT: dict[str, Any] = {"n_seeds": 1}

SETS = ("mfeat_fac", "optdigits")

BOUNDS: dict[str, dict[str, Any]] = {
    "as in the text": {"alpha": None},
    "within 2 sd": {"alpha": 2.0},
    "within 1 sd (as_in_thesis)": {},
    "sqrt(n) rows on each side": {"alpha": None, "min_cluster_size": None},
    "null of the branch": {"alpha": None, "stop_rule": "level"},
    "fresh directions": {"alpha": None, "fixed_directions": False},
    "fresh directions, within 1 sd": {"fixed_directions": False},
}
"""Changes to `random_projections`."""


def run(
    n_seeds: int = 3, n_projections: int = 100, sets: Sequence[str] = SETS, folder: str | None = None
) -> Iterator[Table]:
    """Count the clusters, and those of few rows, for the largest relative depth of random directions."""
    columns = ("set", "what", "NMI", "clusters", "of less than 10 rows")
    lines: list[tuple[Any, ...]] = []
    for name in sets:
        pair = any_set(name, folder)
        if pair is None:
            lines.append((name, *["-"] * 3, SKIPPED))
            continue
        X, y = pair
        for what, changes in BOUNDS.items():
            found = []
            for seed in range(n_seeds):
                tree = random_projections(n_projections, random_state=seed, **changes).fit(X)
                small = np.count_nonzero(np.bincount(tree.labels_) < 10)
                found.append((normalized_mutual_information(y, tree.labels_), tree.n_clusters_, small))
            lines.append((name, what, *map(float, np.mean(found, axis=0))))
    title = f"Random projections as in thesis figure 6.9, {n_projections} directions, means of {n_seeds} seeds"
    yield Table(f"{title} (folder: ${FOLDER})", columns, lines)
