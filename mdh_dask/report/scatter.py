"""A picture of the rows: the two directions in which clusters differ most, with clusters in their colours."""

from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .._words import listed
from ..plotting.parts import discriminants
from ..summaries.profiles import Profiles
from .entries import Entry

WIDTH, HEIGHT = 1000, 560
"""Size of the picture in its own coordinates."""

MARGIN = 14

TAIL = 0.5
"""Per cent of the rows at either end that are drawn at the border."""

SAID = 3
"""Most columns that describe an axis."""

MOST_COLUMNS = 500
"""Columns whose means differ most, among which the directions are sought: the time grows with their cube."""


@dataclass(frozen=True)
class Scatter:
    """A picture of rows.

    dots: clusters, and the path of a dot for each of their rows.
    across, up: the axes in words.
    n_rows: number of rows in the picture.
    """

    dots: list[tuple[Entry, str]]
    across: str
    up: str
    n_rows: int


def scatter_of(rows: AnyArray, labels: Integers, profiles: Profiles, clusters: list[Entry]) -> Scatter | None:
    """Return the picture of the rows of a sample that are in clusters, or None if these rows lie on a line."""
    shown = np.isin(labels, np.array([entry.label for entry in clusters]))
    rows, labels = rows[shown], labels[shown]
    chosen, axes = telling_axes(rows, labels, profiles)
    if len(axes) < 2:
        return None
    standard = _centred(rows, chosen, profiles)
    points = (standard @ axes.T).T
    x, y = (_placed(along, size) for along, size in zip(points, (WIDTH, HEIGHT)))
    y = HEIGHT - y
    dots = []
    for entry in clusters:
        own = labels == entry.label
        path = "".join(f"M{a} {b}h0" for a, b in zip(np.rint(x[own]).astype(int), np.rint(y[own]).astype(int)))
        dots.append((entry, path))
    # What the first axis shows already does not describe the second.
    across, beside = points[0], points[1] - points[0] * (points[0] @ points[1] / (points[0] @ points[0]))
    words = [_in_words(along @ standard, [profiles.names[i] for i in chosen]) for along in (across, beside)]
    return Scatter(dots, words[0], words[1], len(rows))


def telling_axes(rows: AnyArray, labels: Integers, profiles: Profiles) -> tuple[Integers, Floats]:
    """Return columns, and up to two directions in them in which the means of the clusters differ most.

    Directions are for columns in units of their standard deviations within clusters.
    """
    mean, weight = profiles.mean, np.sqrt(profiles.n_rows / max(int(profiles.n_rows.sum()), 1))[:, None]
    deviations = _deviations(profiles)
    apart = np.nan_to_num(weight * (mean - (weight**2 * np.nan_to_num(mean)).sum(axis=0)) / deviations)
    chosen = np.sort(np.argsort(-np.square(apart).sum(axis=0), kind="stable")[:MOST_COLUMNS])
    chosen = chosen[np.ptp(np.asarray(rows[:, chosen], dtype=np.float64), axis=0) > 0] if len(rows) else chosen[:0]
    if not len(chosen):
        return chosen, np.empty((0, 0))
    standard = _centred(rows, chosen, profiles)
    axes = discriminants(standard, labels).T
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return chosen, axes[np.ptp(standard @ axes.T, axis=0) > 1e-9 * np.abs(standard).max()]


def _centred(rows: AnyArray, chosen: Integers, profiles: Profiles) -> Floats:
    """Return some columns of rows less their means, in units of the standard deviations within clusters."""
    standard: Floats = np.asarray(rows[:, chosen], dtype=np.float64) / _deviations(profiles)[chosen]
    return standard - standard.mean(axis=0)


def _deviations(profiles: Profiles) -> Floats:
    """Return the standard deviations of the columns within clusters; one where they are zero or unknown."""
    n_rows = profiles.n_rows[:, None]
    within = np.sqrt(np.nansum(n_rows * profiles.sd**2, axis=0) / max(int(n_rows.sum()), 1))
    return np.where(within > 0, within, 1.0)


def _placed(along: Floats, size: int) -> Floats:
    low, high = np.percentile(along, [TAIL, 100 - TAIL])
    scale = (size - 2 * MARGIN) / ((high - low) or 1.0)
    return MARGIN + np.clip((along - low) * scale, -MARGIN / 2, size - 1.5 * MARGIN)


def _in_words(along: Floats, names: list[str]) -> str:
    """Return the columns that change most along an axis; those that fall are said to be less."""
    order = np.argsort(-np.abs(along), kind="stable")[:SAID]
    order = order[np.abs(along[order]) >= 0.2 * np.abs(along[order[0]])]
    more = [names[i] for i in order if along[i] > 0]
    less = [names[i] for i in order if along[i] < 0]
    if not more:
        return f"less {listed(less)}"
    return listed(more) + (f", minus {listed(less)}" if less else "")
