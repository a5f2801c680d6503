"""The page's section on a feature map: the variances of its components and the cut-off."""

from dataclasses import dataclass

import numpy as np

from .._state import FeatureMap
from .._typing import Floats
from .._words import full_count
from ..kernels.landmarks import RANK_TOLERANCE
from .entries import percent
from .pictures import HEIGHT, WIDTH

LEAST_SHOWN = 20
"""Least number of components in the picture, if there are that many."""

SHOWN = 2
"""Components in the picture per component of the features, unless `LEAST_SHOWN` is more."""


@dataclass(frozen=True)
class Spectrum:
    """The variances of the components of a feature map, with a picture in its own coordinates.

    Parameters
    ----------
    n_kept, n_shown, n_all : int
        Components used as features, components in the picture, and components of positive variance.
    kept : str
        Share of the variance that the features explain.
    areas : tuple of (str, str)
        Class (``left``: kept, ``whole``: left out) and path of the bars.
    curve : str
        Path of the cumulative share of the variance.
    cut : int
        Position from the left at which the used components end.
    summary : str
        Description of the picture.
    """

    n_kept: int
    n_shown: int
    n_all: int
    kept: str
    areas: tuple[tuple[str, str], ...]
    curve: str
    cut: int
    summary: str


def spectrum_of(feature_map: FeatureMap) -> Spectrum:
    """Draw the variances of the leading components relative to the first, and their cumulative sum."""
    spectrum, n_kept = feature_map.spectrum, feature_map.n_components
    n_all = max(n_kept, int(np.count_nonzero(spectrum > RANK_TOLERANCE * spectrum[0])))
    n_shown = min(n_all, max(LEAST_SHOWN, SHOWN * n_kept))
    shares = np.cumsum(spectrum) / (float(spectrum.sum()) or 1.0)
    bars = spectrum[:n_shown] / (spectrum[0] or 1.0)
    areas = [("left", _bars(bars, 0, n_kept)), ("whole", _bars(bars, n_kept, n_shown))]
    edges = np.arange(n_shown + 1) * WIDTH / n_shown
    kept = percent(float(shares[n_kept - 1]))
    n_half = int(np.searchsorted(shares, 0.5)) + 1
    words = (
        f"Variances of the first {n_shown:,} of {full_count(n_all, 'component')} in descending order: the first "
        f"{n_kept:,} are kept and explain {kept} of the variance, {n_half:,} explain half of it."
    )
    return Spectrum(
        n_kept=n_kept,
        n_shown=n_shown,
        n_all=n_all,
        kept=kept,
        areas=tuple(areas[: 1 + (n_shown > n_kept)]),
        curve=f"M{_points(edges, np.concatenate([[0.0], shares[:n_shown]]))}",
        cut=round(WIDTH * n_kept / n_shown),
        summary=words,
    )


def _bars(heights: Floats, first: int, last: int) -> str:
    """Return the path of neighbouring bars."""
    edges = np.repeat(np.arange(first, last + 1), 2) * WIDTH / len(heights)
    tops = np.concatenate([[0.0], np.repeat(heights[first:last], 2), [0.0]])
    return f"M{_points(edges, tops)}Z"


def _points(x: Floats, share: Floats) -> str:
    at, y = np.rint(x).astype(int), np.rint(HEIGHT * (1 - share)).astype(int)
    return " ".join(f"{a},{b}" for a, b in zip(at, y))
