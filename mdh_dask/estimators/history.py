"""What clusters are called: ids that stay through updates, other trees and refits, and words of texts."""

from collections.abc import Callable, Sequence
from copy import copy
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._typing import AnyArray, Floats, Integers
from .._words import full_count
from ..chunks import is_dask, merge_chunks, reduce_rows, run
from ..columns.types import is_missing
from ..growth.exemplars import least
from ..growth.passes import draw
from ..metrics.contingency import Contingency, ContingencyTable
from ..summaries.evidence import evidence_of
from ..summaries.history import REMEMBERED, History
from ..summaries.tables import shortened
from ..tree.clusters import overlaps
from .groups import without_groups
from .parameters import check_model, rows_of_share
from .repeats import some_rows
from .tables import plain_labels

T = TypeVar("T")
Labels = Callable[[AnyArray], AnyArray]


def begun(model: Any, rows: AnyArray | None) -> History:
    """Return the history of a model whose clusters are new; `rows` are some of those that it was fitted to."""
    sizes = model.state_.sizes
    sizes = None if sizes is None else sizes[-model.n_clusters_ :]
    return History.begun(sizes, set_apart(model), np.empty((0, 0)) if rows is None else rows)


def set_apart(model: Any) -> Floats:
    """Return the adjusted p-value of the split above the largest leaf of each cluster; NaN without a tree or test."""
    p_values, tree = np.full(model.n_clusters_, np.nan), getattr(model, "tree_", None)
    if tree is None:
        return p_values
    table = evidence_of(tree, model.merges_)
    splits = table["kind"] == "split"
    of_node = np.full(tree.n_nodes + 1, np.nan)  # the last is that above the root
    of_node[table["node"][splits]] = table["p_family"][splits]
    leaves = tree.leaves[np.argsort(tree.n_rows[tree.leaves], kind="stable")]
    p_values[tree.cluster[leaves]] = of_node[tree.parent[leaves]]
    return p_values


def crossed(old: Labels, new: Labels, rows: AnyArray, shape: tuple[int, int]) -> Integers:
    """Return the numbers of rows in each old and each new cluster, without rows in none."""
    counts = np.zeros(shape, dtype=np.int64)
    if len(rows):
        pairs = np.array([old(rows), new(rows)])
        np.add.at(counts, tuple(pairs[:, (pairs >= 0).all(axis=0)]), 1)
    return counts


def follow(model: Any, before: Any) -> None:
    """Continue the history of a tree in a model of another tree of the same rows, by labels of those remembered."""
    history, old, new = before.history_, before.tree_, model.tree_
    known = history.remembered
    both = crossed(before.state_.labels, model.state_.labels, known, (len(history.ids), model.n_clusters_))
    unseen = ~both.any(axis=1, keepdims=True) | ~both.any(axis=0)  # few rows are remembered
    share = len(known) / max(int(old.n_rows[0]), 1) if len(known) else 1
    both = np.where(unseen, np.ceil(overlaps(old, new) * share).astype(np.int64), both)
    model._history = history.followed(both, both, set_apart(model), known)


def follow_update(
    model: Any, history: History, old: Labels, new: Labels, rows: AnyArray, n_batch: int, smaller: float, keep: bool
) -> None:
    """Continue a history in a model that was updated by a batch of so many rows, of which some are given.

    A model keeps places for some time after their rows have gone; clusters are those that a fit of the last rows, at
    least a thousand, could have; if they are very many, of a part `smaller` of the usual least rows. Features of rows
    are not kept, as another map makes others.
    """
    known, shape = history.remembered, (len(history.ids), model.n_clusters_)
    last = np.concatenate([rows, known[: max(REMEMBERED - len(rows), 0)]]) if len(known) else rows
    now, before, counted = (crossed(old, new, some, shape) for some in (rows, known, last))
    each = n_batch / max(len(rows), 1)  # rows for which one stands
    least = max(round(rows_of_share(model.min_cluster_size, round(len(last) * each)) * smaller / each), 1)
    model._history = history.followed(now, before, set_apart(model), last[: None if keep else 0], counted, least)


def unite(model: Any, history: History, union: Integers, sizes: Integers) -> None:
    """Continue a history in a model of unions of clusters that have so many rows."""
    now = np.zeros((len(union), model.n_clusters_), dtype=np.int64)
    now[np.arange(len(union)), union] = np.maximum(sizes, 1)
    model._history = history.followed(now, None, set_apart(model), history.remembered)


