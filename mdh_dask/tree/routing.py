"""Routing of rows to the leaves of a tree."""

import numpy as np

from .._jit.branches import Measures, Routes, sweep_branches
from .._jit.jitter import NO_JITTER
from .._jit.rows import loop_ready
from .._typing import AnyArray, Floats, Integers
from ..density.histograms import no_extremes


def leaves_of(rows: AnyArray, left: Integers, right: Integers, planes: Floats, thresholds: Floats) -> Integers:
    """Return the leaf of every row, shape (n_rows,), int32."""
    n, d = planes.shape
    zeros, nothing = np.zeros(n + 1, dtype=np.int64), np.empty(0)
    bins = np.empty((0, d)), nothing, nothing, np.empty((0, 2, 0), dtype=np.int64), no_extremes(0, 2, 0)
    routes, measures = Routes(left, right, planes, thresholds), Measures(zeros, zeros, *bins)
    return sweep_branches(loop_ready(rows), routes, measures, np.empty(0, dtype=np.uint64), NO_JITTER)
