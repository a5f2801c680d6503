"""Names of clusters from the texts of their rows, by class-based TF-IDF."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._typing import Integers
from ..chunks import is_dask
from ..columns.coding import is_missing
from ..growth.exemplars import least
from ..summaries.tables import shortened
from .groups import without_groups
from .repeats import some_rows
from .tables import plain_labels

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
    own = ["" if is_missing(text) else str(text) for text in found]
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
        raise ValueError(f"expected words in the texts; got none: {error}") from error
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