def continued(model: T, previous: Any, X: Any) -> T:
    """Return a model whose clusters keep the ids that they have in a previous model.

    Parameters
    ----------
    model : estimator
        Fitted to the rows of this night.
    previous : estimator
        Model of the night before, of any kind, for the same columns.
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        The rows of this night.

    Returns
    -------
    estimator
        A copy of `model` with the `ids_` of what stays and new ones, never given before, of what is new; `history_` has
        a further night.

    Notes
    -----
    One pass, which labels all rows by both models; one more to draw rows to remember if `model` keeps none. Two
    clusters are the same if each has its largest overlap with the other, in the rows of this night and in the 1000 rows
    that the previous model remembers: see `mdh_dask.summaries.history.History.followed`. If it remembers none, as a
    model of a kernel matrix or of other levels, a cluster at a place that was empty is said to be split from the one of
    that place.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree, continued
    >>> rng = np.random.default_rng(0)
    >>> def night(*centres):
    ...     return np.concatenate([rng.normal(centre, 1, (n, 2)) for centre, n in centres])
    >>> first = RandomProjectionTree().fit(night((0, 500), (8, 300)))
    >>> rows = night((0, 300), (8, 500), (16, 200))
    >>> second = continued(RandomProjectionTree().fit(rows), first, rows)
    >>> first.ids_.tolist(), second.ids_.tolist(), second.history_.to_records()[-1]["event"]
    ([0, 1], [1, 0, 2], 'born')
    """
    for one in (model, previous):
        check_model(one, "continued(model, previous, X)")
    other: Any = copy(model)
    check_columns_of(previous, other.n_features_in_, getattr(other, "feature_names_in_", None))
    labels = [plain_labels(fitted.cluster_labels(X)) for fitted in (previous, other)]
    table: ContingencyTable = reduce_rows(Contingency(), *labels)
    history, shape = previous.history_, (previous.n_clusters_, other.n_clusters_)
    now = np.zeros(shape, dtype=np.int64)
    there = np.ix_(table.true_labels >= 0, table.predicted_labels >= 0)
    places = (part[part >= 0] for part in (table.true_labels, table.predicted_labels))
    now[np.ix_(*places)] = table.counts[there]
    known = history.remembered[: None if previous.columns == other.columns else 0]  # codes of levels
    before = crossed(previous._block_labels(), other._block_labels(), known, shape)
    other._history = history.followed(now, before, set_apart(other), _remembered(other, X))
    other._labelled = getattr(model, "_labelled", None)  # a copy does not keep the rows
    return other


def has_columns(previous: Any, n_columns: int, names: Sequence[str] | None) -> bool:
    """Return whether a model has so many columns, and these if it has names: in any order if it knows their types."""
    before = getattr(previous, "feature_names_in_", None)
    if previous.n_features_in_ != n_columns or before is None or names is None:
        return previous.n_features_in_ == n_columns
    ordered = list if previous.columns is None else sorted
    return bool(ordered(map(str, before)) == ordered(map(str, names)))


def check_columns_of(previous: Any, n_columns: int, names: Sequence[str] | None) -> None:
    """Raise an error unless a previous model has these columns."""
    if not has_columns(previous, n_columns, names):
        pairs = (n_columns, names), (previous.n_features_in_, getattr(previous, "feature_names_in_", None))
        new, old = (full_count(n, "column") if own is None else ", ".join(map(str, own[:20])) for n, own in pairs)
        raise ValueError(
            f"expected models of the same columns; got {new}, and {old} in the previous one: take its columns in their "
            "order, or go on without it"
        )


def _remembered(model: Any, X: Any) -> AnyArray:
    """Return some rows of a night."""
    known: AnyArray = model.history_.remembered
    if len(known):
        return known
    rows = model._read(X).array
    plan = draw(model._seed(), REMEMBERED, rows.shape[0])
    drawn = run(plan, merge_chunks(rows), announce=model._bar)[0]
    return np.asarray(drawn.in_random_order(REMEMBERED).rows)


N_TEXTS, LEAST_TEXTS = 100_000, 10
"""Texts that are read, and the fewest of a cluster, if it has them."""


LONGEST = 80
"""Characters of a typical text that are shown."""


class Name(NamedTuple):
    """What the texts of a cluster say."""

    words: tuple[str, ...]
    """Words that are frequent in it and rare in others, the most telling first; none without texts."""
    exemplar: str
    """Its most typical text."""

    def __str__(self) -> str:
        """Return the words, and the beginning of the text."""
        beginning = shortened(" ".join(self.exemplar.split()), LONGEST)
        return ", ".join(self.words) + (f"; as “{beginning}”" if beginning else "")


