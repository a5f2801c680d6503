"""Merging cells between which the density of the rows has no valley, and trees whose leaves were merged."""

from copy import deepcopy
from itertools import pairwise

import helpers
import numpy as np
import pytest
from helpers import at_night, groups_of_few_rows, hashes
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info, threadpool_limits
from trees import random_tree

from mdh_dask import DensityTree, DivisiveClustering, HierarchicalKernelMDH, RandomProjectionTree, drift, load_model
from mdh_dask.density_trees import sketch
from mdh_dask.growth.discrete import without_ties
from mdh_dask.growth.merging import merged_cells
from mdh_dask.growth.passes import Sample
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.tree.routing import check_clusters
from mdh_dask.valleys import merging
from mdh_dask.valleys.known import Known, factors_of
from mdh_dask.valleys.merging import merge_cells
from mdh_dask.valleys.neighbours import smoothed_cells
from mdh_dask.valleys.pair_tests import PROMISING, PairTests

CLOUDS = {
    "normal": lambda rng: rng.normal(size=(300, 2)),
    "correlated": lambda rng: rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)),
    "square": lambda rng: rng.uniform(size=(300, 2)),
    "lognormal": lambda rng: rng.lognormal(size=(300, 2)),
    "Student-t(3)": lambda rng: rng.standard_t(3, size=(300, 2)),
    "banana": lambda rng: (g := rng.normal(size=(300, 2))) + np.column_stack([np.zeros(300), g[:, 0] ** 2]),
}


def stripes(n, gap):
    """Two long stripes of rows beside each other, cut across into eight cells each."""
    rows, upper = helpers.stripes(n, gap)
    return rows, np.floor(rows[:, 0]).astype(int) + 8 * upper


@pytest.fixture(scope="module")
def moons():
    return make_moons(600, noise=0.07, random_state=1)


@pytest.fixture(scope="module")
def tree_of_moons(moons):
    return HierarchicalKernelMDH().fit(moons[0])


@pytest.mark.slow
@pytest.mark.parametrize("cloud", at_night(CLOUDS, 2))
def test_a_cloud_of_few_columns_is_one_cluster_of_a_kernel_tree(cloud):
    rows = CLOUDS[cloud](np.random.default_rng(11))
    assert HierarchicalKernelMDH().fit(rows).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("cloud", at_night(["rounded", "equal shares"]))
def test_integers_in_few_columns_are_one_cluster_of_a_kernel_tree(cloud):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = np.rint(rng.normal(size=(400, 2))) if cloud == "rounded" else rng.integers(0, 5, (400, 2))
        assert HierarchicalKernelMDH(random_state=seed).fit(rows).n_clusters_ == 1


@pytest.mark.slow
def test_many_clusters_beside_each_other_in_the_plane_stay_apart():
    rng = np.random.default_rng(0)
    truth = rng.integers(64, size=40_000)
    rows = 4.4 * np.column_stack(np.divmod(truth, 8)) + rng.normal(size=(40_000, 2))
    assert 60 <= HierarchicalKernelMDH(random_state=0).fit(rows).n_clusters_ <= 68


@pytest.mark.slow
def test_leaves_cut_off_no_parts_that_join_clear_clusters_in_a_row():
    rng = np.random.default_rng(0)
    X = 8.0 * rng.integers(10, size=1000)[:, None] + rng.normal(size=(1000, 1))
    model = HierarchicalKernelMDH().fit(X)
    assert model.n_clusters_ >= 7
    assert np.bincount(model.labels_).min() >= 16


def test_counts_are_spread_without_a_change_of_scale_and_distinct_values_are_left_as_they_are():
    rng = np.random.default_rng(0)
    counts = rng.geometric(0.3, (500, 12)) / 4
    far = np.where(np.arange(500)[:, None] < 3, counts + 5000, counts)
    hundredths = rng.normal(size=(500, 2)).round(2)
    for rows, spread in ((counts[:, :2], True), (counts, True), (far, True), (hundredths, False)):
        sample = Sample(rows, hashes(500), np.arange(500))
        found = without_ties(sample).rows
        assert len(np.unique(found, axis=0)) >= 0.95 * 500
        assert (np.abs(found - rows).max() > 0.05) == spread
        np.testing.assert_allclose(found.std(axis=0), rows.std(axis=0))


