"""Standard deviations of the columns among the rows of every branch, from the samples of the fit."""

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Floats
from .passes import Columns, columns_of, merge_columns
from .scaling import to_few_bits

if TYPE_CHECKING:
    from .branches import Branch


def deviations_of(root: "Branch") -> "dict[Branch, Floats]":
    """Return the standard deviation of every column in every branch, shape (n_features,); NaN without sample rows.

    Leaves are measured on their samples, which may be newer than those of their parents, and merged upwards in
    proportion to their rows. No pass.
    """
    moments: dict[Branch, Columns] = {}
    for branch in reversed(list(root.walk())):
        children = branch.children
        merged = merge_columns(*(moments[child] for child in children)) if children else _measured(branch, root.n_rows)
        moments[branch] = merged
    return {branch: _deviation(columns) for branch, columns in moments.items()}


def _measured(leaf: "Branch", n_all: float) -> Columns:
    """Return the columns of a leaf's sample, weighted by the leaf's share of all rows."""
    columns = columns_of(leaf.sample.load().rows)
    if not columns.n:
        return columns
    # Shares instead of numbers of rows, as their products with squares of large values would overflow.
    share = leaf.n_rows / n_all
    return columns._replace(n=share, deviations=columns.deviations * (share / columns.n))


def _deviation(columns: Columns) -> Floats:
    # A few bits suffice to rank features, and compress well when saved.
    return to_few_bits(np.sqrt(columns.deviations / columns.n)) if columns.n else np.full(len(columns.mean), np.nan)
