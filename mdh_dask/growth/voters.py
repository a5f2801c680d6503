"""Votes of the points near a row on the cluster that it is in."""

import numpy as np

from .._jit.blocks import loop_ready
from .._jit.landmarks import agreeing_points
from .._typing import AnyArray, Floats, Integers

VOTERS = 10
"""Number of points near a row from which its density, and the confidence in its label, are estimated."""


def agreeing_shares(rows: AnyArray, centre: Floats, scale: Floats, points: Floats, cluster: Integers) -> Floats:
    """Return the share of the `VOTERS` nearest points that are in the cluster of the nearest one, for raw rows.

    Examples
    --------
    >>> points = np.concatenate([np.zeros((8, 1)), np.ones((20, 1))])
    >>> agreeing_shares(np.array([[0.1], [0.9]]), np.zeros(1), np.ones(1), points, np.repeat([0, 1], [8, 20]))
    array([0.8, 1. ])
    """
    rows = loop_ready(rows)
    shares, columns = np.empty(len(rows)), np.ascontiguousarray(points.T)
    agreeing_points(rows, centre, scale, columns, cluster, min(VOTERS, len(cluster)), shares)
    return shares
