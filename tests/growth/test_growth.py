"""Growing a tree in the stated number of passes, which tests/test_contract.py compares for any chunks."""

import pickle

import dask.array as da
import numpy as np
import pytest
from helpers import at_night, noting_passes
from threadpoolctl import threadpool_limits

from mdh_dask import DivisiveClustering, HierarchicalMDH, PCATree, RandomProjectionTree
from mdh_dask.growth import crowds, growth
from mdh_dask.metrics import adjusted_rand_index, normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

SETTINGS = {
    "exact": {"sample_size": None, "n_projections": 40},
    "in memory": {"sample_size": 20_000},
}


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(20_000, 8, 6, sd=1.5, random_state=5)
    return X.compute(), y.compute()


def model_of(setting: str) -> RandomProjectionTree:
    return DivisiveClustering(**{"n_projections": 200, "random_state": 3, **SETTINGS[setting]})


@pytest.fixture
def roots(monkeypatch):
    """The roots of all trees that are grown."""

    def tree_of(root):
        found.append(root)
        return original(root)

    original, found = growth.tree_of, []
    monkeypatch.setattr(growth, "tree_of", tree_of)
    return found


def test_the_first_sample_of_wide_rows_is_bounded_in_values_but_not_below_sample_size(roots, monkeypatch):
    monkeypatch.setattr("mdh_dask.growth.passes.RESERVOIR_VALUES", 30_000)
    X, y = (part.compute() for part in gaussian_mixture(3000, 50, 4, random_state=5))
    for size, rows in ((100, 400), (200, 600), (1100, 1100)):
        models = [RandomProjectionTree(sample_size=size, random_state=0).fit(da.from_array(X, n)) for n in (3000, 431)]
        assert [len(root.sample) for root in roots[-2:]] == [rows, rows]
        assert models[0].tree_ == models[1].tree_
        assert adjusted_rand_index(y, models[0].labels_.compute()) > 0.9


@pytest.mark.slow
def test_trees_of_many_columns_do_not_depend_on_the_threads_of_blas():
    rows = np.random.default_rng(0).normal(size=(600, 240))
    rows[:300, :60] += 1.5
    trees = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads, user_api="blas"):
            trees.append(DivisiveClustering(max_levels=2, random_state=0).fit(rows).tree_)
    assert trees[0] == trees[1]
    assert trees[0].n_leaves > 1


def passes_of(monkeypatch, model, X) -> int:
    passes = noting_passes(monkeypatch)
    model.fit(X)
    assert model.n_passes_ == len(passes)
    return len(passes)


def many_clusters(k, n, d, seed, distance=4.0):
    rng = np.random.default_rng(seed)
    centres, labels = distance * rng.normal(size=(k, d)), rng.integers(0, k, n)
    return centres[labels] + rng.normal(size=(n, d)), labels


def assert_counts_are_those_of_labels(model):
    tree = model.tree_
    np.testing.assert_array_equal(tree.cluster_rows, np.bincount(model.labels_, minlength=tree.n_leaves))


def test_clusters_that_share_a_small_branch_are_found_in_two_passes(monkeypatch):
    X, _ = many_clusters(24, 3000, 16, seed=0)
    model = RandomProjectionTree(n_projections=50, sample_size=500, random_state=0)
    assert passes_of(monkeypatch, model, X) == 2
    assert model.n_clusters_ == 24  # 13: branches with few sample rows were not examined, though nearly all were in it


@pytest.mark.slow
def test_splits_that_settle_keep_what_was_grown_below_them(monkeypatch):
    X, labels = many_clusters(100, 25_000, 24, seed=5)
    model = RandomProjectionTree(n_projections=20, sample_size=5000, random_state=4)
    monkeypatch.setattr(growth, "MOVING_COUNTS", 0)
    assert passes_of(monkeypatch, model, X) == 2  # 6: all splits below one that moved were sought again
    assert normalized_mutual_information(labels, model.labels_) > 0.95
    assert_counts_are_those_of_labels(model)


@pytest.mark.slow
def test_trees_whose_splits_settle_are_the_same_in_chunks(monkeypatch):
    monkeypatch.setattr(growth, "MOVING_COUNTS", 0)
    monkeypatch.setattr("mdh_dask.chunks.mapping.LEAST_BLOCK_BYTES", 1)  # else all chunks are one block
    X, _ = many_clusters(50, 6000, 16, seed=4)
    whole, lazy = (
        RandomProjectionTree(n_projections=50, sample_size=1000, min_cluster_size=100, random_state=0).fit(rows)
        for rows in (X, da.from_array(X, chunks=(1701, 16)))
    )
    assert lazy.tree_ == whole.tree_
    assert lazy.n_passes_ == whole.n_passes_


@pytest.mark.slow
def test_a_bound_on_the_reads_ends_growth_and_the_log_says_what_is_not_settled(monkeypatch, caplog):
    X, _ = many_clusters(50, 6000, 16, seed=0)
    monkeypatch.setattr(crowds, "FEWEST_ROWS", len(X) + 1)  # else so many clusters are sought in a sample of all rows
    model = RandomProjectionTree(n_projections=50, sample_size=1000, min_cluster_size=100, random_state=1)
    assert passes_of(monkeypatch, model, X) > 3
    monkeypatch.setattr(growth, "MOST_COUNTS", 2)
    caplog.clear()
    assert passes_of(monkeypatch, model, X) == 3
    message = caplog.messages[-1]
    assert message.startswith("growth ends after 2 reads that count branches: ")
    assert "A larger sample_size" in message
    assert_counts_are_those_of_labels(model)


