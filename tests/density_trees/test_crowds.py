"""Hundreds of clusters in few columns, which no line through all rows shows, and clouds that hold none."""

import dask.array as da
import numpy as np
import pytest

from mdh_dask import DensityTree, load_model
from mdh_dask.density_trees import plan
from mdh_dask.density_trees.plan import Crowd
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.valleys import merging, structure
from mdh_dask.valleys.graph import neighbourhood
from mdh_dask.valleys.pair_tests import counted_in_regions


def clusters(n_clusters, n_rows, n_columns, spread=3.0):
    rng = np.random.default_rng(0)
    labels = rng.integers(n_clusters, size=n_rows)
    return spread * rng.normal(size=(n_clusters, n_columns))[labels] + rng.normal(size=(n_rows, n_columns)), labels


@pytest.mark.slow
def test_a_density_tree_finds_most_of_two_hundred_clusters_of_a_hundred_rows_in_eight_columns(tmp_path):
    rows, labels = clusters(200, 20_000, 8)
    model = DensityTree(random_state=0).fit(rows)
    assert 175 <= model.n_clusters_ <= 200
    assert normalized_mutual_information(labels, model.labels_) > 0.93
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(rows) == model.labels_).all()


@pytest.mark.slow
def test_large_clusters_of_many_cells_hide_no_crowd_of_small_ones():
    rng = np.random.default_rng(0)
    sizes = 1 / np.arange(1, 301)
    labels = rng.choice(300, size=20_000, p=sizes / sizes.sum())
    rows = 3 * rng.normal(size=(300, 8))[labels] + rng.normal(size=(20_000, 8))
    model = DensityTree(random_state=0).fit(rows)
    assert 80 <= model.n_clusters_ <= 300
    assert normalized_mutual_information(labels, model.labels_) > 0.8


@pytest.mark.slow
def test_clusters_of_ten_sample_rows_are_sought_among_more_in_any_chunks():
    rows, labels = clusters(400, 12_000, 16, spread=4.0)
    model = DensityTree(random_state=0, sample_size=4000).fit(rows)
    assert model.n_passes_ == 2
    assert abs(model.n_clusters_ - 400) <= 12
    assert normalized_mutual_information(labels, model.labels_) > 0.98
    lazy = DensityTree(random_state=0, sample_size=4000).fit(da.from_array(rows, chunks=(3000, 16)))
    assert (np.asarray(lazy.labels_) == np.asarray(model.labels_)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [2, 8])
def test_regions_divide_no_cloud(n_columns):
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(5000, n_columns))
    clouds = normal, rng.uniform(size=normal.shape), rng.exponential(size=normal.shape), normal / rng.random((5000, 1))
    hashes = np.sort(rng.integers(2**63, size=5000).astype(np.uint64))
    for cloud in clouds:
        found = structure.structure_of_crowd(cloud, hashes, 0.05)
        assert len(found.links) > 50
        assert found.n_apart == 0


def test_cells_of_more_rows_than_usual_are_more_and_those_of_fewer_not_less(monkeypatch):
    graph = neighbourhood(np.random.default_rng(0).normal(size=(1000, 2)))
    n_cells = {}
    for usual in (200, 1000, 5000):
        monkeypatch.setattr(structure, "USUAL_ROWS", usual)
        n_cells[usual] = structure.cells_of_crowd(graph).max() + 1
    assert n_cells[5000] == n_cells[1000] < n_cells[200] / 1.5


def test_each_cluster_of_a_hundred_rows_in_a_crowd_has_about_one_cell_of_its_own(monkeypatch):
    monkeypatch.setattr(structure, "USUAL_ROWS", structure.USUAL_ROWS // 2)  # as of 200 clusters of 20,000 rows
    rows, labels = clusters(100, 10_000, 8, spread=2.5)
    cell = structure.cells_of_crowd(neighbourhood(rows))
    counts = np.zeros((cell.max() + 1, 100))
    np.add.at(counts, (cell, labels), 1)
    assert len(np.unique(counts.argmax(axis=1))) == 100
    assert len(counts) <= 105


def test_groups_are_compared_no_more_where_too_few_are_left_to_be_apart_and_as_usual_elsewhere(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=400)
    rows = rng.normal(size=(400, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[labels]
    hashes = np.sort(rng.integers(2**63, size=400, dtype=np.uint64))
    usual, enough = (structure.structure_of(rows, hashes, 0.05, least_apart=least) for least in (0, 2))
    assert usual.n_apart == 2
    for one, other in zip(usual, enough):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(merging, "Known", None)
    assert structure.structure_of(rows, hashes, 0.05, least_apart=3).n_apart == 0


def test_a_third_cell_between_two_is_not_counted():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 4.0]])
    cell = np.repeat(np.arange(3), 400)
    rows, hashes = centres[cell] + rng.normal(size=(1200, 2)), rng.integers(2**63, size=1200, dtype=np.uint64)
    found = counted_in_regions(rows, hashes, cell, np.array([[0, 1]]))
    assert found.evidence[0] > 5
    assert found.cut_rows[0] < 20  # but a hundred rows of the third cell in either half are between the two


@pytest.mark.slow
def test_no_row_of_other_cells_is_counted_in_many_columns_where_all_are_about_as_near():
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(300), 20)
    rows = 3 * rng.normal(size=(300, 128))[cell] + rng.normal(size=(6000, 128))
    hashes = rng.integers(2**63, size=6000, dtype=np.uint64)
    found = counted_in_regions(rows, hashes, cell, np.arange(40).reshape(20, 2))
    assert (found.cut_rows == 0).all()
    assert (found.evidence > 3).all()


@pytest.mark.slow
def test_clusters_of_many_cells_are_found_as_usual(monkeypatch):
    rows, _ = clusters(3, 4000, 2, spread=9.0)
    usual = DensityTree(random_state=0).fit(rows)
    monkeypatch.setattr(plan, "crowd_of", lambda *_: Crowd(4000, 4000))
    looked = DensityTree(random_state=0).fit(rows)
    assert (looked.labels_ == usual.labels_).all()
    assert (looked.merges_["evidence"] == usual.merges_["evidence"]).all()


@pytest.mark.slow
def test_a_larger_sample_takes_a_pass_within_the_most_that_are_told(monkeypatch):
    rows, labels = clusters(30, 9000, 2, spread=100.0)
    monkeypatch.setattr(plan, "crowd_of", lambda *_: Crowd(6000, 1500))
    model = DensityTree(random_state=0, sample_size=3000).fit(rows)
    assert normalized_mutual_information(labels, model.labels_) > 0.95
    assert model.n_passes_ == 3
    assert model._passes(*rows.shape) == (2, 3)
    assert DensityTree(sample_size=3000, n_landmarks=100)._task_bytes(rows) >= rows[:6000].nbytes
