"""Shift and scale of the columns that a single far row does not change."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .scaling import rounded

TRIMMED = 0.005
"""Share of the rows at either end of a column whose values are clipped to the next before its scale is computed."""

ROWS_TO_TRIM = 20
"""With fewer rows, none can be recognised as far from the others."""


@dataclass(frozen=True)
class Frame:
    """Shift and scale of the columns: rows become ``(x - centre) * scale``."""

    centre: Floats
    scale: Floats

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the standardised rows."""
        return (rows - self.centre) * self.scale + 0.0  # no negative zeros, so that equal rows have equal bits

    def without(self, columns: Integers) -> "Frame":
        """Return a frame in which some columns are constant."""
        scale = self.scale.copy()
        scale[columns] = 0.0
        return Frame(self.centre, scale)


def frame_of(rows: AnyArray, scale: bool) -> Frame:
    """Return the shift and scale of the columns of a sample, which a single far row does not change.

    A constant column has scale zero. If `scale` is False, all others have scale one.
    """
    n, ordered = len(rows), np.sort(rows.astype(np.float64), axis=0)
    trimmed = ceil(TRIMMED * n) if n >= ROWS_TO_TRIM else 0
    clipped = ordered.clip(ordered[trimmed], ordered[n - 1 - trimmed])
    sd = np.where(clipped.std(axis=0) > 0, clipped.std(axis=0), ordered.std(axis=0))
    constant = sd <= 1e-12 * np.abs(ordered).max(axis=0)
    sd = np.where(constant, 1.0, rounded(sd))
    return Frame(np.rint(clipped.mean(axis=0) / sd * 16) / 16 * sd, np.where(constant, 0.0, 1 / sd if scale else 1.0))
