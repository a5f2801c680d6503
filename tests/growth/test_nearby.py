"""Many clusters that only the neighbourhoods of rows show, and clouds whose neighbourhoods show none."""

import re

import dask.array as da
import numpy as np
import pytest
from helpers import at_night, look_at
from threadpoolctl import threadpool_info, threadpool_limits

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree, load_model
from mdh_dask.chunks import run
from mdh_dask.density_trees.plan import crowd_of
from mdh_dask.estimators.divisive_tree import DivisiveTree
from mdh_dask.growth import between_groups, crowds, growth
from mdh_dask.growth.passes import SamplePass, draw
from mdh_dask.growth.trees import recount
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
        root, examiner = yield from crowds.crowd(*given)
        found.append(examiner.near)
        return root, examiner

    monkeypatch.setattr(growth, "crowd", look)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([RandomProjectionTree, HierarchicalMDH]))
def test_all_of_many_clear_clusters_are_found(crowd, method, tmp_path):
    rows, labels = crowd
    model = method(random_state=0).fit(rows)
    assert abs(model.n_clusters_ - 120) <= 6
    assert normalized_mutual_information(labels, model.labels_) > 0.98
    assert (model.predict(rows) == model.labels_).all()
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(rows) == model.labels_).all()
    counted = run(recount(model.tree_), rows).result  # what leaves a branch is not counted in the next
    assert (counted.n_rows == model.tree_.n_rows).all()
    assert (counted.bins == model.tree_.bins).all()
    why = model.why(0)
    assert why.startswith(f"{model.n_clusters_} clusters of 9,600 rows")
    assert "fewer than twice min_cluster_size, 98" not in why  # which no cluster has
    assert "98 rows (min_cluster_size)" not in model._why_fewer()


@pytest.mark.slow
def test_enough_rows_of_each_of_many_clusters_are_drawn_and_all_rows_are_counted(monkeypatch):
    drawn = []
    monkeypatch.setattr(crowds, "draw", lambda seed, n, n_rows: drawn.append(n) or draw(seed, n, n_rows))
    rows, labels = many(150, 15_000)
    parts = [da.from_array(rows, chunks=(chunk, -1)) for chunk in (15_000, 1700)]
    first, second = (RandomProjectionTree(sample_size=1000, random_state=0).fit(part) for part in parts)
    assert first.n_passes_ == 3  # two samples, and the counts of all rows
    assert 150 * 30 < drawn[0] < 150 * 70
    assert first.tree_ == second.tree_
    assert first.tree_.n_rows[0] == len(rows)
    assert normalized_mutual_information(labels, first.labels_.compute()) > 0.95


@pytest.mark.slow
def test_many_clusters_are_found_in_noise_which_fills_the_valleys_of_all_lines():
    rows, labels = many(120, 3600)
    rng = np.random.default_rng(1)
    noise = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(1800, 32))
    model = RandomProjectionTree(random_state=0).fit(np.concatenate([rows, noise]))
    assert model.tree_.n_rows[0] == 5400
    assert normalized_mutual_information(labels, model.labels_[:3600]) > 0.95


@pytest.mark.nightly  # in fewer columns, below
def test_small_clusters_beside_large_ones_are_found(looks):
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, 121)
    labels = rng.choice(120, size=9000, p=shares / shares.sum())
    rows = 3 * rng.normal(size=(120, 32))[labels] + rng.normal(size=(9000, 32))
    model = RandomProjectionTree(random_state=0).fit(rows)
    assert looks == [True]
    assert abs(model.n_clusters_ - 120) <= 12
    assert normalized_mutual_information(labels, model.labels_) > 0.98


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


@pytest.mark.parametrize("k", [10, 30])
def test_rounded_rows_of_columns_of_different_scales_are_no_more_clusters(k):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, 20_000)
    X = np.rint(5 * rng.normal(size=(20_000, 2)))
    X[:, 0] += 40 * labels
    assert RandomProjectionTree(random_state=0).fit(X).n_clusters_ == k