def test_copies_of_rows_are_left_out_but_not_rounded_rows_nor_answers():
    rng = np.random.default_rng(0)
    rows = {
        "copies": np.tile(rng.normal(size=(60, 3)), (10, 1)),
        "copies of measurements": np.tile(rng.normal(size=(60, 3)).round(1), (10, 1)),
        "rounded": np.rint(rng.normal(size=(600, 2))),
        "rounded, a mean fills one in": np.append(rng.integers(18, 70, 599), 41.7)[:, None],
        "answers": rng.integers(0, 2, (600, 3)).astype(float),
    }
    for name, some in rows.items():
        sample = Sample(some, hashes(600), np.arange(600))
        assert len(without_ties(sample).rows) == (60 if "copies" in name else 600), name
    assert_array_equal(without_ties(Sample(rows["copies"], hashes(600), np.arange(600))).numbers, np.arange(60))


@pytest.mark.slow
def test_equal_and_far_rows_change_no_cluster_of_a_kernel_tree():
    rng = np.random.default_rng(0)
    truth = np.arange(300) // 100
    rows = rng.normal(size=(300, 2)) + np.array([[0, 0], [9, 0], [0, 9]])[truth]
    cases = {
        "rounded": np.column_stack([np.rint(rows), np.ones(300)]),
        "copied": np.tile(rows[::3], (3, 1)),
        "three at 1000": np.concatenate([rows, np.full((3, 2), 1000.0)]),
        "one at 1e6": np.concatenate([rows, [[1e6, 1e6]]]),
        "one in a hundred in a box ten times as wide": np.concatenate([rows, rng.uniform(-60, 70, (3, 2))]),
    }
    for name, changed in cases.items():
        labels = HierarchicalKernelMDH().fit(changed).labels_[:300]
        expected = np.tile(truth[::3], 3) if name == "copied" else truth
        assert labels.max() == 2, name
        assert adjusted_rand_index(expected, labels) > 0.98, name


