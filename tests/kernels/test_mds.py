"""Multidimensional scaling: Euclidean distances come back, the stress falls, and other rows find their places."""

from typing import ClassVar

import dask.array as da
import numpy as np
import pytest
import zarr
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from mdh_dask import KernelPCAFeatures, MultidimensionalScaling


def rows_of(n=150, d=4, seed=0):
    """Two clusters in a few columns."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * [3, 2, 1, 0.5] + 12 * rng.integers(0, 2, (n, 1))


class TestMetric:
    @pytest.mark.parametrize("kind", ["rows", "numpy", "zarr", "dask"])
    def test_euclidean_distances_come_back_from_rows_and_from_their_matrix(self, kind):
        rows = rows_of()
        distances = cdist(rows, rows)
        given = {"rows": rows, "numpy": distances, "zarr": zarr.array(distances), "dask": da.from_array(distances, 40)}
        options = {"scale": False} if kind == "rows" else {"dissimilarity": "precomputed"}
        places = np.asarray(MultidimensionalScaling(variance=1.0, **options).fit_transform(given[kind]))
        assert places.shape == (150, 4)
        np.testing.assert_allclose(cdist(places, places), distances, atol=1e-3)

    def test_rows_beyond_the_landmarks_have_their_distances(self):
        rows = rows_of(600)
        places = MultidimensionalScaling(n_landmarks=30, variance=1.0, scale=False).fit_transform(rows)
        np.testing.assert_allclose(pdist(places), pdist(rows), atol=1e-3)

    def test_of_a_kernel_it_is_kernel_pca(self):
        rows = rows_of()
        scaled, mapped = MultidimensionalScaling(dissimilarity="rbf"), KernelPCAFeatures(kernel="rbf")
        a, b = (x.fit_transform(rows).astype(float) for x in (scaled, mapped))
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-4)


class TestNonMetric:
    def test_the_stress_falls_and_the_order_of_dissimilarities_is_kept_better_than_by_metric_scaling(self):
        rows = rows_of()
        distances = np.expm1(cdist(rows, rows) / 5)
        metric, other = (
            MultidimensionalScaling(dissimilarity="precomputed", n_components=3, metric=metric).fit(distances)
            for metric in (True, False)
        )
        assert all(after <= before * (1 + 1e-9) for before, after in zip(other.stresses_, other.stresses_[1:]))
        assert other.stress_ == other.stresses_[-1] < 0.5 * other.stresses_[0]
        upper = distances[np.triu_indices(150, 1)]
        a, b = (spearmanr(pdist(x.transform(distances)), upper).statistic for x in (metric, other))
        assert b > max(a, 0.99)

    def test_landmarks_stay_near_their_places_and_other_rows_come_near_to_their_distances(self):
        rows = rows_of(400)
        made = MultidimensionalScaling(n_landmarks=100, n_components=3, metric=False, scale=False).fit(rows)
        places = made.transform(rows).astype(float)
        spread = made.map_.places.std()
        assert np.abs(places[made.landmarks_] - made.map_.places).max() < 0.2 * spread
        assert spearmanr(pdist(places), pdist(rows)).statistic > 0.99


class TestLevels:
    types: ClassVar = {"continuous": [0, 1], "categorical": [2, 3, 4]}

    def rows(self, missing=0.0):
        rng = np.random.default_rng(0)
        rows = np.hstack([rng.normal(size=(20, 2)), rng.integers(0, 3, (20, 3))])
        rows[rng.random(rows.shape) < missing] = np.nan
        return rows

    @pytest.mark.parametrize("metric", [True, False])
    def test_levels_are_the_mean_places_of_rows_that_are_changed_to_them(self, metric):
        rows = self.rows(missing=0.1)
        feature_map = MultidimensionalScaling(
            dissimilarity="gower", metric=metric, n_components=3, column_types=self.types
        )
        levels = feature_map.fit(rows).map_.levels
        values = [0.0, 1.0, 2.0, *([np.nan] if np.isnan(rows[:, 4]).any() else [])]
        places = [feature_map.transform(np.where(np.arange(5) == 4, value, rows)).mean(axis=0) for value in values]
        np.testing.assert_allclose(levels.positions[levels.starts[-1] :], places, atol=1e-5)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (rows_of(), "expected a square array of the dissimilarities"),
        (-cdist(rows_of(), rows_of()), "expected dissimilarities of at least 0"),
        (1 + cdist(rows_of(), rows_of()), "0 of every row to itself"),
        (np.triu(cdist(rows_of(), rows_of())), "expected a symmetric matrix"),
    ],
)
def test_what_are_no_dissimilarities_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        MultidimensionalScaling(dissimilarity="precomputed").fit(X)
