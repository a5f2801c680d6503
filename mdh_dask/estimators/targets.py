"""Labels of some rows, or links between rows, that `fit` takes as `y`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._typing import AnyArray, Integers, RowArray
from ..chunks import is_dask
from ..columns.types import hidden_labels
from ..growth.labelled import UNLABELLED
from ..valleys.graph import groups_of
from .models import part
from .tables import plain_labels

NO_LABEL = ("", "-1")
"""Texts of rows without a label."""


class Target(NamedTuple):
    """Labels of some of the rows."""

    labels: RowArray
    """Shape (n_rows,), int64; -1 for rows without a label."""
    names: AnyArray | None = None
    """Texts that the labels encode."""
    apart: Integers | None = None
    """Pairs of labels to be separated, shape (n_pairs, 2); by default, all."""

    def named(self, labels: Integers) -> AnyArray:
        """Return labels as they were given."""
        return labels if self.names is None else self.names[labels]


@dataclass(frozen=True)
class Links:
    """Pairs of rows that belong together and pairs that do not, to be passed to `fit` of a tree as `y`.

    Parameters
    ----------
    must : sequence of pairs of int
        Numbers of two rows that should be in the same cluster. Links form chains: rows that are linked to the same row
        are linked to each other.
    cannot : sequence of pairs of int
        Numbers of two rows that should be in different clusters.

    Notes
    -----
    No split of the tree cuts a group of linked rows. Groups that cannot be linked are separated wherever the density
    has a valley between them.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + np.repeat([[-9, 0], [0, 0], [9, 0]], 100, axis=0)
    >>> RandomProjectionTree().fit(X).n_clusters_
    3
    >>> model = RandomProjectionTree().fit(X, Links(must=[(0, 150)]))
    >>> model.n_clusters_, bool(model.labels_[0] == model.labels_[150])
    (2, True)
    """

    must: Iterable[tuple[int, int]] = ()
    cannot: Iterable[tuple[int, int]] = ()

    def target(self, n_rows: int) -> Target:
        """Return the groups of linked rows as labels; a ValueError says which links contradict each other."""
        must, cannot = _pairs("must", self.must, n_rows), _pairs("cannot", self.cannot, n_rows)
        rows, place = np.unique(np.concatenate([must, cannot]), return_inverse=True)
        place = place.reshape(-1, 2)
        group = groups_of(place[: len(must)], len(rows)).astype(np.int64)
        apart = group[place[len(must) :]]
        if (both := np.flatnonzero(apart[:, 0] == apart[:, 1])).size:
            raise ValueError(
                f"expected rows that cannot be linked in different groups; rows {cannot[both[0]].tolist()} are linked "
                "by must: leave out one of the links"
            )
        labels = np.full(n_rows, UNLABELLED, dtype=np.int64)
        labels[rows] = group
        return Target(labels, apart=np.unique(np.sort(apart, axis=1), axis=0))


def _pairs(name: str, given: Any, n_rows: int) -> Integers:
    pairs = np.array(list(given))
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"expected pairs of row numbers for {name}, such as [(0, 7), (3, 9)]; got {given!r:.80}")
    if pairs.min() < 0 or pairs.max() >= n_rows:
        outside = pairs[(pairs < 0) | (pairs >= n_rows)][0]
        raise ValueError(f"expected row numbers from 0 to {n_rows - 1} for {name}; got {outside}")
    return pairs.astype(np.int64)


def partial_target(y: Any, n_rows: int) -> Target | None:
    """Return labels of some rows, or None unless `y` is an array of integers or texts in which some rows have none.

    A row has none if its label is -1, an empty text, missing or masked. Pipelines pass the classes of all rows to
    clusterings, too, which should not follow them. Lazy labels that are floats are read once, to see if any is
    masked or NaN.
    """
    if y is None:
        return None
    if isinstance(y, Links):
        return y.target(n_rows)
    labels = known_labels(y)
    if is_dask(labels):
        if labels.dtype.kind != "f":
            return encoded(labels, n_rows) if labels.dtype.kind == "i" else None
        partial = bool(plain_labels(y).map_blocks(hidden_labels, dtype=bool, meta=np.empty(0, bool)).any().compute())
        return encoded(labels.map_blocks(_filled_whole, dtype=np.int64), n_rows) if partial else None
    if labels.dtype.kind == "i":
        known = labels[labels != UNLABELLED]
        partial = len(known) < len(labels) and bool((known != 1).any())  # -1 and 1 are two classes
    else:
        partial = labels.dtype.kind in "UO" and bool(np.isin(labels.astype(str), NO_LABEL).any())
    return encoded(labels, n_rows) if partial else None


def known_labels(y: Any) -> RowArray:
    """Return labels as an array of NumPy or Dask, with -1, or an empty text, in place of masked and missing ones."""
    y = plain_labels(y)
    if not is_dask(y):
        return _filled(y)
    if not isinstance(y._meta, np.ma.MaskedArray):
        return y
    meta = _filled(y._meta)
    return y.map_blocks(_filled, dtype=meta.dtype, meta=meta)


def _filled(y: Any) -> AnyArray:
    labels, hidden = np.ma.getdata(y), hidden_labels(y)
    if labels.dtype.kind == "u" and np.ma.isMaskedArray(y):
        labels = _integers(labels)  # in blocks without masked labels, too
    if labels.dtype.kind == "O" and _whole_objects(labels[~hidden]):
        return np.where(hidden, UNLABELLED, labels).astype(np.int64)
    if not hidden.any() or labels.dtype.kind not in "biufUO":
        return labels
    if labels.dtype.kind in "UO":
        return np.where(hidden, "", labels)
    filled = np.where(hidden, UNLABELLED, labels)
    return _integers(filled) if _whole(filled) else filled


def _whole_objects(known: AnyArray) -> bool:
    """Return whether objects are whole numbers of 64 bits, as those beside None are."""
    numbers = (
        float(one) for one in known.flat if isinstance(one, int | float | np.number) and not isinstance(one, bool)
    )
    n_whole = sum(number.is_integer() and abs(number) < 2**63 for number in numbers)
    return 0 < known.size == n_whole


def _filled_whole(y: AnyArray) -> Integers:
    """Return a block of labels that are floats as integers."""
    filled = _filled(y)
    if filled.dtype.kind == "f" and not _whole(filled):
        raise ValueError(
            f"expected whole numbers as labels, or NaN; got {filled[np.isinf(filled) | (filled != filled.round())][0]}"
        )
    return _integers(filled)


def _integers(labels: AnyArray) -> Integers:
    """Return whole numbers as int64, or raise an error if some are too large."""
    # As Python's integers: 2**63 - 1 is an int64, but as a float it is 2**63, which is not.
    if labels.dtype.kind in "uf" and labels.size and not -(2**63) <= int(labels.min()) <= int(labels.max()) < 2**63:
        raise ValueError(
            f"expected labels from -2**63 to 2**63 - 1; got {labels[np.abs(labels.astype(float)).argmax()]}: "
            "numpy.unique(labels, return_inverse=True) makes smaller integers of them"
        )
    return labels.astype(np.int64)


def restored_counts(saved: Mapping[str, Any], n_clusters: int) -> tuple[AnyArray, Integers]:
    """Return the saved labels and their checked counts in clusters."""
    known, counts = np.array(part(saved, "known", list)), np.array(part(saved, "counts", list))
    if known.ndim != 1 or known.dtype.kind not in "iU" or len(set(known.tolist())) != len(known) or not len(known):
        raise ValueError(f"expected different integers or texts for labels, got {known.tolist()!r:.80}")
    if counts.shape != (n_clusters, len(known)) or counts.dtype.kind != "i" or (counts < 0).any():
        raise ValueError(
            f"expected counts of {len(known)} labels in {n_clusters} clusters, got {counts.tolist()!r:.80}"
        )
    return known, counts


def encoded(y: Any, n_rows: int) -> Target:
    """Return labels as integers, with -1 for none."""
    labels = known_labels(y)
    if not is_dask(labels) and labels.shape == (n_rows, 1):
        labels = column_or_1d(labels, warn=True)
    if labels.shape != (n_rows,):
        raise ValueError(f"expected one label for each of the {n_rows} rows; got an array of shape {labels.shape}")
    if labels.dtype.kind in "iu" or (not is_dask(labels) and _whole(labels)):
        lazy_unsigned = is_dask(labels) and labels.dtype.kind == "u"
        return Target(labels.map_blocks(_integers, dtype=np.int64) if lazy_unsigned else _integers(labels))
    if is_dask(labels) or labels.dtype.kind not in "UO":
        raise ValueError(
            f"Unknown label type: expected integers, -1 for rows without a label; got labels of dtype {labels.dtype}. "
            "numpy.unique(labels, return_inverse=True) makes integers of them."
        )
    texts = labels.astype(str)
    known = ~np.isin(texts, NO_LABEL)
    names, codes = np.unique(texts[known], return_inverse=True)
    encodings = np.full(n_rows, UNLABELLED, dtype=np.int64)
    encodings[known] = codes
    return Target(encodings, names)


def _whole(labels: AnyArray) -> bool:
    """Return whether labels are whole numbers stored as fractions, as scikit-learn takes them, too."""
    return labels.dtype.kind == "f" and bool(np.isfinite(labels).all() and (labels == labels.round()).all())
