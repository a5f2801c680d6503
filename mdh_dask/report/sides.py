"""The two sides of a split in words."""

from collections.abc import Callable, Sequence

import numpy as np

from .._typing import Floats, Integers
from ..columns.dates import date_text
from ..summaries.profiles import Profiles
from ..tree.clusters import clusters_below
from ..tree.export import side_in_words
from ..tree.structure import Tree

SAID_COLUMNS, LEAST_SAID = 3, 0.5
"""Most columns that describe rows in words, and the least difference for them in standard deviations."""

Sides = Callable[[int], tuple[str, str]]
"""Returns in words which rows lie left and right of the split of a node."""


def sides_of(tree: Tree, profiles: Profiles | None, mapped: bool) -> Sides:
    """Return the words for the splits of a tree.

    profiles: profiles of the clusters. Without them, words do not tell where a split lies in the units of a column.
    mapped: whether the tree is of features of the rows, which say nothing to a reader: then the words are the columns
        of the rows in which the clusters of both sides differ most; without profiles there are none.
    """
    if mapped:
        return _sides_by_columns(tree, profiles) if profiles is not None else lambda node: ("", "")
    means = None if profiles is None else means_of_nodes(tree, profiles)

    def value_text(name: str, value: float) -> str:
        return date_text(value) if profiles is not None and name in profiles.dates else f"{value:.3g}"

    def sides(node: int) -> tuple[str, str]:
        mean = None if means is None else means[node]
        left, right = (side_in_words(tree, node, above, means=mean, value_text=value_text) for above in (False, True))
        return left, right

    return sides


def means_of_nodes(tree: Tree, profiles: Profiles) -> Floats | None:
    """Return the means of the columns at all nodes from those of the clusters, or None if they are of other columns."""
    if profiles.mean.shape != (tree.n_clusters, tree.n_features):
        return None
    sums = np.nan_to_num(profiles.mean)[tree.cluster] * tree.n_rows[:, None]
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums / np.maximum(tree.n_rows, 1)[:, None]


def difference_in_words(profiles: Profiles, difference: Floats) -> str:
    """Return the columns with the largest differences in words; empty if all are small.

    difference (n_features,): standardised differences of some rows from others.
    """
    order = np.argsort(-np.abs(np.nan_to_num(difference)), kind="stable")[:SAID_COLUMNS].tolist()
    return ", ".join(_word(profiles, i, difference[i] > 0) for i in order if abs(difference[i]) >= LEAST_SAID)


def apart(profiles: Profiles, some: Sequence[int], others: Sequence[int]) -> Floats:
    """Return the standardised differences between the means of some clusters and of others, as Cohen's d.

    NaN where either have no values; infinite where both are constant.
    """
    n, mean, variance = zip(*(_joined(profiles, labels) for labels in (some, others)))
    pooled = np.sqrt((n[0] * variance[0] + n[1] * variance[1]) / np.maximum(n[0] + n[1], 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean[0] == mean[1], 0.0, (mean[0] - mean[1]) / pooled)


def _sides_by_columns(tree: Tree, profiles: Profiles) -> Sides:
    below = clusters_below(tree)

    def sides(node: int) -> tuple[str, str]:
        left, right = (below[child[node]] for child in (tree.left, tree.right))
        # A cluster that was merged from leaves of both sides tells nothing about their difference.
        difference = apart(profiles, sorted(right - left), sorted(left - right))
        return difference_in_words(profiles, -difference), difference_in_words(profiles, difference)

    return sides


def _joined(profiles: Profiles, labels: Sequence[int]) -> tuple[Integers, Floats, Floats]:
    """Return numbers of values, means and variances of the columns in the rows of some clusters."""
    own = [label - profiles.lowest for label in labels]
    mean, variance = profiles.mean[own], profiles.sd[own] ** 2
    n = profiles.n_rows[own, None] * ~np.isnan(mean)
    total = n.sum(axis=0)
    share = n / np.maximum(total, 1)
    centre = np.where(total > 0, (share * np.nan_to_num(mean)).sum(axis=0), np.nan)
    return total, centre, (share * np.nan_to_num(variance + (mean - centre) ** 2)).sum(axis=0)


def _word(profiles: Profiles, i: int, more: bool) -> str:
    if profiles.levels and profiles.levels[i] is not None:
        return f"{'often' if more else 'seldom'} {profiles.names[i]}"
    return f"{'high' if more else 'low'} {profiles.names[i]}"
