"""Compiled loops against their plain twins: bit by bit, except where floating-point numbers are summed in slabs."""

from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chi2
from strategies import LOOP_DTYPES, chunkings, directions_of_nodes, jitters, row_sets, seeds, split_trees

from mdh_dask._jit.branches import (
    BLOCK,
    TILE,
    Measures,
    Routes,
    fill_tile,
    sweep_branches,
)
from mdh_dask._jit.hashing import hash_again, hash_rows, jitter_rows, jitter_tile, offset_within
from mdh_dask._jit.histograms import bin_extremes, bin_projections, projection_ranges
from mdh_dask._jit.landmarks import nearest_columns, squares_of_products, squares_to, take_block
from mdh_dask._jit.pairs import (
    TIES,
    any_in_ball_between,
    find_closest,
    find_meeting,
    kth_from_middle,
    list_places,
)
from mdh_dask._jit.rows import (
    add_multiple,
    certainly_distinct,
    count_beyond,
    inner,
    order_of,
    project_sparse,
    quantile_of,
)
from mdh_dask._jit.sums import add_to_labels
from mdh_dask._sparse import sparse_rows
from mdh_dask.density.histograms import no_extremes
from mdh_dask.tree.routing import leaves_of

word = st.integers(0, 2**63 - 1)


class TestHashRows:
    @pytest.mark.slow
    @given(word, st.integers(0, 2**62), st.integers(0, 70))
    def test_equals_its_twin(self, seed, start, n_rows):
        assert hash_rows(seed, start, n_rows).tolist() == reference.hash_rows(seed, start, n_rows)

    @pytest.mark.slow
    @given(word, st.integers(0, 2**40), chunkings(100))
    def test_a_row_has_the_same_hash_in_every_block(self, seed, start, sizes):
        edges = np.cumsum([0, *sizes])
        parts = [hash_rows(seed, start + int(a), b) for a, b in zip(edges, sizes)]
        np.testing.assert_array_equal(np.concatenate(parts), hash_rows(seed, start, 100))

    @pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
    @pytest.mark.parametrize("start", [0, 10**15])
    def test_is_uniform_in_every_bit_and_byte(self, seed, start):
        n = 2**16
        octets = hash_rows(seed, start, n).view(np.uint8).reshape(n, 8)
        ones = np.unpackbits(octets, axis=1).sum(axis=0)
        assert (((ones - n / 2) ** 2) / (n / 4)).sum() < chi2.isf(1e-5, 64)
        for octet in octets.T:
            assert ((np.bincount(octet, minlength=256) - n / 256) ** 2 / (n / 256)).sum() < chi2.isf(1e-5, 255)

    def test_neighbouring_seeds_and_rows_are_independent(self):
        n = 2**15
        ranks = np.array([hash_rows(seed, 0, n) / 2**64 for seed in range(6)])
        assert np.abs(np.corrcoef(ranks)[~np.eye(6, dtype=bool)]).max() < 5 / np.sqrt(n)
        assert abs(np.corrcoef(ranks[0, 1:], ranks[0, :-1])[0, 1]) < 5 / np.sqrt(n)


class TestHashAgain:
    @given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(0, 500))
    def test_equals_its_twin(self, hashes, repeat):
        assert hash_again(np.array(hashes, dtype=np.uint64), repeat).tolist() == reference.hash_again(hashes, repeat)

    def test_halves_of_all_repeats_are_independent_of_the_first_ones(self):
        n, first = 2**14, hash_rows(5, 0, 2**14)
        again = [first, *(hash_again(first, repeat) for repeat in range(1, 24))]
        bits = np.array([(hashes >> np.uint64(bit)) & np.uint64(1) for hashes in again for bit in (0, 1, 7, 31)])
        correlation = np.corrcoef(bits.astype(float))
        assert np.abs(correlation[~np.eye(len(bits), dtype=bool)]).max() < 5.5 / np.sqrt(n)


