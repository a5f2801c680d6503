"""Density trees: cells of a neighbour graph, their order of merging, and the held-out test between them."""

from zlib import crc32

import dask.array as da
import helpers
import numpy as np
import pytest
import reference_density_tree
from benchmarks.shape_sets import draw
from helpers import at_night
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from strategies import seeds

from mdh_dask import DensityTree, KernelPCAFeatures, drift, load_model
from mdh_dask._jit.communities import move_nodes, rows_by_radius, rows_in_balls
from mdh_dask.density_trees.basins import groups_of_basins, with_basins
from mdh_dask.density_trees.passes import NearestCounts
from mdh_dask.density_trees.places import Places, places_of
from mdh_dask.density_trees.plan import _at_peak_and_on_path
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.plotting.parts import discriminants
from mdh_dask.summaries.drift import novelty_of
from mdh_dask.tree.clusters import clusters_of
from mdh_dask.valleys.graph import basins_of, communities, linkage, nearest_others, neighbourhood, with_most_edges
from mdh_dask.valleys.landmarks import errors_in_balls
from mdh_dask.valleys.structure import SOURCES, Source, spanned, structure_of


def rings(n, sd=0.1):
    return helpers.rings(n, (1.0, 2.0), sd)


@pytest.mark.parametrize("n_columns", [2, 10])
def test_cells_of_a_source_from_outside_become_clusters(n_columns, monkeypatch):
    def nearest_of_some(points, _):
        return np.square(points[:, None] - points[::40]).sum(axis=2).argmin(axis=1)

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, n_columns)) + np.repeat([0, 6], 300)[:, None]
    for name in tuple(SOURCES):
        monkeypatch.delitem(SOURCES, name)
    monkeypatch.setitem(SOURCES, "nearest of some", Source(nearest_of_some, many_columns=n_columns > 8))
    model = DensityTree().fit(rows)
    assert adjusted_rand_index(np.repeat([0, 1], 300), model.labels_) > 0.98
    assert len(model.merges_) >= 8  # of fifteen cells


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
    def test_rows_by_radius_equal_their_twin_for_all_rows_and_some(self, seed):
        rng = np.random.default_rng(seed)
        squares, core = rng.random((6, 20)).astype(np.float32), rng.integers(6, size=5)
        ends, apart, radii = rng.integers(6, size=(2, 4)), rng.random(4), np.array([0.1, 0.5])
        for first, last in ((0, 20), (7, 16)):
            sums = np.zeros((2, 5), dtype=np.int64)
            rows_by_radius(squares, np.array([first, last]), core, ends, apart, radii, sums)
            expected = reference_density_tree.rows_by_radius(squares[:, first:last], core, ends, apart, radii)
            np.testing.assert_array_equal(sums, expected)


class TestErrors:
    @pytest.mark.parametrize(("n_core", "n_cut", "place"), [(3, 3, 30), (20, 3, 30), (3, 3, 1.5)])
    def test_errors_of_equal_densities_have_the_spread_of_a_normal_distribution(self, n_core, n_cut, place):
        rng = np.random.default_rng(0)
        found = []
        for _ in range(2000):
            # Neighbouring balls overlap by half on a line of the same density; near cuts overlap cores.
            rows = rng.uniform(-2, 38, rng.poisson(160))[:, None]
            core = (np.abs(rows - np.arange(n_core)) <= 1).sum(axis=1)
            cut = (np.abs(rows - place - np.arange(n_cut)) <= 1).sum(axis=1)
            sums = [core.sum(), cut.sum(), (core**2).sum(), (core * cut).sum(), (cut**2).sum()]
            found.append(errors_in_balls(np.array([sums]), n_core, n_cut)[0])
        assert abs(np.mean(found)) < 0.1
        assert 0.85 < np.std(found) < 1.1
        assert np.mean(np.array(found) > 1.645) < 0.06


