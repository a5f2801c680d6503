"""Support vector clustering of any number of rows: landmarks, levels, the sweep, and its scikit-learn face."""

import dask.array as da
import numpy as np
import pytest
import reference_contours
from helpers import at_night, in_turns, rings
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import SupportVectorClustering
from mdh_dask._jit.hashing import in_first_half
from mdh_dask._jit.landmarks import count_nearest, nearest_points, totals_of_widths
from mdh_dask.growth.scaling import robust_standardiser
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.support_vectors.dual import smallest_sphere
from mdh_dask.support_vectors.model import N_BINS, bin_of, level_of_counts
from mdh_dask.support_vectors.sweep import Rows, connecting_edges


def groups(n=2000, d=3, k=3, seed=0):
    """Rows of round groups six standard deviations apart, and their groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, k, n)
    return rng.normal(size=(n, d)) + 6.0 * np.sqrt(3 / d) * group[:, None], group


def _never(block):
    pytest.fail("rows were read")


@pytest.fixture(scope="module")
def rows():
    return groups()


@settings(max_examples=30)
@given(seeds, st.integers(1, 4), st.sampled_from([np.uint8, np.float32, np.float64]))
def test_rows_against_landmarks_equal_their_twins(seed, d, dtype):
    rng = np.random.default_rng(seed)
    rows, points = rng.integers(0, 9, (20, d)).astype(dtype), rng.normal(4, 3, (7, d))
    centre, scale, chosen = rng.normal(size=d), rng.uniform(0, 2, d), rng.random(7) < 0.5
    first_row, columns = rng.random(20) < 0.5, np.ascontiguousarray(points.T)
    some = [reference_contours.nearest(row, centre, scale, points, chosen) for row in rows.astype(float)]
    every = [reference_contours.nearest(row, centre, scale, points, np.ones(7)) for row in rows.astype(float)]
    assert nearest_points(rows, centre, scale, columns).tolist() == every
    counts = np.zeros((2, 7), np.int64)
    count_nearest(rows, centre, scale, columns, chosen, first_row, counts)
    assert counts[0].tolist() == np.bincount(every, minlength=7).tolist()
    of_first = [v for v, first in zip(some, first_row) if first and v >= 0]
    assert counts[1].tolist() == np.bincount(np.array(of_first, int), minlength=7).tolist()
    weights, widths = rng.dirichlet(np.ones(7), 2), np.array([0.1, 2.0])
    totals = totals_of_widths(rows, centre, scale, columns, weights, widths)
    standardised = (rows - centre) * scale
    for w in range(2):
        expected = reference_contours.totals(standardised, points, weights[w], widths[w])
        np.testing.assert_allclose(totals[:, w], expected, rtol=1e-9, atol=1e-15)


class TestLevels:
    @pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9])
    def test_a_share_of_the_rows_is_under_the_level(self, share):
        totals = np.random.default_rng(1).beta(2, 5, 100_000)
        level = level_of_counts(np.bincount(bin_of(totals), minlength=N_BINS), share)
        assert np.mean(totals < level) == pytest.approx(share, abs=2e-4)


class TestScale:
    def test_one_row_changes_neither_shift_nor_scale(self):
        rows = np.random.default_rng(0).normal(size=(500, 3))
        far = rows.copy()
        far[7] = 1e6
        one, other = robust_standardiser(rows, True), robust_standardiser(far, True)
        np.testing.assert_allclose(one.scale, other.scale, rtol=0.01)
        np.testing.assert_allclose(one.centre, other.centre, atol=0.1)


class TestAnySize:
    @pytest.mark.parametrize(("n_landmarks", "outliers"), in_turns([200, 5000], [0.05, 0.3]))
    def test_the_share_of_all_rows_outside_is_the_one_asked_for(self, rows, n_landmarks, outliers):
        svc = SupportVectorClustering(width=0.5, share_outside=outliers, n_landmarks=n_landmarks, unclassified="leave")
        labels = svc.fit_predict(rows[0])
        assert np.mean(labels == -1) == pytest.approx(outliers, abs=0.01)
        np.testing.assert_array_equal(labels == -1, svc.boundary_distance(rows[0]) < 0)

    def test_counted_landmarks_draw_the_contour_of_all_rows(self, rows):
        X = rows[0][:2000]
        whole = SupportVectorClustering(width=0.2, share_outside=0.2).fit(X).score_samples(X)
        some = SupportVectorClustering(width=0.2, share_outside=0.2, n_landmarks=500).fit(X).score_samples(X)
        assert np.corrcoef(whole, some)[0, 1] > 0.99

    def test_landmarks_too_far_apart_for_the_width_are_warned_of(self, rows):
        with pytest.warns(UserWarning, match=r"expected landmarks at most 0\.05 apart for width=100; .*n_landmarks="):
            SupportVectorClustering(width=100.0, n_landmarks=100).fit(rows[0])


def test_clusters_are_numbered_by_all_rows_also_those_outside_the_contour():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_t(1.5, size=(300, 2)), rng.normal(30, 0.3, (250, 2))])
    model = SupportVectorClustering(width=3.0, share_outside=0.2, max_clusters=2, scale=False).fit(X)
    assert np.bincount(model.labels_).tolist() == model.state_.sizes.tolist() == [299, 251]


class TestSweep:
    @pytest.mark.slow
    def test_groups_and_rings_are_found(self, rows):
        for n_landmarks, X, group in ((900, *(array[:900] for array in rows)), (400, *rings(1000, sd=0.2, seed=1))):
            svc = SupportVectorClustering(n_landmarks=n_landmarks).fit(X)
            assert svc.n_clusters_ == group.max() + 1
            assert adjusted_rand_index(svc.labels_, group) > 0.95

    @pytest.mark.slow
    def test_rows_in_the_order_of_their_groups_are_divided_as_in_any_order(self):
        X, group = groups(n=600, k=5)
        order = np.argsort(group, kind="stable")
        assert adjusted_rand_index(SupportVectorClustering().fit_predict(X[order]), group[order]) > 0.95

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("n", "d"), at_night([(400, 2), (20, 1), (3, 10), (3, 2), (20, 10), (400, 1), (400, 10)], 3)
    )
    def test_a_cloud_is_one_cluster(self, n, d):
        rng = np.random.default_rng(n + d)
        normal = rng.normal(size=(n, d))
        for X in (normal, rng.uniform(size=(n, d)), normal / np.sqrt(rng.chisquare(3, (n, 1)) / 3)):
            assert SupportVectorClustering().fit(X).n_clusters_ == 1

    @pytest.mark.slow
    def test_a_cloud_of_integers_is_one_cluster(self):
        rng, split = np.random.default_rng(0), 0
        for X in (rng.integers(0, 5, (400, 2)), rng.poisson(2, (400, 3)), np.rint(rng.normal(3, 1, (400, 2)))):
            split += SupportVectorClustering().fit(X).n_clusters_ > 1
            split += SupportVectorClustering(n_landmarks=150).fit(X.astype(np.uint8)).n_clusters_ > 1
        assert split <= 1  # of six, each with a probability of one in 40

    @pytest.mark.slow
    def test_the_contour_of_the_chosen_width_is_apart_between_the_clusters(self):
        X, group = rings(1000, sd=0.2)
        svc = SupportVectorClustering().fit(X)
        angle = np.linspace(0, 2 * np.pi, 60)
        middle = (np.linalg.norm(X[group == 0], axis=1).mean() + np.linalg.norm(X[group == 1], axis=1).mean()) / 2
        between = middle * np.column_stack([np.cos(angle), np.sin(angle)])
        assert (svc.boundary_distance(between) < 0).mean() > 0.9

    @pytest.mark.slow
    def test_constants_duplicates_and_a_shift_change_nothing(self, rows):
        X = rows[0][:450]
        labels = SupportVectorClustering().fit_predict(X)
        wider = np.column_stack([X + 1000.0, np.full(450, 7.0)])
        assert adjusted_rand_index(SupportVectorClustering().fit_predict(wider), labels) == 1
        assert SupportVectorClustering().fit(np.repeat(X[:250], 3, axis=0)).n_clusters_ == 3
        assert SupportVectorClustering().fit(np.ones((50, 2))).n_clusters_ == 1
        assert SupportVectorClustering(width=2.0).fit(np.repeat([[0.0], [9.0]], 40, axis=0)).n_clusters_ == 2

    @pytest.mark.slow
    def test_no_more_clusters_than_asked_for(self, rows):
        for options in ({}, {"width": 1.0}):
            for most in (1, 2):
                found = SupportVectorClustering(max_clusters=most, **options).fit(rows[0][:450]).n_clusters_
                assert found == most

    @pytest.mark.slow
    def test_its_table_says_what_was_tried_and_chosen(self, rows):
        svc = SupportVectorClustering(n_landmarks=400).fit(rows[0])
        table = svc.sweep_
        assert table["chosen"].sum() == 1
        chosen = table[table["chosen"]][0]
        assert (chosen["width"], chosen["n_confirmed"]) == (svc.width_, 3)
        assert (np.diff(np.unique(table["width"])) > 0).all()
        assert np.isin([0.0, 0.1, 0.3, 0.6], table["outliers"]).all()
        assert table["n_clusters"].max() >= 3
        assert len(SupportVectorClustering(width=1.0).fit(rows[0]).sweep_) == 0


class TestFace:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"width": 0.0}, "The 'width' parameter of SupportVectorClustering must be"),
            ({"share_outside": 1.0}, "The 'share_outside' parameter of SupportVectorClustering must be"),
            ({"n_segment": 0}, "The 'n_segment' parameter of SupportVectorClustering must be"),
            ({"adjacency": "delaunay"}, "expected 2 to 4 columns with adjacency='delaunay'; got 5"),
            ({"adjacency": "complete", "n_landmarks": 4000}, "at most 3000 landmarks with adjacency='complete'"),
        ],
    )
    def test_bad_parameters_are_refused_before_rows_are_read(self, options, message):
        X = da.zeros((5000, 5), chunks=(100, 5)).map_blocks(_never, meta=np.ones((0, 0)))
        with pytest.raises(ValueError, match=message):
            SupportVectorClustering(**options).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("in_groups", [False, True])
@pytest.mark.parametrize("seed", at_night(range(4), 2))
def test_a_stray_row_of_a_contour_does_not_hide_the_valley_between_two_clusters(seed, in_groups):
    rng, side = np.random.default_rng(seed), np.arange(4000) % 2
    points = rng.normal(size=(4000, 4)) + 5 * np.outer(side, np.eye(4)[0])
    hashes = np.sort(rng.integers(2**64, size=4000, dtype=np.uint64))
    rows = Rows(points, hashes, in_first_half(hashes), in_groups)
    drawn = np.flatnonzero(rows.first)[:500]
    marks, labels = points[drawn], side[drawn]
    stray = np.argmin(np.where(labels == 0, np.abs(marks - 1.2 * np.eye(4)[0]).sum(axis=1), np.inf))
    labels[stray] = 1
    edges = smallest_sphere(marks, np.ones(len(marks)), 0.5, 1.0).highest_first(connecting_edges(marks, 16))
    assert rows.confirmed(edges, labels, rows.nearest(marks), level=0.01).labels.max() == 1