@st.composite
def sweeps(draw):
    """Rows, routes, hashes and jitter of `sweep_branches`, and a function that makes measures without counts."""
    rows = draw(row_sets(max_rows=150))
    routes = Routes(*draw(split_trees(rows)))
    rng = np.random.default_rng(draw(seeds))
    n_nodes, d = routes.planes.shape
    first = directions_of_nodes(rng, n_nodes)
    n = int(first[-1])
    coarse = draw(jitters(d))
    bit, hashes = rng.integers(0, 64, n_nodes), hash_rows(draw(word), 0, len(rows))
    directions = rng.integers(-1, 2, (n, d)) * rng.choice([1.0, 0.1])
    origin, width = rng.normal(0, 50, n), rng.uniform(0.1, 20, n)
    n_bins, with_extremes = draw(st.integers(1, 12)), draw(st.booleans())

    def measures():
        counts, extremes = np.zeros((n, 2 + bool(coarse), n_bins), np.int64), no_extremes(n, 2, n_bins * with_extremes)
        return Measures(first, bit, directions, origin, width, counts, extremes)

    return rows, routes, hashes, coarse, measures


def assert_all_close(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def assert_all_equal(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


class TestSweepBranches:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", LOOP_DTYPES)
    @settings(max_examples=25)
    @given(st.data())
    def test_equals_its_twin(self, dtype, data):
        rows, routes, hashes, coarse, measures = data.draw(sweeps())
        rows = rows.astype(dtype)
        taken, expected = measures(), measures()
        leaves = sweep_branches(rows, routes, taken, hashes, coarse)
        assert leaves.tolist() == reference.sweep_branches(rows, routes, expected, hashes, coarse)
        assert_all_close(taken, expected)

    @given(sweeps(), st.data())
    def test_gives_the_same_bits_under_any_blocking_of_the_rows(self, sweep, data):
        rows, routes, hashes, coarse, measures = sweep
        whole, parts = measures(), measures()
        leaves = sweep_branches(rows, routes, whole, hashes, coarse)
        edges = np.cumsum([0, *data.draw(chunkings(len(rows)))])
        blocks = [sweep_branches(rows[a:b], routes, parts, hashes[a:b], coarse) for a, b in pairwise(edges)]
        np.testing.assert_array_equal(np.concatenate(blocks), leaves)
        assert_all_equal(parts, whole)

    @settings(max_examples=10)
    @given(sweeps())
    def test_more_rows_than_a_block_are_swept_like_any(self, sweep):
        rows, routes, hashes, coarse, measures = sweep
        copies = BLOCK // len(rows) + 2
        once, many = measures(), measures()
        leaves = sweep_branches(rows, routes, once, hashes, coarse)
        leaf = sweep_branches(np.tile(rows, (copies, 1)), routes, many, np.tile(hashes, copies), coarse)
        np.testing.assert_array_equal(leaf, np.tile(leaves, copies))
        np.testing.assert_array_equal(many.counts, once.counts * copies)
        np.testing.assert_array_equal(many.extremes, once.extremes)

    @given(row_sets([np.float64], max_rows=150), seeds)
    def test_rows_on_the_plane_go_left(self, rows, seed):
        plane = np.random.default_rng(seed).normal(size=(1, rows.shape[1]))
        planes, offsets = np.repeat(plane, 3, axis=0), np.full(3, reference.project(rows[0], plane[0]))
        children = np.array([[1, -1, -1], [2, -1, -1]], dtype=np.int32)
        assert leaves_of(rows, Routes(*children, planes, offsets))[0] == 1


@given(row_sets([np.float64], max_rows=20), seeds)
def test_products_and_multiples_of_vectors_equal_their_twins(rows, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, rows.shape[1]))
    assert inner(rows[0], a) == reference.project(rows[0], a)
    expected = b.tolist()
    add_multiple(b, a[0], rows[0])
    reference.add_multiple(expected, a[0], rows[0])
    np.testing.assert_array_equal(b, expected)


class TestSpreading:
    @pytest.mark.slow
    @given(row_sets([np.float32, np.float64], max_rows=150), word, st.data())
    def test_spreading_rows_and_tiles_equals_the_twin(self, rows, seed, data):
        coarse, hashes = data.draw(jitters(rows.shape[1])), hash_rows(seed, 0, len(rows))
        spread, expected = rows.astype(np.float64), rows.astype(np.float64).tolist()
        here, tile = np.arange(len(rows))[::-1].copy(), np.zeros((rows.shape[1], TILE))
        size = fill_tile(rows, here, 0, tile)
        jitter_tile(tile, here, 0, size, hashes, coarse)
        jitter_rows(spread, hashes, coarse)
        reference.jitter_rows(expected, hashes, coarse)
        np.testing.assert_allclose(spread, np.array(expected).reshape(rows.shape), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(tile[:, :size], spread[here[:size]].T)

    def test_offsets_are_uniform_between_minus_and_plus_a_half_and_independent_of_halves_and_other_keys(self):
        n = 2**14
        hashes = hash_rows(0, 0, n)
        offsets = np.array([[offset_within(h, np.uint64(key)) for h in hashes] for key in (0, 2, 4, 2**63)])
        assert [offset_within(h, np.uint64(1)) for h in hashes] == [-offset for offset in offsets[0]]
        assert np.abs(offsets).max() < 0.5
        for line in offsets:
            assert ((np.histogram(line, 64, (-0.5, 0.5))[0] - n / 64) ** 2 / (n / 64)).sum() < chi2.isf(1e-5, 63)
        halves = [(hashes >> np.uint64(bit)) & np.uint64(1) for bit in range(32)]
        correlation = np.corrcoef(np.concatenate([offsets, halves]))[:4]
        assert np.abs(correlation[correlation < 0.999]).max() < 5.5 / np.sqrt(n)


class TestBinProjections:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @given(st.integers(0, 3), st.integers(0, 80), st.integers(1, 12), seeds)
    def test_equals_its_twin(self, dtype, n_directions, n_rows, n_bins, seed):
        rng = np.random.default_rng(seed)
        projections = rng.normal(0, 10, (n_directions, n_rows)).round(1).astype(dtype)
        origin = rng.normal(-5, 1, n_directions).round(1).astype(dtype)
        width = rng.uniform(0.1, 3, n_directions).round(1).astype(dtype)
        counts, expected = np.zeros((n_directions, n_bins), np.int32), np.zeros((n_directions, n_bins), np.int32)
        bin_projections(projections, origin, width, counts)
        reference.bin_projections(projections, origin, width, expected)
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(counts.sum(axis=1), np.full(n_directions, n_rows))


class TestBinExtremes:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @given(st.integers(0, 3), st.integers(0, 80), st.integers(1, 12), seeds)
    def test_equals_its_twin_in_the_bins_of_the_counts(self, dtype, n_directions, n_rows, n_bins, seed):
        rng = np.random.default_rng(seed)
        projections = rng.normal(0, 10, (n_directions, n_rows)).round(1).astype(dtype)
        layout = rng.normal(-5, 1, n_directions).astype(dtype), rng.uniform(0.1, 3, n_directions).astype(dtype)
        extremes, expected = no_extremes(n_directions, n_bins), no_extremes(n_directions, n_bins)
        counts = np.zeros((n_directions, n_bins), np.int32)
        bin_extremes(projections, *layout, extremes)
        reference.bin_extremes(projections, *layout, expected)
        bin_projections(projections, *layout, counts)
        np.testing.assert_array_equal(extremes, expected)
        np.testing.assert_array_equal(np.isfinite(extremes).all(axis=1), counts > 0)


class TestProjectionRanges:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @given(st.integers(1, 3), st.integers(1, 80), st.sampled_from([0.0, 5.0, 1e4]), seeds)
    def test_equal_those_of_exact_arithmetic(self, dtype, n_directions, n_rows, mean, seed):
        rng = np.random.default_rng(seed)
        projections = rng.normal(mean, 1, (n_directions, n_rows)).astype(dtype)
        ranges, exact = projection_ranges(projections), reference.projection_ranges(projections)
        # Squares are taken in the dtype of the projections, sums in float64.
        tolerance = 10 * np.finfo(dtype).eps
        np.testing.assert_allclose(ranges[0], exact[0], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(ranges[1], exact[1], rtol=100 * tolerance, atol=10 * tolerance)
        np.testing.assert_array_equal(ranges[2:], exact[2:])

    def test_a_constant_direction_has_no_spread(self):
        assert projection_ranges(np.full((1, 301), 0.1))[1] == 0


@given(row_sets(), st.floats(-3, 3), st.floats(-3, 3))
def test_values_beyond_bounds_are_those_that_are_counted_column_by_column(rows, low, high):
    d = rows.shape[1]
    found, expected = np.zeros((2, d), dtype=np.int64), np.zeros((2, d), dtype=np.int64)
    count_beyond(rows, np.full(d, low), np.full(d, high), *found)
    reference.count_beyond(rows, np.full(d, low), np.full(d, high), *expected)
    np.testing.assert_array_equal(found, expected)


@given(hnp.arrays(np.uint32, hnp.array_shapes(min_dims=2, max_dims=2)), st.integers(0, 9), st.integers(1, 12))
def test_what_is_certainly_distinct_is_distinct_and_many_hashes_show_it(words, enough, n_bits):
    expected = np.array(reference.certainly_distinct(words, enough, n_bits))
    assert (certainly_distinct(words, enough, n_bits) <= expected).all()
    np.testing.assert_array_equal(
        certainly_distinct(words % 10, enough, 16), reference.certainly_distinct(words % 10, enough, 16)
    )


class TestLabelSums:
    @given(row_sets(), st.integers(1, 4), seeds)
    def test_equal_their_twins(self, rows, n_labels, seed):
        labels = np.random.default_rng(seed).integers(0, n_labels + 1, len(rows)).astype(np.int32)
        found, expected = (
            (np.zeros(n_labels, np.int64), np.zeros((n_labels, min(3, rows.shape[1])))) for _ in range(2)
        )
        add_to_labels(labels, rows, *found)
        reference.add_to_labels(labels, rows, *expected)
        for ours, theirs in zip(found, expected):
            np.testing.assert_array_equal(ours, theirs)


@given(rows=hnp.arrays(np.float64, (5, 7), elements=st.sampled_from([0.0, 0.0, 1.5, -3e-9, 7e11])), seed=seeds)
def test_products_of_sparse_rows_have_the_bits_of_those_of_dense_rows(rows, seed):
    compressed, matrix = sparse_rows(rows).loop_ready(), np.random.default_rng(seed).normal(size=(7, 3))
    out = np.zeros((5, 3))
    project_sparse(*compressed, matrix, out)
    assert out.tolist() == reference.project_sparse(*compressed, matrix).tolist()


@given(rows=hnp.arrays(np.float64, (5, 3), elements=st.sampled_from([0.0, 1 / 3, 1e3 + 1e-9, -7e11, 1e200])))
def test_squared_distances_are_those_of_the_products(rows):
    with np.errstate(over="ignore", invalid="ignore"):  # far rows have infinite products
        products, own = rows @ rows[:4].T, np.square(rows).sum(axis=1)
        squares = np.empty((5, 4), dtype=np.float32)
        squares_of_products(products, own, own[:4], 1e-15, squares)
        expected = reference.squares_of_products(products, own, own[:4], 1e-15).astype(np.float32)
    np.testing.assert_array_equal(squares, expected)


@pytest.mark.parametrize("n_columns", range(10))
def test_squared_distances_have_the_bits_of_sums_in_the_order_of_columns(n_columns):
    rng = np.random.default_rng(n_columns)
    row, centre, scale = rng.normal(size=(3, n_columns))
    points, squares = rng.normal(size=(n_columns, 6)), np.full(6, np.nan)
    squares_to(row, centre, scale, points, squares)
    expected = np.zeros(6)
    for j in range(n_columns):
        expected += ((row[j] - centre[j]) * scale[j] - points[j]) ** 2
    assert squares.tolist() == expected.tolist()


@given(seeds, st.lists(st.integers(0, 4), max_size=6), st.lists(st.integers(0, 6), max_size=6))
def test_blocks_of_a_matrix_are_those_of_numpy(seed, rows, columns):
    values, block = np.random.default_rng(seed).random((5, 7), dtype=np.float32), np.empty((len(rows), len(columns)))
    rows, columns = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    take_block(values, rows, columns, block)
    assert block.tolist() == values[np.ix_(rows, columns)].tolist()


class TestNearestColumns:
    @given(seeds, st.integers(1, 12), st.integers(1, 12), st.booleans())
    def test_equals_its_twin_even_among_equal_and_infinite_values(self, seed, n, k, tied):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 3, (4, n)).astype(np.float32) if tied else rng.random((4, n), dtype=np.float32)
        values[rng.random((4, n)) < 0.2] = np.inf
        near = nearest_columns(values, min(k, n))
        assert near.tolist() == [reference.nearest_columns(row, min(k, n)) for row in values.tolist()]


@given(st.lists(st.integers(-1, 8), max_size=30))
def test_places_of_numbers_are_listed_in_their_order_without_those_of_others(numbers):
    start, items = np.zeros(7, dtype=np.int64), np.empty(len(numbers), dtype=np.int64)
    list_places(np.array(numbers, dtype=np.int64), start, items)
    found = [items[a:b].tolist() for a, b in pairwise(start)]
    assert found == [[place for place, number in enumerate(numbers) if number == own] for own in range(6)]


few_values = st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0, 7.0, np.inf]), min_size=1, max_size=40)


