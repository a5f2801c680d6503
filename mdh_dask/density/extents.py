"""Groups of labelled rows along directions: the splits that would cut one, and those that separate two."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._typing import Booleans, Floats, Integers

SLACK = 1e-6
"""Bins by which the range of a group is widened, as the projections of its rows are rounded."""


@dataclass(frozen=True)
class Extents:
    """Ranges of groups of rows along directions.

    Parameters
    ----------
    low, high : arrays of shape (n_directions, n_groups)
        Smallest and largest projection of the rows of each group.
    apart : integer array of shape (n_pairs, 2), optional
        Pairs of groups that should be separated; by default, all.
    """

    low: Floats
    high: Floats
    apart: Integers | None = None

    def __getitem__(self, which: Any) -> Self:
        """Return the ranges along some of the directions."""
        return type(self)(self.low[which], self.high[which], self.apart)

    def on(self, origin: Floats, width: Floats, n_bins: int) -> tuple[Booleans, Booleans]:
        """Return which splits after bins cut a group, and which of the others separate two.

        Parameters
        ----------
        origin, width : arrays of shape (n_directions,)
        n_bins : int

        Returns
        -------
        cut, separating : arrays of shape (n_directions, n_bins)

        Examples
        --------
        >>> ends = Extents(np.array([[0.5, 4.5]]), np.array([[1.5, 4.5]]))
        >>> cut, separating = ends.on(np.zeros(1), np.ones(1), 6)
        >>> cut.astype(int), separating.astype(int)
        (array([[1, 0, 0, 0, 0, 0]]), array([[0, 1, 1, 1, 0, 0]]))
        """
        first, last = (
            np.clip(np.floor((ends + by - origin[:, None]) / width[:, None]), 0, n_bins).astype(np.intp)
            for ends, by in ((self.low, -SLACK * width[:, None]), (self.high, SLACK * width[:, None]))
        )
        cut = _covered(first, last, n_bins)
        # A split after bin k separates two groups if the first ends in bin k or before and the second begins after it.
        if self.apart is None:
            last, first = last.min(axis=1, keepdims=True), first.max(axis=1, keepdims=True)
        else:
            a, b = np.concatenate([self.apart, self.apart[:, ::-1]]).T
            last, first = last[:, a], first[:, b]
        return cut, _covered(last, first, n_bins) & ~cut


def _covered(first: Integers, beyond: Integers, n_bins: int) -> Booleans:
    """Return the bins from `first` to before `beyond`, along each direction, for any of the ranges."""
    steps = np.zeros((len(first), n_bins + 1), dtype=np.int64)
    direction = np.broadcast_to(np.arange(len(first))[:, None], first.shape)
    some = first < beyond
    np.add.at(steps, (direction[some], first[some]), 1)
    np.add.at(steps, (direction[some], beyond[some]), -1)
    return np.cumsum(steps, axis=1)[:, :n_bins] > 0
