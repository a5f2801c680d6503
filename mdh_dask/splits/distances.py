"""Squared distances of points in blocks of fixed height, and the nearest of them."""

import numpy as np

from .._jit.landmarks import nearest_columns
from .._typing import Floats, Integers

BLOCK = 512
"""Number of rows per block of distances, fixed as the last bits of products depend on the height of a block."""

STRIP = 32
"""Number of rows whose distances stay in a processor's cache while they are computed."""

TIES = 1e-5
"""Relative difference up to which distances are equal, as those of rounded values differ by rounding errors."""


def middle(one: Floats, other: Floats, apart: Floats) -> Floats:
    """Return the squared distances to the middle of two points, given the squared distances to both."""
    return (one + other) / 2 - apart / 4


class Distances:
    """Squared distances of centres to the counted rows, found for those centres that are asked for, which are few."""

    def __init__(self, centres: Floats, rows: Floats, counted: Integers) -> None:
        self.centres, self.rows, self.counted = centres, rows, counted
        self.found = np.empty((len(centres), len(counted)), dtype=np.float32)
        self.known = np.zeros(len(centres), dtype=bool)

    def of(self, which: Integers) -> Floats:
        """Return squared distances, shape (n_centres, n_counted), of which those of the centres in `which` are set."""
        known = self.known[which]
        if not known.all():
            unknown = np.unique(which[~known])
            self.found[unknown] = squared_distances(self.centres[unknown], self.rows[self.counted])
            self.known[unknown] = True
        return self.found


def squared_distances(rows: Floats, places: Floats) -> Floats:
    """Return the squared distances, shape (n_rows, n_places), float32; rounding errors of zero become zero."""
    out = np.empty((len(rows), len(places)), dtype=np.float32)
    squares = np.square(places).sum(axis=1)
    rounding = 16 * np.finfo(np.float64).eps
    products = np.empty((min(BLOCK, len(rows)), len(places)))
    for i in range(0, len(rows), BLOCK):
        block = rows[i : i + BLOCK]
        product = products[: len(block)]
        np.matmul(block, places.T, out=product)
        own = np.square(block).sum(axis=1)[:, None]
        for j in range(0, len(block), STRIP):
            strip = product[j : j + STRIP]
            total = own[j : j + STRIP] + squares
            strip *= -2
            strip += total
            total *= rounding
            strip[strip <= total] = 0
            out[i + j : i + j + STRIP] = strip
    return out


def nearest(distances: Floats, k: int) -> Integers:
    """Return the columns of the `k` smallest values of each row in their order, the first among equal ones.

    Examples
    --------
    >>> nearest(np.array([[2.0, 1.0, 3.0, 1.0, 2.0]]), 3)
    array([[1, 3, 0]])
    """
    near = np.empty((len(distances), k), dtype=np.int64)
    nearest_columns(distances, near)
    return near


def distinct(rows: Floats) -> Integers:
    """Return the first of all equal rows, as the nearest neighbours of a landmark could otherwise all equal it."""
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])
