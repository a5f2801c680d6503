"""Loops of the dip statistic, which narrow the modal interval between a convex minorant and a concave majorant.

A distribution function is given at ascending knots by its limits from below (`lower`) and above (`upper`), which
differ where it jumps and agree where it only bends. It is constant or linear between knots.
"""

import numpy as np

from .._numba import jit
from .._typing import Floats, Integers


@jit
def convex_links(x: Floats, y: Floats) -> Integers:
    """Return, for each knot j, the vertex before j on the greatest convex minorant of the knots 0 to j."""
    before = np.zeros(len(x), np.int64)
    for j in range(1, len(x)):
        i = j - 1
        while i > 0 and (y[i] - y[before[i]]) * (x[j] - x[i]) >= (y[j] - y[i]) * (x[i] - x[before[i]]):
            i = before[i]
        before[j] = i
    return before


@jit
def concave_links(x: Floats, y: Floats) -> Integers:
    """Return, for each knot i, the vertex after i on the least concave majorant of the knots from i on."""
    last = len(x) - 1
    after = np.full(len(x), last)
    for i in range(last - 1, -1, -1):
        j = i + 1
        while j < last and (y[j] - y[i]) * (x[after[j]] - x[j]) <= (y[after[j]] - y[j]) * (x[j] - x[i]):
            j = after[j]
        after[i] = j
    return after


@jit
def chord(x: Floats, y: Floats, left: int, right: int, at: int) -> float:
    """Return the height at knot `at` of the line through the knots `left` and `right`."""
    return y[left] + (y[right] - y[left]) * ((x[at] - x[left]) / (x[right] - x[left]))


@jit
def link_forward(before: Integers, low: int, high: int, forward: Integers) -> None:
    """Write the vertices of the minorant from `low` to `high` as links to the next vertex."""
    j = high
    while j > low:
        # `low` is on the minorant, so a link that passes it joins vertices on one line.
        i = max(before[j], low)
        forward[i] = j
        j = i


@jit
def widest_gap(
    x: Floats, lower: Floats, upper: Floats, forward: Integers, after: Integers, low: int, high: int
) -> tuple[float, int, int]:
    """Return the largest distance from minorant to majorant on a modal interval, and the vertices around it."""
    g = m = left = right = low
    gap = upper[low] - lower[low]
    while max(g, m) < high:
        g_next, m_next = forward[g], min(after[m], high)
        if g_next < m_next:
            here = chord(x, upper, m, m_next, g_next) - lower[g_next]
            begin, end, g = g_next, m_next, g_next
        elif m_next < g_next:
            here = upper[m_next] - chord(x, lower, g, g_next, m_next)
            begin, end, m = g, m_next, m_next
        else:
            here = upper[m_next] - lower[g_next]
            begin, end, g, m = g_next, m_next, g_next, m_next
        if here > gap:
            gap, left, right = here, begin, end
    return gap, left, right


@jit
def rise_above_minorant(x: Floats, lower: Floats, upper: Floats, forward: Integers, low: int, end: int) -> float:
    """Return how far the distribution function rises above its minorant at the knots from `low` to before `end`."""
    rise = 0.0
    while low < end:
        right = forward[low]
        for i in range(low, right):
            rise = max(rise, upper[i] - chord(x, lower, low, right, i))
        low = right
    return rise


@jit
def fall_below_majorant(x: Floats, lower: Floats, upper: Floats, after: Integers, begin: int, high: int) -> float:
    """Return how far the distribution function falls below its majorant at the knots after `begin` up to `high`."""
    fall = 0.0
    while begin < high:
        right = min(after[begin], high)
        for i in range(begin + 1, right + 1):
            fall = max(fall, chord(x, upper, begin, right, i) - lower[i])
        begin = right
    return fall


@jit
def dip_of_knots(x: Floats, lower: Floats, upper: Floats) -> float:
    """Return the dip of a distribution function, in the unit of `lower` and `upper`."""
    before, after, forward = convex_links(x, lower), concave_links(x, upper), np.zeros(len(x), np.int64)
    low, high, depth = 0, len(x) - 1, 0.0
    while True:
        link_forward(before, low, high, forward)
        gap, left, right = widest_gap(x, lower, upper, forward, after, low, high)
        if gap <= depth:
            break
        depth = max(depth, rise_above_minorant(x, lower, upper, forward, low, left))
        depth = max(depth, fall_below_majorant(x, lower, upper, after, right, high))
        # The largest jump is the mode, where a unimodal distribution function may jump too.
        if left == right:
            break
        low, high = left, right
    return depth / 2


@jit
def dips_of_histograms(counts: Floats) -> Floats:
    """Return the dip of each row of counts, spread evenly over bins of one width, as a fraction of its total."""
    n_rows, n_bins = counts.shape
    edges = np.arange(n_bins + 1).astype(np.float64)
    below = np.zeros(n_bins + 1)
    dips = np.empty(n_rows)
    for row in range(n_rows):
        for k in range(n_bins):
            below[k + 1] = below[k] + counts[row, k]
        dips[row] = dip_of_knots(edges, below, below) / below[n_bins] if below[n_bins] > 0.0 else 0.0
    return dips