class TestCountingAgain:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", at_night(range(3)))
    def test_lists_of_landmarks_miss_no_row_in_a_ball(self, seed):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(200, 2)) + 5 * rng.integers(2, size=(200, 1))
        side = (points[:, 0] > 2.5).astype(np.int8)
        balls = places_of(points, side[None], 60)
        rows = rng.normal(size=(150, 2)) * 2 + 5 * rng.integers(2, size=(150, 1))
        nearest = NearestCounts(np.zeros(2), np.ones(2), points[:60], side[:60], 1.0).near(rows).nearest
        counts = np.zeros((len(balls.places), balls.radii.shape[1]), dtype=np.int64)
        rows_in_balls(rows, nearest, balls, counts)
        np.testing.assert_array_equal(counts, reference_density_tree.rows_in_balls(rows, balls))
        assert counts.any()

    @pytest.mark.slow
    def test_many_rows_show_no_valley_where_the_sample_of_a_moon_is_sparse_by_chance(self):
        rng = np.random.default_rng(2)
        turn = rng.uniform(0, np.pi, 300_000)
        moon = np.column_stack([np.cos(turn), np.sin(turn)]) + rng.normal(0, 0.09, (len(turn), 2))
        few = {"sample_size": 1000, "n_landmarks": 500, "random_state": 2}
        assert DensityTree(**few).fit(moon).n_clusters_ == 1  # 2 by the densest place on the cut of the sample

    def test_the_cut_is_as_dense_as_the_sparsest_ball_on_the_densest_path(self):
        test, path, none = np.repeat([0, 1], 5), np.tile([-1, 0, 0, 1, 1], 2), np.empty(0, dtype=np.int64)
        places = Places(np.empty((10, 2)), test, path, np.ones((2, 1)), none, none, np.array([0]))
        in_balls = np.array([90, 20, 30, 60, 50, 80, 40, 30, 20, 70])[:, None]
        assert _at_peak_and_on_path(places, in_balls).tolist() == [[[90, 50]], [[80, 30]]]

    @pytest.mark.slow
    def test_paths_across_a_cut_lead_from_group_to_group_in_steps_of_a_radius(self):
        rng = np.random.default_rng(0)
        y = rng.integers(2, size=2000)
        points = rng.normal(size=(2000, 2)) + np.column_stack([2.5 * y, 0 * y])
        structure = structure_of(points, rng.integers(2**63, size=2000, dtype=np.uint64), 0.05)
        structure, sides = with_basins(points, structure)
        balls = places_of(points, sides[:, structure.cell], 2000)
        n_paths = 0
        for test, path in sorted({(t, p) for t, p in zip(balls.test, balls.path) if p >= 0}):
            own = balls.places[(balls.test == test) & (balls.path == path)]
            steps = np.linalg.norm(np.diff(own, axis=0), axis=1)
            assert (steps <= np.sqrt(balls.radii[test, 0]) * (1 + 1e-9)).all()
            n_paths += 1
        assert n_paths > 20

    @pytest.mark.slow
    def test_all_rows_find_touching_clusters_that_the_sample_does_not_show(self):
        rng = np.random.default_rng(3)
        y = rng.integers(9, size=9000)
        X = 4.0 * np.column_stack([y % 3, y // 3]) + rng.normal(size=(9000, 2))
        few = {"sample_size": 900, "n_landmarks": 900}
        assert DensityTree(**few).fit(X[:901]).n_clusters_ < 6
        model = DensityTree(**few).fit(X)
        assert model.n_clusters_ == 9  # 6 if communities are the cells
        assert adjusted_rand_score(model.labels_, y) > 0.85


def diamonds():
    """Rows of two squares that touch at a corner, and which of them is the right one's."""
    right = np.arange(800) % 2
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (800, 2)) @ np.array([[1, 1], [1, -1]])
    return rows + np.column_stack([2 * right, 0 * right]), right


class TestSlabs:
    @pytest.mark.slow
    def test_touching_clusters_of_few_rows_are_found(self):
        rows, y = diamonds()
        assert adjusted_rand_score(DensityTree().fit_predict(rows), y) > 0.95  # one cluster by balls

    @pytest.mark.slow
    @pytest.mark.parametrize(("n_constant", "sample_size"), [(1, 300), (8, 12_000)])
    def test_constant_columns_change_nothing(self, n_constant, sample_size):
        rows, _ = diamonds()
        with_constants = np.column_stack([rows, np.full((800, n_constant), 7.0)])
        model, other = (DensityTree(sample_size=sample_size).fit(some) for some in (rows, with_constants))
        np.testing.assert_array_equal(other.merges_, model.merges_)
        np.testing.assert_array_equal(other.labels_, model.labels_)

    @pytest.mark.slow
    @pytest.mark.parametrize(("combined", "dtype"), [([[1], [1]], np.float64), ([[1, 0.3], [0, 2]], np.float32)])
    def test_columns_that_depend_on_others_hide_no_clusters(self, combined, dtype):
        rows, y = diamonds()
        rows = rows.astype(dtype)
        more = np.column_stack([rows, rows @ np.array(combined, dtype)])
        assert adjusted_rand_score(DensityTree().fit_predict(more), y) > 0.95

    @pytest.mark.slow
    @pytest.mark.parametrize(("far", "n_copies"), [(1e8, 1), (1e12, 0)])
    def test_a_row_that_is_far_in_one_column_makes_no_other_column_dependent(self, far, n_copies):
        y = np.arange(800) % 2
        rows = np.random.default_rng(0).normal(size=(800, 2)) + 8 * np.column_stack([0 * y, y])
        rows[5, 0] = far
        rows = np.hstack([rows, rows[:, :n_copies]])
        assert spanned(rows).shape == (800, 2)
        assert adjusted_rand_score(DensityTree().fit_predict(rows), y) > 0.95

    @pytest.mark.parametrize("seed", [5, 24, 33])
    def test_one_column_has_no_slabs_which_split_long_tails(self, seed):
        rows = np.random.default_rng(seed).standard_t(3, (200, 1))
        assert DensityTree().fit(rows).n_clusters_ == 1


class TestGraph:
    @settings(max_examples=20)
    @given(seeds, st.sampled_from([2, 12]), st.booleans())
    def test_neighbours_are_the_nearest_others_in_their_order_even_among_equal_rows(self, seed, d, tied):
        rng = np.random.default_rng(seed)
        points = rng.integers(0, 2, (40, d)).astype(float) if tied else rng.normal(size=(40, d))
        near, last = nearest_others(points, 5)
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        assert (near != np.arange(40)[:, None]).all()
        assert all(len(set(row)) == 5 for row in near.tolist())
        np.fill_diagonal(distances, np.inf)
        np.testing.assert_allclose(last, np.sort(distances, axis=1)[:, 4], atol=1e-6)
        reached = np.take_along_axis(distances, near, axis=1)  # basins take the first of them
        np.testing.assert_allclose(reached, np.sort(distances, axis=1)[:, :5], atol=1e-6)

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

    @settings(max_examples=50)
    @given(seeds)
    def test_rows_of_a_cell_move_to_the_group_with_most_of_their_edges(self, seed):
        rng, planted = np.random.default_rng(seed), np.arange(24) % 2
        weights = random_graph(seed, 24) + 2 * (planted[:, None] == planted)
        cell = 2 * rng.integers(2, size=24) + planted  # two cells of each group
        astray = rng.choice(24, 4, replace=False)
        cell[astray] ^= 1
        found = with_most_edges(csr_array(weights), cell, np.array([0, 1, 0, 1]))
        np.testing.assert_array_equal(found % 2, planted)
        assert set(np.flatnonzero(found != cell)) == set(astray)

    @settings(max_examples=30)
    @given(seeds)
    def test_a_group_that_would_lose_most_rows_keeps_all(self, seed):
        weights, cell = random_graph(seed, 24), np.random.default_rng(seed).permutation(np.arange(24) % 6)
        group = np.array([0, 0, 1, 1, 2, 2])
        moved = with_most_edges(csr_array(weights), cell, group) != cell
        lost = np.bincount(group[cell[moved]], minlength=3)
        assert lost.max() <= 4

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "seed"), at_night([("normal", 2), ("uniform", 4), ("normal", 4), ("uniform", 2)], 2)
    )
    def test_the_largest_group_does_not_take_up_the_cells_of_another_one_among_unrelated_columns(self, kind, seed):
        rng = np.random.default_rng(seed)
        labels = (rng.random(10_000) < 0.16).astype(int)
        rows = getattr(rng, kind)(size=(10_000, 21))
        rows[:, 0] = rng.normal(size=10_000) + 5 * labels
        assert adjusted_rand_score(DensityTree(random_state=0).fit_predict(rows), labels) > 0.85