@pytest.mark.parametrize("estimator", [RandomProjectionTree, HierarchicalMDH])
def test_a_table_of_few_different_rows_shows_no_neighbourhoods(estimator):
    rng = np.random.default_rng(0)
    day = rng.integers(7, size=5000)
    rows = np.column_stack([day, np.digitize(day + rng.normal(0, 0.3, 5000), [0, 2, 4, 6]), 2 * day])
    assert 1 <= estimator(random_state=0).fit(rows).n_clusters_ <= 12  # different rows


@pytest.mark.parametrize("turned", [False, True])
def test_many_clusters_in_a_row_are_found_beside_columns_of_noise(turned):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, 20_000)
    X = rng.normal(size=(20_000, 3))
    X[:, 0] += 8 * labels
    X = X @ np.linalg.qr(rng.normal(size=(3, 3)))[0] if turned else X
    assert HierarchicalMDH(random_state=2).fit(X).n_clusters_ == 30


@pytest.mark.parametrize("step", ["groups_apart", "balls_are_crowded"])
def test_neighbourhoods_are_looked_at_with_one_thread_of_blas(step, monkeypatch):
    threads, squares = [], crowds.squared_distances

    def watched(*points):
        threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return squares(*points)

    monkeypatch.setattr(crowds, "squared_distances", watched)
    rng = np.random.default_rng(0)
    with threadpool_limits(2, "blas"):
        getattr(crowds, step)(rng.normal(size=(5000, 10)), 64, *[2] * (step != "groups_apart"), rng)
    assert {*threads} == {1}


def test_tens_of_clusters_that_are_all_found_warn_of_no_others(caplog):
    assert RandomProjectionTree(random_state=0).fit(many(30, 5000, 10)[0]).n_clusters_ == 30
    assert "more clusters" not in caplog.text


@pytest.mark.slow
def test_users_who_say_how_large_clusters_are_get_no_smaller_ones(crowd):
    model = RandomProjectionTree(min_cluster_size=400, random_state=0).fit(crowd[0])
    assert model.tree_.n_rows[model.tree_.leaves].min() >= 400


def test_balls_of_rows_show_many_clusters_in_eight_columns_in_noise_or_with_a_few_rows_of_each():
    rng = np.random.default_rng(0)
    for n_clusters, n_rows, n_columns in ((200, 20_000, 8), (500, 4000, 32), (500, 4000, 128), (1000, 40_000, 32)):
        rows, _ = many(n_clusters, n_rows, n_columns)
        noise = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(len(rows) // 9, n_columns))
        both = np.concatenate([rows, noise])
        for centre in (0, 1):
            near = np.argsort(np.square(both - both[centre]).sum(axis=1))[:500]
            assert crowds.shows_clusters(both[near])
    normal = rng.normal(size=(500, 10))
    walk = np.cumsum(normal[:, :3], axis=0)
    angle = 9 * normal[:, 0]
    curve = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.01 * normal[:, :2]
    clouds = normal, normal[:, :2], rng.standard_t(2, size=(500, 10)), np.exp(normal), rng.uniform(size=(500, 2))
    for rows in (*clouds, walk, curve, rng.normal(size=(500, 100))):
        assert not crowds.shows_clusters(rows)
    assert crowds.dimensions_of(curve) <= 2
    assert crowds.dimensions_of(curve[:50]) <= 2


def test_groups_with_too_few_rows_for_a_test_are_apart_and_rows_of_clouds_are_in_none():
    rng = np.random.default_rng(0)
    for n_clusters, n_columns in ((500, 32), (500, 128)):
        rows, _ = many(n_clusters, 8 * n_clusters, n_columns)
        noise = rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(len(rows) // 9, n_columns))
        sizes, _ = crowds.small_groups(np.concatenate([rows, noise]), 64, rng)
        assert (sizes > 0).mean() > 0.6
        assert 6 <= np.median(sizes[sizes > 0]) <= 12
    normal = rng.normal(size=(5000, 10))
    for rows in (normal, rng.standard_t(2, size=(5000, 10)), np.exp(normal), rng.uniform(size=(5000, 2)),
                 np.cumsum(normal[:, :3], axis=0)):  # fmt: skip
        assert (crowds.small_groups(rows, 64, rng)[0] > 0).mean() < crowds.SMALL / 2


@pytest.mark.parametrize("method", [RandomProjectionTree, HierarchicalMDH])
def test_copies_of_a_few_rows_are_no_clusters(method, looks):
    for seed in (1, 2):
        rows = np.random.default_rng(seed).normal(size=(500, 10))
        for some in (rows, rows.round(1)):
            model = method(random_state=0).fit(np.repeat(some, 10, axis=0))
            assert model.n_clusters_ == 1
            assert model.tree_.n_rows.tolist() == [5000]
            assert model.n_passes_ == 1
    assert looks == [False] * 4


def with_levels(n_rows=5000, seed=0):
    """Two clusters in three columns of numbers, and the codes of three categories of five to eight levels."""
    rng = np.random.default_rng(seed)
    size = rng.gamma(2, 1, n_rows) + 6 * (rng.random(n_rows) < 0.4)
    return size[:, None] + rng.normal(0, 0.2, (n_rows, 3)), rng.integers([5, 7, 8], size=(n_rows, 3))


def with_indicators(numbers, codes):
    return np.concatenate([numbers, *(codes == level for level in range(8))], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "found"), at_night([(HierarchicalMDH, [2]), (DensityTree, [1, 2])]))
def test_combinations_of_levels_are_no_crowd(method, found):
    numbers, codes = with_levels()
    assert method().fit(with_indicators(numbers, codes)).n_clusters_ in found  # hundreds with a look
    mixed = method(feature_map="gower", column_types={"categorical": [3, 4, 5]})
    assert mixed.fit(np.concatenate([numbers, codes], axis=1)).n_clusters_ in found


def test_combinations_of_levels_look_like_no_crowd_to_a_density_tree():
    assert crowd_of(look_at(with_indicators(*with_levels())).sample, True, 0) is None


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([RandomProjectionTree, DensityTree]))
def test_a_crowd_is_found_beside_two_valued_columns(method, crowd):
    rows, labels = crowd
    flags = np.random.default_rng(1).integers(2, size=(len(rows), 5))
    found = method().fit(np.concatenate([rows, flags], axis=1)).labels_
    assert normalized_mutual_information(labels, np.asarray(found)) > 0.98


