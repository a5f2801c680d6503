"""The consensus of hard clusterings: a matching of their labels for which the most rows have equal ones.

With P the share of the clusterings that put a row into a cluster, the mean square of the distances from P to the
memberships is smallest where the sum over pairs of clusterings of the rows with equal matched labels is largest (thesis
eq. 6.2.5). This sum needs only the contingency tables of the pairs, so everything is exact in integers.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import Floats, Integers


@dataclass
class Matching:
    """A matching of the labels of several clusterings to columns, with different columns for the labels of each.

    Parameters
    ----------
    tables : array of shape (n_places, n_places), int64
        Symmetric: numbers of rows with both labels. The diagonal blocks belong to single clusterings.
    starts : array of shape (n_clusterings + 1,)
        Index of the first label of each clustering.
    """

    tables: Integers
    starts: Integers
    column: Integers = field(init=False)
    """The column of every label; -1 if it is not matched yet."""
    shared: Integers = field(init=False)
    """Labels of a column that rows of a label have, one for each matched clustering, shape (n_columns, n_places)."""

    def __post_init__(self) -> None:
        self.column = np.full(len(self.tables), -1)
        self.shared = np.zeros((int(np.diff(self.starts).max()), len(self.tables)), dtype=np.int64)

    def own(self, j: int) -> slice:
        """Return the indices of a clustering's labels."""
        return slice(self.starts[j], self.starts[j + 1])

    def others(self, j: int) -> Integers:
        """Return the entries of `shared` for a clustering's labels, without the part from the clustering itself."""
        own = self.own(j)
        found = self.shared[:, own].copy()
        if self.column[own.start] >= 0:
            found[self.column[own]] -= self.tables[own, own]
        return found

    def match(self, j: int) -> bool:
        """Match the labels of a clustering optimally to those of the others; return whether this is better."""
        own, agreeing = self.own(j), self.others(j)
        column, place = linear_sum_assignment(agreeing, maximize=True)
        new = column[np.argsort(place)]
        before, here = self.column[own], np.arange(len(new))
        if before[0] >= 0:
            if agreeing[new, here].sum() <= agreeing[before, here].sum():
                return False
            self.shared[before] -= self.tables[own]
        self.shared[new] += self.tables[own]
        self.column[own] = new
        return True

    @property
    def agreement(self) -> Integers:
        """Number of rows with the label of another clustering, summed over the others, shape (n_clusterings,)."""
        held = np.diagonal(self.tables)
        equal = self.shared[self.column, np.arange(len(held))] - held
        return np.add.reduceat(equal, self.starts[:-1])


def match_labels(tables: Integers, starts: Integers, order: Integers) -> Matching:
    """Return a matching that cannot be improved by a rematch of any single clustering.

    Parameters
    ----------
    tables, starts
        As for `Matching`.
    order : array of shape (n_clusterings,)
        Order of the clusterings: each is first matched with those before it (voting, Dimitriadou, Weingessel and Hornik
        2002), and then with all others, in turn, until nothing changes.

    Examples
    --------
    >>> same = np.diag([3, 2])
    >>> turned = same[::-1]
    >>> tables = np.block([[same, turned.T], [turned, same[::-1, ::-1]]])
    >>> match_labels(tables, np.array([0, 2, 4]), np.arange(2)).column
    array([0, 1, 1, 0])
    """
    matching = Matching(tables, starts)
    for j in order:
        matching.match(int(j))
    while any([matching.match(int(j)) for j in order]):  # a list, so that every clustering has its turn
        pass
    return matching


def linked(shared: Integers, n_clusters: int) -> Integers:
    """Return the groups of columns, at most `n_clusters`, by average linkage of the labels they share.

    Two columns are as similar as the mean share of the clusterings in which a row of one and a row of the other have
    the same label.

    Parameters
    ----------
    shared : array of shape (n_columns, n_places)
        As in `Matching`; no column is empty.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_columns,)
        Groups in the order of their first columns.
    """
    group = np.arange(len(shared))
    sums = shared.astype(np.float64)
    while len(sums) > max(n_clusters, 1):
        a, b = _most_similar(sums)
        sums[a] += sums[b]
        sums = np.delete(sums, b, axis=0)
        group[group == b] = a
        group[group > b] -= 1
    return group


def _most_similar(sums: Floats) -> tuple[int, int]:
    profiles = sums / sums.sum(axis=1, keepdims=True)
    similar = profiles @ profiles.T
    first, second = np.triu_indices(len(sums), 1)
    best = int(similar[first, second].argmax())
    return int(first[best]), int(second[best])
