"""Hypothesis strategies: chunkings, rows, trees and histograms."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from mdh_dask._jit.hashing import independent_jitter

LOOP_DTYPES = [np.uint8, np.int64, np.float32, np.float64]
"""What the compiled loops are run on; each costs a compilation."""

seeds = st.integers(0, 2**32 - 1)


@st.composite
def chunkings(draw, n, max_cuts=8, empty=True):
    """Sizes of consecutive chunks of `n` rows; some may be empty."""
    places = st.lists(st.integers(0, n), max_size=max_cuts, unique=not empty)
    edges = [0, *sorted(draw(places)), n]
    sizes = tuple(b - a for a, b in pairwise(edges))
    return sizes if empty else tuple(size for size in sizes if size) or (0,)


@st.composite
def row_sets(draw, dtypes=LOOP_DTYPES, min_rows=1, max_rows=200, max_features=6):
    """Rows that are scattered, tied, constant, far from zero or with an outlier; often around a tile of 64."""
    sizes = st.one_of(st.sampled_from([1, 2, 63, 64, 65, 128, 129]), st.integers(min_rows, max_rows))
    n = draw(sizes.filter(lambda n: min_rows <= n <= max_rows))
    d = draw(st.integers(1, max_features))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    kind = draw(st.sampled_from(["scattered", "tied", "constant", "far", "outlier"]))
    rng = np.random.default_rng(draw(seeds))
    rows = rng.normal(60, 20, (n, d))
    if kind == "tied":
        rows = rng.integers(0, 3, (n, d)) * 0.1 if dtype.kind == "f" else rng.integers(0, 3, (n, d))
    elif kind == "constant":
        rows = np.repeat(rows[:1], n, axis=0)
    elif kind == "far":
        rows = rows + 150 if dtype.itemsize == 1 else rows + 1000
    elif kind == "outlier":
        rows[rng.integers(n)] = 255
    if dtype.kind in "iu":
        rows = np.clip(np.rint(rows), 0, 255)
    return rows.astype(dtype)


@st.composite
def split_trees(draw, rows, max_splits=5):
    """Arrays ``left, right, planes, offsets`` of a tree whose hyperplanes pass near `rows`, often through one."""
    d = rows.shape[1]
    rng = np.random.default_rng(draw(seeds))
    left, right, planes, offsets = [-1], [-1], [np.zeros(d)], [np.nan]
    for _ in range(draw(st.integers(0, max_splits))):
        leaf = rng.choice(np.flatnonzero(np.array(left) < 0))
        planes[leaf] = rng.integers(-2, 3, d) * rng.choice([1.0, 0.3])
        offsets[leaf] = planes[leaf] @ rows[rng.integers(len(rows))].astype(float) + rng.choice([0, 0, 0.5])
        left[leaf], right[leaf] = len(left), len(left) + 1
        for column, value in zip((left, right, planes, offsets), (-1, -1, np.zeros(d), np.nan)):
            column += [value, value]
    return np.array(left, np.int32), np.array(right, np.int32), np.array(planes), np.array(offsets)


def directions_of_nodes(rng, n_nodes, most=3):
    """Where the directions of each node start, and the end of all; some nodes have none."""
    return np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, n_nodes))])


@st.composite
def jitters(draw, n_features):
    """Some of the columns as rounded ones to jitter, mostly none."""
    rng = np.random.default_rng(draw(seeds))
    columns = np.flatnonzero(rng.random(n_features) < draw(st.sampled_from([0.0, 0.0, 0.5, 1.0])))
    keys = rng.integers(0, 2**64, len(columns), dtype=np.uint64)
    jitter = independent_jitter(columns, rng.choice([0.1, 1.0, 4.0], len(columns)), keys)
    for c in range(len(columns)):
        if draw(st.booleans()):
            before = np.setdiff1d(np.arange(n_features), columns[c:])
            jitter.leaders[c] = rng.choice(before) if len(before) else -1
            jitter.slopes[c], jitter.places[c] = rng.choice([-1.0, 0.5, 2.0]), rng.normal()
            jitter.errors[c] = rng.choice([0.05, 0.4, 1.0]) * jitter.steps[c]
    return jitter


@st.composite
def histograms(draw, min_bins=1, max_bins=30, max_count=6):
    """Integer counts; small, so that ties and plateaus are common."""
    return np.array(draw(st.lists(st.integers(0, max_count), min_size=min_bins, max_size=max_bins)))
