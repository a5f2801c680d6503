"""The rows nearest to the separators of their clusters."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.hashing import hash_rows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from ..growth.labelled import UNLABELLED


@storable
class Nearest(NamedTuple):
    """Distances, clusters, hashes and numbers of rows."""

    distance: Floats
    cluster: Integers
    hashes: Integers
    numbers: Integers

    def take(self, which: Integers) -> "Nearest":
        """Return some of the rows."""
        return Nearest(self.distance[which], self.cluster[which], self.hashes[which], self.numbers[which])


@dataclass(frozen=True)
class NearestRows(Statistic):
    """Numbers of rows near separators, of each cluster in turn, the nearest first.

    Parameters
    ----------
    n : int
        Number of rows.
    seed : int
        Seed of the hashes that order rows of equal distance.
    """

    n: int
    seed: int

    def chunk(self, start: int, *blocks: AnyArray) -> Nearest:
        """Return the nearest rows without a label of a block of distances, clusters and, if given, labels."""
        distance, cluster, *labels = blocks
        rows = np.flatnonzero(cluster >= 0 if not labels else (cluster >= 0) & (labels[0] == UNLABELLED))
        hashes = hash_rows(self.seed, start, len(distance))[rows]
        return self._kept(Nearest(distance[rows], cluster[rows], hashes, start + rows))[0]

    def combine(self, left: Nearest, right: Nearest) -> Nearest:
        """Return the nearest rows of both."""
        joined: list[AnyArray] = [np.concatenate(both) for both in zip(left, right)]
        return self._kept(Nearest(*joined))[0]

    def finalise(self, state: Nearest) -> Integers:
        """Return the numbers of the rows, shape (at most n,)."""
        kept, turn = self._kept(state)
        return kept.numbers[np.lexsort((kept.hashes, kept.distance, turn))][: self.n]

    def _kept(self, rows: Nearest) -> tuple[Nearest, Integers]:
        """Return the `n` nearest rows of each cluster, and the place of each row in its cluster."""
        order = np.lexsort((rows.hashes, rows.distance, rows.cluster))
        clusters = rows.cluster[order]
        turn = np.arange(len(order)) - np.searchsorted(clusters, clusters)
        kept = turn < self.n
        return rows.take(order[kept]), turn[kept]
