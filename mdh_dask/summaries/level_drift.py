"""Changes of the levels of a column between the rows that a model was fitted to and new rows."""

from dataclasses import dataclass, field
from functools import cached_property
from math import log

import numpy as np

from .._typing import Integers
from .._words import full_count
from .cells import MISSING, UNKNOWN, beside, shortened
from .changes import Change, total_variation

NAMED = 5
"""Most levels that an alarm names."""


@dataclass(frozen=True)
class LevelDrift:
    """A comparison of the levels of one column among old and new rows.

    Parameters
    ----------
    column : str
        Name of the column.
    levels : tuple of str
        The known levels.
    old, new : integer arrays of shape (n_levels + 2,)
        Rows with each level, with another one, and without a value.
    unseen : tuple of (str, int)
        Other levels among the new rows and their numbers of rows; empty if their names are not known.
    chance : float
        Probability of a false alarm.

    Examples
    --------
    >>> counts = np.array([500, 500, 0, 0]), np.array([400, 300, 200, 100])
    >>> of_column = LevelDrift("colour", ("blue", "red"), *counts, (("violet", 200),), chance=1e-4)
    >>> round(of_column.distance.value, 2), of_column.surprising
    (0.3, ('violet',))
    """

    column: str
    levels: tuple[str, ...]
    old: Integers
    new: Integers
    unseen: tuple[tuple[str, int], ...] = field(default=())
    chance: float = 1e-3

    @cached_property
    def distance(self) -> Change:
        """Total variation distance of the shares of the levels, others and missing values among them."""
        return total_variation(self.old, self.new, self.chance)

    @property
    def n_unseen(self) -> int:
        """Number of new rows with a level that the model does not know."""
        return int(self.new[-2])

    @property
    def surprising(self) -> tuple[str, ...]:
        """Levels that cannot be among the new rows only by chance, the most frequent first.

        If old and new rows have the same distribution, all rows of one level are among the new ones with at most the
        probability ``(n_new / (n_old + n_new)) ** n``; it is multiplied by the number of levels. None if old rows have
        unknown levels, too, as after an update, since these may be the same.
        """
        n_old, n_new = int(self.old.sum()), int(self.new.sum())
        if not n_old or not n_new or self.old[-2]:
            return ()
        others = self.unseen or (((beside(UNKNOWN, self.levels), self.n_unseen),) if self.n_unseen else ())
        least = log(self.chance / (len(self.levels) + len(others) + 1)) / log(n_new / (n_old + n_new))
        order = sorted((-n, level) for level, n in others if n >= least)
        return tuple(level for _, level in order)

    def frequencies(self) -> list[tuple[str, int, int]]:
        """Return every level with its numbers of old and new rows, without those that have none.

        Others are ``(unknown)`` and ``(missing)``, in more brackets if a known level has that name.
        """
        n_known = len(self.levels)
        found = list(zip(self.levels, self.old[:n_known].tolist(), self.new[:n_known].tolist()))
        found += [(beside(f"{level} (unseen)", self.levels), 0, n) for level, n in self.unseen]
        others = int(self.new[-2]) - sum(n for _, n in self.unseen)
        found.append((beside(UNKNOWN, self.levels), int(self.old[-2]), others))
        found.append((beside(MISSING, self.levels), int(self.old[-1]), int(self.new[-1])))
        return [(level, old, new) for level, old, new in found if old or new]

    def alarms(self, threshold: float) -> list[str]:
        """Return a sentence for each change that exceeds the threshold or names levels that are new."""
        found, name = [], shortened(self.column)
        if self.distance.exceeds(threshold):
            found.append(f"column {name}: {self.distance.value:.0%} of its rows have other levels")
        if levels := self.surprising:
            share = self.n_unseen / int(self.new.sum())
            named = ", ".join(map(shortened, levels[:NAMED])) + (" and others" if len(levels) > NAMED else "")
            rows = f"{full_count(self.n_unseen, 'new row')}, {share:.2%}"
            found.append(f"column {name}: levels that the model does not know in {rows}: {named}")
        return found


def weighted(counts: tuple[Integers, ...], weight: float) -> tuple[Integers, ...]:
    """Return the counts of rows that have a weight."""
    return tuple(np.rint(weight * of_column).astype(np.int64) for of_column in counts)
