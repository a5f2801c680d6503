"""The evidence between pairs of groups, of which only so many kinds are tested as the pair with the least needs.

The evidence of a pair is that of the strongest kind, so that of the first kinds is a lower bound. Most pairs of cells
are far apart, and small balls show this.
"""

import sys
from collections.abc import Callable, Collection, Iterable

import numpy as np

from .._typing import Floats, Integers
from .pair_tests import Pair, PairTests, together


class Known:
    """The evidence of pairs of groups as far as it is known.

    Parameters
    ----------
    tests : PairTests
    group : array of shape (n_cells,), int
        Group of each cell, which the caller changes. Pairs are kept only as long as their groups do not change.
    """

    def __init__(self, tests: PairTests, group: Integers) -> None:
        self.tests, self.group = tests, group
        self.bounds: dict[Pair, float] = {}
        """Lower bound of the evidence of each pair."""
        self._kinds: dict[Pair, list[Floats | None]] = {}
        """The kinds of evidence that were tested, of pairs with further ones."""

    def add(self, pairs: Iterable[Pair]) -> None:
        """Add pairs with a first lower bound."""
        for pair in pairs:
            self._kinds[pair] = []
            self._test(pair)

    def keep(self, pairs: Iterable[Pair]) -> None:
        """Add pairs that are kept apart whatever the evidence."""
        for pair in pairs:
            self.bounds[pair] = np.inf
            self._kinds.pop(pair, None)

    def drop(self, groups: Collection[int]) -> set[int]:
        """Drop all pairs with any of the groups, and return the other groups of these pairs."""
        dropped = [pair for pair in self.bounds if not set(groups).isdisjoint(pair)]
        for pair in dropped:
            del self.bounds[pair]
            self._kinds.pop(pair, None)
        return {group for pair in dropped for group in pair} - set(groups)

    def least(self, evidence: Callable[[Pair], float]) -> Pair:
        """Return the pair with the least evidence, the first of several; all of its kinds are tested.

        `evidence` is a function of a pair that rises with its lower bound.
        """
        while True:
            pair = min(self.bounds, key=lambda p: (evidence(p), p))
            if pair not in self._kinds:
                return pair
            self._test(pair)

    def full(self, pair: Pair) -> float:
        """Return the evidence of a pair."""
        while pair in self._kinds:
            self._test(pair)
        return self.bounds[pair]

    def most(self, pair: Pair, evidence: float) -> float:
        """Return an upper bound of the evidence of a pair, which is some evidence unless more of it can be tested.

        It is infinite for pairs that are unknown, too.
        """
        return sys.float_info.max if pair in self._kinds else evidence

    def reaches(self, pair: Pair, enough: float) -> bool:
        """Return whether a pair has so much evidence."""
        while self.bounds[pair] < enough and pair in self._kinds:
            self._test(pair)
        return self.bounds[pair] >= enough

    def _test(self, pair: Pair) -> None:
        """Test a further kind of evidence."""
        kinds = self._kinds[pair]
        kinds.append(self.tests.kind(len(kinds), self.group, pair))
        self.bounds[pair] = together(kinds)
        if kinds[-1] is None or len(kinds) == self.tests.n_kinds():
            del self._kinds[pair]