@pytest.mark.slow
def test_merging_takes_no_pass_of_its_own(moons, tree_of_moons):
    assert tree_of_moons.n_passes_ == 2
    assert RandomProjectionTree(merge=True).fit(moons[0]).n_passes_ == 1


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "n_groups"), [(2.0, 2), (0.3, 1)])
def test_cells_are_merged_along_stripes_and_across_them_only_without_a_gap(gap, n_groups):
    rows, cell = stripes(2000, gap)
    group = merge_cells(rows, hashes(2000), cell, 16).group
    assert_array_equal(group, np.repeat(np.arange(n_groups), 16 // n_groups))


@pytest.mark.slow
def test_groups_do_not_depend_on_the_order_of_the_rows_on_a_shift_or_on_a_scale():
    rows, cell = stripes(600, 1.0)
    order = np.random.default_rng(3).permutation(600)
    expected = merge_cells(rows, hashes(600), cell, 16)
    permuted = merge_cells(rows[order], hashes(600)[order], cell[order], 16)
    scaled = merge_cells(4 * rows, hashes(600), cell, 16)
    shifted = merge_cells(rows + np.array([3, -5]), hashes(600), cell, 16)
    for other in (permuted, scaled, shifted):
        assert_array_equal(other.group, expected.group)
    assert permuted.evidence == scaled.evidence == expected.evidence


CELLS = {
    "squares": lambda rows: np.unique(np.floor(2 * rows), axis=0, return_inverse=True)[1].ravel(),
    "k-means": lambda rows: KMeans(12, n_init=1, random_state=0).fit_predict(rows),
    "nearest of some rows": lambda rows: np.square(rows[:, None] - rows[::40]).sum(axis=2).argmin(axis=1),
}
"""Sources of cells: functions from rows to the cell of each, as another package would add one."""


@pytest.mark.parametrize("source", CELLS)
def test_cells_of_any_source_are_merged_into_the_groups_of_the_density(source, moons):
    rows, truth = moons
    cell = CELLS[source](rows)
    merged = merged_cells(cell, cell.max() + 1, lambda rows: rows, Sample(rows, hashes(600), np.arange(600)))
    assert cell.max() > 8
    assert adjusted_rand_index(truth, merged.group[cell]) > 0.9


@pytest.mark.slow
def test_merging_goes_on_until_there_are_as_few_groups_as_wanted():
    rows, cell = stripes(2000, 2.0)
    assert merge_cells(rows, hashes(2000), cell, 16, most_groups=1).group.max() == 0


def test_groups_that_are_all_apart_are_merged_with_the_least_evidence_first():
    rng, group = np.random.default_rng(0), np.arange(5)
    rows = np.concatenate([rng.normal(centre, 1, 200) for centre in (0, 4.5, 10, 16, 20.8)])[:, None]
    tests = PairTests(rows, hashes(1000), np.repeat(group, 200))
    known = Known(tests, lambda group, pair, promising: np.inf, group, tests.meeting(group), (), 2.0)
    while len(known.pairs):
        pair, values = known.weakest()
        assert values[0] == known.counted.evidence.min() > 2
        known.merge(pair)


@pytest.mark.parametrize("n", [2, 4, 6])
def test_rows_that_are_all_in_one_half_are_merged(n):
    for seed in range(20):
        of_rows = np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)
        assert (
            merge_cells(np.arange(2.0 * n).reshape(n, 2), of_rows, np.arange(n) % 2, 2, most_groups=1).group.max() == 0
        )


def test_a_cell_without_rows_joins_a_neighbour_and_few_rows_are_left_alone():
    rows, cell = stripes(2000, 2.0)
    group = merge_cells(rows, hashes(2000), cell, 18).group
    assert group.max() == 1
    assert_array_equal(merge_cells(rows[:20], hashes(20), np.arange(20), 20).group, np.arange(20))


def test_cells_are_merged_though_all_rows_of_a_half_are_equal():
    rows = np.eye(1, 64).T
    assert_array_equal(merge_cells(rows, hashes(64), np.arange(64) // 32, 2).group, [0, 0])


def test_cells_of_a_lattice_are_merged_though_the_nearest_rows_are_equal():
    rng = np.random.default_rng(5)
    rows = rng.poisson(2, size=(2000, 2)).astype(float)
    cell = (rows[:, 0] > 2) + 2 * (rows[:, 1] > 2)
    sample = Sample(rows, hashes(2000), np.arange(2000))
    assert merged_cells(cell, 4, lambda rows: rows, sample).group.max() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("module", "step"), [(sketch, "structure_of"), (merging, "smoothed_cells")])
def test_cells_are_found_and_merged_with_one_thread_of_blas(module, step, monkeypatch):
    found, of_step = [], getattr(module, step)

    def watched(*args, **kwargs):
        found.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return of_step(*args, **kwargs)

    monkeypatch.setattr(module, step, watched)
    with threadpool_limits(2, "blas"):
        rows, cell = stripes(400, 1.0)
        merge_cells(rows, hashes(400), cell, 16)
        DensityTree().fit(np.random.default_rng(0).normal(size=(200, 10)))
    assert {*found} == {1}


@pytest.mark.parametrize(("n_each", "n_columns"), [(30, 10), (40, 20), (60, 40)])
def test_groups_of_few_rows_in_many_columns_stay_apart(n_each, n_columns):
    for seed in range(3):
        rows, labels = groups_of_few_rows(n_each, n_columns, seed)
        assert_array_equal(merge_cells(rows, hashes(len(rows), seed), labels, 4).group, np.arange(4))


@pytest.mark.slow
@pytest.mark.parametrize("cloud", ["normal", "uniform", "Student-t(3)", "correlated"])
def test_a_cloud_of_many_columns_is_one_group_whatever_its_cells(cloud):
    rng = np.random.default_rng(7)
    for n, n_columns in ((200, 10), (300, 30)):
        rows = {
            "normal": rng.normal(size=(n, n_columns)),
            "uniform": rng.uniform(size=(n, n_columns)),
            "Student-t(3)": rng.standard_t(3, size=(n, n_columns)),
            "correlated": rng.normal(size=(n, n_columns)) * np.geomspace(1, 0.05, n_columns),
        }[cloud]
        cell = KMeans(5, n_init=1, random_state=0).fit_predict(rows)
        assert merge_cells(rows, hashes(n), cell, 5).group.max() == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", at_night([0, 2]))
def test_halves_of_many_rows_with_a_common_factor_are_one_group(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4000, 10)) + rng.normal(size=(4000, 1))
    assert merge_cells(rows, hashes(4000, seed), (rows.mean(axis=1) > 0).astype(int), 2).group.tolist() == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_columns"), [(700, 10), (700, 30)])
def test_a_tight_and_a_wide_group_in_many_columns_stay_apart(n, n_columns):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        wide = (rng.random(n) < 0.35).astype(int)
        rows = rng.normal(size=(n, n_columns)) * (1 + 3 * wide)[:, None] + 14 * wide[:, None] / np.sqrt(n_columns)
        assert merge_cells(rows, hashes(n, seed), wide, 2).group.tolist() == [0, 1]
        # Of one wide group, a tight core is no other group.
        core = (np.linalg.norm(rows[wide == 1] - rows[wide == 1].mean(axis=0), axis=1) < 4 * n_columns**0.5).astype(int)
        assert merge_cells(rows[wide == 1], hashes(wide.sum(), seed), core, 2).group.tolist() == [0, 0]


def categories(n, seed, n_continuous=0):
    """Independent categories as indicators, scaled, with continuous columns beside them."""
    rng = np.random.default_rng(seed)
    levels = [rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))) for k in (2, 3, 9, 14, 2, 3)]
    rows = np.concatenate([np.eye(of.max() + 1)[of] for of in levels], axis=1)
    rows = rows[:, rows.std(axis=0) > 0]
    return np.column_stack([rows / rows.std(axis=0), rng.normal(size=(n, n_continuous))]), levels


