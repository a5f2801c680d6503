"""A picture of the rows: the two directions in which clusters differ most, with clusters in their colours."""

from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..summaries.profiles import Profiles
from .entries import Entry

WIDTH, HEIGHT = 1000, 560
"""Size of the picture in its own coordinates."""

MARGIN = 14

TAIL = 0.5
"""Per cent of the rows at either end that are drawn at the border."""

SAID = 3
"""Most columns that describe an axis."""

MOST_COLUMNS = 2000
"""Columns whose means differ most, among which the directions are sought."""


@dataclass(frozen=True)
class Scatter:
    """A picture of rows.

    Parameters
    ----------
    dots : list of (Entry, str)
        Clusters, and the path of a dot for each of their rows.
    across, up : str
        The axes in words.
    n_rows : int
        Number of rows in the picture.
    """

    dots: list[tuple[Entry, str]]
    across: str
    up: str
    n_rows: int


def scatter_of(rows: AnyArray, labels: Integers, profiles: Profiles, clusters: list[Entry]) -> Scatter | None:
    """Return the picture of a sample of rows, or None if all are equal; `clusters` are in the order of their labels."""
    chosen, axes = telling_axes(rows, profiles)
    if len(axes) < 2:
        return None
    points = (np.asarray(rows, dtype=np.float64)[:, chosen] @ axes.T).T
    x, y = (_placed(along, size) for along, size in zip(points, (WIDTH, HEIGHT)))
    y = HEIGHT - y
    dots = []
    for entry in clusters:
        own = labels == entry.label
        path = "".join(f"M{a} {b}h0" for a, b in zip(np.rint(x[own]).astype(int), np.rint(y[own]).astype(int)))
        dots.append((entry, path))
    deviations = _deviations(profiles)[chosen]
    words = [_in_words(axis * deviations, [profiles.names[i] for i in chosen]) for axis in axes]
    return Scatter(dots, words[0], words[1], len(rows))


def telling_axes(rows: AnyArray, profiles: Profiles) -> tuple[Integers, Floats]:
    """Return columns, and up to two directions in them in which the means of the clusters differ most.

    Means are compared in units of the standard deviations within clusters. Where there are fewer such directions, the
    sample is widest along the others.
    """
    mean, weight = profiles.mean, np.sqrt(profiles.n_rows / max(profiles.n_rows.sum(), 1))[:, None]
    deviations = _deviations(profiles)
    apart = np.nan_to_num(weight * (mean - (weight**2 * np.nan_to_num(mean)).sum(axis=0)) / deviations)
    chosen = np.sort(np.argsort(-np.square(apart).sum(axis=0), kind="stable")[:MOST_COLUMNS])
    chosen = chosen[np.ptp(np.asarray(rows[:, chosen], dtype=np.float64), axis=0) > 0] if len(rows) else chosen[:0]
    axes: list[Floats] = []
    spread, size = apart[:, chosen], deviations[chosen]
    standard = np.asarray(rows, dtype=np.float64)[:, chosen] / size
    standard -= standard.mean(axis=0) if len(rows) else 0.0
    while len(axes) < min(2, len(chosen)):
        _, strength, directions = np.linalg.svd(spread, full_matrices=False)
        if not len(strength) or strength[0] <= 1e-6:
            _, strength, directions = np.linalg.svd(standard, full_matrices=False)
        if strength[0] <= 0:
            break
        axis = directions[0] * (1 if directions[0][np.abs(directions[0]).argmax()] > 0 else -1)
        axes.append(axis)
        spread, standard = (part - np.outer(part @ axis, axis) for part in (spread, standard))
    return chosen, np.array([axis / size for axis in axes]).reshape(len(axes), len(chosen))


def _deviations(profiles: Profiles) -> Floats:
    """Return the standard deviations of the columns within clusters; one where they are zero or unknown."""
    n_rows = profiles.n_rows[:, None]
    within = np.sqrt(np.nansum(n_rows * profiles.sd**2, axis=0) / max(int(n_rows.sum()), 1))
    return np.where(within > 0, within, 1.0)


def _placed(along: Floats, size: int) -> Floats:
    low, high = np.percentile(along, [TAIL, 100 - TAIL])
    scale = (size - 2 * MARGIN) / ((high - low) or 1.0)
    return MARGIN + np.clip((along - low) * scale, -MARGIN / 2, size - 1.5 * MARGIN)


def _in_words(influence: Floats, names: list[str]) -> str:
    """Return the columns with most influence on an axis; those of opposite sign are said to be less."""
    order = np.argsort(-np.abs(influence), kind="stable")[:SAID]
    order = order[np.abs(influence[order]) >= 0.2 * np.abs(influence[order[0]])]
    more = [names[i] for i in order if influence[i] > 0]
    less = [names[i] for i in order if influence[i] < 0]
    return " and ".join(more) + (f", minus {' and '.join(less)}" if less else "")
