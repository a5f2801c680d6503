"""Standard deviations of the columns among the rows of every branch, from the samples that the fit has drawn."""

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Floats
from .passes import Columns, columns_of, merge_columns
from .scaling import rounded

if TYPE_CHECKING:
    from .branches import Branch


def deviations_of(root: "Branch") -> "dict[Branch, Floats]":
    """Return the standard deviation of every column in every branch, shape (n_features,); NaN where no row is known.

    Leaves are measured on their samples, which may be fresher than those of their parents, and merged upwards in
    proportion to their rows. No pass.
    """
    moments: dict[Branch, Columns] = {}
    for branch in reversed(list(root.walk())):
        children = branch.children
        merged = merge_columns(*(moments[child] for child in children)) if children else _measured(branch, root.n_rows)
        moments[branch] = merged
    return {branch: _deviation(columns) for branch, columns in moments.items()}


def _measured(leaf: "Branch", n_all: float) -> Columns:
    """Return the columns of a leaf's sample, which stands for the leaf's share of all rows."""
    columns = columns_of(leaf.sample.load().rows)
    if not columns.n:
        return columns
    # Shares, as the squares of large values times numbers of rows would overflow.
    share = leaf.n_rows / n_all
    return columns._replace(n=share, deviations=columns.deviations * (share / columns.n))


def _deviation(columns: Columns) -> Floats:
    # Few bits: enough to rank features, and quick to save.
    return rounded(np.sqrt(columns.deviations / columns.n)) if columns.n else np.full(len(columns.mean), np.nan)