@pytest.mark.slow
@pytest.mark.parametrize("n_continuous", [0, 3])
def test_levels_of_independent_categories_are_one_group_and_two_kinds_of_answers_are_two(n_continuous):
    rows, levels = categories(600, 3, n_continuous)
    assert merge_cells(rows, hashes(600), levels[3], levels[3].max() + 1).group.max() == 0
    both = 2 * levels[0] + levels[4]
    assert merge_cells(rows, hashes(600), both, 4).group.max() == 0
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 600)
    answers = np.abs(rng.integers(0, 2, (2, 20))[kind] - (rng.random((600, 20)) < 0.1))
    assert merge_cells(answers.astype(float), hashes(600), kind, 2).group.tolist() == [0, 1]


def test_indicators_of_a_category_are_found_whatever_their_order():
    rows, levels = categories(600, 0, 2)
    order = np.random.default_rng(1).permutation(rows.shape[1])
    found = [sorted(order[columns].tolist()) for columns in factors_of(rows[:, order], levels[0], 2).columns]
    ends = np.cumsum([0, *(len(np.unique(of)) for of in levels)])
    assert sorted(found) == [list(range(a, b)) for a, b in pairwise(ends)]


@pytest.mark.slow
def test_groups_are_compared_without_a_category_only_where_merging_would_end(monkeypatch):
    compared = []

    def without(tests, columns, group, pair, promising):
        compared.append(pair)
        return without_columns(tests, columns, group, pair, promising)

    without_columns = PairTests.without
    monkeypatch.setattr(PairTests, "without", without)
    rows, levels = categories(400, 3)
    assert merge_cells(rows, hashes(400), levels[3], levels[3].max() + 1).group.max() == 0
    assert 0 < len(compared) <= levels[3].max()  # of some ninety pairs of levels
    rows, cell = stripes(400, 1.0)
    merge_cells(rows, hashes(400), cell, 16)
    assert len(compared) <= levels[3].max()


