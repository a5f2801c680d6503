"""The counts of rows that compare pairs of groups: in balls and in slabs, one by one and by compiled loops."""

import numpy as np
import pytest
import reference_density_tree
from helpers import groups_of_few_rows, stripes
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, ttest_1samp
from sklearn.covariance import ledoit_wolf

from mdh_dask._jit.lines import LADDER, WIDTHS, count_on_lines
from mdh_dask._jit.pairs import LEAST_PLACES, PLACES, ROWS_OF_PLACE, SHARE_OF_GROUP, SPREAD, TIES, WIDTH, fair_ratio
from mdh_dask.valleys import pair_tests
from mdh_dask.valleys.landmarks import ELSEWHERE, NEIGHBOURS, RADII, RANKED_BY, Half, Landmarks, errors_in_balls
from mdh_dask.valleys.lines import (
    FEW_COLUMNS,
    Slabs,
    combinations_apart,
    drawn_lines,
    errors_in_slabs,
    members_of,
)
from mdh_dask.valleys.merging import merge_cells
from mdh_dask.valleys.neighbours import Distances, distinct
from mdh_dask.valleys.pair_tests import PROMISING, PairTests, pooled

PAIR = np.array([[0, 1]])
TWO = np.arange(2)


def hashes(n, seed=0):
    return np.sort(np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64))


def squares(one, other):
    return ((one[:, None] - other) ** 2).sum(axis=-1)


@pytest.mark.parametrize("values", [1, 3, 1000])
def test_distinct_rows_are_the_first_of_equal_ones(values):
    rows = np.random.default_rng(values).integers(0, values, (200, 2)).astype(np.float64)
    seen: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(rows.tolist()):
        seen.setdefault(tuple(row), i)
    assert distinct(rows).tolist() == [*seen.values()]


class TestLinks:
    def test_they_join_neighbours_and_the_closest_landmarks_of_two_cells_by_their_sparsest_place(self):
        rows, cell = stripes(160, 1.2, seed=1)
        cell = np.where(rows[:, 0] > 6, 2, cell)
        landmarks = Landmarks(Half(rows, np.arange(0, 160, 2), np.arange(1, 160, 2), cell))
        links, places, choosing = landmarks.marks.links, landmarks.places, rows[::2]
        apart, own = squares(places, places), landmarks.cell
        np.fill_diagonal(apart, np.inf)
        near = np.argsort(apart, axis=1)[:, :NEIGHBOURS]
        neighbours = {tuple(sorted((i, int(j)))) for i in range(len(near)) for j in near[i] if own[i] != own[j]}
        closest = set()
        for a, b in ((0, 1), (0, 2), (1, 2)):
            one, other = np.flatnonzero(own == a), np.flatnonzero(own == b)
            i, j = np.unravel_index(apart[np.ix_(one, other)].argmin(), (len(one), len(other)))
            closest.add(tuple(sorted((int(one[i]), int(other[j])))))
        found = list(zip(links.first.tolist(), links.second.tolist()))
        assert set(found) == neighbours | closest
        assert {pair for pair, is_near in zip(found, landmarks.near) if is_near} == neighbours

        def reach(place, is_row):
            return np.sort(((choosing - place) ** 2).sum(axis=1))[RANKED_BY - (not is_row)]

        for e, (i, j) in enumerate(found):
            middle, others = (places[i] + places[j]) / 2, np.delete(np.arange(len(places)), [i, j])
            assert links.meets[e] == (squares(middle[None], places[others]).min() >= apart[i, j] / 4 * (1 - TIES))
            halfway = reach(middle, False) if links.meets[e] else apart[i, j] / 4
            at = [(reach(places[i], True), (i, i)), (halfway, (i, j)), (reach(places[j], True), (j, j))]
            sparsest = max(at, key=lambda of: np.float32(of[0]))
            assert_allclose(links.reach[e], sparsest[0], rtol=1e-5)
            assert links.ends[:, e].tolist() == list(sparsest[1])
        assert 0 < np.count_nonzero(links.meets) < len(found)
        keys = list(zip(~links.meets, links.reach))
        assert keys == sorted(keys)

    def test_those_of_each_pair_of_groups_are_listed_in_their_order(self):
        rows, cell = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 5
        landmarks, group = (
            Landmarks(Half(rows, np.arange(0, 400, 2), np.arange(1, 400, 2), cell)),
            np.array([0, 1, 1, 3, 0]),
        )
        links, pairs = landmarks.marks.links, np.array([[1, 3], [0, 3]])
        ends = [{*own} for own in zip(group[landmarks.cell[links.first]], group[landmarks.cell[links.second]])]
        cuts = landmarks.cuts(group, pairs)
        for i, pair in enumerate(pairs.tolist()):
            own = [e for e, found in enumerate(ends) if found == {*pair}]
            assert cuts.items[cuts.start[i] : cuts.start[i + 1]].tolist() == own

    def test_equal_rows_change_no_distance_of_other_landmarks(self):
        rng = np.random.default_rng(0)
        cell = np.arange(600) // 300
        rows = rng.normal(size=(600, 2)) + 12.0 * cell[:, None]
        rows[:6] = rows[0]
        found = Landmarks(Half(rows, np.arange(0, 600, 2), np.arange(1, 600, 2), cell))
        assert not found.near.any()

    def test_groups_of_dependent_rows_are_connected_over_the_least_distances_though_none_are_neighbours(self):
        cell = np.arange(600) % 4
        rows = np.random.default_rng(0).normal(size=(600, 2)) + np.array([[0, 0], [20, 0], [50, 0], [0, 30]])[cell]
        for in_groups, pairs in ((False, []), (True, [[0, 1], [0, 3], [1, 2]])):
            tests = PairTests(rows, hashes(600), cell, in_groups=in_groups)
            assert tests.meeting(np.arange(4)).tolist() == pairs