@pytest.mark.parametrize("method", [RandomProjectionTree, HierarchicalMDH])
def test_rows_with_as_many_copies_as_a_cluster_has_are_clusters(method):
    rows = np.repeat(np.random.default_rng(0).normal(size=(5, 10)), 200, axis=0)
    assert method(random_state=0).fit(rows).n_clusters_ == 5


def test_clusters_of_copied_rows_are_those_of_the_rows():
    rows, labels = many(3, 300, 5)
    times = np.random.default_rng(0).integers(5, 16, len(rows))
    model = RandomProjectionTree(random_state=0).fit(np.repeat(rows, times, axis=0))
    assert model.n_clusters_ == 3
    assert normalized_mutual_information(np.repeat(labels, times), model.labels_) > 0.95
    assert sorted(np.bincount(model.labels_)) == sorted(model.tree_.n_rows[model.tree_.leaves])


@pytest.fixture(scope="module")
def packed():
    return many(120, 12_000, 8)


@pytest.mark.slow
def test_clusters_that_nothing_separates_are_no_silent_single_one(packed, caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(crowds, "divide_crowd", lambda *_: False)
    model = RandomProjectionTree(random_state=0).fit(packed[0])
    model.save(tmp_path / "model")
    for text in (caplog.text, model.why(), load_model(tmp_path / "model").why()):
        assert "neighbourhoods of rows look like those of more clusters" in text


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([RandomProjectionTree, HierarchicalMDH]))
def test_hyperplanes_between_groups_of_cells_find_most_of_a_hundred_clusters_in_eight_columns(
    packed, method, caplog, tmp_path
):
    rows, labels = packed
    model = method(random_state=0).fit(rows)
    assert 90 <= model.n_clusters_ <= 120
    assert normalized_mutual_information(labels, model.labels_) > 0.88
    assert "more clusters" not in caplog.text
    tree = model.tree_
    # The level is the share of false links, so that the p-value of a split among few links may be larger.
    assert (tree.p_value[tree.left >= 0] <= 0.05).mean() > 0.95
    share, holm = (
        r"; at most [0-4]\.\d* % of the splits are expected to be false$",
        r"has p = 0\.0\d*, adjusted for all tests",
    )
    assert re.search(f"{share}|{holm}", model.why().splitlines()[0])
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(rows) == model.labels_).all()
    counted = run(recount(tree), rows).result
    assert (counted.n_rows == tree.n_rows).all()
    assert model.partial_fit(rows[:5000]).n_clusters_ > 90


