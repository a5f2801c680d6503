"""Gower's dissimilarity of mixed columns, against pairs of rows one by one and the embedding of the full matrix."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import reference_kernel as reference
from helpers import at_night, in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import seeds

from mdh_dask import DePDDP, GowerFeatures, HierarchicalMDH, KernelPCAFeatures, RandomProjectionTree
from mdh_dask._levels import level_features
from mdh_dask.columns import ColumnTypes
from mdh_dask.columns.coding import TypedRows
from mdh_dask.kernels import Gower
from mdh_dask.kernels.levels import bend
from mdh_dask.metrics import adjusted_rand_index

KINDS = ("continuous", "ordinal", "categorical", "categorical", "continuous")
TYPES = ColumnTypes(KINDS, (None, ("0", "1", "2"), ("0", "1", "2"), None, None))
CATEGORICAL = TYPES.mask("categorical")


def mixed_rows(n=300, missing=0.0, seed=0, n_values=0):
    """Two clusters in five columns of all kinds; continuous ones of few values if asked for."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 2, n)
    rows = np.column_stack([
        rng.normal(6 * cluster, 1.0), rng.binomial(2, 0.2 + 0.6 * cluster), (cluster + (rng.random(n) < 0.1)) % 3,
        rng.integers(0, 7, n), rng.exponential(1 + cluster),
    ])  # fmt: skip
    if n_values:
        rows[:, [0, 4]] = np.rint(rows[:, [0, 4]] * n_values / 10)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def fitted(rows, transformer):
    return transformer.fit(TypedRows(rows, TYPES))


def products(features):
    features = features.astype(np.float64)
    return features @ features.T