class TestBalls:
    @pytest.mark.parametrize(("gap", "n"), [(0.8, 300), (0.0, 60)])
    def test_evidence_is_that_of_rows_counted_one_by_one(self, gap, n):
        rows, cell = stripes(n, gap, seed=2)
        choosing, counted = np.arange(0, n, 2), np.arange(1, n, 2)
        landmarks = Landmarks(Half(rows, choosing, counted, cell))
        errors, in_balls = landmarks.errors(TWO, PAIR, landmarks.cuts(TWO, PAIR))
        expected = naive_errors(rows, choosing, counted, cell, landmarks.marks.links)
        assert_allclose(errors[0], expected, atol=1e-6)
        assert in_balls.shape == (1, len(RADII), 2, 2)

    @pytest.mark.parametrize("n_columns", [2, 12])
    def test_evidence_among_parts_is_that_of_the_t_test_of_their_counts_or_less_that_of_rows(self, n_columns):
        rows, cell = groups_of_few_rows(150, max(n_columns, 4))
        halves = np.arange(0, 600, 2), np.arange(1, 600, 2)
        parts = np.random.default_rng(1).integers(8, size=600)
        by_part, group = Landmarks(Half(rows, *halves, cell, parts)), np.arange(4)
        found = by_part.errors(group, PAIR, by_part.cuts(group, PAIR))[0]
        differences = []
        for part in range(8):
            own = Landmarks(Half(rows, halves[0], halves[1][parts[halves[1]] == part], cell))
            in_balls = own.errors(group, PAIR, own.cuts(group, PAIR))[1]
            differences.append(in_balls[0, ..., 0] - in_balls[0, ..., 1])  # for as many balls
        of_parts = np.nan_to_num(norm.isf(ttest_1samp(differences, 0, alternative="greater").pvalue))
        by_row = Landmarks(Half(rows, *halves, cell))
        of_rows = by_row.errors(group, PAIR, by_row.cuts(group, PAIR))[0][0]
        assert (of_parts > of_rows).any()
        assert_allclose(found[0], np.minimum(of_parts, of_rows), rtol=1e-6)

    def test_a_cut_may_be_as_wide_as_leaves_equal_distances_across_the_line_between_both_groups(self):
        assert fair_ratio(2) == 0.75
        assert fair_ratio(5) == pytest.approx(6 / 7 * 5 / 4)
        assert fair_ratio(1) * 0.0 == 0.0

    def test_more_balls_in_the_core_make_a_valley_more_certain_but_not_one_without_rows(self):
        few, many = ([[10 * k, 3, 10 * k, 0, 3], [10 * k, 0, 10 * k, 0, 0]] for k in (1, 100))
        (less, empty), (more, still_empty) = (
            errors_in_balls(np.array(sums), k, 1) for k, sums in ((1, few), (100, many))
        )
        assert more > 1.1 * less
        assert still_empty == pytest.approx(empty, rel=0.01)  # 10 rows are missing, whatever the core holds


