"""How alike the clusters of fits with other seeds, or to parts of the rows, are."""

from itertools import combinations, compress
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import zarr
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._storable import storable
from .._typing import Booleans, Floats, Integers
from .._words import full_count, percent
from ..chunks import is_dask
from ..io import open_rows
from ..metrics import adjusted_rand_index
from ..metrics.contingency import ContingencyTable, contingency_table
from .groups import names_of, without_groups
from .tables import plain_labels, plain_rows

STABLE = 0.9
"""Clusterings whose mean adjusted Rand index is lower depend on the seed, or on the rows that were drawn."""

SAME = 0.75
"""Least Jaccard index of a cluster with one of another fit that is the same: C. Hennig, Cluster-wise assessment of
cluster stability, Computational Statistics & Data Analysis 52, 2007."""

MOST_NAMED = 20
"""Most clusters that the sentence names."""


@storable
class Repeats(NamedTuple):
    """What fits with other seeds, of the same rows or of parts of them, found."""

    agreement: Floats
    """Adjusted Rand indices of all pairs of fits, the model among them."""
    n_clusters: Integers
    """Numbers of clusters of the other fits."""
    found: Integers
    """In how many of the other fits each cluster of the model was found again."""
    share: float
    """Share of the rows that each fit had."""

    @property
    def name(self) -> str:
        """What the other fits are called in reports."""
        return "Other seeds" if self.share == 1 else "Parts of the rows"

    def unstable(self) -> list[int]:
        """Return the clusters that were found again in under half of the other fits."""
        return np.flatnonzero(2 * self.found < len(self.n_clusters)).tolist()

    def __str__(self) -> str:
        """Return the sentence of `why` and reports."""
        least, most, mean = self.n_clusters.min(), self.n_clusters.max(), float(self.agreement.mean())
        number = full_count(int(least), "cluster") if least == most else f"{least} to {most} clusters"
        fits, on = full_count(len(self.n_clusters), "fit"), "the seed"
        if self.share == 1:
            fits += " with other seeds"
        else:
            fits, on = f"{fits} to {percent(self.share)} of the rows each", "which rows are drawn"
        verdict = "the clusters depend" if mean < STABLE else "the clusters hardly depend"
        few = self.unstable()
        names = (
            f"cluster{'s' * (len(few) > 1)} {', '.join(map(str, few[:MOST_NAMED]))}{' ...' * (len(few) > MOST_NAMED)}"
        )
        return (
            f"{fits} found {number}, and labels agree by an adjusted Rand index of {mean:.2f} on average, "
            f"{self.agreement.min():.2f} at least: {verdict} on {on}"
            f"{f'; under half of them found {names}' if few else ''}"
        )

    def check(self) -> None:
        """Raise a ValueError unless these can be repeats."""
        n = len(self.n_clusters)
        if not n or len(self.agreement) != n * (n + 1) // 2 or not ((self.found >= 0) & (self.found <= n)).all():
            raise ValueError("expected the agreement of all pairs of some fits, and clusters found in some of them")


