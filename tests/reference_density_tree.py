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


def near_points(rows, points, cell, k):
    """Of each row, the nearest point, the nearest one of the cell that the k nearest elect, and how far the last is."""
    found = []
    for squares, near in _nearest(rows, points, k):
        votes = [sum(1 / max(squares[other], 1e-300) for other in near if cell[other] == cell[own]) for own in near]
        found.append((near[0], near[votes.index(max(votes))], squares[near[-1]]))
    return found


def agreeing_shares(rows, points, cell, cluster):
    """The share of the ten nearest points of each row that are in the cluster of the one that they elect."""
    elected = [own for _, own, _ in near_points(rows, points, cell, 10)]
    of_near = [cluster[near] for _, near in _nearest(rows, points, 10)]
    return [np.mean(near == cluster[own]) for near, own in zip(of_near, elected)]


def _nearest(rows, points, k):
    for row in rows:
        squares = ((row - points) ** 2).sum(axis=1)
        yield squares, np.argsort(squares, kind="stable")[:k]
