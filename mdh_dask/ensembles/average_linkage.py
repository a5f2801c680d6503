"""Average linkage of groups of rows by the share of the clusterings that give two rows the same label."""

from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers


class Joined(NamedTuple):
    """Merges of groups in turn, the most similar first; a group is named by its first tuple."""

    kept: Integers
    gone: Integers
    similarity: Floats
    """Mean share of the clusterings that give a row of one group and a row of the other the same label."""

    def groups(self, n_merges: int) -> Integers:
        """Return the group of each tuple after so many merges, numbered by their first tuples."""
        group = np.arange(len(self.kept) + 1)
        for one, other in zip(self.kept[:n_merges].tolist(), self.gone[:n_merges].tolist()):
            group[group == other] = one
        return np.unique(group, return_inverse=True)[1]


def join(counts: Integers, n_clusterings: int) -> Joined:
    """Return the merges of groups by average linkage, along chains of nearest neighbours (Murtagh 1983).

    SciPy's average linkage takes no weights, and so a row for each row, not for each distinct tuple of labels.

    Parameters
    ----------
    counts : array of shape (n_groups, n_labels), int64
        Rows of each group with each label of all clusterings.
    n_clusterings : int

    Examples
    --------
    >>> join(np.array([[2, 0, 2, 0], [1, 0, 0, 1], [0, 1, 0, 1]]), 2)
    Joined(kept=array([0, 0]), gone=array([1, 2]), similarity=array([0.5       , 0.16666667]))
    """
    sums = counts.astype(np.float64)
    rows = sums.sum(axis=1, keepdims=True) / n_clusterings
    shares, left, found = sums / rows, np.ones(len(sums), dtype=bool), np.full(len(sums), np.inf)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    while len(merges) < len(sums) - 1:
        tip = chain[-1] if chain else int(left.argmax())
        similar = np.where(left, shares @ shares[tip], -1.0)
        similar[tip] = -1.0
        near = int(similar.argmax())
        if len(chain) > 1 and similar[chain[-2]] >= similar[near]:
            one, other = sorted((chain.pop(), chain.pop()))
            # Rounding errors must not put a merge before those that it follows.
            found[one] = min(similar[near] / n_clusterings, found[one], found[other])
            merges.append((found[one], one, other))
            sums[one] += sums[other]
            rows[one] += rows[other]
            shares[one], left[other] = sums[one] / rows[one], False
        else:
            chain = [*(chain or [tip]), near]
    similarity, kept, gone = (np.array(own) for own in zip(*merges)) if merges else np.empty((3, 0))
    order = np.argsort(-similarity, kind="stable")
    return Joined(kept[order].astype(np.int64), gone[order].astype(np.int64), similarity[order])