def repeats(model: Any, X: Any, n: int = 4, share: float = 1.0, **fit: Any) -> Repeats:
    """Fit the rows, or parts of them, again with other seeds, to see whether the clusters depend on that.

    `confidence` compares a row with the separators of this fit; whether other fits have these is another question.

    Parameters
    ----------
    X : array-like, frame, Dask array or Zarr array of shape (n_samples, n_features)
        The rows of `fit`.
    n : int, default=4
        Number of further fits.
    share : float, default=1.0
        Share of the rows that each further fit has, drawn at random; of groups, if there are any. All rows are
        labelled. With ``share=0.5`` the fits say how stable each cluster is: how often it returns in halves.
    **fit
        What else `fit` was given, as ``groups=donor``.

    Returns
    -------
    Repeats
        Adjusted Rand indices of all pairs of fits as `agreement`, the numbers of clusters of the others as
        `n_clusters`, and in how many of them each cluster was `found` again, with a Jaccard index of at least .75;
        as a text, a sentence, which names those that return in under half of them. `why` and reports then say so.

    Notes
    -----
    As many passes as `n` fits, and one for each pair of labels of lazy rows; with a share, some bytes of
    memory a row.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0, 0], [8, 0]], 300, axis=0)
    >>> print(RandomProjectionTree(n_projections=50).fit(X).repeats(X, 2))  # doctest: +ELLIPSIS
    2 fits with other seeds found 2 clusters, and labels agree by an adjusted Rand index of 1.00 on average...
    """
    check_is_fitted(model)
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"expected a positive number of fits for n; got {n!r}")
    if not isinstance(share, Real) or not 0 < share <= 1:
        raise ValueError(f"expected a share of the rows above 0, and up to 1; got {share!r}")
    if model.n_groups_ is not None and fit.get("groups") is None:
        raise ValueError(f"expected the {full_count(model.n_groups_, 'group')} of fit; got none: give groups=")
    if share < 1 and get_tags(model).input_tags.pairwise:
        raise ValueError("expected rows with a share of them; got a precomputed kernel: leave out share")
    if share < 1 and hasattr(fit.get("y"), "must"):
        raise ValueError("expected labels of rows with a share of them; got links of row numbers: leave out share")
    if fit.get("groups") is not None:
        X, fit["groups"] = without_groups(X, fit["groups"])
    labels, others = [plain_labels(model.cluster_labels(X))], []
    _check_rows(model, labels[0].shape[0])
    for rng in (generator(model._seed(), i) for i in range(1, n + 1)):
        other, seed = clone(model), int(rng.integers(2**31))
        seeds = [name for name in other.get_params() if name in ("random_state", "feature_map__random_state")]
        other.set_params(**dict.fromkeys(seeds, seed))
        if share < 1:
            drawn = _drawn(rng, labels[0].shape[0], share, fit.get("groups"))
            other.fit(some_rows(X, drawn), **{name: some_rows(value, drawn) for name, value in fit.items()})
        else:
            other.fit(X, **fit)
        others.append(other)
        labels.append(plain_labels(other.cluster_labels(X)))
    tables = {(i, j): contingency_table(labels[i], labels[j]) for i, j in combinations(range(n + 1), 2)}
    found = sum(_found_again(tables[0, j], model.n_clusters_) for j in range(1, n + 1))
    agreement = np.array([adjusted_rand_index(table) for table in tables.values()])
    n_clusters = np.array([each.n_clusters_ for each in others])
    model._repeats = Repeats(agreement, n_clusters, np.asarray(found), float(share))
    return model._repeats


def _check_rows(model: Any, n_rows: int) -> None:
    """Raise an error for another number of rows than that of `fit`, which loaded and updated models do not know."""
    known = getattr(model, "labels_", None) if getattr(model, "n_batches_", 1) == 1 else None
    if known is not None and (n := plain_labels(known).shape[0]) != n_rows:
        raise ValueError(f"expected the {full_count(n, 'row')} of fit; got {n_rows}: fit a model to these first")


def _drawn(rng: np.random.Generator, n_rows: int, share: float, groups: Any) -> Booleans:
    """Return which rows are drawn: each by itself, or with its group."""
    if groups is None:
        return rng.random(n_rows) < share
    groups = plain_labels(groups.compute() if hasattr(groups, "compute") else groups)
    names, group = np.unique(names_of(np.ma.asarray(groups)), return_inverse=True)
    return (rng.random(len(names)) < share)[group]


def some_rows(given: Any, drawn: Booleans) -> Any:
    """Return the rows, or values of rows, that are drawn, in the form in which all are given."""
    if given is None:
        return None
    given, _ = plain_rows(open_rows(given) if isinstance(given, zarr.Array) else given)
    if hasattr(given, "to_dask_array"):
        ends = np.cumsum([0, *given.map_partitions(len).compute()])
        return given.map_partitions(_of_partition, drawn, ends, meta=given._meta)
    if hasattr(given, "filter"):  # a frame or series of polars, or of pandas, whose method is another one
        return given[drawn] if hasattr(given, "iloc") else given.filter(drawn)
    if is_dask(given):
        return given[np.flatnonzero(drawn)]
    given = given.to_scipy_sparse() if hasattr(given, "to_scipy_sparse") else given
    given = given.tocsr() if hasattr(given, "tocsr") else given
    return list(compress(given, drawn)) if isinstance(given, list | tuple) else given[drawn]


def _of_partition(part: Any, drawn: Booleans, ends: Integers, partition_info: Any = None) -> Any:
    """Return the rows of a partition that are drawn; Dask says which partition it is."""
    n = 0 if partition_info is None else partition_info["number"]
    return part[drawn[ends[n] : ends[n + 1]]]


def _found_again(table: ContingencyTable, n_clusters: int) -> Integers:
    """Return 1 for each cluster that is much the same as one of the other fit."""
    counts = table.counts[:, np.asarray(table.predicted_labels) >= 0]
    union = table.counts.sum(axis=1)[:, None] + counts.sum(axis=0) - counts
    best = (counts / np.maximum(union, 1)).max(axis=1, initial=0.0)
    again = np.zeros(n_clusters, dtype=np.int64)
    own = np.asarray(table.true_labels)
    again[own[own >= 0]] = best[own >= 0] >= SAME
    return again
