"""Naive twins of the loops of density trees."""

import numpy as np


def modularity(weights, community, resolution):
    """Modularity of communities of a graph, given as a dense symmetric matrix without loops."""
    strength, total = weights.sum(axis=1), weights.sum()
    same = community[:, None] == community
    return ((weights - resolution * np.outer(strength, strength) / total) * same).sum() / total


def rows_by_radius(squares, core, ends, apart, radii):
    """Sums over rows of the numbers of balls around the core and on the cut, of their squares and their products."""
    sums = np.zeros((len(radii), 5), dtype=np.int64)
    for r, radius in enumerate(radii):
        for x in range(squares.shape[1]):
            a = sum(int(squares[c, x] <= radius) for c in core)
            halfway = [(squares[one, x] + squares[other, x]) / 2 - d / 4 for one, other, d in zip(*ends, apart)]
            b = sum(int(square <= radius) for square in halfway)
            sums[r] += [a, b, a**2, a * b, b**2]
    return sums


def rows_in_balls(rows, balls):
    """The rows in each ball, of each radius of its test."""
    squares = [((rows - place) ** 2).sum(axis=1) for place in balls.places]
    return np.array([[(own <= radius).sum() for radius in balls.radii[test]] for own, test in zip(squares, balls.test)])


def rows_in_slabs(chosen, counted, width):
    """Rows around both ends of the line that some rows of both groups choose, and half way between.

    The width of slabs is a share of the distance of the ends.
    """
    means = [rows.mean(axis=0) for rows in chosen]
    direction = (means[1] - means[0]) / np.linalg.norm(means[1] - means[0])
    middle = (means[0] + means[1]) / 2

    def place(row):
        along = (row - middle) @ direction
        return along, np.linalg.norm(row - middle - along * direction)

    low, high = (np.median([place(row)[0] for row in rows]) for rows in chosen)
    radius = np.sqrt(np.quantile([place(row)[1] ** 2 for rows in chosen for row in rows], 0.9))
    counts = [0, 0, 0]
    for row in counted:
        along, away = place(row)
        for slab, at in enumerate((low, (low + high) / 2, high)):
            counts[slab] += away <= radius and abs(along - at) <= (high - low) * width / 2
    return counts