def test_evidence_without_a_category_orders_later_merges_too(monkeypatch):
    found = {(0, 1): 5.0, (2, 3): 6.0}
    monkeypatch.setattr(PairTests, "without", lambda tests, columns, group, pair, promising: found.get(pair, 7.0))
    monkeypatch.setattr(PairTests, "smoothed", lambda tests, bandwidth, group, pair: np.inf)
    level = np.arange(400) % 4
    rows = np.column_stack([99 * np.eye(4)[level], np.random.default_rng(0).normal(size=(400, 2))])
    merged = merge_cells(rows, hashes(400), level, 4, most_groups=1)
    assert merged.pairs == ((0, 1), (2, 3), (0, 2))
    assert merged.evidence == (5.0, 6.0, 7.0)


def between(indicators, cell, group=None):
    """Return the columns of which groups 0 and 1 of cells may be levels, among indicators and two normal columns."""
    rows = np.column_stack([indicators, np.random.default_rng(0).normal(size=(len(cell), 2))])
    n_cells = int(cell.max()) + 1
    if (factors := factors_of(rows, cell, n_cells)) is None:
        return None
    found = factors.between(np.arange(n_cells) if group is None else group, (0, 1))
    return [] if found is None else sorted(found.tolist())


def test_groups_may_be_levels_of_the_categories_that_vary_most_between_them():
    level = np.random.default_rng(0).integers(0, 4, 600)
    category = 3 * np.eye(4)[level]
    assert between(category, level // 2) == [0, 1, 2, 3]
    assert between(category, level, np.array([0, 1, 0, 1])) == [0, 1, 2, 3]
    assert between(category[:, 1:], level // 2) == [0, 1, 2]  # without the first level, which rows lack the others
    two = np.random.default_rng(1).integers(0, 2, (600, 2))
    assert between(np.column_stack([category, 3 * two]), 2 * two[:, 0] + two[:, 1], np.array([0, 1, 2, 2])) == [5]


def test_groups_are_no_levels_of_one_of_many_columns_that_differ_nor_of_rare_values():
    kind = np.random.default_rng(0).integers(0, 2, 600)
    assert between(np.repeat(kind[:, None], 4, axis=1), kind) == []
    rare = np.zeros(600)
    rare[np.flatnonzero(kind)[:3]] = 1.0
    blobs = np.random.default_rng(1).normal(size=(600, 2)) + 5 * kind[:, None]
    assert between(np.column_stack([rare, blobs]), kind) == []
    assert between(np.empty((600, 0)), kind) is None


def test_levels_of_combinations_are_hidden_by_half_the_change_of_one_unless_groups_differ_in_other_columns():
    kind = np.repeat([0, 1], 300)
    answers = np.repeat(kind[:, None], 4, axis=1).astype(float)
    along = np.full(5, 0.5) * [1, 1, 1, 1, 0]
    for other, expected in ((0, 0.25), (1, 0.25), (3, None)):
        bandwidth = factors_of(np.column_stack([answers, other * kind + np.linspace(0, 1, 600)]), kind, 2).bandwidth
        found = bandwidth(np.arange(2), (0, 1))
        assert found is None if expected is None else found(along) == pytest.approx(expected)


@pytest.mark.slow
def test_borders_of_communities_stay_where_they_are_and_those_of_leaves_do_not(monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 1, (300, 10)), rng.normal(5, 1, (300, 10))])

    def found():
        leaves = merge_cells(rows, hashes(600), np.repeat([0, 1], 300), 2)
        return DensityTree().fit(rows).merges_, leaves.evidence

    communities, leaves = found()
    monkeypatch.setattr(merging, "smoothed_cells", lambda rows, cell, n_cells: np.roll(cell, 5))
    scrambled, mixed = found()
    assert_array_equal(scrambled, communities)
    assert not np.array_equal(mixed, leaves)


def test_borders_are_smoothed_to_where_most_neighbours_agree():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(9, 1, (300, 2))])
    rows, truth = rows[::-1], np.repeat([1, 0], 300)
    noisy = np.where(rng.random(600) < 0.2, 1 - truth, truth)
    assert_array_equal(smoothed_cells(rows, noisy, 2), truth)


def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal([9 * i, 0, 0], 1, (300, 3)) for i in range(3)])


