"""Many clusters that only the neighbourhoods of rows show, and clouds whose neighbourhoods show none."""

import dask.array as da
import numpy as np
import pytest

from mdh_dask import HierarchicalMDH, RandomProjectionTree, load_model
from mdh_dask.estimators.divisive_tree import DivisiveTree
from mdh_dask.growth import crowds
from mdh_dask.metrics import normalized_mutual_information


def many(n_clusters, n_rows, n_columns=32, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_rows)
    return 3 * rng.normal(size=(n_clusters, n_columns))[labels] + rng.normal(size=(n_rows, n_columns)), labels


@pytest.fixture(scope="module")
def crowd():
    return many(120, 9600)


@pytest.fixture
def looks(monkeypatch):
    """Return the list of what the looks at neighbourhoods will have found."""
    found = []

    def look(*given):
        found.append(is_crowded(*given))
        return found[-1]

    is_crowded = crowds._is_crowded
    monkeypatch.setattr(crowds, "_is_crowded", look)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", [RandomProjectionTree, HierarchicalMDH])
def test_all_of_many_clear_clusters_are_found(crowd, method, tmp_path):
    rows, labels = crowd
    model = method(random_state=0).fit(rows)
    assert abs(model.n_clusters_ - 120) <= 6
    assert normalized_mutual_information(labels, model.labels_) > 0.98
    assert (model.predict(rows) == model.labels_).all()
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(rows) == model.labels_).all()
    why = model.why(0)
    assert why.startswith(f"{model.n_clusters_} clusters of 9,600 rows")
    assert "fewer than twice min_cluster_size, 98" not in why  # which no cluster has


@pytest.mark.slow
def test_a_sample_of_the_rows_shows_many_clusters_and_all_rows_are_counted(monkeypatch):
    rows, labels = many(120, 12_000)
    monkeypatch.setattr(crowds, "rows_in_memory", lambda *_: 9000)
    parts = [da.from_array(rows, chunks=(chunk, -1)) for chunk in (12_000, 1700)]
    first, second = (RandomProjectionTree(sample_size=1500, random_state=0).fit(part) for part in parts)
    assert first.n_passes_ == 3  # two samples, and the counts of all rows
    assert first.tree_ == second.tree_
    assert first.tree_.n_rows[0] == len(rows)
    assert normalized_mutual_information(labels, first.labels_.compute()) > 0.95


def test_many_clusters_that_noise_hides_from_every_line_are_no_silent_single_one(caplog):
    rows, _ = many(300, 9000)
    rng = np.random.default_rng(1)
    noise = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(9000, 32))
    model = RandomProjectionTree(random_state=0).fit(np.concatenate([rows, noise]))
    assert model.n_clusters_ > 40 or "show more clusters" in caplog.text


def test_one_cloud_shows_no_clusters_in_any_neighbourhood(looks):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(5000, 10))
    clouds = {
        "normal": normal,
        "uniform": rng.uniform(size=(5000, 10)),
        "t3": rng.standard_t(3, size=(5000, 10)),
        "lognormal": np.exp(normal),
        "banana": np.column_stack([normal[:, 0], normal[:, 1] + 2 * normal[:, 0] ** 2, normal[:, 2:]]),
        "counts": rng.poisson(2.0, size=(5000, 10)),
    }
    for name, rows in clouds.items():
        assert RandomProjectionTree(random_state=0).fit(rows).n_clusters_ == 1, name
    assert looks == [False] * len(clouds)


def test_a_few_clusters_are_found_as_without_a_look(looks, monkeypatch):
    rows, _ = many(12, 6000, 10)
    model = RandomProjectionTree(random_state=0).fit(rows)
    assert looks == [False]
    monkeypatch.setattr(DivisiveTree, "_near_rows", lambda self: 0.0)
    assert RandomProjectionTree(random_state=0).fit(rows).tree_ == model.tree_
    assert looks == [False]


def test_users_who_say_how_large_clusters_are_get_no_smaller_ones(crowd):
    model = RandomProjectionTree(min_cluster_size=400, random_state=0).fit(crowd[0])
    assert model.tree_.n_rows[model.tree_.leaves].min() >= 400


def test_too_few_rows_of_each_cluster_to_test_show_gaps_but_clouds_and_copies_none():
    rng = np.random.default_rng(0)
    for n_clusters, n_columns in ((500, 32), (100, 128)):
        rows, _ = many(n_clusters, 8 * n_clusters, n_columns)
        noise = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(len(rows) // 9, n_columns))
        assert crowds.gaps_of(np.concatenate([rows, noise]), rng).mean() > 0.7
    normal = rng.normal(size=(5000, 10))
    walk = np.cumsum(normal[:, :3], axis=0)
    copies = np.repeat(normal[:500], 10, axis=0)
    for rows in (normal, rng.standard_t(2, size=(5000, 10)), np.exp(normal), rng.uniform(size=(5000, 2)), walk, copies):
        assert crowds.gaps_of(rows, rng).mean() < 0.3
