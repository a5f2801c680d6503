"""Connected components: sets of items as trees, and pixels of one class that share edges."""

import numpy as np

from .._numba import jit


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
