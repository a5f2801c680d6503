"""The law of statistics, and chunk invariance, for every statistic of the package; and the passes over the rows."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
import reference
from helpers import assert_same_value, in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import chunkings, directions_of_nodes, jitters, row_sets, seeds, split_trees

from mdh_dask._jit.branches import Routes
from mdh_dask._jit.hashing import NO_JITTER
from mdh_dask._jit.rows import loop_ready
from mdh_dask._levels import level_features
from mdh_dask.chunks import Together, reduce_rows
from mdh_dask.columns.coding import Levels
from mdh_dask.density_trees.passes import NearestCounts, RowsInBalls
from mdh_dask.density_trees.plan import Places
from mdh_dask.ensembles.votes import LabelVotes, TuplePass
from mdh_dask.estimators.groups import CountGroups
from mdh_dask.growth.discrete import Discrete
from mdh_dask.growth.passes import HASH_RANGE, FirstPass, Sample, SamplePass, sample_limit
from mdh_dask.growth.scaling import Standardiser
from mdh_dask.growth.sweeps import BranchPass, UpdatePass, ValleyPass
from mdh_dask.images.tiles import SumTiles
from mdh_dask.kernels import Gower
from mdh_dask.kernels.gower_map import CodeProducts, gower_code
from mdh_dask.metrics import Contingency
from mdh_dask.splits.dependence import N_PARTS
from mdh_dask.summaries.moments import MomentPass
from mdh_dask.summaries.passes import DistinctPass, LevelPass, MissingPass, TypedPass, UnseenPass
from mdh_dask.support_vectors.model import LandmarkCounts, LevelCounts
from mdh_dask.tree.routing import leaves_of
from mdh_dask.tree.structure import tree_from_nodes


def branch_pass(draw, rows):
    """A pass that measures some nodes of some tree, and draws samples of some leaves."""
    left, right, planes, offsets = draw(split_trees(rows))
    rng = np.random.default_rng(draw(seeds))
    n_nodes, d = planes.shape
    first = directions_of_nodes(rng, n_nodes)
    n = int(first[-1])
    return BranchPass(
        draw(seeds), Routes(left, right, planes, offsets), first, rng.normal(size=(n, d)), rng.normal(0, 100, n),
        rng.uniform(0.1, 20, n), draw(st.integers(2, 20)), rng.integers(0, 64, n_nodes),
        (rng.random(n_nodes) * HASH_RANGE).astype(np.uint64) * rng.integers(0, 2, n_nodes, dtype=np.uint64),
        draw(st.booleans()), draw(jitters(d)),
    )  # fmt: skip


def first_pass(draw):
    return FirstPass(draw(seeds), draw(st.integers(0, HASH_RANGE - 1)))


@st.composite
def first_looks(draw):
    rows = draw(row_sets([bool, np.uint8, np.int64, np.float16, np.float32, np.float64]))
    return first_pass(draw), (rows,)


@st.composite
def sampled(draw):
    rows = draw(row_sets([bool, np.uint8, np.float64]))
    return SamplePass(draw(seeds), draw(st.integers(0, HASH_RANGE - 1))), (rows,)


@st.composite
def sweeps(draw):
    rows = draw(row_sets())
    return branch_pass(draw, rows), (rows,)


@st.composite
def sweeps_of_groups(draw):
    rows = draw(row_sets())
    parts = np.random.default_rng(draw(seeds)).integers(0, N_PARTS, len(rows)).astype(np.uint8)
    first = FirstPass(draw(seeds), draw(st.integers(0, HASH_RANGE - 1)), parts_at=1)
    sweep = branch_pass(draw, rows)
    return Together((first, replace(sweep, bit=np.zeros_like(sweep.bit), parts_at=1))), (rows, parts)


@st.composite
def sizes_of_groups(draw):
    n = draw(st.integers(1, 100))
    groups = np.random.default_rng(draw(seeds)).integers(-3, 4, n)
    return CountGroups(), (groups.astype(draw(st.sampled_from([np.int8, np.int64, float, str]))),)


@st.composite
def tile_sums(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    places = np.random.default_rng(draw(seeds)).integers(0, 50, (len(rows), 3))
    places[:, 2] //= 25
    return SumTiles(draw(st.sampled_from([1, 4, 64]))), (np.column_stack([rows, places]).astype(rows.dtype),)


@st.composite
def contingencies(draw):
    n = draw(st.integers(1, 100))
    labels = np.random.default_rng(draw(seeds)).integers(-3, 4, (2, n))
    return Contingency(), (labels[0], labels[1] * 10 ** draw(st.integers(0, 17)))


@st.composite
def several_together(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    return Together((first_pass(draw), branch_pass(draw, rows), first_pass(draw))), (rows,)


@st.composite
def valleys(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    left, right, planes, offsets = draw(split_trees(rows))
    rng, d = np.random.default_rng(draw(seeds)), planes.shape[1]
    nodes = [
        {"left": a, "right": b, "n_rows": 0, "plane": v, "threshold": c}
        for a, b, v, c in zip(left, right, planes, offsets)
    ]
    tree = tree_from_nodes(nodes, d)
    splits = np.flatnonzero(tree.left >= 0)
    standardise = Standardiser(rng.normal(size=d), rng.uniform(0.01, 1, d), Discrete(draw(jitters(d))))
    directions = rng.normal(size=(len(splits), 2, d))
    return ValleyPass(
        tree, splits, directions, rng.normal(-100, 50, (len(splits), 2)), rng.uniform(0.1, 20, len(splits)), standardise
    ), (rows,)


@st.composite
def moments(draw):
    rows = draw(row_sets([bool, np.uint8, np.int64, np.float16, np.float32, np.float64]))
    labels = np.random.default_rng(draw(seeds)).integers(0, 3, len(rows)).astype(np.int32)
    return MomentPass(4, rows[0].astype(float)), (labels, rows)


@st.composite
def missing_values(draw):
    rows = draw(row_sets([np.uint8, np.float32, np.float64])).copy()
    if rows.dtype.kind == "f":
        rows[np.random.default_rng(draw(seeds)).random(rows.shape) < draw(st.floats(0, 1))] = np.nan
    return MissingPass(rows.shape[1]), (rows,)


@st.composite
def levels(draw):
    values = np.array([0, 1, -0.0, 2.5, 1e300, np.nan])
    chosen = np.random.default_rng(draw(seeds)).integers(0, len(values), (draw(st.integers(1, 60)), 2))
    return Levels((1, 0), ("b", "a")), (values[chosen],)


@st.composite
def updates(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    return UpdatePass(first_pass(draw), branch_pass(draw, rows)), (rows,)


@st.composite
def label_votes(draw):
    n, kinds = draw(st.integers(1, 100)), [np.int8, np.int64, np.uint8, str]
    rng = np.random.default_rng(draw(seeds))
    labels = [rng.integers(-2, 4, n).astype(draw(st.sampled_from(kinds))) for _ in range(draw(st.integers(2, 4)))]
    return LabelVotes(draw(seeds), draw(st.integers(0, HASH_RANGE - 1))), tuple(labels)


@st.composite
def tree_votes(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    trees = []
    for _ in range(2):
        left, right, planes, offsets = draw(split_trees(rows))
        nodes = zip(left, right, planes, offsets)
        columns = ("left", "right", "plane", "threshold")
        trees.append(tree_from_nodes([dict(zip(columns, node), n_rows=0) for node in nodes], planes.shape[1]))
    return LabelVotes(draw(seeds), draw(st.integers(0, HASH_RANGE - 1)), tuple(trees)), (rows,)


@st.composite
def tuples(draw):
    rows = draw(row_sets([np.float32, np.float64]))
    rng, h = np.random.default_rng(draw(seeds)), draw(st.integers(0, 70))
    planes, offsets = rng.normal(size=(h, rows.shape[1])), rng.normal(0, 100, h)
    return TuplePass(planes, offsets, draw(st.sampled_from([2, 1000]))), (rows,)


@st.composite
def landmark_counts(draw):
    rows = draw(row_sets([bool, np.uint8, np.int64, np.float32, np.float64]))
    rng, d = np.random.default_rng(draw(seeds)), rows.shape[1]
    columns, first = rng.normal(0, 50, (d, 9)), rng.random(9) < 0.5
    return LandmarkCounts(draw(seeds), rng.normal(size=d), rng.uniform(0, 1, d), columns, first), (rows,)


@st.composite
def level_counts(draw):
    rows = draw(row_sets([np.uint8, np.float32, np.float64]))
    rng, d = np.random.default_rng(draw(seeds)), rows.shape[1]
    weights, widths = rng.dirichlet(np.ones(6), 2), rng.uniform(1e-4, 1, 2)
    return LevelCounts(rng.normal(size=d), rng.uniform(0, 1, d), rng.normal(0, 50, (d, 6)), weights, widths), (rows,)


def with_missing(draw):
    rows = draw(row_sets([np.uint8, np.float32, np.float64]))
    if rows.dtype.kind == "f":
        rows[np.random.default_rng(draw(seeds)).random(rows.shape) < 0.2] = np.nan
    return rows


@st.composite
def typed_looks(draw):
    return TypedPass(), (with_missing(draw),)


@st.composite
def distinct_values(draw):
    rows = with_missing(draw)
    return DistinctPass(np.random.default_rng(draw(seeds)).integers(1, 99, rows.shape[1])), (rows,)


@st.composite
def code_products(draw):
    rows = with_missing(draw)
    rng, d = np.random.default_rng(draw(seeds)), rows.shape[1]
    low, width = rng.uniform(0, 60, d), rng.uniform(1, 100, d)
    kernel = Gower(missing="level").of_columns(rng.random(d) < 0.5, low, low + width)
    return CodeProducts(gower_code(kernel, lambda column: np.unique(np.nan_to_num(rows[:, column]))[:9], 9)), (rows,)


@st.composite
def nearest_counts(draw):
    rows = draw(row_sets([np.uint8, np.float32, np.float64]))
    rng, d = np.random.default_rng(draw(seeds)), rows.shape[1]
    points, level = rng.normal(0, 50, (9, d)), float(rng.uniform(0, 200))
    return NearestCounts(rng.normal(size=d), rng.uniform(0, 1, d), points, rng.integers(0, 4, 9), level), (rows,)


@st.composite
def rows_in_balls(draw):
    landmarks, arrays = draw(nearest_counts())
    rng, (n, d) = np.random.default_rng(draw(seeds)), landmarks.points.shape
    balls = Places(
        rng.normal(0, 50, (12, d)), np.repeat(np.arange(2), 6), np.tile([-1, 0, 0, 0, 1, 1], 2),
        rng.uniform(1e2, 1e5, (2, 3)), np.arange(n + 1) * 12, np.tile(np.arange(12), n), np.array([0]),
    )  # fmt: skip
    levels = level_features([rng.normal(size=(2, d)) for _ in range(draw(st.integers(0, 2)))], d)
    return RowsInBalls(landmarks, balls, Discrete(draw(jitters(d)), levels=levels), draw(seeds)), arrays


@st.composite
def codes_of_levels(draw):
    rng = np.random.default_rng(draw(seeds))
    codes = rng.integers(0, 4, (draw(st.integers(2, 60)), 3)).astype("f4")
    codes[rng.random(codes.shape) < 0.2] = np.nan
    return LevelPass((0, 2), (3, 5)), (codes,)


@st.composite
def unseen_levels(draw):
    rng = np.random.default_rng(draw(seeds))
    known = tuple(tuple(map(str, range(n))) for n in (3, 0))
    return UnseenPass((0, 1), known, most=4), (rng.integers(0, 9, (draw(st.integers(2, 60)), 2)),)


STATISTICS = {
    "LevelPass": codes_of_levels(),
    "UnseenPass": unseen_levels(),
    "NearestCounts": nearest_counts(),
    "RowsInBalls": rows_in_balls(),
    "TypedPass": typed_looks(),
    "DistinctPass": distinct_values(),
    "CodeProducts": code_products(),
    "LandmarkCounts": landmark_counts(),
    "LevelCounts": level_counts(),
    "TuplePass": tuples(),
    "LabelVotes": label_votes(),
    "LabelVotes of trees": tree_votes(),
    "MomentPass": moments(),
    "MissingPass": missing_values(),
    "Levels": levels(),
    "BranchPass of groups": sweeps_of_groups(),
    "CountGroups": sizes_of_groups(),
    "SumTiles": tile_sums(),
    "ValleyPass": valleys(),
    "FirstPass": first_looks(),
    "SamplePass": sampled(),
    "BranchPass": sweeps(),
    "UpdatePass": updates(),
    "Contingency": contingencies(),
    "Together": several_together(),
}


def magnitude(arrays):
    """What sums of squares of the rows are compared beside."""
    return np.sqrt(len(arrays[0])) * max(float(np.abs(np.nan_to_num(a.astype(float))).max()) for a in arrays)


def states_of(statistic, arrays, sizes):
    edges = np.cumsum([0, *sizes])
    return [statistic.chunk(int(a), *(x[a:b] for x in arrays)) for a, b in pairwise(edges)]


@pytest.mark.parametrize("cases", STATISTICS.values(), ids=STATISTICS)
class TestLaws:
    @pytest.mark.slow
    @given(st.data())
    def test_merging_chunks_is_associative_equals_one_chunk_and_leaves_the_states_as_they_are(self, cases, data):
        statistic, arrays = data.draw(cases)
        chunks, scale = data.draw(chunkings(len(arrays[0]))), magnitude(arrays)
        states = states_of(statistic, arrays, chunks)
        leftmost = statistic.finalise(reduce(statistic.combine, states))
        rightmost = statistic.finalise(reduce(lambda right, left: statistic.combine(left, right), reversed(states)))
        assert_same_value(leftmost, statistic.finalise(statistic.chunk(0, *arrays)), scale)
        assert_same_value(rightmost, leftmost, scale)
        assert_same_value(tuple(states), tuple(states_of(statistic, arrays, chunks)))

    @pytest.mark.slow
    @settings(max_examples=15)
    @given(st.data())
    def test_the_value_does_not_depend_on_the_chunks(self, cases, data):
        statistic, arrays = data.draw(cases)
        chunks = data.draw(chunkings(len(arrays[0]), max_cuts=20))
        lazy = [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]
        with dask.config.set(scheduler="synchronous"):
            value = reduce_rows(statistic, *lazy)
        assert_same_value(value, reduce_rows(statistic, *arrays), magnitude(arrays))


def example_rows(n=2000):
    return np.random.default_rng(1).normal(size=(n, 3)) + 5


def example_statistic():
    children = np.array([[1, -1, -1], [2, -1, -1]], dtype=np.int32)
    planes, offsets = np.array([[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]), np.array([5.0, np.nan, np.nan])
    sweep = BranchPass(
        3, Routes(*children, planes, offsets), np.array([0, 2, 4, 4]), np.random.default_rng(0).normal(size=(4, 3)),
        np.full(4, -20.0), np.full(4, 0.5), 80, np.array([0, 1, 2]), np.full(3, 2**60, dtype=np.uint64), True,
    )  # fmt: skip
    return Together((FirstPass(3, 2**61), sweep))


class TestSchedulers:
    """Each gives the value of one NumPy chunk."""

    @staticmethod
    def assert_value_is_that_of_one_chunk(statistic):
        rows = example_rows()
        value = reduce_rows(statistic, da.from_array(rows, chunks=(130, 3)))
        assert_same_value(value, reduce_rows(statistic, rows), magnitude([rows]))

    def test_in_this_process(self, scheduler):
        self.assert_value_is_that_of_one_chunk(example_statistic())

    @pytest.mark.slow
    @pytest.mark.cluster
    def test_another_process(self, other_process):
        self.assert_value_is_that_of_one_chunk(FirstPass(3, 2**61))

    @pytest.mark.cluster
    def test_a_cluster(self, client):
        self.assert_value_is_that_of_one_chunk(example_statistic())


class TestFirstPass:
    @given(row_sets([np.uint8, np.int64, np.float32, np.float64]), seeds)
    def test_the_columns_are_those_of_numpy(self, rows, seed):
        columns = FirstPass(seed, 0).chunk(0, rows).columns
        values = rows.astype(float)
        assert columns.n == len(rows)
        np.testing.assert_allclose(columns.mean, values.mean(axis=0), rtol=1e-12)
        exact = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(columns.deviations, exact, rtol=1e-10, atol=1e-24 * magnitude([rows]) ** 2)
        np.testing.assert_array_equal(columns.low, values.min(axis=0))
        np.testing.assert_array_equal(columns.high, values.max(axis=0))

    @given(row_sets([np.float64]), st.integers(0, 1000), st.integers(0, HASH_RANGE - 1), seeds)
    def test_the_sample_is_all_rows_with_small_hashes(self, rows, start, limit, seed):
        sample = FirstPass(seed, limit).chunk(start, rows).sample
        for ours, theirs in zip(SamplePass(seed, limit).chunk(start, rows), sample):
            np.testing.assert_array_equal(ours, theirs)
        hashes = reference.hash_rows(seed, start, len(rows))
        chosen = [i for i, x in enumerate(hashes) if x <= limit]
        np.testing.assert_array_equal(sample.rows, rows[chosen])
        np.testing.assert_array_equal(sample.numbers, start + np.array(chosen, dtype=int))
        assert sample.hashes.tolist() == [hashes[i] for i in chosen]

    @given(st.data())
    def test_finds_all_nan_and_infinities_and_the_first_of_their_rows(self, data):
        rows = data.draw(row_sets([np.float32, np.float64]))
        cells = st.tuples(st.integers(0, rows.shape[0] - 1), st.integers(0, rows.shape[1] - 1))
        for cell, value in data.draw(st.dictionaries(cells, st.sampled_from([np.nan, np.inf, -np.inf]))).items():
            rows[cell] = value
        chunks = data.draw(chunkings(len(rows)))
        with dask.config.set(scheduler="synchronous"):
            look = reduce_rows(FirstPass(0, 0), da.from_array(rows, chunks=(chunks, rows.shape[1])))
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        assert (look.n_nan, look.n_infinite) == (np.isnan(rows).sum(), np.isinf(rows).sum())
        assert look.first_bad_row == (bad[0] if len(bad) else -1)

    @pytest.mark.parametrize(("dtype", "expected"), [(bool, np.uint8), (np.float16, np.float32), (np.int8, np.int8)])
    def test_rows_become_what_the_loops_take(self, dtype, expected):
        rows = np.asfortranarray(np.eye(3).astype(dtype))
        ready = loop_ready(rows)
        assert (ready.dtype, ready.flags.c_contiguous) == (expected, True)
        np.testing.assert_array_equal(ready, rows)


def rows_that_reach(sweep, rows, node):
    """The rows of which the leaf is under the node."""
    under = {node}
    for inner in np.flatnonzero(sweep.routes.left >= 0):
        if inner in under:
            under |= {int(sweep.routes.left[inner]), int(sweep.routes.right[inner])}
    leaf = leaves_of(rows, sweep.routes)
    return rows[np.isin(leaf, list(under))]


class TestBranchPass:
    @given(st.data())
    def test_every_row_arrives_and_is_counted_once_per_direction_of_the_nodes_on_its_way(self, data):
        rows = data.draw(row_sets())
        sweep = branch_pass(data.draw, rows)
        value = sweep.chunk(0, rows)
        assert value.arrivals.sum() == len(rows)
        assert not value.arrivals[sweep.routes.left >= 0].any()
        passing = value.arrivals.copy()
        for node in np.flatnonzero(sweep.routes.left >= 0)[::-1]:
            passing[node] = passing[sweep.routes.left[node]] + passing[sweep.routes.right[node]]
        np.testing.assert_array_equal(value.counts[:, :2].sum(axis=(1, 2)), np.repeat(passing, np.diff(sweep.first)))
        if sweep.jitter:
            as_they_are = replace(sweep, jitter=NO_JITTER).chunk(0, rows).counts
            np.testing.assert_array_equal(value.counts[:, 2], as_they_are.sum(axis=1))

    @given(st.data())
    def test_samples_the_rows_under_the_limit_of_their_leaf(self, data):
        rows = data.draw(row_sets())
        sweep = branch_pass(data.draw, rows)
        value = sweep.chunk(7, rows)
        hashes = np.array(reference.hash_rows(sweep.seed, 7, len(rows)), dtype=np.uint64)
        leaf = leaves_of(rows, sweep.routes)
        chosen = np.flatnonzero(hashes < sweep.limit[leaf])
        np.testing.assert_array_equal(value.sample.numbers, 7 + chosen)
        np.testing.assert_array_equal(value.sample.rows, rows[chosen])
        np.testing.assert_array_equal(value.leaf, leaf[chosen])

    @given(st.data())
    def test_the_extremes_are_those_of_the_projections_in_each_bin(self, data):
        rows = data.draw(row_sets())
        sweep = replace(branch_pass(data.draw, rows), extremes=True, jitter=NO_JITTER)
        value = sweep.chunk(0, rows)
        held = value.counts > 0
        smallest, largest = value.extremes[:, :, 0], value.extremes[:, :, 1]
        np.testing.assert_array_equal(np.isfinite(smallest) & np.isfinite(largest), held)
        assert (smallest[held] <= largest[held]).all()
        np.testing.assert_array_equal(smallest[value.counts == 1], largest[value.counts == 1])
        # No projection lies outside those that were seen, and each extreme is one of them.
        for c, (first, last) in enumerate(zip(smallest, largest)):
            node = int(np.searchsorted(sweep.first, c, side="right")) - 1
            reaches = rows_that_reach(sweep, rows, node)
            x = [reference.project(row, sweep.directions[c]) for row in reaches]
            if x:
                assert (min(x), max(x)) == (first.min(), last.max())
                seen = np.concatenate([first, last]).ravel()
                assert set(seen[np.isfinite(seen)].tolist()) <= set(x)

    def test_both_halves_of_the_rows_have_about_the_same_size(self):
        counts = example_statistic().parts[1].chunk(0, example_rows(20_000)).counts
        assert abs(counts[0, 0].sum() - 10_000) < 4 * np.sqrt(5000)

    def test_sweeping_a_sample_gives_what_sweeping_its_rows_in_place_gives(self):
        rows, sweep = example_rows(500), example_statistic().parts[1]
        whole = FirstPass(sweep.seed, HASH_RANGE - 1).chunk(40, rows).sample
        assert_same_value(sweep.sweep(*whole), sweep.chunk(40, rows))


class TestSampling:
    @pytest.mark.parametrize(("n_wanted", "n_rows"), in_turns([1, 5, 100, 1000, 9000], [10**4, 10**7]))
    def test_the_limit_gives_fewer_rows_than_wanted_once_in_a_million_at_most(self, n_wanted, n_rows):
        share = (sample_limit(n_wanted, n_rows) + 1) / HASH_RANGE
        assert binom.cdf(n_wanted - 1, n_rows, share) < 1e-6

    @given(st.integers(0, 40), st.integers(1, 50), seeds)
    def test_the_smallest_hashes_are_kept_in_the_order_of_the_rows(self, n, size, seed):
        # No two rows share a hash.
        hashes = np.random.default_rng(seed).permutation(n).astype(np.uint64)
        sample = Sample(np.arange(2 * n).reshape(n, 2), hashes, np.arange(n) + 5)
        kept = sample.first(size)
        by_hash = sorted(range(n), key=lambda i: hashes[i])[:size]
        np.testing.assert_array_equal(kept.numbers, np.sort(by_hash).astype(int) + 5)
        np.testing.assert_array_equal(kept.rows, sample.rows[kept.numbers - 5])
        np.testing.assert_array_equal(kept.hashes, hashes[kept.numbers - 5])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_reported_and_not_counted(value):
    (first, sweep), rows = example_statistic().parts, example_rows()
    bad = rows.copy()
    bad[[3, 1500], 1] = value
    look, counts = reduce_rows(UpdatePass(first, sweep), da.from_array(bad, chunks=(130, 3)))
    assert (look.n_nan + look.n_infinite, look.first_bad_row) == (2, 3)
    assert counts.arrivals.sum() == len(rows) - 2
    expected = sweep.sweep(np.delete(rows, [3, 1500], axis=0), *(np.delete(x, [3, 1500]) for x in numbered(rows)))
    np.testing.assert_array_equal(counts.counts, expected.counts)


def numbered(rows):
    return np.array(reference.hash_rows(3, 0, len(rows)), dtype=np.uint64), np.arange(len(rows))
