"""Communities of a weighted graph, and counts of rows in balls."""

import numpy as np

from .._numba import jit


@jit
def move_nodes(start, other, weight, resolution, community, rounds):
    """Move nodes to the neighbouring communities of the largest gain of modularity; return whether one moved.

    The neighbours of node i are ``other[start[i]:start[i + 1]]``. Nodes are visited in order, at most `rounds` times.
    `community` has a number below the number of nodes for each node.
    """
    n = start.shape[0] - 1
    strength, total, towards = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            strength[i] += weight[e]
        total[community[i]] += strength[i]
    share = resolution / max(strength.sum(), 1e-300)
    any_moved = False
    for _ in range(rounds):
        moved = False
        for i in range(n):
            own = community[i]
            best = best_community(i, start, other, weight, community, strength[i] * share, total, towards)
            total[own] -= strength[i]
            total[best] += strength[i]
            if best != own:
                community[i] = best
                moved = any_moved = True
        if not moved:
            break
    return any_moved


@jit
def best_community(i, start, other, weight, community, cost, total, towards):
    """Return the community of the largest gain for node i: its own, or that of a neighbour.

    `cost` is what each unit of a community's `total` strength takes from the gain. `towards` is zero before and after.
    """
    own = community[i]
    for e in range(start[i], start[i + 1]):
        if other[e] != i:
            towards[community[other[e]]] += weight[e]
    ours = 0.0
    for e in range(start[i], start[i + 1]):
        ours += weight[e]
    best, gain = own, towards[own] - cost * (total[own] - ours)
    for e in range(start[i], start[i + 1]):
        c = community[other[e]]
        if c != own and towards[c] - cost * total[c] > gain * (1 + 1e-12) + 1e-12:
            best, gain = c, towards[c] - cost * total[c]
    for e in range(start[i], start[i + 1]):
        towards[community[other[e]]] = 0.0
    return best


@jit
def rows_by_radius(squares, rows, core, ends, apart, radii, sums):
    """Add to `sums` how many balls around core landmarks, and around cut places, hold each row, by radius.

    squares (n_landmarks, n_rows): squared distances.
    rows (2,) int: the first of the rows to count, and the one after the last.
    core (n_core,).
    ends (2, n_places): a place on the cut is in the middle of two landmarks, which may be equal.
    apart (n_places,): squared distances of the ends.
    radii (n_radii,): squared radii.
    sums (n_radii, 5) int64: sums over rows of the balls of the core, those of the cut, the squares of the former, their
        products, and the squares of the latter.
    """
    first, last = rows
    n = last - first
    in_core, in_cut = np.empty(n, np.int32), np.empty(n, np.int32)
    for r in range(radii.shape[0]):
        radius = radii[r]
        in_core[:], in_cut[:] = 0, 0
        for i in core:
            own = squares[i][first:last]
            for x in range(n):
                in_core[x] += own[x] <= radius
        for i in range(apart.shape[0]):
            one, other, between = squares[ends[0, i]][first:last], squares[ends[1, i]][first:last], apart[i] / 4
            for x in range(n):
                in_cut[x] += (one[x] + other[x]) / 2 - between <= radius
        for x in range(n):
            a, b = in_core[x], in_cut[x]
            sums[r, 0] += a
            sums[r, 1] += b
            sums[r, 2] += a * a
            sums[r, 3] += a * b
            sums[r, 4] += b * b


@jit
def rows_in_balls(rows, nearest, balls, counts):
    """Add the rows in each ball to `counts`.

    rows (n_rows, n_columns) float64.
    nearest (n_rows,): the landmark nearest to each row.
    counts (n_balls, n_radii) int64.
    """
    for i in range(rows.shape[0]):
        for e in range(balls.start[nearest[i]], balls.start[nearest[i] + 1]):
            ball = balls.listed[e]
            radii, square = balls.radii[balls.test[ball]], 0.0
            for j in range(rows.shape[1]):
                difference = rows[i, j] - balls.places[ball, j]
                square += difference * difference
            for r in range(radii.shape[0]):
                counts[ball, r] += square <= radii[r]


@jit
def root_of(parent, i):
    """Return the root of an item, and shorten the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def unite(parent, a, b):
    """Join two sets: their root is the smaller one of both."""
    low, high = min(a, b), max(a, b)
    parent[high] = low
    return low


@jit
def number_components(classes, found):
    """Write the component of each pixel to `found`, -1 for a negative class, and return the number of components.

    Components are numbered by their first pixels, line by line.
    """
    height, width = classes.shape
    parent = np.empty(height * width, np.int32)
    n = 0
    for y in range(height):
        for x in range(width):
            own = classes[y, x]
            found[y, x] = -1
            if own < 0:
                continue
            above = found[y - 1, x] if y > 0 and classes[y - 1, x] == own else -1
            left = found[y, x - 1] if x > 0 and classes[y, x - 1] == own else -1
            if above < 0 and left < 0:
                parent[n] = n
                found[y, x] = n
                n += 1
                continue
            first = root_of(parent, max(above, left))
            other = root_of(parent, min(above, left)) if min(above, left) >= 0 else first
            parent[max(first, other)] = min(first, other)
            found[y, x] = min(first, other)
    n_roots = 0
    number = np.empty(n, np.int32)
    for i in range(n):
        number[i] = n_roots if parent[i] == i else number[parent[i]]
        n_roots += parent[i] == i
    for y in range(height):
        for x in range(width):
            if found[y, x] >= 0:
                found[y, x] = number[found[y, x]]
    return n_roots


@jit
def measure_components(found, areas, boxes):
    """Add the pixels of each component to `areas`, and extend `boxes`: first and last line, first and last column."""
    for y in range(found.shape[0]):
        for x in range(found.shape[1]):
            i = found[y, x]
            if i >= 0:
                areas[i] += 1
                boxes[i, 0] = min(boxes[i, 0], y)
                boxes[i, 1] = max(boxes[i, 1], y)
                boxes[i, 2] = min(boxes[i, 2], x)
                boxes[i, 3] = max(boxes[i, 3], x)
