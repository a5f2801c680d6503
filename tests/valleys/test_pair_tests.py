"""The counts of rows that compare pairs of groups: in balls and in slabs, one by one and by compiled loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, ttest_1samp
from sklearn.covariance import ledoit_wolf

from mdh_dask._jit.communities import rows_in_core_and_cut
from mdh_dask._jit.pairs import Limits, rows_in_balls_of_pairs
from mdh_dask.valleys.balls import (
    CLEARLY,
    ELSEWHERE,
    FEW_COLUMNS,
    PLACES,
    ROWS_FOR_A_NEIGHBOUR,
    SPREAD,
    TIES,
    Landmarks,
    _standard_errors,
    listed,
)  # fmt: skip
from mdh_dask.valleys.lines import (
    NEAREST,
    WITHIN,
    Slabs,
    combinations_apart,
    errors_among_parts,
    errors_in_slabs,
    slabs,
)
from mdh_dask.valleys.merging import merge_cells
from mdh_dask.valleys.neighbours import squared_distances
from mdh_dask.valleys.pair_tests import PairTests

FEW_NEIGHBOURS = 6


def hashes(n, seed=0):
    return np.sort(np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64))


def stripes(n, gap, seed=0):
    """Two long stripes of rows beside each other."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.uniform(0, 8, n), rng.normal(0, 0.2, n)])
    upper = rng.integers(2, size=n)
    rows[:, 1] += gap * upper
    return rows, upper