@given(few_values, st.sampled_from([np.float32, np.float64]))
def test_equal_values_keep_their_order(values, dtype):
    assert order_of(np.array(values, dtype=dtype)).tolist() == reference.order_of(values)


@given(
    st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0]) | st.floats(-9, 9), min_size=1, max_size=40), st.floats(0, 1)
)
def test_a_quantile_lies_between_two_sorted_values_which_stay_where_they_are(values, share):
    given_values = np.array(values)
    assert quantile_of(given_values, share) == reference.quantile_of(values, share)
    assert given_values.tolist() == values


@given(seeds, st.integers(1, 12))
def test_closest_landmarks_of_two_cells_are_the_first_of_the_least_distances_even_if_those_are_infinite(seed, n):
    rng = np.random.default_rng(seed)
    apart, cell = rng.choice(np.array([0, 1, 2, np.inf], dtype=np.float32), (n, n)), rng.integers(0, 4, n)
    one, other = np.full((2, 4, 4), -1)
    find_closest(apart, cell, one, other)
    pairs = [(i, j) for i in range(n) for j in range(n)]
    for a in range(4):
        for b in range(4):
            own = [(i, j) for i, j in pairs if (cell[i], cell[j]) == (a, b)]
            assert (one[a, b], other[a, b]) == min(own, key=lambda ends: apart[ends], default=(-1, -1))