def naive_errors(rows, choosing, counted, cell, links):
    """Standard errors of balls of each radius and group, from links in descending order of density."""
    places, used, cut = rows[choosing], set(), []
    own = cell[choosing]
    most = min(max(int(min(np.bincount(own))) // ROWS_OF_PLACE, LEAST_PLACES), PLACES)
    for e in range(len(links.first)):
        i, j = int(links.first[e]), int(links.second[e])
        if len(cut) == most or links.reach[e] > SPREAD * links.reach[0] or links.meets[e] != links.meets[0]:
            break
        if not used & {i, j}:
            used |= {i, j}
            cut.append(places[links.ends[:, e]].mean(axis=0))
    distances = np.sqrt(squares(places, places))
    reaches = np.sort(distances, axis=1)
    found = []
    for side in (0, 1):
        ours = np.flatnonzero(own == side)
        peak = ours[reaches[ours, RANKED_BY].argmin()]
        around = ours[np.argsort(distances[peak, ours])]
        farthest = distances[peak, around[: WIDTH * len(cut)][-1]] ** 2
        n = max(len(cut), min(max(WIDTH * len(cut), int(SHARE_OF_GROUP * len(ours))), PLACES))
        core = sorted(around[: max(WIDTH * len(cut), n)])[:n]
        near = [place for place in cut if ((place - cut[0]) ** 2).sum() <= farthest * 0.75 * (1 + TIES)]  # in the plane
        core = core[: -(-len(core) * len(near) // len(cut))]
        radii = [np.median(reaches[core, k] ** 2) if k <= max(len(ours), RADII[0]) else -1 for k in RADII]
        in_core, in_cut = squares(places[core], rows[counted]), squares(np.array(near), rows[counted])
        sums = []
        for radius in radii:
            a, b = ((of <= radius * (1 + TIES)).sum(axis=0) for of in (in_core, in_cut))
            sums.append([a.sum(), b.sum(), (a * a).sum(), (a * b).sum(), (b * b).sum()])
        found.append(errors_in_balls(np.array(sums), len(core), len(near)))
    return np.transpose(found)


def drawn(rows, choosing, counted, group, contact, few_columns=True):
    """Lines between the first two groups through a contact, and the counts around them by width."""
    members = members_of(group[choosing], 2)
    lines = drawn_lines(rows[choosing], contact[None], members, PAIR, few_columns)
    shape, none = lines.radius.shape, np.zeros(len(counted), dtype=np.int64)
    counts, nobody = np.zeros((*shape, len(WIDTHS), 1, 3), dtype=np.int64), np.zeros((len(PAIR), 1), dtype=bool)
    shifts = np.zeros(shape), np.zeros(len(counted))
    count_on_lines(np.asfortranarray(rows[counted]), none, none, nobody, lines, shifts, counts)
    return lines, counts[0, ..., 0, :]


class TestLines:
    def test_slabs_hold_the_rows_around_three_places_on_a_line_through_both_groups(self):
        rng = np.random.default_rng(0)
        group = np.repeat([0, 1, 2], [150, 150, 60])
        points = rng.normal(size=(360, 2)) + np.array([[0, 0], [3, 0], [1.5, 1]])[group]
        choosing, counted = np.arange(0, 360, 2), np.arange(1, 360, 2)
        contact = np.array([1.5, 0.1])
        found = drawn(points, choosing, counted, group, contact)[1]
        for k, n in enumerate(LADDER[:3]):
            rows = [points[choosing][group[choosing] == side] for side in (0, 1)]
            rows = [own[np.argsort(((own - contact) ** 2).sum(axis=1))[:n]] for own in rows]
            expected = [reference_density_tree.rows_in_slabs(rows, points[counted], width) for width in WIDTHS]
            assert found[k].tolist() == expected
        assert found[..., 1].max() > 0
        assert not found[3:].any()  # neither group has as many rows

    def test_more_rows_of_overlapping_clusters_show_more_evidence(self):
        rng = np.random.default_rng(0)
        group = rng.integers(2, size=8000)
        points = rng.normal(size=(8000, 2)) + 4.0 * np.column_stack([group, 0 * group])
        strongest = []
        for n in (1000, 8000):
            counts = drawn(points[:n], np.arange(0, n, 2), np.arange(1, n, 2), group[:n], np.array([2.0, 0.0]))[1]
            strongest.append(errors_in_slabs(counts).min(axis=-1).max())
        assert strongest[1] > 2 * strongest[0] > 4  # less with more rows if at most 192 choose a line

    def test_they_do_not_leave_thin_curves(self):
        rng = np.random.default_rng(0)
        choosing, counted = np.arange(0, 1200, 2), np.arange(1, 1200, 2)
        angle = np.linspace(-1.5, 1.5, 1200)
        arc = np.column_stack([np.sin(angle), np.cos(angle)]) + rng.normal(0, 0.03, (1200, 2))
        bar = np.column_stack([angle, rng.uniform(0, 1, 1200)])
        for rows, n_lines in ((arc, 2), (bar, 5)):  # 300 choosing rows in each group
            group = (angle > 0).astype(np.int64)
            contact = np.array([0, rows[np.abs(angle) < 0.1, 1].mean()])
            assert drawn(rows, choosing, counted, group, contact)[1].all(axis=(1, 2)).sum() == n_lines

    def test_they_do_not_leave_wide_rings_but_join_bars_at_an_angle(self):
        rng = np.random.default_rng(0)
        choosing, counted = np.arange(0, 1200, 2), np.arange(1, 1200, 2)
        angle, width = np.linspace(-3, 3, 1200), rng.uniform(-0.8, 0.8, 1200)
        ring = np.column_stack([np.sin(angle), np.cos(angle)]) + rng.normal(0, 0.15, (1200, 2))
        bars = np.column_stack([angle + np.sign(angle) * width, width - np.abs(angle)])
        for rows, n_lines in ((ring, 3), (bars, 5)):
            group = (angle > 0).astype(np.int64)
            contact = rows[np.abs(angle) < 0.1].mean(axis=0)
            assert drawn(rows, choosing, counted, group, contact)[1].all(axis=(1, 2)).sum() == n_lines

    def test_in_many_columns_the_line_of_whole_groups_is_placed_by_the_rows_that_are_counted(self):
        labels = np.random.default_rng(1).permutation(np.arange(200) % 2)
        rows = with_factors(labels, 7, 15, seed=1)
        choosing, counted = np.arange(0, 200, 2), np.arange(1, 200, 2)
        found, in_slabs = on_lines(rows, choosing, counted, labels)
        combinations = combinations_apart(rows[choosing], labels[choosing])
        chosen, placing = (rows[half] @ combinations for half in (choosing, counted))
        own = [chosen[labels[choosing] == side] for side in (0, 1)]
        line = int(np.flatnonzero(in_slabs.any(axis=(1, 2)))[-1]) // len(WIDTHS)
        assert line < 4  # the smaller group has less than 96 rows
        along = placing[:, 0] * np.sign(own[1].mean() - own[0].mean())  # two cells differ in one combination
        low, high = (np.median(along[labels[counted] == side]) for side in (0, 1))
        at = (along - low) / (high - low)
        for width, which in zip(WIDTHS, range(line * len(WIDTHS), in_slabs.shape[0])):
            n = [np.sum(np.abs(at - point) <= width / 2) for point in (0, 0.5, 1)]
            assert_array_equal(in_slabs[which], [[n[0], n[1]], [n[2], n[1]]])
            assert found[which] == pytest.approx([(n[i] - n[1]) / np.sqrt(n[i] + n[1]) for i in (0, 2)])
            assert found[which].min() > 3

    def test_rows_elsewhere_choose_nothing_and_are_counted(self):
        labels = np.random.default_rng(3).permutation(np.arange(300) % 3)
        rows = with_factors(labels, 7, 15, seed=3)
        cell = np.where(labels == 1, ELSEWHERE, labels // 2)
        assert on_lines(rows, np.arange(0, 300, 2), np.arange(1, 300, 2), cell)[0].max() < 2  # as many rows between

    def test_counts_of_parts_are_compared_by_their_t_test(self):
        labels = np.random.default_rng(1).permutation(np.arange(400) % 2)
        rows, parts = with_factors(labels, 7, 15, seed=1), np.random.default_rng(2).integers(9, size=400)
        found = on_lines(rows, np.arange(0, 400, 2), np.arange(1, 400, 2), labels, parts)[0]
        assert found.max() > 3
        together = np.zeros_like(parts)
        assert not on_lines(rows, np.arange(0, 400, 2), np.arange(1, 400, 2), labels, together)[0].any()  # of one part


def on_lines(rows, choosing, counted, cell, parts=None):
    """Standard errors along the lines between two cells, and the rows in the slabs."""
    half = Half(rows, choosing, counted, cell, parts)
    landmarks = Landmarks(half)
    slabs = Slabs(half, landmarks, np.zeros(len(rows)))
    errors, in_slabs = slabs.errors(TWO, PAIR, landmarks.cuts(TWO, PAIR), np.zeros((1, 2), dtype=np.bool_))
    return errors[0], in_slabs[0]


def with_factors(labels, apart, n_columns, seed):
    """Normal groups `apart` standard deviations from each other, in columns with six large common factors."""
    rng = np.random.default_rng(seed)
    n, factors = len(labels), np.linalg.qr(rng.normal(size=(n_columns, 7)))[0].T
    rows = rng.normal(size=(n, n_columns)) + 12 * rng.normal(size=(n, 6)) @ factors[1:]
    return rows + apart * np.outer(labels, factors[0])


@pytest.mark.parametrize("n_columns", [12, 90])
def test_distances_of_means_are_those_by_the_covariance_of_ledoit_and_wolf_within_cells(n_columns):
    rng = np.random.default_rng(0)
    cell = rng.permutation(np.arange(80) % 4)
    rows = rng.normal(size=(80, n_columns)) * np.geomspace(1, 5, n_columns) + np.eye(4, n_columns)[cell]
    means = np.array([rows[cell == k].mean(axis=0) for k in range(4)])
    combinations = combinations_apart(rows, cell)
    assert combinations.shape == (n_columns, 3)
    precision = np.linalg.inv(ledoit_wolf(rows - means[cell], assume_centered=True)[0])
    for one in means:
        for other in means:
            by_covariance = (one - other) @ precision @ (one - other)
            assert_allclose(np.square((one - other) @ combinations).sum(), by_covariance, rtol=1e-8, atol=1e-12)


def test_cells_with_equal_means_have_no_combination():
    rows = np.tile(np.concatenate([np.eye(9), -np.eye(9)]), (2, 1))
    assert combinations_apart(rows, np.arange(36) // 18) is None
    assert combinations_apart(rows, np.zeros(36, dtype=int)) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_few_rows_stay_apart_though_common_factors_hide_them(seed):
    labels = np.random.default_rng(seed).permutation(np.arange(200) % 2)
    rows = with_factors(labels, 7, 15, seed)
    assert_array_equal(merge_cells(rows, hashes(200, seed), labels, 2).group, [0, 1])
    # Halves of one group along the factor are no two.
    one = with_factors(np.zeros(200), 0, 15, seed)
    halves = (one @ np.linalg.svd(one)[2][0] > 0).astype(int)
    assert_array_equal(merge_cells(one, hashes(200, seed), halves, 2).group, [0, 0])


@pytest.mark.slow
def test_a_third_group_between_two_is_not_counted_between_them():
    labels = np.random.default_rng(2).permutation(np.arange(600) % 3)
    rows = with_factors(labels, 7, 15, seed=2)
    tests, group, pair = PairTests(rows, hashes(600), labels), np.arange(3), np.array([[0, 2]])
    slabs, landmarks = tests.splits[0][0].slabs, tests.splits[0][0].landmarks
    cuts = landmarks.cuts(group, pair)
    among, without = (
        slabs.errors(group, pair, cuts, np.array([[False, out, False]]))[0][0].min(axis=-1).max()
        for out in (False, True)
    )
    assert among < 1  # as many rows between as in either
    assert without > 3
    assert_array_equal(merge_cells(rows, hashes(600), labels, 3, smooth=False).group, [0, 1, 2])


@pytest.mark.parametrize("far", [1e80, 1e140])
def test_far_values_overflow_nothing(far):
    labels = np.arange(200) % 2
    rows = np.random.default_rng(0).normal(size=(200, 12)) + 12 * labels[:, None]
    rows[3, 2] = far
    assert np.isfinite(combinations_apart(rows, labels)).all()
    assert_array_equal(combinations_apart(rows * 2.0**-9, labels), combinations_apart(rows, labels) * 2.0**9)


@pytest.mark.parametrize("n_columns", [2, 12])
def test_all_pairs_at_once_show_what_each_shows_alone(n_columns):
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
    if n_columns > FEW_COLUMNS:
        rows, labels = groups_of_few_rows(50, n_columns, seed=2)
    tests, group = PairTests(rows, hashes(200), labels), np.arange(4)
    pairs = tests.meeting(group)
    together = tests.counted(group, pairs)
    alone = [PairTests(rows, hashes(200), labels).counted(group, pair[None]).values(0) for pair in pairs]
    assert len(pairs) > 1
    assert_allclose(np.transpose(together[:3]), alone)
    # Groups of two cells are what one cell of their rows is, but for the coordinates that tell cells apart.
    if n_columns == 2:
        united = PairTests(rows, hashes(200), np.array([0, 1, 2, 2])[labels])
        found = tests.counted(np.array([0, 1, 2, 2]), np.array([[0, 1]]))
        assert_allclose(found.evidence, united.counted(np.arange(3), np.array([[0, 1]])).evidence)


def test_all_halvings_compare_only_groups_of_which_the_first_shows_some_evidence():
    rng, cell = np.random.default_rng(1), np.arange(400) % 40 // 4
    rows = rng.normal(size=(400, 2)) + 2 * rng.normal(size=(10, 2))[cell]
    tests, every, nobody = PairTests(rows, hashes(400), cell), np.arange(10), np.zeros((45, 10), dtype=bool)
    pairs = np.stack(np.triu_indices(10, 1), axis=1)
    found = [[half.found(every, pairs, nobody) for half in split] for split in tests.splits]
    first, whole = (pair_tests._combined(some, tests.shared, len(RADII)) for some in (found[:1], found))
    promising = first.evidence >= PROMISING
    counted = tests._by_halvings(every, pairs, nobody, PROMISING)
    for values, of_first, of_all in zip(counted, first, whole):
        assert_array_equal(values, np.where(promising, of_all, of_first))
    assert len(pairs) / 4 < np.count_nonzero(promising) < 3 * len(pairs) / 4


def test_the_rows_of_a_pair_are_counted_once_until_its_groups_or_those_left_out_change(monkeypatch):
    rng = np.random.default_rng(0)
    cell, pair, third = np.repeat(np.arange(4), 100), np.array([[0, 1]]), np.array([[False, False, True, False]])
    rows = rng.normal(size=(400, 2)) + np.array([[0, 0], [3, 0], [1.5, 2], [20, 0]])[cell]
    cases = [
        (np.arange(4), None),
        (np.arange(4), third),
        (np.array([0, 1, 1, 3]), None),
        (np.array([0, 1, 2, 2]), None),
    ]
    tests = PairTests(rows, hashes(400), cell)
    found = [tests.counted(group, pair, left_out).values(0) for group, left_out in cases]
    fresh = [PairTests(rows, hashes(400), cell).counted(group, pair, left_out).values(0) for group, left_out in cases]
    assert found == fresh
    assert len({*found}) == 3  # the last case only unites two other groups
    monkeypatch.setattr(pair_tests, "_combined", None)
    assert [tests.counted(group, pair, left_out).values(0) for group, left_out in cases] == found


def test_groups_that_are_no_neighbours_are_apart():
    rows, labels = groups_of_few_rows(50, 4)
    rows[labels == 3] += 100
    assert PairTests(rows, hashes(200), labels).counted(np.arange(4), np.array([[0, 3]])).evidence[0] == np.inf


def test_distances_are_the_same_whether_all_of_the_rows_are_computed_at_once_or_not():
    rows, some, others = np.random.default_rng(0).normal(size=(900, 3)), np.array([700, 3]), np.arange(0, 900, 7)
    at_once, each = Distances(rows, expected=len(rows) ** 2 + 1), Distances(rows)
    assert at_once.every is not None
    assert_allclose(at_once.between(some, others), each.between(some, others), rtol=1e-6)
    assert_allclose(each.between(some, others), squares(rows[some], rows[others]), rtol=1e-6)


@pytest.mark.parametrize(("n_columns", "both"), [(3, True), (8, True), (9, False)])
def test_balls_and_slabs_show_a_valley_together_in_few_columns_and_in_views(n_columns, both):
    rng, cell = np.random.default_rng(0), np.arange(600) % 2
    rows = rng.normal(size=(600, n_columns)) + 4.0 * np.eye(n_columns)[0] * cell[:, None]
    tests = PairTests(rows, hashes(600), cell, views=True)
    nobody = np.zeros((1, 2), dtype=bool)
    errors = np.array([[half.found(TWO, PAIR, nobody).errors for half in split] for split in tests.splits])
    of_kinds = pooled(np.moveaxis(errors, (2, 3), (0, 1)), tests.shared).min(axis=-1)[0]
    balls, slabs = of_kinds[: len(RADII)].max(), of_kinds[len(RADII) :].max()
    expected = (balls + slabs) / 2 if both else max(balls, slabs)
    assert tests.counted(TWO, PAIR).evidence[0] == pytest.approx(expected)


def test_groups_that_are_no_neighbours_are_merged_with_the_rows_between_them():
    rng, cell = np.random.default_rng(0), np.arange(600) % 2
    rows = rng.normal(size=(600, 2)) + 20.0 * np.eye(2)[0] * cell[:, None]
    merged = merge_cells(rows, hashes(600), cell, 2, most_groups=1)
    assert merged.evidence == (np.inf,)
    assert merged.rows[0][0] > 10
    assert merged.rows[0][1] == 0


@pytest.mark.parametrize("most_groups", [None, 1])
def test_levels_that_are_no_neighbours_are_merged_with_the_rows_in_their_cores(most_groups):
    cell = np.arange(600) % 2
    rows = np.column_stack([np.random.default_rng(0).normal(size=(600, 2)), 20.0 * cell])
    merged = merge_cells(rows, hashes(600), cell, 2, most_groups=most_groups, smooth=False)
    assert merged.evidence[0] < merged.threshold
    assert merged.rows[0][0] > 10
    assert merged.rows[0][1] == 0


def test_united_groups_are_joined_by_the_mean_evidence_of_their_neighbours():
    rng, cell = np.random.default_rng(0), np.arange(1600) // 400
    rows = rng.normal(size=(1600, 2)) + np.array([[0.0, 0.0], [4.5, 0.0], [2.0, 4.5], [60.0, 0.0]])[cell]
    counted = PairTests(rows, hashes(1600), cell).counted(np.arange(4), np.array([[0, 1], [0, 2], [1, 2]]))
    (least, pair), *others = sorted(zip(np.transpose(counted).tolist(), [(0, 1), (0, 2), (1, 2)]))
    merged = merge_cells(rows, hashes(1600), cell, 4, most_groups=1, smooth=False)
    assert merged.threshold < least[0] < np.inf
    assert merged.pairs == (pair, (0, 2 if pair == (0, 1) else 1), (0, 3))
    first, second, last = zip(merged.evidence, *zip(*merged.rows))
    assert_allclose(first, least)
    assert_allclose(second, np.mean([values for values, _ in others], axis=0))
    assert last[0] == np.inf
    three = merge_cells(rows, hashes(1600), cell, 4, most_groups=3, smooth=False)
    assert three.apart == ((merged.pairs[1], pytest.approx(second[0])),)


def test_groups_of_one_part_cannot_be_compared_and_are_merged():
    rng = np.random.default_rng(0)
    rows, cell = rng.normal(size=(400, 2)) + np.repeat([[0, 0], [20, 0]], 200, axis=0), np.arange(400) // 100
    hashes = np.sort(rng.integers(2**58, size=400, dtype=np.uint64)) << np.uint64(5)
    assert merge_cells(rows, hashes, cell, 4, in_groups=True).group.tolist() == [0, 0, 0, 0]
    assert merge_cells(rows, hashes, cell, 4, in_groups=True, fewest_groups=2).group.max() == 1
