"""The page's entry for every node and cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .._words import depth_text, full_count, p_text, percent
from ..columns.types import date_text
from ..plotting.parts import has_valley
from ..summaries.evidence import evidence_of
from ..summaries.profiles import Profiles
from ..tree.clusters import clusters_below, sums_below
from ..tree.export import direction_text, side_in_words
from ..tree.html import colours_of, hex_of, ink_on, palette
from ..tree.structure import Tree
from .pictures import Sizes, picture_of

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
    sums = sums_below(tree, np.nan_to_num(profiles.mean)[tree.cluster] * tree.n_rows[:, None])
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


MAX_PICTURES = 150
"""Number of nodes whose density is drawn: those with the most rows."""

MAX_NESTING = 24
"""Deepest nesting of lists; deeper nodes stay in the last list, as browsers fail at a few hundred levels."""

OPEN_LEVELS = 2
"""Levels of the tree that are unfolded when the page opens."""

MAX_LABELS = 60
"""With more clusters, nodes do not list those below them."""


@dataclass(frozen=True)
class Entry:
    """The entry of a node.

    label: label of the cluster; None at a split.
    share: share of all rows.
    depth: relative depth of the valley; None where there is none.
    p_value: the p-value of the split, adjusted over the tree; None where nothing was tested.
    sides: rows on both sides of a split; empty at a leaf.
    direction: the features that influence the projections most, with their weights.
    words: which rows lie on both sides of a split, in words; empty at a leaf, and empty texts where nothing can be
        said.
    labels: labels of the clusters below the node.
    side_colours: colours of the children of a split; empty at a leaf.
    colour, ink: colour of the node, and of text on it.
    opens: whether the list of the children follows.
    closes: number of lists that end after the node.
    """

    node: int
    label: int | None
    level: int
    n_clusters: int
    rows: int
    share: float
    labels: tuple[int, ...]
    colour: str
    ink: str
    depth: str | None = None
    p_value: str | None = None
    parent_depth: str | None = None
    sides: tuple[int, ...] = ()
    threshold: str = ""
    direction: str = ""
    picture: dict[str, Any] | None = None
    summary: str = ""
    words: tuple[str, ...] = ()
    side_colours: tuple[str, ...] = ()
    opens: bool = False
    closes: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the node is unfolded when the page opens."""
        return self.level < OPEN_LEVELS

    @property
    def title(self) -> str:
        """Name of the node."""
        if self.label is None:
            return f"Split {self.node}"
        return f"Cluster {self.label}" if self.label >= 0 else "Rows in no cluster"

    @property
    def percent(self) -> str:
        """The share of all rows as text."""
        return percent(self.share)


def entries_of(
    tree: Tree, colours: AnyArray | None, sides: Sides | None = None, merges: AnyArray | None = None
) -> list[Entry]:
    """Return the entries of all nodes, parents before children, left before right.

    colours (n_clusters, 3).
    sides: tells in words which rows lie on both sides of a split.
    merges: those of its leaves, which are tested with the splits.
    """
    sides = sides or sides_of(tree, None, mapped=False)
    level, parent, drawn, below = tree.level, tree.parent, _largest(tree), clusters_below(tree)
    nest = np.append(np.minimum(level, MAX_NESTING), 0)
    paint = colours_of(tree, palette(tree.n_clusters) if colours is None else colours)
    table = evidence_of(tree, merges)
    known = (table["kind"] == "split") & ~np.isnan(table["p_family"])
    tested = {int(node): p_text(p) for node, p in zip(table["node"][known], table["p_family"][known].tolist())}
    entries = []
    for node in range(tree.n_nodes):
        leaf, density = tree.left[node] < 0, tree.density(node) if drawn[node] else None
        children = [] if leaf else [int(tree.left[node]), int(tree.right[node])]
        entries.append(
            Entry(
                node=node,
                label=int(tree.cluster[node]) if leaf else None,
                level=int(level[node]),
                n_clusters=len(below[node]),
                rows=int(tree.n_rows[node]),
                share=float(tree.n_rows[node] / max(tree.n_rows[0], 1)),
                depth=_depth(tree, node),
                p_value=tested.get(node),
                parent_depth=_depth(tree, parent[node]) if node else None,
                sides=tuple(int(tree.n_rows[child]) for child in children),
                words=() if leaf else sides(node),
                labels=tuple(sorted(below[node])) if tree.n_clusters <= MAX_LABELS else (),
                side_colours=tuple(hex_of(paint[child]) for child in children),
                threshold=f"{tree.thresholds[node]:.4g}",
                direction=direction_text(tree, node),
                picture=None if density is None else picture_of(tree, node, density),
                summary=_in_words(tree, node),
                colour=hex_of(paint[node]),
                ink=ink_on(paint[node]),
                opens=bool(nest[node + 1] > nest[node]),
                closes=int(max(nest[node] - nest[node + 1], 0)),
            )
        )
    return entries


def clusters_of(sizes: Sizes, colours: AnyArray | None) -> list[Entry]:
    """Return the clusters of a model without a tree, as nodes of one level."""
    n_rows, lowest = sizes.n_rows, sizes.lowest
    paint = np.full((len(n_rows), 3), 128)
    paint[-lowest:] = palette(len(n_rows) + lowest) if colours is None else colours
    return [
        Entry(
            node=label, label=label, level=0, n_clusters=1, rows=rows, share=rows / max(sum(n_rows), 1),
            labels=(label,), colour=hex_of(colour), ink=ink_on(colour),
        )
        for label, (rows, colour) in enumerate(zip(n_rows, paint), lowest)
    ]  # fmt: skip


def clusters_of_tree(rows: Integers, entries: list[Entry]) -> list[Entry]:
    """Return an entry for each cluster by label: the entry of its first leaf, with the rows of the whole cluster."""
    first: dict[int, Entry] = {}
    for entry in entries:
        if entry.label is not None:
            first.setdefault(entry.label, entry)
    n_rows = max(int(rows.sum()), 1)
    return [replace(first[label], rows=n, share=n / n_rows) for label, n in enumerate(rows.tolist())]


def _largest(tree: Tree) -> AnyArray:
    known = np.flatnonzero(np.diff(tree.first_bin))
    drawn = np.zeros(tree.n_nodes, dtype=bool)
    drawn[known[np.argsort(-tree.n_rows[known], kind="stable")[:MAX_PICTURES]]] = True
    return drawn


def _depth(tree: Tree, node: int) -> str | None:
    return depth_text(tree.relative_depth[node]) if has_valley(tree, node) else None


def _in_words(tree: Tree, node: int) -> str:
    density = f"Density of {full_count(int(tree.n_rows[node]), 'row')} along one direction"
    if not has_valley(tree, node):
        return f"{density}, without a valley."
    valley = f"a valley of relative depth {_depth(tree, node)} at {tree.thresholds[node]:.4g}"
    if tree.left[node] < 0:
        return f"{density}, with {valley}, which was not split."
    left, right = (int(tree.n_rows[child[node]]) for child in (tree.left, tree.right))
    return f"{density}, split at {valley}: {full_count(left, 'row')} left and {full_count(right, 'row')} right of it."
