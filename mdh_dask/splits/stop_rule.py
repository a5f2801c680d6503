"""What a stop rule is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ..density.histograms import Histograms
from .search_null import Search


@dataclass(frozen=True)
class StopRule(ABC):
    """Accepts a split or closes the branch.

    Parameters
    ----------
    quantile : float in (0, 1)
        Of the null distribution; a branch without clusters is split with a probability of at most one minus this.
    """

    quantile: float = 0.975
    holds_out: ClassVar[bool] = False
    """Whether one half of the rows chooses a split and the other tests it; else all rows do both."""
    needs: ClassVar[str | None] = None
    """A parameter of the estimator that must have a value."""

    def knowing(self, search: Search) -> Self:
        """Return the rule for a search: most do not depend on it."""
        return self

    @abstractmethod
    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """Tell whether a split after bin `k` of one direction is a valley.

        Parameters
        ----------
        test : Histograms of one direction
        k : int
        n_root : int
            Rows of the whole data.
        n_tests : int
            Splits of this branch that may be tested one after the other, until one is accepted.
        rng : Generator
        """


@dataclass(frozen=True)
class NoTest(StopRule):
    """Every split that can be placed is made."""

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        return True
