"""How alike the clusters of fits with other seeds are."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._random import generator
from .._storable import storable
from .._typing import Floats, Integers
from .._words import full_count
from ..metrics import adjusted_rand_index
from ..metrics.contingency import ContingencyTable, contingency_table
from .frames import plain_labels

ALIKE = 0.9
"""Clusterings whose mean adjusted Rand index is lower depend on the seed."""

SAME = 0.75
"""Least Jaccard index of a cluster with one of another fit that is the same: C. Hennig, Cluster-wise assessment of
cluster stability, Computational Statistics & Data Analysis 52, 2007."""


@storable
class Repeats(NamedTuple):
    """What fits of the same rows with other seeds found."""

    agreement: Floats
    """Adjusted Rand indices of all pairs of fits, the model among them."""
    n_clusters: Integers
    """Numbers of clusters of the other fits."""
    found: Integers
    """In how many of the other fits each cluster of the model was found again."""

    def __str__(self) -> str:
        """Return the sentence of `why` and reports."""
        least, most, mean = self.n_clusters.min(), self.n_clusters.max(), float(self.agreement.mean())
        number = f"{least}" if least == most else f"{least} to {most}"
        verdict = "the clusters depend on the seed" if mean < ALIKE else "the clusters hardly depend on the seed"
        return (
            f"{full_count(len(self.n_clusters), 'fit')} with other seeds found {number} clusters, and labels agree by "
            f"an adjusted Rand index of {mean:.2f} on average, {self.agreement.min():.2f} at least: {verdict}"
        )

    def check(self) -> None:
        """Raise a ValueError unless these can be repeats."""
        n = len(self.n_clusters)
        if not n or len(self.agreement) != n * (n + 1) // 2 or not ((self.found >= 0) & (self.found <= n)).all():
            raise ValueError("expected the agreement of all pairs of some fits, and clusters found in some of them")


def repeats_of(model: Any, X: Any, n: int, fit: Mapping[str, Any]) -> Repeats:
    """Return what fits with other seeds find; see `ClusterEstimator.repeats`."""
    if n < 1:
        raise ValueError(f"expected a positive number of fits for n; got {n}")
    if model.n_groups_ is not None and fit.get("groups") is None:
        raise ValueError(f"expected the {full_count(model.n_groups_, 'group')} of fit; got none: give groups=")
    seeds = [int(generator(model._seed(), i).integers(2**31)) for i in range(1, n + 1)]
    others = [clone(model).set_params(random_state=seed).fit(X, **fit) for seed in seeds]
    labels = [plain_labels(each.cluster_labels(X)) for each in (model, *others)]
    tables = {(i, j): contingency_table(labels[i], labels[j]) for i, j in combinations(range(n + 1), 2)}
    found = sum(_found_again(tables[0, j], model.n_clusters_) for j in range(1, n + 1))
    agreement = np.array([adjusted_rand_index(table) for table in tables.values()])
    return Repeats(agreement, np.array([each.n_clusters_ for each in others]), np.asarray(found))


def _found_again(table: ContingencyTable, n_clusters: int) -> Integers:
    """Return 1 for each cluster that is much the same as one of the other fit."""
    counts = table.counts[:, np.asarray(table.predicted_labels) >= 0]
    union = table.counts.sum(axis=1)[:, None] + counts.sum(axis=0) - counts
    best = (counts / np.maximum(union, 1)).max(axis=1, initial=0.0)
    again = np.zeros(n_clusters, dtype=np.int64)
    own = np.asarray(table.true_labels)
    again[own[own >= 0]] = best[own >= 0] >= SAME
    return again
