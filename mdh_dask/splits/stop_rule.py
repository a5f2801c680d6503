"""The base class of stop rules."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ..density.histograms import Histograms
from .search_null import Search


@dataclass(frozen=True)
class StopRule(ABC):
    """Accept a split or close the branch.

    Parameters
    ----------
    quantile : float in (0, 1)
        Quantile of the null distribution; a branch without clusters is split with at most one minus this probability.
    """

    quantile: float = 0.975
    holds_out: ClassVar[bool] = False
    """Whether one half of the rows chooses a split and the other tests it; otherwise all rows do both."""
    tests_depth: ClassVar[bool] = False
    """Whether the rule tests the relative depth of a valley, which need not be deepest at the split itself."""
    needs: ClassVar[str | None] = None
    """A limit that must not be None: ``"max_clusters"``, or instead `n_clusters`, or ``"max_levels"``."""

    def knowing(self, search: Search) -> Self:
        """Return the rule for a search; most rules do not depend on it."""
        return self

    @abstractmethod
    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """Return whether a split after bin `k` of one direction is a valley.

        Parameters
        ----------
        test : Histograms of one direction
        k : int
        n_root : int
            Number of rows of the whole data.
        n_tests : int
            Number of splits of this branch to test one after another until one is accepted.
        rng : Generator
        """


class VotingRule(StopRule):
    """A rule for which few rows are divided into halves again and again, and a majority of their p-values decides."""

    @abstractmethod
    def p_value(self, test: Histograms, k: int, rng: np.random.Generator) -> float:
        """Return the probability of a valley as deep by chance."""


@dataclass(frozen=True)
class NoTest(StopRule):
    """Accept every split."""

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        return True
