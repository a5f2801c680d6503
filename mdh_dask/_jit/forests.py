"""Sets of items as trees, whose roots are the smallest items."""

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