class TestClusters:
    def test_small_clusters_and_too_many_are_joined_along_the_weakest_links(self):
        links, evidence, rows = np.array([[0, 1], [1, 2], [2, 3]]), np.array([9.0, 5.0, 7.0]), np.array([10, 8, 1, 7])
        assert clusters_of(links, evidence, rows, 3.0).tolist() == [0, 1, 3, 2]
        assert clusters_of(links, evidence, rows, 3.0, least=2).tolist() == [0, 1, 1, 2]
        assert clusters_of(links, evidence, rows, 3.0, most=2).tolist() == [1, 0, 0, 0]


class TestDensityTree:
    @pytest.mark.slow
    @pytest.mark.parametrize("n", at_night([300, 2000]))
    def test_two_rings_are_two_clusters(self, n):
        X, y = rings(n)
        assert adjusted_rand_score(DensityTree().fit_predict(X), y) > 0.98

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_a_merge_of_groups_that_are_apart_joins_no_others(self):
        X, arm = draw("spirals-2000-noise", 0)
        model = DensityTree(random_state=0).fit(X)
        # A piece of one arm was merged with the other arm first, and nothing was sparser than its own cut then.
        assert adjusted_rand_score(arm[arm >= 0], model.labels_[arm >= 0]) > 0.85
        separates = model.merges_["separates"]
        assert (np.diff(model.merges_["evidence"][separates]) >= 0).all()

    @pytest.mark.slow
    def test_known_number_of_clusters_is_reached_exactly(self):
        X, y = rings(600)
        assert [DensityTree(n_clusters=k).fit(X).n_clusters_ for k in (1, 2, 5)] == [1, 2, 5]
        assert adjusted_rand_score(DensityTree(n_clusters=2).fit_predict(X), y) > 0.98

    @pytest.mark.slow
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
        assert [picture[:4] for picture in model.report_pictures().values()] == [b"\x89PNG"] * 2
        with pytest.raises(ValueError, match="from 1 to 3"):
            model.cut(4)

    def test_rows_are_in_the_cell_for_which_the_nearest_landmarks_vote_and_confidence_is_their_share(self):
        X, _ = rings(300, sd=0.25)
        model = DensityTree(n_clusters=2, n_landmarks=80).fit(X)
        state = model.state_.model
        cluster = state.clusters[state.cells]
        squares = ((((X - state.centre) * state.scale)[:, None] - state.points) ** 2).sum(axis=2)
        labels, shares = [], []
        for row in squares:
            near = np.argsort(row)[:10]
            votes = [(1 / np.maximum(row[near[state.cells[near] == cell]], 1e-300)).sum() for cell in state.cells[near]]
            labels.append(cluster[near[np.argmax(votes)]])
            shares.append((cluster[near] == labels[-1]).mean())
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.confidence(X), shares)
        assert (labels != cluster[squares.argmin(axis=1)]).any()
        assert min(shares) < 0.7

    @pytest.mark.slow
    def test_votes_find_the_cluster_of_rows_among_unrelated_columns(self):
        rng = np.random.default_rng(0)
        labels = rng.permutation(np.arange(3000) < 700)
        X = np.column_stack([rng.normal(size=3000) + 6 * labels, rng.normal(size=(3000, 11))])
        model = DensityTree(n_landmarks=600).fit(X)
        state = model.state_.model
        nearest = state.clusters[state.cells[state.landmarks.near(X).nearest]]
        by_votes, by_the_nearest = (adjusted_rand_score(labels, found) for found in (model.labels_, nearest))
        assert by_votes > by_the_nearest + 0.01
        assert np.bincount(model.labels_).tolist() == state.sizes.tolist()

    @pytest.mark.slow
    def test_copies_of_rows_are_no_clusters_and_change_none(self):
        rng = np.random.default_rng(0)
        rows, centres = rng.normal(size=(300, 5)), 6 * np.eye(5)[np.arange(300) % 3]
        for some, n_clusters in ((rows, 1), (rows + centres, 3)):
            model = DensityTree(random_state=0).fit(np.repeat(some, 10, axis=0))
            assert (model.n_clusters_, model.n_passes_) == (n_clusters, 1)
            assert np.bincount(model.labels_).tolist() == [3000 // n_clusters] * n_clusters

    def test_equal_rows_have_one_cell(self):
        rows = np.random.default_rng(0).normal(size=(600, 5))
        rows[:300] = rows[0]
        for in_groups in (False, True):
            cell = structure_of(rows, helpers.hashes(600), 0.05, in_groups=in_groups, least_apart=600).cell
            assert len(np.unique(cell[:300])) == 1

    def test_equal_rows_and_few_rows_are_one_cluster(self):
        for X in (np.ones((50, 2)), np.zeros((2, 3)), np.arange(20.0)[:, None]):
            assert DensityTree().fit(X).n_clusters_ == 1


@pytest.mark.slow
def test_a_tree_says_by_how_much_its_best_merge_failed():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(900, 2))
    one, two = (DensityTree().fit(X) for X in (cloud, np.concatenate([cloud, np.add(cloud, (12, 0))])))
    united = one.state_.model.evidence.max()
    assert one.why().startswith("1 cluster of 900 rows: of the merges")
    assert f"has {united:.2g} standard errors, and a cluster needs {one.state_.model.threshold:.2g};" in one.why()
    assert two.why().startswith("2 clusters of 1,800 rows")


