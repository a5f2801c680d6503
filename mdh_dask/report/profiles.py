"""The page's sections on rows: the features of every cluster, and a map of a sample."""

from typing import Any

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .._words import listed, percent
from ..plotting.parts import discriminants
from ..summaries.profiles import Profiles
from .entries import Entry, difference_in_words

TOP_FEATURES = 6
"""Number of features shown for a cluster: those in which it differs most."""

MAX_COLUMNS = 12
"""Number of features in the table of all clusters: those whose variance the clusters explain best."""

MAX_CLUSTERS = 100
"""Number of clusters shown: the largest."""

STRONGEST = 3.0
"""Differences of this many standard deviations or more have the strongest shade."""

N_SHADES = 4


def overview_of(profiles: Profiles, clusters: list[Entry]) -> dict[str, Any]:
    """Return the content of the section on profiles; `clusters` are in the order of their labels.

    Columns are names, and shares of the variance that the clusters explain. Some columns and clusters are left out.
    """
    explained = explained_variance(profiles)
    columns = np.argsort(-explained, kind="stable")[:MAX_COLUMNS]
    largest = np.sort(np.argsort(-profiles.n_rows, kind="stable")[:MAX_CLUSTERS]).tolist()
    rows = [(clusters[i], [_shade(x) for x in profiles.difference[i, columns]]) for i in largest]
    return {
        "columns": [(profiles.names[i], percent(float(explained[i]))) for i in columns],
        "rows": rows,
        "profiles": [_profile(profiles, i, clusters[i]) for i in largest],
        "n_columns_left_out": len(profiles.names) - len(columns),
        "n_clusters_left_out": profiles.n_clusters - len(largest),
    }


def explained_variance(profiles: Profiles) -> Floats:
    """Return the share of the variance of every column that lies between the clusters; zero for a constant column."""
    there = profiles.n_rows > 0
    weight = profiles.n_rows[there, None] / max(int(profiles.n_rows.sum()), 1)
    within = np.nansum(weight * profiles.sd[there] ** 2, axis=0)
    # A cluster without a value in a column says nothing about it.
    mean = np.where(np.isnan(profiles.mean), profiles.mean_of_others, profiles.mean)[there]
    between = (weight * (mean - (weight * mean).sum(axis=0)) ** 2).sum(axis=0)
    differs = (mean != mean[:1]).any(axis=0)  # otherwise the variance between clusters is only rounding
    return np.divide(between, between + within, out=np.zeros_like(within), where=differs & (between > 0))


def _profile(profiles: Profiles, cluster: int, entry: Entry) -> dict[str, Any]:
    words = profiles.words[cluster] if profiles.words else ""
    return {
        "entry": entry,
        "summary": words or difference_in_words(profiles, profiles.difference[cluster]),
        "features": [_feature(profiles, cluster, i) for i in profiles.top(cluster, TOP_FEATURES)],
    }


def _feature(profiles: Profiles, cluster: int, i: int) -> dict[str, Any]:
    moments = profiles.moments
    mean, mean_of_others = moments.mean[cluster, i], moments.mean_of_others[cluster, i]
    if profiles.levels and profiles.levels[i] is not None:
        own = f"{percent(float(mean))}, lift {profiles.lift[cluster, i]:.2f}"
        others = percent(float(mean_of_others))
    else:
        own = _spread(profiles, i, mean, moments.sd[cluster, i])
        others = _spread(profiles, i, mean_of_others, moments.sd_of_others[cluster, i])
    return {
        "name": profiles.names[i],
        "own": own,
        "others": others,
        "difference": _signed(profiles.difference[cluster, i]),
        "strip": _strip(profiles, cluster, i),
    }


def _strip(profiles: Profiles, cluster: int, i: int) -> dict[str, Any]:
    """Return means among those of all clusters, in per cent of a strip's width; own and others are left end and width.

    The width is that of one standard deviation to both sides.
    """
    moments = profiles.moments
    ends = np.array([moments.mean[:, i] - moments.sd[:, i], moments.mean[:, i] + moments.sd[:, i]])
    low, high = np.nanmin(ends), np.nanmax(ends)
    scale = 100 / ((high - low) or 1.0)

    def place(mean: float, sd: float) -> tuple[float, float]:
        left, right = np.clip(scale * (np.array([mean - sd, mean + sd]) - low), 0, 100)
        return float(left), float(right - left)

    return {
        "own": place(moments.mean[cluster, i], moments.sd[cluster, i]),
        "others": place(moments.mean_of_others[cluster, i], moments.sd_of_others[cluster, i]),
        "mean": float(scale * (moments.mean[cluster, i] - low)),
    }


def _shade(difference: float) -> tuple[str, str]:
    """Return a difference as text, and the shade of its cell: ``low-4`` to ``high-4``, or an empty text."""
    if np.isnan(difference):
        return "–", ""
    strength = int(np.ceil(N_SHADES * min(abs(difference) / STRONGEST, 1.0) - 0.5))
    return _signed(difference), f"{'high' if difference > 0 else 'low'}-{strength}" if strength else ""


def _spread(profiles: Profiles, i: int, mean: float, sd: float) -> str:
    text = " ± ".join(profiles.spread(i, mean, sd))
    return text if profiles.names[i] in profiles.dates else text.replace("-", "−")


def _signed(x: float) -> str:
    """Return a number as text with its sign.

    Examples
    --------
    >>> _signed(1.234), _signed(-0.04), _signed(-float("inf")), _signed(123.4)
    ('+1.2', '0.0', '−∞', '+123')
    """
    if np.isinf(x):
        return "+∞" if x > 0 else "−∞"
    text = f"{x:+z.1f}" if abs(x) < 99.95 else f"{x:+,.0f}"
    return "0.0" if text == "+0.0" else text.replace("-", "−")


WIDTH, HEIGHT = 1000, 560
"""Size of the picture in its own coordinates."""

MARGIN = 14

TAIL = 0.5
"""Per cent of the rows at either end that are drawn at the border."""

SAID = 3
"""Most columns that describe an axis."""

MOST_COLUMNS = 500
"""Columns whose means differ most, among which the directions are sought: the time grows with their cube."""


def scatter_of(rows: AnyArray, labels: Integers, profiles: Profiles, clusters: list[Entry]) -> dict[str, Any] | None:
    """Return the picture of the rows of a sample that are in clusters, or None if these rows lie on a line.

    Dots are clusters, and the path of a dot for each of their rows.
    """
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
    return {"dots": dots, "across": words[0], "up": words[1], "n_rows": len(rows)}


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
