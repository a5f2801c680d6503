"""Density trees: cells of a neighbour graph, their order of merging, and the held-out test between them."""

from zlib import crc32

import dask.array as da
import numpy as np
import pytest
import reference_density_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from strategies import seeds

from mdh_dask import DensityTree, load_model
from mdh_dask._jit.communities import excess_in_balls, move_nodes, rows_in_balls
from mdh_dask.density_trees.graph import communities, nearest_others, neighbourhood
from mdh_dask.density_trees.linkage import linkage
from mdh_dask.density_trees.model import DensityModel
from mdh_dask.density_trees.passes import nearest_landmarks
from mdh_dask.density_trees.places import places_of
from mdh_dask.density_trees.structure import clusters_of, structure_of


def rings(n, seed=0, sd=0.1):
    """Rows of two rings and their ring."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1.0 + y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, sd, (n, 2)), y


def random_graph(seed, n=15):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    return weights + weights.T + 1e-3 * (np.ones((n, n)) - np.eye(n))


class TestLoops:
    @settings(max_examples=30)
    @given(seeds, st.floats(0.3, 3))
    def test_no_single_move_of_a_node_improves_the_modularity(self, seed, resolution):
        weights = random_graph(seed)
        graph = csr_array(weights)
        graph.sort_indices()
        community = np.arange(len(weights))
        move_nodes(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, resolution, community, 99)
        best = reference_density_tree.modularity(weights, community, resolution)
        for node in range(len(weights)):
            for other in np.unique(community):
                moved = np.where(np.arange(len(weights)) == node, other, community)
                assert reference_density_tree.modularity(weights, moved, resolution) <= best + 1e-9

    @settings(max_examples=30)
    @given(seeds)
    def test_excess_in_balls_equals_its_twin(self, seed):
        rng = np.random.default_rng(seed)
        squares, core, ends = (
            rng.random((6, 20)).astype(np.float32),
            rng.integers(6, size=4),
            rng.integers(6, size=(2, 4)),
        )
        apart, radii = rng.random(4), np.array([0.1, 0.5])
        sums = np.zeros((2, 4), dtype=np.int64)
        excess_in_balls(squares, core, ends, apart, radii, sums)
        np.testing.assert_array_equal(sums, reference_density_tree.excess_in_balls(squares, core, ends, apart, radii))


class TestCountingAgain:
    @pytest.mark.parametrize("seed", range(3))
    def test_lists_of_landmarks_miss_no_row_in_a_ball(self, seed):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(200, 2)) + 5 * rng.integers(2, size=(200, 1))
        structure = structure_of(points, rng.integers(2**63, size=200, dtype=np.uint64), 0.05)
        balls = places_of(points, structure, 60)
        rows = rng.normal(size=(150, 2)) * 2 + 5 * rng.integers(2, size=(150, 1))
        nearest = nearest_landmarks(rows, np.zeros(2), np.ones(2), points[:60])
        sums = np.zeros((*balls.radii.shape, 2), dtype=np.int64)
        counts = np.zeros((len(balls.places), balls.radii.shape[1]), dtype=np.int64)
        rows_in_balls(rows, nearest, balls, sums, counts)
        expected = reference_density_tree.sums_in_balls(rows, balls)
        np.testing.assert_array_equal(sums, expected[0])
        np.testing.assert_array_equal(counts, expected[1])
        assert sums.any()

    def test_rows_of_clouds_without_clusters_do_not_split_them(self):
        rng = np.random.default_rng(0)
        few = {"sample_size": 600, "n_landmarks": 300}
        clouds = rng.normal(size=(20_000, 2)), rng.uniform(size=(20_000, 2)), rng.poisson(20, (20_000, 2))
        assert [DensityTree(**few).fit(X).n_clusters_ for X in clouds] == [1, 1, 1]

    def test_all_rows_find_clusters_that_the_sample_does_not_show(self):
        rng = np.random.default_rng(5)
        y = rng.integers(9, size=9000)
        X = 5.0 * np.column_stack([y % 3, y // 3]) + rng.normal(size=(9000, 2))
        few = {"sample_size": 600, "n_landmarks": 600}
        assert DensityTree(**few).fit(X[:601]).n_clusters_ < 9
        model = DensityTree(**few).fit(X)
        assert model.n_clusters_ == 9
        assert adjusted_rand_score(model.labels_, y) > 0.9


class TestGraph:
    @settings(max_examples=20)
    @given(seeds, st.sampled_from([2, 12]), st.booleans())
    def test_neighbours_are_the_nearest_others_even_among_equal_rows(self, seed, d, tied):
        rng = np.random.default_rng(seed)
        points = rng.integers(0, 2, (40, d)).astype(float) if tied else rng.normal(size=(40, d))
        near, last = nearest_others(points, 5)
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        assert (near != np.arange(40)[:, None]).all()
        assert all(len(set(row)) == 5 for row in near.tolist())
        np.fill_diagonal(distances, np.inf)
        np.testing.assert_allclose(last, np.sort(distances, axis=1)[:, 4], atol=1e-6)
        np.testing.assert_allclose(np.take_along_axis(distances, near, axis=1).max(axis=1), last, atol=1e-6)

    def test_far_groups_are_in_one_graph_and_in_cells_of_their_own(self):
        points = np.concatenate([np.random.default_rng(0).normal(50 * i, 1, (40, 2)) for i in range(4)])
        graph = neighbourhood(points)
        cell = communities(graph.shared)
        assert all(len(set(cell[i : i + 40]) & set(cell[i + 40 :])) == 0 for i in (0, 40, 80))
        assert len(linkage(graph.dense, cell).kept) == cell.max()

    def test_pieces_of_one_group_are_merged_before_two_groups(self):
        points = np.concatenate([np.random.default_rng(0).normal(8 * i, 1, (60, 2)) for i in range(2)])
        graph = neighbourhood(points)
        cell = communities(graph.shared)
        last = linkage(graph.dense, cell)
        group = np.arange(cell.max() + 1)
        for kept, gone in zip(last.kept[:-1], last.gone[:-1]):
            group[group == gone] = kept
        assert adjusted_rand_score(group[cell], np.repeat([0, 1], 60)) == 1


class TestClusters:
    def test_small_clusters_and_too_many_are_joined_along_the_weakest_links(self):
        links, evidence, rows = np.array([[0, 1], [1, 2], [2, 3]]), np.array([9.0, 5.0, 7.0]), np.array([10, 8, 1, 7])
        assert clusters_of(links, evidence, rows, 3.0).tolist() == [0, 1, 3, 2]
        assert clusters_of(links, evidence, rows, 3.0, least=2).tolist() == [0, 1, 1, 2]
        assert clusters_of(links, evidence, rows, 3.0, most=2).tolist() == [1, 0, 0, 0]


class TestDensityTree:
    @pytest.mark.parametrize("n", [300, 2000])
    def test_two_rings_are_two_clusters(self, n):
        X, y = rings(n)
        assert adjusted_rand_score(DensityTree().fit_predict(X), y) > 0.98

    def test_clouds_without_clusters_are_not_split(self):
        rng = np.random.default_rng(0)
        clouds = [
            rng.normal(size=(300, 2)), rng.uniform(size=(1000, 2)), rng.lognormal(size=(500, 10)),
            rng.standard_t(3, size=(1000, 2)), rng.poisson(20, (2000, 2)).astype(float),
        ]  # fmt: skip
        assert [DensityTree().fit(X).n_clusters_ for X in clouds] == [1] * len(clouds)

    def test_skewed_clouds_of_few_rows_are_not_split(self):
        key = crc32(b"geometric(0.4)")  # each was split while cuts reached farther than cores
        clouds = [np.random.default_rng([seed, 200, 2, key]).geometric(0.4, (200, 2)) for seed in (7003, 7013)]
        assert [DensityTree(random_state=seed).fit(X).n_clusters_ for seed, X in zip((3, 13), clouds)] == [1, 1]

    def test_known_number_of_clusters_is_reached_exactly(self):
        X, y = rings(600)
        assert [DensityTree(n_clusters=k).fit(X).n_clusters_ for k in (1, 2, 5)] == [1, 2, 5]
        assert adjusted_rand_score(DensityTree(n_clusters=2).fit_predict(X), y) > 0.98

    def test_chunks_and_schedulers_do_not_change_a_bit(self):
        X, _ = rings(4000)
        options = {"sample_size": 1500, "n_landmarks": 800}
        models = [
            DensityTree(**options).fit(rows) for rows in (X, da.from_array(X, (700, 2)), da.from_array(X, (1999, 1)))
        ]
        first = models[0]
        assert [m.n_passes_ for m in models] == [2, 2, 2]
        for other in models[1:]:
            for name, array in first.state_.to_arrays()[1].items():
                np.testing.assert_array_equal(array, other.state_.to_arrays()[1][name])
            np.testing.assert_array_equal(first.labels_, np.asarray(other.labels_))
        assert first.state_.sizes.tolist() == np.bincount(first.labels_).tolist()

    @pytest.mark.parametrize("dtype", ["f8", "u1"])
    def test_saved_models_label_as_before(self, dtype, tmp_path):
        X, _ = rings(400)
        X = ((X - X.min()) * 20).astype(dtype)
        model = DensityTree().fit(X)
        model.save(tmp_path / "model.zarr")
        loaded = load_model(tmp_path / "model.zarr")
        np.testing.assert_array_equal(loaded.predict(X), model.labels_)
        np.testing.assert_array_equal(loaded.merges_, model.merges_)
        assert loaded.exemplars_.dtype == dtype

    def test_cuts_unite_the_clusters_with_the_least_evidence_and_keep_the_densest_rows(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(900, 2)) + np.repeat([[0, 0], [5, 0], [20, 0]], 300, axis=0)
        model = DensityTree().fit(X)
        assert [level.n_clusters for level in model.levels_] == [1, 2, 3]
        two = model.cut(2)
        assert adjusted_rand_score(two.labels_, np.repeat([0, 0, 1], 300)) == 1
        np.testing.assert_array_equal(two.predict(X), two.labels_)
        for each in (model, two):
            np.testing.assert_array_equal(each.exemplars_, X[each.exemplar_indices_])
            np.testing.assert_array_equal(each.predict(each.exemplars_), np.arange(each.n_clusters_))
        two.save(tmp_path / "two")
        loaded = load_model(tmp_path / "two")
        assert loaded.levels_ == two.levels_
        np.testing.assert_array_equal(loaded.exemplar_indices_, two.exemplar_indices_)
        assert [picture[:4] for picture in model.report_pictures().values()] == [b"\x89PNG"]
        with pytest.raises(ValueError, match="from 1 to 3"):
            model.cut(4)

    def test_confidence_is_the_share_of_the_nearest_landmarks_in_the_cluster(self):
        X, _ = rings(300, sd=0.25)
        model = DensityTree(n_clusters=2).fit(X)
        points, cluster = model.state_.points, model.state_.clusters[model.state_.cells]
        rows = (X - model.state_.centre) * model.state_.scale
        near = np.argsort(((rows[:, None] - points) ** 2).sum(axis=2), axis=1)[:, :10]
        expected = (cluster[near] == cluster[near[:, :1]]).mean(axis=1)
        np.testing.assert_allclose(model.confidence(X), expected)
        assert expected.min() < 0.7

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("peak_reach", np.nan),
            ("peak_numbers", -9),
            ("cells", 10**6),
            ("counts", -5),
            ("clusters", 3),
            ("threshold", float("nan")),
            ("points", np.nan),
        ],
    )
    def test_models_that_no_fit_gives_are_refused(self, name, change):
        settings, arrays = DensityTree().fit(rings(400)[0]).state_.to_arrays()
        both = settings | arrays
        both[name] = change if name == "threshold" else both[name] + change
        with pytest.raises(ValueError, match=name):
            DensityModel.from_arrays({k: both[k] for k in settings}, {k: both[k] for k in arrays})

    def test_equal_rows_and_few_rows_are_one_cluster(self):
        for X in (np.ones((50, 2)), np.zeros((2, 3)), np.arange(20.0)[:, None]):
            assert DensityTree().fit(X).n_clusters_ == 1

    def test_narrow_gaps_between_stripes_are_found(self):
        rng = np.random.default_rng(0)
        y = rng.integers(4, size=1200)
        X = np.column_stack([rng.uniform(0, 1.2, 1200), 0.14 * y + rng.uniform(0, 0.1, 1200)])
        assert adjusted_rand_score(DensityTree().fit_predict(X), y) > 0.98


def test_a_tree_says_by_how_much_its_best_merge_failed():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(900, 2))
    one, two = (DensityTree().fit(X) for X in (cloud, np.concatenate([cloud, np.add(cloud, (12, 0))])))
    united = one.state_.evidence.max()
    assert one.why().startswith("1 cluster of 900 rows: of the merges")
    assert f"has {united:.2g} standard errors, and a cluster needs {one.state_.threshold:.2g};" in one.why()
    assert two.why().startswith("2 clusters of 1,800 rows")