@pytest.mark.slow
def test_large_clusters_hide_no_crowd_of_small_ones():
    rng = np.random.default_rng(0)
    sizes = 1 / np.arange(1, 101)
    labels = rng.choice(100, size=10_000, p=sizes / sizes.sum())
    rows = 3 * rng.normal(size=(100, 8))[labels] + rng.normal(size=(10_000, 8))
    model = RandomProjectionTree(random_state=0).fit(rows)
    assert model.n_clusters_ >= 60
    assert normalized_mutual_information(labels, model.labels_) > 0.86


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", at_night([8, 2]))
def test_clouds_that_look_crowded_by_mistake_are_not_divided(n_columns, monkeypatch, caplog):
    monkeypatch.setattr(crowds, "balls_are_crowded", lambda *_: True)
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(5000, n_columns))
    for cloud in (normal, rng.uniform(size=normal.shape), rng.exponential(size=normal.shape), normal.round(1)):
        assert RandomProjectionTree(random_state=0).fit(cloud).n_clusters_ == 1
    assert caplog.text.count("more clusters") == 4


def test_a_cut_divides_groups_along_the_direction_in_which_no_row_is_astray():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 50)
    rows = 30 * rng.normal(size=(4, 3))[group] + 9 * rng.normal(size=(200, 3))
    rows[:, 0] = 10 * (group % 2) + rng.normal(size=200)
    cut = between_groups.best_cut(rows, group, rng)
    left = rows @ cut.direction <= cut.threshold
    for own in range(4):
        assert left[group == own].mean() in (0, 1)
        assert left[group == own][0] == cut.lower[own]
    assert cut.lower.sum() == 2  # two on either side tell more than one


def test_links_on_the_paths_between_some_cells_are_those_without_the_ends_of_others():
    links = np.array([[0, 1], [1, 2], [2, 3], [2, 4], [4, 5]])
    found, evidence = between_groups.linking(links, np.arange(5.0), np.isin(np.arange(6), [0, 4]))
    assert found.tolist() == [[0, 1], [1, 2], [2, 4]]
    assert evidence.tolist() == [0, 1, 3]


def test_a_least_size_of_all_rows_leaves_one_cluster():
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    assert HierarchicalMDH(min_cluster_size=5000).fit(rows).n_clusters_ == 1


def test_a_far_row_does_not_hide_the_cut_between_groups():
    rng = np.random.default_rng(0)
    rows, group = rng.normal(size=(101, 8)), np.repeat([0, 1], [50, 51])
    rows[50:100, 0] += 6
    rows[100, 1] = 1e9
    cut = between_groups.best_cut(rows, group, rng)
    left = rows[:100] @ cut.direction <= cut.threshold
    assert left.tolist() == (left[0] == (group[:100] == 0)).tolist()


def test_a_cut_is_turned_though_all_rows_of_a_side_are_far_from_it():
    rng, group = np.random.default_rng(0), np.repeat([0, 1, 2], [4000, 84, 16])
    rows = np.where(group[:, None] == 2, 20.0, rng.normal(size=(4100, 3)))
    cut = between_groups.best_cut(rows, group, rng)
    left = rows @ cut.direction <= cut.threshold
    assert (left == cut.lower[group]).all()
    assert cut.lower[0] == cut.lower[1] != cut.lower[2]


@pytest.mark.parametrize("dtype", ["float16", ">f4"])
def test_rows_that_are_drawn_again_have_a_type_that_loops_take(dtype):
    assert SamplePass(0, 2**63).chunk(0, np.ones((50, 2), dtype)).rows.dtype == np.dtype("float32")
