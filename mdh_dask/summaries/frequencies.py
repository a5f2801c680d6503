"""Frequencies of the levels of categorical columns in every cluster."""

from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, Integers
from ..chunks import Statistic


@dataclass(frozen=True)
class FrequencyPass(Statistic):
    """Number of rows with each level of some columns in every cluster; the blocks are labels and rows of codes.

    The value is an array of shape (n_clusters, n_levels + 2) for each column: rows with each level, with an unknown
    one, and without a value.

    Parameters
    ----------
    n_clusters : int
    columns, n_levels : tuple of int
        Numbers of the columns, and of their levels.
    lowest : int
        The lowest label.
    """

    n_clusters: int
    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    lowest: int = 0

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, ...]:
        """Count the rows of one block."""
        labels = np.asarray(blocks[0], dtype=np.intp) - self.lowest
        return tuple(self._counts(labels, blocks[1][:, j], n) for j, n in zip(self.columns, self.n_levels))

    def combine(self, left: tuple[Integers, ...], right: tuple[Integers, ...]) -> tuple[Integers, ...]:
        """Add the counts."""
        return tuple(a + b for a, b in zip(left, right))

    def _counts(self, labels: Integers, codes: AnyArray, n_levels: int) -> Integers:
        place = np.where(np.isnan(codes), n_levels + 1, codes).astype(np.intp)
        width = n_levels + 2
        return np.bincount(labels * width + place, minlength=self.n_clusters * width).reshape(self.n_clusters, width)