@pytest.fixture(scope="module")
def noisy():
    """Two far clusters in three columns, and twenty rows around them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3)) + np.repeat([[0], [12]], [600, 400], axis=0)
    return np.concatenate([X, rng.uniform(-40, 50, (20, 3))])


class TestOutside:
    @pytest.mark.slow
    def test_rows_in_sparse_regions_are_left_and_counts_agree_with_labels(self, noisy):
        near, left = (DensityTree(unclassified=u, share_outside=0.03).fit(noisy) for u in ("nearest", "leave"))
        inside = left.labels_ >= 0
        assert not inside[1000:].any()
        assert inside[:1000].mean() > 0.98
        np.testing.assert_array_equal(near.labels_[inside], left.labels_[inside])
        assert not near.noise
        assert left.noise
        for model in (near, left):
            assert model.state_.sizes.tolist() == np.bincount(model.labels_[model.labels_ >= 0]).tolist()

    @pytest.mark.slow
    def test_rows_are_outside_if_the_tenth_nearest_landmark_is_farther_than_the_level(self, noisy):
        model = DensityTree(unclassified="leave", share_outside=0.1, scale=False).fit(noisy)
        points = model.state_.model.points + model.state_.model.centre
        tenth = np.sort(np.linalg.norm(noisy[:, None] - points, axis=2), axis=1)[:, 9]
        np.testing.assert_array_equal(model.labels_ < 0, tenth > model.level_)
        np.testing.assert_allclose(model.boundary_distance(noisy), model.level_ / tenth - 1)


class TestFeatures:
    @pytest.mark.slow
    def test_clusters_of_features_are_saved_with_their_map(self, tmp_path):
        X, y = rings(600, sd=0.05)
        model = DensityTree(feature_map=KernelPCAFeatures(kernel="quadratic", n_components=2, n_landmarks=200)).fit(X)
        assert adjusted_rand_score(model.labels_, y) > 0.98
        model.save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), model.labels_)
        np.testing.assert_array_equal(loaded.exemplars_, X[loaded.exemplar_indices_])
        np.testing.assert_array_equal(loaded.confidence(X[:50]), model.confidence(X[:50]))
        lazy = DensityTree(**model.get_params(deep=False)).fit(da.from_array(X, (250, 2)))
        np.testing.assert_array_equal(lazy.labels_.compute(), model.labels_)
        with pytest.raises(AttributeError, match="not in memory"):
            lazy.exemplars_  # noqa: B018

    @pytest.mark.slow
    def test_exemplars_of_features_are_those_of_repeated_rows(self):
        X, _ = rings(300, sd=0.05)
        weights = np.random.default_rng(0).integers(1, 4, 300)
        model = DensityTree(feature_map=KernelPCAFeatures(kernel="quadratic", n_components=2, n_landmarks=200))
        own = clone(model).fit(X, sample_weight=weights)
        repeated = model.fit(np.repeat(X, weights, axis=0))
        numbers = np.repeat(np.arange(300), weights)[repeated.exemplar_indices_]
        np.testing.assert_array_equal(own.exemplar_indices_, numbers)
        np.testing.assert_array_equal(own.exemplars_, X[numbers])

    def test_models_of_rows_with_missing_values_are_loaded(self, tmp_path):
        X, _ = rings(200)
        X[::2, 0] = X[1::2, 1] = np.nan
        model = DensityTree(feature_map="gower").fit(X)
        model.save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert np.isnan(loaded.exemplars_).any()
        np.testing.assert_array_equal(loaded.exemplars_, model.exemplars_)


class TestLevels:
    """Numbers of two clusters beside categories, and numbers of uneven values."""

    def table(self, n=600, kept=0.0):
        """Rows, clusters, and three categories, whose level is that of the cluster in a share of the rows."""
        rng = np.random.default_rng(0)
        cluster = rng.integers(2, size=n)
        numbers = rng.normal(size=(n, 3)) + 6 * cluster[:, None] * [1, 0, 0]
        levels = np.stack([rng.integers(k, size=n) for k in (3, 4, 5)], axis=1)
        return numbers, cluster, np.where(rng.random((n, 3)) < kept, cluster[:, None], levels)

    @pytest.mark.slow
    def test_noise_of_categories_hides_no_clusters_of_numbers_from_a_map(self):
        numbers, cluster, levels = self.table()
        types = {"continuous": [0, 1, 2], "categorical": [3, 4, 5]}
        model = DensityTree(feature_map="gower", column_types=types).fit(np.hstack([numbers, levels]))
        assert adjusted_rand_score(cluster, model.labels_) > 0.95

    @pytest.mark.slow
    @pytest.mark.parametrize("share", at_night([0.1, 0.01]))
    def test_missing_numbers_hide_no_clusters_of_numbers(self, share):
        numbers, cluster, levels = self.table()
        numbers[:, 1] += 4 * cluster
        numbers[np.random.default_rng(1).random(numbers.shape) < share] = np.nan
        types = {"continuous": [0, 1, 2], "categorical": [3, 4, 5]}
        model = DensityTree(feature_map="gower", column_types=types).fit(np.hstack([numbers, levels]))
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(cluster, model.labels_) > 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("few", [False, True])
    def test_noise_of_two_valued_columns_hides_no_clusters_of_numbers(self, few):
        numbers, cluster, levels = self.table()
        coded = levels[:, :2] > 1 if few else np.hstack([np.eye(5)[own] for own in levels.T])
        model = DensityTree().fit(np.hstack([numbers, coded]))
        assert adjusted_rand_score(cluster, model.labels_) > 0.95

    @pytest.mark.slow
    def test_levels_that_change_together_are_clusters_beside_noise_of_numbers(self):
        numbers, cluster, levels = self.table(kept=0.95)
        numbers[:, 0] -= 6 * cluster
        types = {"continuous": [0, 1, 2], "categorical": [3, 4, 5]}
        model = DensityTree(feature_map="gower", column_types=types).fit(np.hstack([numbers, levels]))
        assert adjusted_rand_score(cluster, model.labels_) > 0.6

    @pytest.mark.slow
    @pytest.mark.parametrize("n_clusters", [1, 2])
    def test_inches_and_pounds_in_other_units_are_no_clusters_by_themselves(self, n_clusters):
        rng = np.random.default_rng(0)
        cluster = rng.integers(n_clusters, size=3000)
        people = rng.multivariate_normal([67, 160], [[9, 25], [25, 225]], size=3000) + cluster[:, None] * [20, 90]
        model = DensityTree().fit(np.round(np.round(people) * [2.54, 0.4536], 1))
        assert model.n_clusters_ == n_clusters
        assert adjusted_rand_score(cluster, model.labels_) > 0.95

    @pytest.mark.slow
    def test_values_that_many_rows_share_are_no_clusters_beside_categories(self):
        rng = np.random.default_rng(0)
        wage = np.round(np.exp(rng.normal(2.5, 0.5, 6000)), 2)
        wage = np.where(rng.random(6000) < 0.4, np.round(wage * 4) / 4, wage)  # told in quarters
        rows = np.column_stack([wage, rng.integers(4, size=6000), rng.integers(3, size=6000)])
        model = DensityTree(feature_map="gower", column_types={"continuous": [0], "categorical": [1, 2]}).fit(rows)
        assert model.n_clusters_ == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("n_clusters", [1, 2])
    def test_ages_beside_categories_are_clusters_only_if_there_is_a_gap_between_them(self, n_clusters):
        rng = np.random.default_rng(0)
        cluster = rng.integers(n_clusters, size=2700)
        age = 18 + rng.binomial(30, 0.4, 2700) + 40.0 * cluster
        age[:5] = np.nan
        rows = np.column_stack([age, rng.integers(4, size=2700), rng.integers(3, size=2700)])
        model = DensityTree(feature_map="gower", column_types={"continuous": [0], "categorical": [1, 2]}).fit(rows)
        assert model.n_clusters_ == n_clusters
        assert adjusted_rand_score(cluster[5:], model.labels_[5:]) > 0.95

    @pytest.mark.slow
    def test_predicted_labels_do_not_depend_on_levels_that_are_left_out(self):
        numbers, _, levels = self.table()
        rows = np.hstack([numbers, *(np.eye(5)[own] for own in levels.T)])
        model = DensityTree().fit(rows)
        others = rows.copy()
        others[:, 3:] = others[::-1, 3:]
        np.testing.assert_array_equal(model.predict(others), model.labels_)


def pair(n, share=0.5, seed=0):
    """Rows of two clusters, of which the first has a share."""
    first = np.arange(n) < share * n
    return np.random.default_rng(seed).normal(size=(n, 2)) + np.where(first, 0, 6)[:, None] * [1, 0]


@pytest.fixture(scope="module")
def model_of_pair():
    return DensityTree(sample_size=1500).fit(pair(4000))


class TestDrift:
    @pytest.mark.slow
    def test_the_tree_of_splits_holds_the_rows_of_the_clusters(self, model_of_pair):
        tree, sizes = model_of_pair.state_.compared, model_of_pair.state_.sizes
        assert tree.n_rows.tolist() == [4000, *sizes[tree.cluster[tree.leaves]].tolist()]
        assert [tree.histogram(node).sum() for node in range(3)] == tree.n_rows.tolist()

    @pytest.mark.slow
    def test_rows_where_the_model_has_none_are_novel(self, model_of_pair):
        new = pair(2000, seed=1)
        new[:500] += [0, 30]
        found = drift(model_of_pair, da.from_array(new, (300, 2)))
        assert any(alarm.startswith("split 0: ") for alarm in found.alarms)
        assert novelty_of(found).share == pytest.approx(0.25, abs=0.01)

    def test_a_model_of_one_cluster_sees_rows_outside(self):
        X = np.random.default_rng(0).normal(size=(600, 2))
        model = DensityTree().fit(X)
        assert not drift(model, np.random.default_rng(1).normal(size=(600, 2))).found
        assert drift(model, X + 9).alarms[0].startswith("cluster 0: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "d"), at_night([("one cluster", 12), ("three clusters", 12), ("one cluster", 500)], 2)
)
def test_the_ends_of_correlated_ratings_are_no_clusters_in_many_columns(kind, d):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    if kind == "one cluster":
        y, place = np.zeros(600, int), 3 + rng.normal(size=(600, 1))
    else:
        place = (2 + 2 * rng.integers(0, 2, (3, d)))[y]
    ratings = np.clip(np.rint(place + rng.normal(size=(600, d), scale=1 if kind == "one cluster" else 0.7)), 1, 5)
    assert adjusted_rand_index(DensityTree().fit(ratings).labels_, y) > 0.9


@pytest.mark.slow
def test_groups_without_a_landmark_are_no_clusters():
    X = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[-9], [0], [9]], 100, axis=0)
    found = DensityTree(n_landmarks=2).fit(X)
    with pytest.warns(ConvergenceWarning, match="found 2 of n_clusters=3: clusters .* without a landmark"):
        asked = DensityTree(n_landmarks=2, n_clusters=3).fit(X)
    for model in (found, asked):
        assert model.n_clusters_ == len(np.unique(model.labels_)) == 2


class TestBasins:
    def test_a_row_is_in_the_basin_of_the_mode_to_which_denser_neighbours_lead(self):
        near = np.array([[1, 2], [0, 2], [1, 3], [4, 2], [3, 2]])
        assert basins_of(near, np.array([2.0, 1.0, 3.0, 2.0, 1.0])).tolist() == [0, 0, 0, 1, 1]

    def test_a_basin_across_a_border_is_in_the_group_to_which_its_densest_saddle_leads(self):
        rows = np.array([[10, 0], [6, 4], [0, 10], [7, 3]])
        assert groups_of_basins(rows, np.array([[1, 2], [0, 1], [0, 3]])).tolist() == [0, 1, 1, 0]
        assert groups_of_basins(rows, np.array([[0, 1], [1, 2]])).tolist() == [0, 0, 1, 0]  # the last has no neighbour
        assert groups_of_basins(np.array([[9, 1], [0, 10]]), np.array([[0, 1]])).tolist() == [1, 1]

    @pytest.mark.slow
    def test_basins_are_a_tree_with_the_links_that_the_sample_shows(self):
        rng = np.random.default_rng(0)
        points = rng.normal(size=(900, 2)) + np.repeat([[0, 0], [3.5, 0], [20, 0]], 300, axis=0)
        before = structure_of(points, rng.integers(2**63, size=900, dtype=np.uint64), 0.05)
        after, sides = with_basins(points, before)
        n = len(after.links) + 1
        assert after.cell.max() + 1 == n
        assert connected_components(csr_array((np.ones(n - 1), after.links.T), shape=(n, n)))[0] == 1
        assert (after.evidence >= after.threshold).sum() == (before.evidence >= before.threshold).sum() >= 1
        assert len(sides) == (after.evidence < after.threshold).sum()
        for link, side in zip(after.links, sides):
            assert set(side[link].tolist()) == {0, 1}


@pytest.mark.slow
def test_a_map_of_many_columns_shows_the_directions_in_which_clusters_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)) * [1, 9, 1, 1, 1]
    X[:300, 2] += 9
    model = DensityTree(scale=False).fit(X).state_.model
    label, counts = model.clusters[model.cells], np.maximum(model.counts, 1)
    axes = discriminants(model.points, label, counts)
    along = model.points @ axes
    means = np.array([np.average(along[label == c], axis=0, weights=counts[label == c]) for c in (0, 1)])
    spread = np.average(np.square(along - means[label]), axis=0, weights=counts)
    np.testing.assert_allclose(spread, 1, rtol=0.1)  # of shrunk covariances: there are few rows
    assert np.abs(axes[:, 0]).argmax() == 2


@pytest.mark.parametrize("n", [3, 8, 15])
def test_the_exemplar_of_few_rows_is_where_they_are_densest(n):
    x = np.linspace(-1, 1, n)[:, None] ** 3
    model = DensityTree(unclassified="leave", share_outside=0.5).fit(x)
    assert abs(model.exemplar_indices_[0] - n // 2) <= 1
    assert model.labels_[model.exemplar_indices_[0]] == 0
