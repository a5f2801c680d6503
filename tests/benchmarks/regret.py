"""How far methods stay behind the best of each data set, as in the papers: regret, ranks and box plots of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

OURS, THEIRS = "tab:blue", "0.75"


def regret(scores: np.ndarray) -> np.ndarray:
    """Return the difference to the best method of each set, from scores of sets x methods; NaN without a score."""
    return np.nanmax(scores, axis=1, keepdims=True, initial=0.0) - scores


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mean rank of every method, 1 for the best; equal scores share a rank, none comes last."""
    return rankdata(-np.nan_to_num(scores, nan=-1.0), axis=1).mean(axis=0)


def regret_lines(names: Sequence[str], scores: np.ndarray) -> list[tuple[Any, ...]]:
    """Return a line for every method that has a score: sets, mean score, regret (median, mean, largest), mean rank."""
    behind, ranks = regret(scores), mean_ranks(scores)
    lines = []
    for name, score, values, rank in zip(names, scores.T, behind.T, ranks, strict=True):
        known = values[~np.isnan(values)]
        if not len(known):
            continue
        figures = (np.nanmean(score), np.median(known), known.mean(), known.max(), rank)
        lines.append((name, len(known), *map(float, figures)))
    return sorted(lines, key=lambda line: line[-1])


REGRET_COLUMNS = ("method", "sets", "mean", "median regret", "mean regret", "largest regret", "mean rank")


def box_plot(axes: Any, names: Sequence[str], scores: np.ndarray, ours: Sequence[str], label: str) -> None:
    """Draw the regret of every method that has a score, least median first, as boxes; a red dot is the mean."""
    values = {name: column[~np.isnan(column)] for name, column in zip(names, regret(scores).T, strict=True)}
    values = {name: column for name, column in values.items() if len(column)}
    order = sorted(values, key=lambda name: (np.median(values[name]), values[name].mean()), reverse=True)
    boxes = axes.boxplot(
        [values[name] for name in order],
        orientation="horizontal",
        widths=0.65,
        patch_artist=True,
        showmeans=True,
        flierprops={"markersize": 3},
        medianprops={"color": "black"},
        meanprops={"marker": "o", "markersize": 4, "markerfacecolor": "tab:red", "markeredgecolor": "none"},
    )
    for box, name in zip(boxes["boxes"], order, strict=True):
        box.set_facecolor(OURS if name in ours else THEIRS)
    axes.set_yticks(range(1, len(order) + 1), [f"{name} ({len(values[name])})" for name in order])
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.3)
