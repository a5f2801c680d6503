"""Hyperplanes and a mixture of the tuples of their sides: the state of an ensemble, which labels rows."""

from dataclasses import dataclass, field, replace

import numpy as np

from .._state import State, checked_array
from .._typing import AnyArray, Floats, Integers
from .mixture import Tuples, bits_of, words_of

ROWS_AT_ONCE = 8192
"""Rows whose probabilities are in memory at once while rows are labelled."""


@dataclass(frozen=True)
class HyperplaneMixture(State):
    """Hyperplanes and a mixture of the tuples of their sides."""

    planes: Floats
    """Shape (n_hyperplanes, n_features), float64: directions for raw rows."""
    offsets: Floats
    """Shape (n_hyperplanes,), float64: thresholds: a row lies above a hyperplane if ``plane . x > offset``."""
    log_weights: Floats
    """Shape (n_components,), float64."""
    log_probabilities: Floats
    """Shape (n_components, n_hyperplanes, 2), float64: logarithms of the probabilities of lying below and above each
    hyperplane."""
    n_rows: Integers
    """Shape (n_clusters,), int64: number of rows of each cluster, counted over at most `MOST_TUPLES` tuples."""
    complete: bool
    """Whether all rows were counted."""
    failed: Floats = field(default_factory=lambda: np.empty(0))
    """Shape (3,) or (0,), float64: of the best valley that was not accepted, its relative depth on the rows that test
    it; the share of samples with a single mode that have one as deep there, NaN if the stop rule does not ask; and what
    was needed."""
    cluster: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Shape (n_components,), int64: the cluster of each component; by default each is a cluster."""

    def __post_init__(self) -> None:
        """Make every component a cluster if none are given."""
        if np.size(self.cluster) == 0:
            object.__setattr__(self, "cluster", np.arange(np.size(self.log_weights)))

    @property
    def sizes(self) -> Integers | None:
        """Return the number of rows in every cluster, if all were counted."""
        return self.n_rows if self.complete else None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.n_rows)

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.planes.shape[1]

    def labels(self, rows: AnyArray) -> Integers:
        """Return the most probable cluster of every row, shape (n_rows,), int32."""
        return self.shares(rows).argmax(axis=1).astype(np.int32)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probability of the most probable cluster of every row."""
        return self.shares(rows).max(axis=1)

    def check(self) -> None:
        """Raise an error unless the arrays are those of hyperplanes and of logarithms of probabilities."""
        h, k = len(np.atleast_1d(self.offsets)), len(np.atleast_1d(self.log_weights))
        width = self.planes.shape[-1] if self.planes.ndim == 2 else 0
        if k < 1 or width < 1:
            raise ValueError(f"expected at least 1 cluster and 1 column, got {k} and {width}")
        checked_array("planes", self.planes, (h, width))
        checked_array("offsets", self.offsets, (h,))
        checked_array("log_weights", self.log_weights, (k,))
        checked_array("log_probabilities", self.log_probabilities, (k, h, 2))
        checked_array("cluster", self.cluster, (k,), least=0)
        checked_array("n_rows", self.n_rows, (len(np.unique(self.cluster)),), least=0)
        if self.cluster.max() >= len(self.n_rows):
            raise ValueError(f"expected clusters numbered from 0 to {len(self.n_rows) - 1}, got {self.cluster.max()}")
        if not isinstance(self.complete, bool):
            raise ValueError(f"expected true or false for complete, got {self.complete!r}")
        checked_array("failed", self.failed, (3,) if np.size(self.failed) else (0,), missing=True)

    def shares(self, rows: AnyArray) -> Floats:
        """Return the probability of every cluster given the sides of a row, shape (n_rows, n_clusters)."""
        parts = [self._shares(rows[i : i + ROWS_AT_ONCE]) for i in range(0, max(len(rows), 1), ROWS_AT_ONCE)]
        return np.concatenate(parts)

    def merged(self, group: Integers, tuples: Tuples) -> "HyperplaneMixture":
        """Return the mixture with its clusters in groups, without those that are the most probable one of no tuple."""
        cluster = group[self.cluster]
        joined = replace(self, cluster=cluster, n_rows=np.zeros(int(cluster.max()) + 1, dtype=np.int64))
        label = joined._shares_of_words(tuples.words).argmax(axis=1)
        np.add.at(joined.n_rows, label, tuples.counts)
        order = np.argsort(-joined.n_rows, kind="stable")
        order = order[joined.n_rows[order] > 0]
        number = np.full(len(joined.n_rows), -1)
        number[order] = np.arange(len(order))
        kept = number[cluster] >= 0
        return replace(
            joined, log_weights=self.log_weights[kept], log_probabilities=self.log_probabilities[kept],
            n_rows=joined.n_rows[order], cluster=number[cluster[kept]],
        )  # fmt: skip

    def _shares(self, rows: AnyArray) -> Floats:
        return self._shares_of_words(words_of(rows, self.planes, self.offsets))

    def _shares_of_words(self, words: Integers) -> Floats:
        bits = bits_of(words, len(self.planes)).astype(np.intp)
        joint = np.repeat(self.log_weights[None], len(words), axis=0)
        # One hyperplane at a time, as the last bits of a matrix product depend on the rows of the block.
        for j, side in enumerate(bits.T):
            joint += self.log_probabilities[:, j, :].T[side]
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        of_clusters = np.zeros((len(words), self.n_clusters))
        for component, cluster in zip(shares.T, self.cluster):
            of_clusters[:, cluster] += component
        return of_clusters