def test_a_tree_of_any_method_that_splits_too_much_is_merged():
    grown = {"stop_rule": "none", "min_relative_depth": 0.0, "max_levels": 3}
    assert DivisiveClustering(**grown).fit(blobs()).n_clusters_ > 3
    labels = DivisiveClustering(merge=True, **grown).fit(blobs()).labels_
    assert len(np.unique(np.c_[labels, np.repeat([0, 1, 2], 300)], axis=0)) == labels.max() + 1 == 3


class TestTreesWithMergedLeaves:
    def test_leaves_of_a_group_have_one_label_and_splits_inside_of_groups_go(self):
        tree = random_tree(seed=4, n_leaves=12, n_features=3)
        rows = np.random.default_rng(0).normal(size=(500, 3))
        group = np.array([0, 0, 1, 1, 2, 0, 2, 2, 3, 1, 1, 1])
        merged = tree.merged(group)
        assert_array_equal(merged.labels(rows), group[tree.labels(rows)])
        assert merged.n_leaves < tree.n_leaves
        assert merged.n_clusters == 4
        assert tree.merged(np.arange(12)) == tree
        assert tree.merged(np.zeros(12, dtype=int)).n_nodes == 1

    def test_a_model_that_is_saved_labels_and_counts_as_before(self, tmp_path):
        rows = blobs()
        found = RandomProjectionTree().fit(rows)
        model = found.with_tree(found.tree_.merged(np.array([0, 1, 0])), rows)
        assert model.n_clusters_ == 2 < model.tree_.n_leaves
        model.save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert loaded.tree_ == model.tree_
        assert loaded.n_clusters_ == model.n_clusters_
        assert_array_equal(loaded.predict(rows), model.labels_)
        assert_array_equal(np.bincount(model.labels_), model.tree_.cluster_rows)
        assert {c.label for c in drift(model, rows).clusters} == set(range(model.n_clusters_))
        assert f"cluster {model.n_clusters_ - 1}: " in model.tree_.to_text()

    @pytest.mark.slow
    def test_batches_keep_merged_clusters(self, moons, tree_of_moons):
        rows, truth = moons
        model = deepcopy(tree_of_moons).partial_fit(make_moons(600, noise=0.07, random_state=2)[0])
        labels = model.predict(rows)
        assert model.n_clusters_ == 2
        assert max(np.mean(labels == truth), np.mean(labels != truth)) > 0.99

    def test_clusters_that_no_fit_gives_are_refused(self):
        left = np.array([1, -1, 3, -1, -1])
        check_clusters(left, np.array([-1, 0, -1, 1, 0]))
        for wrong in ([-1, 1, -1, 2, 1], [-1, 0, -1, 2, 0], [0, 0, -1, 1, 0], [-1, 0, -1, -1, 0]):
            with pytest.raises(ValueError, match="number the clusters of the leaves from 0, without gaps"):
                check_clusters(left, np.array(wrong))


def test_groups_without_a_column_are_compared_where_rows_of_others_equal_theirs():
    group = np.repeat([2, 0, 1], 200)
    rows = np.column_stack([group, np.random.default_rng(0).integers(0, 2, (600, 3))]).astype(float)
    assert PairTests(rows, np.sort(hashes(600)), group).without(np.array([0]), np.arange(3), (0, 1)) < 3


@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_without_a_column_only_promising_groups_are_compared_by_all_halvings(gap):
    cell, rng = np.arange(600) % 2, np.random.default_rng(0)
    rows = np.column_stack([cell, rng.normal(size=(600, 2)) + gap * cell[:, None]])
    tests, asked = PairTests(rows, np.sort(hashes(600)), cell), (np.array([0]), np.arange(2), (0, 1))
    first = PairTests(rows[:, 1:], tests.hashes, cell, most_splits=1).counted(asked[1], np.array([[0, 1]])).evidence[0]
    assert len(tests.splits) > 1
    assert (first >= PROMISING) == (gap > 0)
    by_all = tests.without(*asked)
    assert tests.without(*asked, promising=PROMISING) == (by_all if gap else first)
    assert by_all != first