class TestKernel:
    @settings(max_examples=30)
    @given(seeds, st.sampled_from(["pairs", "level"]), st.sampled_from([0.0, 0.3, 0.8]))
    def test_the_kernel_equals_its_twin(self, seed, missing, share):
        rows, landmarks = mixed_rows(9, share, seed), mixed_rows(12, share, seed + 1)
        landmarks[0] = np.linspace(-1, 2, 5)  # so that no column is missing altogether or has a single value
        landmarks[1] = np.linspace(3, 1, 5)
        low, high = np.nanmin(landmarks, axis=0), np.nanmax(landmarks, axis=0)
        weights = np.random.default_rng(seed).uniform(0, 2, 5)
        kernel = Gower(weights, missing).of_columns(CATEGORICAL, low, high).fit(landmarks)
        expected = reference.gower(rows, landmarks, CATEGORICAL, low, high, weights, missing, kernel.undefined)
        np.testing.assert_allclose(kernel.matrix(rows, landmarks), expected, atol=1e-12)
        own = reference.gower(rows, rows, CATEGORICAL, low, high, weights, missing, kernel.undefined)
        np.testing.assert_allclose(kernel.diagonal(rows, rows), np.diag(own), atol=1e-12)

    def test_it_is_positive_definite_for_complete_rows_and_where_missing_is_a_level(self):
        for missing, share, least in (("pairs", 0.0, -1e-12), ("level", 0.4, -1e-12), ("pairs", 0.4, -np.inf)):
            rows = mixed_rows(120, share)
            kernel = Gower(missing=missing).fit(rows)
            assert np.linalg.eigvalsh(kernel.gram(rows))[0] >= least * len(rows)
        assert np.linalg.eigvalsh(kernel.gram(rows))[0] < -0.1

    def test_constant_columns_and_columns_without_values_have_no_weight(self):
        rows = np.column_stack([mixed_rows(50), np.full(50, 3.0), np.full(50, np.nan)])
        kernel = Gower().fit(rows)
        np.testing.assert_array_equal(kernel.shares, [0.2] * 5 + [0, 0])
        np.testing.assert_array_equal(
            kernel.matrix(rows, rows), Gower().fit(rows[:, :5]).matrix(rows[:, :5], rows[:, :5])
        )

    def test_rows_without_a_common_column_have_the_mean_kernel(self):
        rows = mixed_rows(30)
        rows[0, :2] = rows[1, 2:] = np.nan
        kernel = Gower(missing="pairs").fit(rows)
        gram = kernel.gram(rows)
        assert gram[0, 1] == kernel.undefined == pytest.approx(gram[np.triu_indices(30, -30)].mean(), abs=0.01)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Gower(weights=[1, -1]), "weights must be finite numbers of at least 0"),
            (lambda: Gower(weights=[0, 0]), "not all 0"),
            (lambda: Gower(weights=["a"]), "weights must be numbers"),
            (lambda: Gower(missing="drop"), "missing must be one of pairs, level; got 'drop'"),
            (lambda: Gower(shift=1.0), "shift must be one of constant, clip"),
            (lambda: Gower(weights=[1, 2]).fit(mixed_rows(9)), "expected 5 weights .* got 2"),
        ],
    )
    def test_bad_parameters_are_named(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()


class TestEmbedding:
    """Coordinates of 500 rows equal those of the full matrix; squared distances here are twice the dissimilarities."""

    @pytest.mark.slow
    @pytest.mark.parametrize(("method", "missing", "share"), [("nystrom", "pairs", 0.0), ("explicit", "level", 0.2)])
    def test_all_rows_have_the_coordinates_of_the_full_matrix(self, method, missing, share):
        rows = mixed_rows(500, share, n_values=40)
        made = fitted(rows, GowerFeatures(method=method, missing=missing, variance=1.0, n_thresholds=200))
        low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        gram = Gower(missing=missing).of_columns(CATEGORICAL, low, high).gram(rows)
        np.testing.assert_allclose(gram[:5], reference.gower(rows[:5], rows, CATEGORICAL, low, high, None, missing))
        expected, values = reference.constant_shift_embedding(1 - gram, made.n_components_)
        np.testing.assert_allclose(products(made.transform(rows)), 2 * products(expected), atol=1e-6)
        np.testing.assert_allclose(made.eigenvalues_, 2 * values[: made.n_components_] / 500, atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("shift", ["constant", "clip"])
    def test_with_values_missing_in_pairs_landmarks_have_the_coordinates_of_the_shifted_matrix(self, shift):
        rows = mixed_rows(500, 0.3)
        made = fitted(rows, GowerFeatures(missing="pairs", shift=shift))
        low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        gram = Gower(missing="pairs").of_columns(CATEGORICAL, low, high).fit(rows).gram(rows)
        expected, values = reference.constant_shift_embedding(1 - gram, made.n_components_, shift == "constant")
        np.testing.assert_allclose(products(made.transform(rows)), 2 * products(expected), atol=1e-5)
        positive = values[values > 0]
        assert made.n_components_ == np.searchsorted(np.cumsum(positive), 0.95 * positive.sum()) + 1

    def test_thresholds_bring_dissimilarities_near_those_of_all_values(self):
        rows = mixed_rows(200)
        made = fitted(rows, GowerFeatures(method="explicit", variance=1.0, n_thresholds=32))
        features = made.transform(rows).astype(float)
        distances = ((features[:, None] - features) ** 2).sum(axis=2) / 2
        low, high = rows.min(axis=0), rows.max(axis=0)
        errors = 1 - Gower().of_columns(CATEGORICAL, low, high).matrix(rows, rows) - distances
        assert errors.min() > -1e-6
        assert errors.max() < 1 / 64

    def test_landmarks_far_apart_are_never_equal(self):
        rows = np.tile(mixed_rows(60), (20, 1))
        made = fitted(rows, GowerFeatures(landmark_method="kmeans++", n_landmarks=60))
        assert sorted(made.landmarks_ % 60) == list(range(60))

    @pytest.mark.parametrize("method", ["nystrom", "explicit"])
    def test_later_values_beyond_the_range_count_as_its_ends_and_unknown_levels_differ_from_all(self, method):
        rows = mixed_rows(300)
        made = fitted(rows, GowerFeatures(method=method))
        far, end = rows[:1].copy(), rows[:1].copy()
        far[0, 0], end[0, 0] = 1e9, rows[:, 0].max()
        np.testing.assert_array_equal(made.transform(far), made.transform(end))
        unknown, others = rows[:1].copy(), rows[:1].copy()
        unknown[0, 2], others[0, 2] = 3, 99
        np.testing.assert_array_equal(made.transform(unknown), made.transform(others))
        assert np.abs(made.transform(unknown) - made.transform(rows[:1])).max() > 0.05

    def test_both_methods_place_later_unknown_and_missing_levels_and_values_alike(self):
        rows = mixed_rows(200, n_values=10)
        later = rows[:12].copy()
        later[0, 1] = later[1, 2] = later[2, 3] = 9  # unknown levels
        later[[3, 4, 5, 6], [0, 1, 2, 3]] = np.nan
        same = []
        for method in ("nystrom", "explicit"):
            made = fitted(rows, GowerFeatures(method=method, n_landmarks=200, variance=1.0))
            same.append(products(made.transform(later)))
            top = rows[:1].copy()
            top[0, 1] = 2
            np.testing.assert_array_equal(made.transform(later[:1]), made.transform(top))
        np.testing.assert_allclose(*same, atol=1e-4)


def test_a_column_without_a_value_among_the_landmarks_has_no_levels():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    of_columns = Gower().of_columns(np.zeros(2, dtype=bool), np.full(2, -4.0), np.full(2, 4.0))
    own, without = (
        of_columns.levels(np.column_stack([rows[:, 0], x]), np.eye(50)) for x in (rows[:, 1], np.full(50, np.nan))
    )
    assert len(own.starts) == 2
    assert len(without.starts) == 1


class TestLevels:
    """Clusters differ in several columns: levels of one column, however many rows have each, are none."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("method", "explicit"),
        in_turns([HierarchicalMDH(starts="pca2"), DePDDP(), RandomProjectionTree(n_projections=100)], [False, True]),
    )
    def test_independent_columns_of_few_levels_are_one_cluster_and_dependent_ones_are_not(self, method, explicit):
        rng = np.random.default_rng(0)
        levels, cluster = rng.integers(0, [2, 2, 2, 2, 3, 3], (600, 6)), rng.integers(0, 2, 600)
        feature_map = GowerFeatures(method="explicit") if explicit else "gower"
        column_types = {"categorical": [0, 1, 2, 4], "ordinal": [3, 5]}
        model = clone(method).set_params(feature_map=feature_map, column_types=column_types)
        assert model.fit(levels).n_clusters_ == 1
        levels[:, :5] = np.where(rng.random((600, 5)) < 0.05, levels[:, :5], cluster[:, None])
        agreement = np.mean(model.fit(levels).labels_ == cluster)
        assert model.n_clusters_ == 2
        assert max(agreement, 1 - agreement) > 0.99

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("method", "explicit"), in_turns([HierarchicalMDH(), RandomProjectionTree(n_projections=100)], [False, True])
    )
    def test_uniform_columns_are_one_cluster_though_their_curves_bend(self, method, explicit):
        rows = np.random.default_rng(0).uniform(size=(400, 4))
        feature_map = GowerFeatures(method="explicit" if explicit else "nystrom")
        assert clone(method).set_params(feature_map=feature_map).fit(rows).n_clusters_ == 1

    @pytest.mark.slow
    def test_clusters_of_continuous_columns_are_found_among_independent_categories(self):
        rng = np.random.default_rng(0)
        cluster = rng.integers(0, 3, 600)
        rows = rng.normal(size=(600, 4)) + 8 * rng.uniform(size=(3, 4))[cluster]
        levels = rng.integers(0, [2, 2, 3, 3, 4], (600, 5))
        model = HierarchicalMDH(feature_map="gower", column_types={"categorical": [4, 5, 6, 7, 8]})
        labels = model.fit(np.hstack([rows, levels])).labels_
        assert model.n_clusters_ == 3
        assert adjusted_rand_index(cluster, labels) > 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", at_night([0, 1, 2]))
    def test_a_level_that_coincides_with_a_gap_between_numbers_does_not_hide_it(self, seed):
        rng = np.random.default_rng(seed)
        cluster = rng.integers(0, 2, 400)
        rows = np.column_stack([rng.normal(5.0 * cluster), cluster])
        model = HierarchicalMDH(feature_map="gower", column_types={"categorical": [1]}, random_state=seed)
        assert adjusted_rand_index(cluster, model.fit(rows).labels_) > 0.95

    def test_absent_columns_in_rows_of_a_level_make_no_clusters_in_few_columns(self):
        rng = np.random.default_rng(3)
        rows = np.column_stack([rng.normal(size=(400, 2)), rng.integers(0, 2, 400), rng.integers(0, 3, 400)])
        rows[rng.random(rows.shape) < 0.2] = np.nan
        model = HierarchicalMDH(feature_map="gower", column_types={"categorical": [2, 3]}, random_state=0)
        assert model.fit(rows[~np.isnan(rows).all(axis=1)]).n_clusters_ == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("settings", [{"missing": "pairs"}, {}, {"method": "explicit"}])
    def test_values_missing_at_random_make_no_clusters_but_columns_missing_together_do(self, settings):
        rng = np.random.default_rng(0)
        rows = np.hstack([rng.normal(size=(400, 4)), rng.integers(0, 2, (400, 4))])
        together, alone = rng.random(400) < 0.5, rng.random(rows.shape) < 0.2
        feature_map = GowerFeatures(**settings)
        model = HierarchicalMDH(feature_map=feature_map, column_types={"categorical": [4, 5, 6, 7]})
        assert model.fit(np.where(alone, np.nan, rows)).n_clusters_ == 1
        if "missing" not in settings:
            rows[together, :3] = np.nan
            assert adjusted_rand_index(together, model.fit(rows).labels_) == 1

    @pytest.mark.parametrize("method", ["nystrom", "explicit"])
    def test_a_missing_value_is_as_far_from_the_values_of_a_cluster_as_is_smoothed_out(self, method):
        rng = np.random.default_rng(1)
        cluster = rng.integers(0, 3, 600)
        complete = rng.normal(size=(600, 4)) + 8 * rng.permuted(np.tile(np.arange(3), (4, 1)), axis=1).T[cluster]
        complete[:, 3] = np.rint(complete[:, 3] / 8)
        rows = np.where(rng.random(complete.shape) < 0.15, np.nan, complete)
        rows = rows[~np.isnan(rows).all(axis=1)]
        made = GowerFeatures(method=method, n_components=8).fit(rows).map_
        for own, j in ((complete[cluster == k], j) for k in range(3) for j in range(4)):
            without = np.where(np.arange(4) == j, np.nan, own)
            change = (made(without) - made(own)).mean(axis=0, dtype=np.float64)
            size = np.linalg.norm(change)
            assert 0.99 * size < made.levels.widths_along(change[None] / size)[0] < 1.05 * size
        assert (
            RandomProjectionTree(n_projections=100, feature_map=GowerFeatures(method=method)).fit(rows).n_clusters_ == 3
        )

    def test_a_straight_curve_has_no_bend_and_both_methods_measure_the_same(self):
        values = np.sort(np.random.default_rng(0).uniform(size=33))
        slopes = np.array([[2.0, -1.0]])
        np.testing.assert_allclose(bend(values, values[:, None] * slopes + 3.0), 0.0, atol=1e-12)
        for share in (0.0, 0.3):
            rows = mixed_rows(1000, share, n_values=1000)[:, :1]
            sizes = []
            for method in ("nystrom", "explicit"):
                made = GowerFeatures(method=method, n_components=4, n_thresholds=64, missing="level").fit(rows).map_
                sizes.append(made.levels.widths_along(np.eye(4)))
            np.testing.assert_allclose(*sizes, rtol=0.1)

    def test_widths_along_directions_are_the_largest_changes_by_one_level(self):
        rows = mixed_rows(200)
        made = fitted(rows, GowerFeatures(variance=1.0)).map_
        changed = rows[:1].repeat(3, axis=0)
        changed[:, 2] = [0, 1, 2]
        features = made(changed).astype(np.float64)
        directions = np.random.default_rng(0).normal(size=(5, made.n_components))
        own = made.levels.positions[made.levels.starts[3] :][:3]  # after a bend and the two gaps of the ordinal column
        found = level_features([own], made.n_components).widths_along(directions)
        projections = features @ directions.T
        np.testing.assert_allclose(found, np.ptp(projections, axis=0), rtol=1e-4)

    def test_levels_of_many_columns_with_missing_values_take_little_memory(self):
        rng, n, d = np.random.default_rng(0), 200, 300
        rows = np.where(rng.random((n, d)) < 0.1, np.nan, rng.normal(size=(n, d)))
        kernel = Gower().fit(rows)
        tracemalloc.start()
        kernel.levels(rows, rng.normal(size=(n, 2)))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 40 * n * n * 8

    def test_the_absence_of_a_column_changes_features_as_on_average_and_as_in_rows_of_a_level(self):
        rows = mixed_rows(150, 0.02)
        made = fitted(rows, GowerFeatures(n_components=4, missing="pairs")).map_
        found = made.levels.positions[::-2]  # every change is a pair, whose first position is zero
        present = rows[~np.isnan(rows[:, 4])]
        without = np.where(np.arange(5) == 4, np.nan, present)
        changes = made(without) - made(present)
        for some in (np.full(len(present), True), present[:, 2] == 1):
            expected = changes[some].mean(axis=0)
            assert np.abs(found - expected).max(axis=1).min() < 1e-4

    def test_rows_that_show_the_absence_of_a_column_are_not_those_of_one_group_where_groups_take_turns(self):
        rng, group = np.random.default_rng(0), np.arange(400) % 2
        rows = np.column_stack([rng.normal(3 * group), rng.normal(size=(400, 2)), group])
        rows[rng.random(400) < 0.05, 1] = np.nan
        feature_map = GowerFeatures(n_components=4, missing="pairs").set_params(column_types={"categorical": [3]})
        made = feature_map.fit(rows).map_
        present = rows[~np.isnan(rows[:, 1])]
        changes = made(np.where(np.arange(4) == 1, np.nan, present)) - made(present)
        for own in (0, 1):
            expected = changes[present[:, 3] == own].mean(axis=0)
            errors = np.linalg.norm(made.levels.positions[::-2] - expected, axis=1)
            assert errors.min() < 0.3 * np.linalg.norm(expected)


class TestModels:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("feature_map", "n_passes"),
        [
            ("gower", 2),
            (GowerFeatures(missing="pairs"), 2),
            (GowerFeatures(method="explicit"), 3),
            (KernelPCAFeatures(kernel="gower"), 2),
        ],
    )
    def test_trees_find_clusters_of_incomplete_rows(self, feature_map, n_passes):
        rows = np.repeat(mixed_rows(600)[:, :1], 3, axis=1)
        rows[np.arange(600) % 10 == 0, 1] = np.nan
        model = HierarchicalMDH(feature_map=feature_map, starts="pca2", max_clusters=2).fit(rows)
        right = (rows[:, 0] > 3) == (rows[0, 0] > 3)
        assert np.mean((model.labels_ == model.labels_[0]) == right) > 0.99
        assert model.n_passes_ == n_passes
        with pytest.raises(ValueError, match="1 infinite"):
            model.predict(np.array([[0.0, np.inf, np.nan]]))

    def test_a_damaged_code_is_refused(self):
        made = fitted(mixed_rows(100), GowerFeatures(method="explicit")).map_
        for name, harm in (("knots", made.knots[::-1]), ("counts", made.counts * 2), ("centre", made.low)):
            with pytest.raises(ValueError, match="expected"):
                replace(made, **{name: harm}).check()


@pytest.mark.parametrize(
    ("rows", "parameters", "message"),
    [
        (
            np.where(np.arange(250).reshape(50, 5) == 7, np.nan, mixed_rows(50)),
            {"method": "explicit", "missing": "pairs"},
            "got 1 missing value: choose missing='level'",
        ),
        (np.full((50, 5), np.inf), {}, "expected finite or missing .* first in row 0"),
        (mixed_rows(50) * 1e200, {}, r"expected values up to 1e\+150"),
        (np.full((9, 5), np.nan), {}, "got missing values only"),
        (mixed_rows(50), {"weights": [1, 2]}, "expected 5 weights, one for each column; got 2"),
        (np.arange(1100.0)[:, None] * np.ones(5), {"method": "explicit"}, "at most 1000 levels .* column 2 has more"),
        (mixed_rows(5000), {"method": "explicit", "n_thresholds": 4000}, "at most 4096 levels and thresholds"),
    ],
)
def test_bad_input_is_named(rows, parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(rows, GowerFeatures(**parameters))


class TestNumbers:
    """Columns of numbers are features of their own for trees: what they show alone is found."""

    @pytest.fixture
    def table(self):
        rng = np.random.default_rng(0)
        side = rng.integers(0, 2, 900)
        size = rng.normal(size=900)
        weight = size + 0.08 * rng.normal(size=900) + 0.6 * side  # two thin clouds side by side
        texts = {name: np.array(list("pqrstu"))[rng.integers(0, 6, 900)] for name in ("cut", "colour", "clarity")}
        return pytest.importorskip("pandas").DataFrame({"size": size, "weight": weight, **texts}), side

    @pytest.mark.slow
    def test_trees_find_in_a_mixed_table_what_its_numbers_show(self, table):
        rows, side = table
        model = HierarchicalMDH(feature_map="gower").fit(rows)
        assert adjusted_rand_index(side, np.asarray(model.labels_)) > 0.95
        assert HierarchicalMDH(feature_map=GowerFeatures()).fit(rows).n_clusters_ == 1
        assert "weight" in model.why()

    def test_features_of_numbers_differ_as_those_of_two_even_levels(self, table):
        made = GowerFeatures(numbers=True).fit(table[0]).map_
        assert made.columns.tolist() == [0, 1]
        features = made(made.base.raw_landmarks).astype(float)
        apart = np.abs(features[:, None, -2:] - features[:, -2:]).mean(axis=(0, 1))
        np.testing.assert_allclose(apart, 0.5 * np.sqrt(1 / 5), rtol=1e-4)
        assert np.flatnonzero(made.levels.of_numbers).tolist() == [features.shape[1] - 2, features.shape[1] - 1]
        assert not GowerFeatures().fit(table[0]).map_.levels.of_numbers.any()

    def test_columns_of_few_values_or_few_rows_are_no_features_of_their_own(self, table):
        turn = np.arange(900)
        rows = table[0].assign(grade=turn % 9, gaps=np.where(turn % 3, turn / 2, np.nan))
        made = GowerFeatures(numbers=True).fit(rows)
        assert made.map_.columns.tolist() == [0, 1]
        with pytest.raises(ValueError, match="method='nystrom' with numbers=True; got 'explicit'"):
            GowerFeatures(numbers=True, method="explicit").fit(rows)

    def test_missing_numbers_are_those_of_one_of_the_landmarks_that_are_most_alike(self, table):
        complete = table[0]
        rows = complete.mask(np.random.default_rng(1).random(complete.shape) < [0.05, 0.05, 0, 0, 0])
        made = GowerFeatures(numbers=True, n_landmarks=300).fit(rows)
        lacks = (rows["size"].isna() & rows["weight"].notna()).to_numpy()
        found = made.transform(rows)[lacks, -2] / made.map_.factors[0] + made.map_.middle[0]
        landmarks = made.map_.base.raw_landmarks[:, :2]
        known = landmarks[~np.isnan(landmarks).any(axis=1)]
        for value, weight in zip(found, rows["weight"][lacks]):
            donor = np.abs(known[:, 0] - value).argmin()
            np.testing.assert_allclose(known[donor, 0], value, atol=1e-5)
            assert np.argsort(np.argsort(np.abs(known[:, 1] - weight)))[donor] <= 10  # of equal ones, the last
        assert np.corrcoef(found, complete["size"][lacks])[0, 1] > 0.9
        alone = np.concatenate([made.transform(rows[k : k + 1]) for k in range(20)])
        np.testing.assert_array_equal(made.transform(rows[:20]), alone)

    @pytest.mark.parametrize("n_lacking", [0, 45])
    def test_rows_without_any_number_fill_in_none(self, table, n_lacking):
        rows = table[0].copy()
        rows.iloc[:n_lacking, :2] = np.nan
        assert GowerFeatures(numbers=True).fit(rows).map_.columns.tolist() == ([] if n_lacking else [0, 1])