def groups_of_few_rows(n_each, n_columns, seed=0):
    """Normal groups with means 6.5 standard deviations apart, each of them cut into a cell of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), n_each))
    return rng.normal(size=(4 * n_each, n_columns)) + 4.6 * np.eye(n_columns)[labels], labels


def test_equal_rows_change_no_distance_of_other_landmarks():
    rng = np.random.default_rng(0)
    cell = np.arange(600) // 300
    rows = rng.normal(size=(600, 2)) + 12.0 * cell[:, None]
    rows[:6] = rows[0]
    found = Landmarks(rows, np.arange(0, 600, 2), np.arange(1, 600, 2), cell)
    assert found.balls[0].ends.shape[1] == 0


def test_evidence_is_that_of_rows_counted_one_by_one(monkeypatch):
    monkeypatch.setattr("mdh_dask.valleys.balls.NEIGHBOURS", FEW_NEIGHBOURS)
    rows, cell = stripes(300, 0.8, seed=2)
    choosing, counted = np.arange(0, 300, 2), np.arange(1, 300, 2)
    landmarks = Landmarks(rows, choosing, counted, cell)
    found = landmarks.errors(np.arange(2), np.array([[0, 1]]))[0]
    for own, k in zip(found, (FEW_NEIGHBOURS, 150 // ROWS_FOR_A_NEIGHBOUR)):
        assert own[0] == pytest.approx(naive_evidence(rows, choosing, counted, cell, k), abs=1e-9)


@pytest.mark.parametrize("n_columns", [4, 12])
def test_evidence_among_parts_is_that_of_the_t_test_of_their_counts(n_columns):
    rows, cell = groups_of_few_rows(150, n_columns)
    halves, pair = (np.arange(0, 600, 2), np.arange(1, 600, 2)), np.array([[0, 1]])
    parts = np.random.default_rng(1).integers(8, size=600)
    by_part = Landmarks(rows, *halves, cell, parts)
    found = by_part.errors(np.arange(4), pair)[0, 0, 0]
    differences = []
    for part in range(8):
        own = Landmarks(rows, halves[0], halves[1][parts[halves[1]] == part], cell, parts)
        limits, links = Limits(PLACES, np.float32(SPREAD), np.float32(1 + TIES)), own._cuts(0, np.arange(4), pair)
        sums = np.zeros((1, 2, 5), dtype=np.int64)
        members = listed(own.cell, np.arange(4))
        rows_in_balls_of_pairs(own.to_counted, own.balls[0], members, links, pair, limits, sums)
        differences.append(sums[0, :, 0] - sums[0, :, 1])
    expected = norm.isf(ttest_1samp(differences, 0, alternative="greater").pvalue)
    assert_allclose(found, expected, rtol=1e-9)
    counts = np.random.default_rng(2).poisson(9, (5, 3, 8))
    expected = norm.isf(ttest_1samp(counts[:, [0, 2]] - counts[:, [1]], 0, axis=-1, alternative="greater").pvalue)
    assert_allclose(errors_among_parts(counts), expected, rtol=1e-9)


@pytest.mark.parametrize("times", [1.0, CLEARLY])
def test_balls_hold_rows_as_counted_one_by_one(times):
    rng = np.random.default_rng(0)
    places, rows = rng.normal(size=(9, 2)), rng.normal(size=(50, 2))
    core, ends = np.array([0, 3]), np.array([[1, 2], [1, 5]])
    apart = np.square(places[ends[0]] - places[ends[1]]).sum(axis=1)
    squares = squared_distances(places, rows)
    sums = np.zeros(5, dtype=np.int64)
    rows_in_core_and_cut(squares, core, ends, apart.astype(np.float32), np.float32(0.7), sums)
    cut = (places[ends[0]] + places[ends[1]]) / 2
    counts = [(np.square(rows[:, None] - own).sum(axis=-1) <= 0.7).sum(axis=1) for own in (places[core], cut)]
    excess = counts[0] - times * counts[1]
    assert _standard_errors(sums, times) == pytest.approx(excess.sum() / np.sqrt((excess**2).sum()))
    assert sums[:2].tolist() == [of.sum() for of in counts]
    assert min(sums) > 0


def naive_evidence(rows, choosing, counted, cell, k):
    def reach(place, own):
        return np.sort(((rows[choosing] - place) ** 2).sum(axis=1))[k - (not own)]

    links = set()
    for i in choosing:
        others = sorted((((rows[i] - rows[j]) ** 2).sum(), j) for j in choosing if j != i)[:FEW_NEIGHBOURS]
        links |= {(min(i, j), max(i, j)) for _, j in others if cell[i] != cell[j]}
    bottlenecks = []
    for i, j in sorted(links):
        halfway = (rows[i] + rows[j]) / 2
        bottlenecks.append(max((reach(p, own), tuple(p)) for p, own in ((rows[i], 1), (halfway, 0), (rows[j], 1))))
    bottlenecks.sort()
    radius = bottlenecks[0][0]
    cut = [place for r, place in bottlenecks[:PLACES] if r <= SPREAD * radius]
    evidence = []
    for side in (0, 1):
        beside = {i for link in links for i in link if cell[i] == side}
        peak = min((reach(rows[i], 1), i) for i in choosing if cell[i] == side)[1]
        around = sorted((((rows[i] - rows[peak]) ** 2).sum(), i) for i in choosing if cell[i] == side)[: len(beside)]
        core = sorted((reach(rows[i], 1), i) for _, i in around)[: len(cut)]
        excess = np.zeros(len(counted))
        for n, row in enumerate(rows[counted]):
            excess[n] += sum(((row - rows[i]) ** 2).sum() <= radius * (1 + 1e-5) for _, i in core)
            excess[n] -= sum(((row - place) ** 2).sum() <= radius * (1 + 1e-5) for place in cut[: len(core)])
        evidence.append(excess.sum() / np.sqrt((excess**2).sum()))
    return evidence


def test_slabs_hold_the_rows_around_three_points_of_a_line_through_both_groups():
    rows, labels = groups_of_few_rows(40, 12, seed=1)
    halves = np.arange(0, 160, 2), np.arange(1, 160, 2)
    # Constant columns count for nothing.
    few = np.pad(rows[:, :FEW_COLUMNS], ((0, 0), (0, 9)))
    assert slabs(few, *halves, labels, 4, Landmarks(few, *halves, labels), np.zeros(160)) is None
    landmarks, pair = Landmarks(rows, *halves, labels), np.array([[1, 3]])
    ends = landmarks.contacts(np.arange(4), pair)[0]
    contact = rows[halves[0]][ends].mean(axis=0)
    counts = slabs(rows, *halves, labels, 4, landmarks, np.zeros(160)).counts(np.arange(4), pair)
    found = errors_in_slabs(counts[0, 0, 0], np.ones(5, dtype=bool))
    near = [
        sorted((rows[i] for i in halves[0] if labels[i] == side), key=lambda row: np.linalg.norm(row - contact))
        for side in (1, 3)
    ]
    near = [np.array(side[:NEAREST]) for side in near]
    middle = (near[0].mean(axis=0) + near[1].mean(axis=0)) / 2
    line = near[1].mean(axis=0) - near[0].mean(axis=0)
    line /= np.linalg.norm(line)
    away = [np.linalg.norm(row - middle - line * ((row - middle) @ line)) for side in near for row in side]
    low, high = (np.median((side - middle) @ line) for side in near)
    n = [0, 0, 0]
    for row in rows[halves[1]] - middle:
        at = (row @ line - low) / (high - low)
        if np.linalg.norm(row - line * (row @ line)) ** 2 <= np.quantile(np.square(away), WITHIN):
            n = [count + (abs(at - point) < 0.25) for count, point in zip(n, (0, 0.5, 1))]
    assert found == pytest.approx([(n[i] - n[1]) / np.sqrt(n[i] + n[1]) for i in (0, 2)])
    assert found.min() > 2


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


def test_cells_with_equal_means_have_no_combination_and_constant_rows_no_evidence():
    rows = np.tile(np.concatenate([np.eye(9), -np.eye(9)]), (2, 1))
    cell = np.arange(36) // 18
    assert combinations_apart(rows, cell) is None
    assert combinations_apart(rows, np.zeros(36, dtype=int)) is None
    constant = np.repeat(np.eye(2, 9), 18, axis=0)
    halves = np.arange(0, 36, 2), np.arange(1, 36, 2)
    assert slabs(constant, *halves, cell, 2, Landmarks(constant, *halves, cell), np.zeros(36)) is None  # two vary
    rows = np.repeat(np.arange(2.0), 18)[:, None] * np.ones(9)
    assert on_discriminants(rows, *halves, cell, (0, 1)).tolist() == [3.0, 3.0]


def on_discriminants(rows, choosing, counted, cell, pair, left_out=()):
    """By how many standard errors the slabs through two groups hold more rows than that between them."""
    n_cells = int(cell.max()) + 1
    found = Slabs(rows, choosing, counted, cell, n_cells, Landmarks(rows, choosing, counted, cell), np.zeros(len(rows)))
    counts = found.counts(np.arange(n_cells), np.array([pair]))
    return errors_in_slabs(counts[0, 1, 0], ~np.isin(np.arange(n_cells + 1), left_out))


def test_slabs_are_placed_by_the_rows_that_are_counted():
    labels = np.random.default_rng(1).permutation(np.arange(200) % 2)
    rows = with_factors(labels, 7, 15, seed=1)
    choosing, counted = np.arange(0, 200, 2), np.arange(1, 200, 2)
    found = on_discriminants(rows, choosing, counted, labels, (0, 1))
    along = (rows @ combinations_apart(rows[choosing], labels[choosing]))[counted, 0]
    low, high = (np.median(along[labels[counted] == side]) for side in (0, 1))
    at = (along - low) / (high - low)
    n = [int(np.sum(np.abs(at - point) <= 0.25)) for point in (0, 0.5, 1)]
    assert found == pytest.approx([(n[i] - n[1]) / np.sqrt(n[i] + n[1]) for i in (0, 2)])
    assert found.min() > 3


@pytest.mark.parametrize(("sizes", "left_out"), [((20, 30, 90), []), ((200, 12, 60), [2]), ((9, 8, 20), [])])
def test_evidence_is_that_of_its_twin(sizes, left_out):
    labels = np.random.default_rng(4).permutation(np.repeat(np.arange(5), [*sizes, 40, 40]))
    rows = with_factors(labels, 4, 15, seed=4)
    choosing, counted = np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)
    found = on_discriminants(rows, choosing, counted, labels, (0, 1), left_out)
    combinations = combinations_apart(rows[choosing], labels[choosing])
    halves = rows[choosing] @ combinations, rows[counted] @ combinations
    assert found == pytest.approx(twin(halves, (labels[choosing], labels[counted]), (0, 1), left_out))
    assert found.any()


def twin(halves, cells, pair, left_out):
    """By how many standard errors each of three slabs holds more rows than that between, in coordinates made round."""
    chosen, placing = ([rows[cell == side] for side in pair] for rows, cell in zip(halves, cells))
    means = [rows.mean(axis=0) for rows in chosen]
    within = np.concatenate([rows - mean for rows, mean in zip(chosen, means)])
    root = np.linalg.cholesky(np.linalg.inv(ledoit_wolf(within, assume_centered=True)[0]))
    line = (means[1] - means[0]) @ root
    direction, middle = line / np.linalg.norm(line), (means[0] + means[1]) / 2 @ root

    def seen(rows):
        along = (rows @ root - middle) @ direction
        return along, ((rows @ root - middle - np.outer(along, direction)) ** 2).sum(axis=1)

    low, high = (np.median(seen(rows)[0]) for rows in placing)
    radius = np.quantile(seen(np.concatenate(placing))[1], 0.9)
    along, across = seen(halves[1])
    at = (along[(across <= radius * (1 + 1e-9)) & ~np.isin(cells[1], left_out)] - low) / (high - low)
    left, between, right = (np.sum(np.abs(at - point) <= 0.25) for point in (0, 0.5, 1))
    return [(side - between) / max(side + between, 1) ** 0.5 for side in (left, right)]


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
    counted = PairTests(rows, hashes(600), labels, 3).counted(np.arange(3), np.array([[0, 2]]))
    kept = np.array([[True, False, True]])
    own = counted._replace(slabs=counted.slabs[:, 1:])  # in the coordinates that tell cells apart
    assert own._in_slabs(None)[0] < 1  # as many rows between as in either
    assert own._in_slabs(kept)[0] > 3
    assert_array_equal(merge_cells(rows, hashes(600), labels, 3).group, [0, 1, 2])


@pytest.mark.parametrize("far", [1e80, 1e140])
def test_far_values_overflow_nothing(far):
    labels = np.arange(200) % 2
    rows = np.random.default_rng(0).normal(size=(200, 12)) + 12 * labels[:, None]
    rows[3, 2] = far
    assert np.isfinite(combinations_apart(rows, labels)).all()
    assert_array_equal(combinations_apart(rows * 2.0**-9, labels), combinations_apart(rows, labels) * 2.0**9)


def test_rows_elsewhere_choose_nothing_and_are_counted():
    labels = np.random.default_rng(3).permutation(np.arange(300) % 3)
    rows = with_factors(labels, 7, 15, seed=3)
    cell = np.where(labels == 1, ELSEWHERE, labels // 2)
    found = on_discriminants(rows, np.arange(0, 300, 2), np.arange(1, 300, 2), cell, (0, 1))
    assert found.max() < 1  # as many rows between as in either


@pytest.mark.parametrize("n_columns", [2, 12])
def test_all_pairs_at_once_show_what_each_shows_alone(n_columns):
    rows, labels = groups_of_few_rows(50, n_columns, seed=2) if n_columns > 4 else (None, None)
    if rows is None:
        rng = np.random.default_rng(2)
        rows, labels = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
    tests, group = PairTests(rows, hashes(200), labels, 4), np.arange(4)
    pairs = tests.meeting(group)
    together = tests.counted(group, pairs).evidence()
    alone = [tests.counted(group, pair[None]).evidence()[0] for pair in pairs]
    assert len(pairs) > 1
    assert_allclose(together, alone)
    # Groups of two cells are what one cell of their rows is, but for the coordinates that tell cells apart.
    if n_columns == 2:
        united = PairTests(rows, hashes(200), np.array([0, 1, 2, 2])[labels], 3)
        group = np.array([0, 1, 2, 2])
        assert_array_equal(
            tests.counted(group, np.array([[0, 2]])).balls, united.counted(np.arange(3), np.array([[0, 2]])).balls
        )
