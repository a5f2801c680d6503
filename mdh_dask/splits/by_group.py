"""Landmarks and their links, found by group without a look at all of them for each pair."""

from collections.abc import Sequence

import numpy as np

from .._typing import Integers


class ByGroup:
    """The landmarks of each group and the links between any two.

    Parameters
    ----------
    ours : array of shape (n_landmarks,), int
        Group of each landmark, below `n_groups`.
    n_groups : int
    links : sequence of pairs of arrays of shape (n_links,), int
        The landmarks at both ends of the links, for each size of balls; from the densest link to the sparsest.

    Examples
    --------
    >>> by_group = ByGroup(np.array([1, 0, 1]), 2, [(np.array([0, 0]), np.array([2, 1]))])
    >>> by_group.landmarks(1), by_group.cut(0, (0, 1))
    (array([0, 2]), array([1]))
    """

    def __init__(self, ours: Integers, n_groups: int, links: Sequence[tuple[Integers, Integers]]) -> None:
        self.ours, self.n_groups = ours, n_groups
        self.groups = _numbered_by(ours)
        ends = [np.sort(ours[np.stack(each)], axis=0) for each in links]
        self.pairs = [_numbered_by(low * self.n_groups + high) for low, high in ends]

    def landmarks(self, group: int) -> Integers:
        """Return the landmarks of a group."""
        return _with_number(self.groups, group)

    def cut(self, size: int, pair: tuple[int, int]) -> Integers:
        """Return the links between two groups for balls of one size, the densest first."""
        return _with_number(self.pairs[size], min(pair) * self.n_groups + max(pair))


def _numbered_by(numbers: Integers) -> tuple[Integers, Integers]:
    """Return numbers in ascending order, and where each was."""
    order = np.argsort(numbers, kind="stable")
    return numbers[order], order


def _with_number(numbered: tuple[Integers, Integers], number: int) -> Integers:
    """Return the places of one number in ascending order."""
    start, end = np.searchsorted(numbered[0], [number, number + 1])
    return numbered[1][start:end]