def test_rows_that_fit_the_sample_are_read_once(monkeypatch, mixture):
    assert passes_of(monkeypatch, model_of("in memory"), mixture[0]) == 1


def test_separated_clusters_take_two_passes_and_a_third_for_the_labels(monkeypatch, mixture):
    X, y = mixture
    model = RandomProjectionTree(n_projections=200, sample_size=2500)
    assert passes_of(monkeypatch, model, X) == 2
    assert adjusted_rand_index(y, model.labels_) > 0.95


def test_exact_mode_takes_one_pass_per_level_and_one_more(monkeypatch, mixture):
    model = model_of("exact")
    assert passes_of(monkeypatch, model, mixture[0]) <= model.tree_.level.max() + 2


@pytest.mark.parametrize(("projection", "shipped"), [("uniform_sphere", False), ("row_combinations", True)])
def test_directions_that_workers_can_make_are_not_sent(monkeypatch, mixture, projection, shipped):
    passes = noting_passes(monkeypatch)
    DivisiveClustering(n_projections=2000, sample_size=None, projection=projection, max_levels=1).fit(mixture[0])
    directions = 2000 * 8 * 8
    bins = 2000 * 2 * 8
    assert (max(len(pickle.dumps(statistic)) for statistic in passes) > directions + bins) == shipped


def test_a_split_that_the_sample_misplaced_is_moved_by_the_counts_of_all_rows():
    # On the sample (few rows of the small cluster) the valley is vague; the counts of all rows decide.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (57_000, 2)), rng.normal([6, 0], 1, (3000, 2))])[rng.permutation(60_000)]
    model = RandomProjectionTree(n_projections=100, sample_size=300, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert abs(model.tree_.n_rows[model.tree_.leaves].min() - 3000) < 100


def test_another_order_of_the_rows_gives_nearly_the_same_partition(mixture):
    X, _ = mixture
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (RandomProjectionTree(n_projections=300).fit(rows) for rows in (X, X[order]))
    assert adjusted_rand_index(first.labels_[order], second.labels_) > 0.95


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(2000, 10), (10_000, 30)])
@pytest.mark.parametrize("cls", [HierarchicalMDH, RandomProjectionTree])
def test_clear_clusters_in_a_row_are_found_however_many_they_are(cls, n_rows, n_clusters):
    rng = np.random.default_rng(0)
    truth = rng.integers(n_clusters, size=n_rows)
    model = cls(random_state=0).fit(8.0 * truth[:, None] + rng.normal(size=(n_rows, 1)))
    assert model.n_clusters_ == n_clusters
    assert adjusted_rand_index(truth, np.asarray(model.labels_)) > 0.999


@pytest.mark.slow
def test_clusters_on_a_lattice_are_found_in_the_rows_and_columns_of_it():
    rng = np.random.default_rng(0)
    truth = rng.integers(64, size=20_000)
    rows = 8.0 * np.column_stack(np.divmod(truth, 8)) + rng.normal(size=(20_000, 2))
    assert HierarchicalMDH(random_state=0).fit(rows).n_clusters_ == 64


def test_max_levels_and_max_clusters_bound_the_tree(mixture):
    X, _ = mixture
    full = RandomProjectionTree(n_projections=200).fit(X)
    assert DivisiveClustering(n_projections=200, max_levels=1).fit(X).n_clusters_ == 2
    assert DivisiveClustering(n_projections=200, max_levels=0).fit(X).n_clusters_ == 1
    pruned = RandomProjectionTree(n_projections=200, max_clusters=3).fit(X)
    assert pruned.n_clusters_ == 3
    assert pruned.tree_ == full.tree_.cut(3).numbered()


def test_clusters_hold_at_least_the_rows_asked_for(mixture):
    X, _ = mixture
    for size, least in ((2500, 2500), (0.1, 2000)):
        tree = RandomProjectionTree(n_projections=200, min_cluster_size=size).fit(X).tree_
        assert tree.n_rows[tree.leaves].min() >= least


def test_as_many_rows_as_two_least_clusters_hold_are_split():
    rows = np.random.default_rng(0).normal(size=(100, 2)) + np.repeat([[0, 0], [30, 0]], 50, axis=0)
    assert [PCATree(min_cluster_size=size).fit(rows).n_clusters_ for size in (50, 51)] == [2, 1]


@pytest.mark.parametrize(
    ("method", "smaller", "larger"),
    at_night(
        [
            (HierarchicalMDH, 100, 900),
            (HierarchicalMDH, 500, 500),
            (PCATree, 5000, 45_000),  # of which a sample chooses
            (HierarchicalMDH, 50_000, 50_000),
        ],
        3,
    ),
)
def test_a_cluster_just_above_the_least_size_is_found_by_samples_and_halves_with_fewer_of_its_rows(
    method, smaller, larger
):
    for seed in range(5):
        rows = np.random.default_rng(seed).normal(size=(smaller + larger, 3))
        rows[:smaller] += 6
        model = method(min_cluster_size=smaller - smaller // 100, random_state=seed).fit(rows)
        assert model.n_clusters_ == 2


def test_no_split_is_shallower_than_the_least_depth(mixture):
    free = RandomProjectionTree(n_projections=200, min_relative_depth=0.0).fit(mixture[0]).tree_
    bound = free.relative_depth[free.left >= 0].min()
    tree = RandomProjectionTree(n_projections=200, min_relative_depth=bound).fit(mixture[0]).tree_
    assert tree != free
    assert (tree.relative_depth[tree.left >= 0] > bound).all()