@given(seeds, st.integers(1, 200), st.integers(1, 4))
def test_rows_nearest_to_the_middle_of_two_points_are_those_of_the_least_sums_in_any_block(seed, n, k):
    one, other = np.random.default_rng(seed).integers(0, 50, (2, n)).astype(np.float32)
    least = [*sorted((one + other).tolist()), *[np.inf] * k][k - 1]
    assert kth_from_middle(one, other, np.float32(6), k) == least / 2 - 1.5


def test_a_projection_that_overflows_to_nan_is_counted_in_the_first_bin():
    counts = np.zeros((1, 4), dtype=np.int64)
    bin_projections(np.array([[np.nan, 2.5, np.inf]]), np.zeros(1), np.ones(1), counts)
    assert counts.tolist() == [[1, 0, 1, 1]]


@given(seeds, st.integers(1, 200))
def test_a_point_in_the_ball_between_two_others_is_found_in_any_block(seed, n):
    one, other = np.random.default_rng(seed).integers(0, 50, (2, n)).astype(np.float32)
    between = np.float32(np.sort(one + other)[:3].mean())  # the nearest points are inside, or just outside
    inside = (one.astype(float) + other) / 2 - between / 4 < between / 4 * (1 - TIES)
    assert any_in_ball_between(one, other, between) == inside.any()


def test_landmarks_at_an_infinite_distance_do_not_meet():
    apart, meets = np.array([[0, np.inf], [np.inf, 0]], dtype=np.float32), np.ones(1, dtype=bool)
    find_meeting(apart, np.array([0]), np.array([1]), meets)
    assert not meets[0]