def name_clusters(model: Any, X: Any, texts: Any, n_words: int = 4, vectorizer: Any = None) -> list[Name]:
    """Name clusters by words of texts that belong to their rows; `why`, reports and saved models then have the names.

    Parameters
    ----------
    X : array-like, frame, Dask array or Zarr array of shape (n_samples, n_features)
        The rows of `fit`, or others.
    texts : str or array-like of shape (n_samples,)
        The text of each row; or the column of a frame `X` that holds them. Missing ones are empty.
    n_words : int, default=4
        Number of words of a name.
    vectorizer : transformer, optional
        Counts words, as `sklearn.feature_extraction.text.CountVectorizer`; by default this, without English stop words.

    Returns
    -------
    list of Name
        For each cluster `words`, the most telling first, and the `exemplar`, its most typical text; as a text both.

    Notes
    -----
    One pass over the rows and one over lazy texts, of which about 100,000, or ten for each cluster, are drawn and held.
    The weight of a word is its share of the words of a cluster times ``log(1 + a / f)``, with its frequency `f`
    in all clusters and the mean number of words `a` of a cluster (class-based TF-IDF): M. Grootendorst, BERTopic:
    Neural topic modeling with a class-based TF-IDF procedure, arXiv:2203.05794, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0, 0], [9, 0]], 300, axis=0)
    >>> texts = np.repeat(["rain, then snow", "goals in the match"], 300)
    >>> [", ".join(name.words) for name in RandomProjectionTree(n_projections=50).fit(X).name_clusters(X, texts)]
    ['rain, snow', 'goals, match']
    """
    check_is_fitted(model)
    if not isinstance(n_words, Integral) or n_words < 0:
        raise ValueError(f"expected a number of words from 0 for n_words; got {n_words!r}")
    X, texts = without_groups(X, texts, "texts")
    labels = plain_labels(model.cluster_labels(X))
    labels = np.asarray(labels.compute() if is_dask(labels) else labels)
    n_texts = texts.shape[0] if is_dask(texts) else len(texts)
    if n_texts != len(labels):
        raise ValueError(f"expected {len(labels)} texts, one for each row; got {n_texts}")
    sizes = np.bincount(labels[labels >= 0], minlength=model.n_clusters_)
    share = max(N_TEXTS // model.n_clusters_, LEAST_TEXTS) / np.maximum(sizes, 1)
    drawn = (labels >= 0) & (generator(model._seed()).random(len(labels)) < share[labels])
    found = some_rows(texts, drawn)
    found = plain_labels(found.compute() if hasattr(found, "compute") else found)
    own = ["" if text is np.ma.masked or is_missing(text) else str(text) for text in found]
    names = _names(own, labels[drawn], model.n_clusters_, n_words, vectorizer)
    model._words = tuple(map(str, names))
    return names


def _names(texts: list[str], labels: Integers, n_clusters: int, n_words: int, vectorizer: Any) -> list[Name]:
    """Return the names of clusters from texts with these labels."""
    from sklearn.feature_extraction.text import CountVectorizer  # few fits need them
    from sklearn.preprocessing import normalize

    counter = CountVectorizer(stop_words="english") if vectorizer is None else vectorizer
    try:
        counts = sp.csr_array(counter.fit_transform(texts))
    except ValueError as error:
        raise ValueError(
            f"expected words in the texts; got none ({error}): give other texts, or vectorizer= for what they hold; "
            "by default words have two letters or more"
        ) from error
    of_cluster = sp.csr_array((np.ones(len(texts)), (labels, np.arange(len(texts)))), shape=(n_clusters, len(texts)))
    in_clusters = (of_cluster @ counts).tocsr()
    rarity = np.log1p(in_clusters.sum() / n_clusters / np.maximum(in_clusters.sum(axis=0), 1))
    weights = (normalize(in_clusters, "l1") * rarity).tocsr()
    typical = (normalize(counts * rarity) * weights[labels]).sum(axis=1)
    vocabulary, exemplars = counter.get_feature_names_out(), least(-typical, labels, n_clusters)
    names = []
    for cluster, exemplar in enumerate(exemplars):
        own = slice(*weights.indptr[cluster : cluster + 2])
        order = np.argsort(-weights.data[own], kind="stable")[:n_words]
        words = tuple(vocabulary[weights.indices[own][order]].tolist())
        names.append(Name(words, texts[exemplar] if exemplar >= 0 else ""))
    return names
