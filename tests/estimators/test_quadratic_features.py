"""Columns and their products as features of a tree."""

import dask.array as da
import numpy as np
import pytest
from helpers import rings

from mdh_dask import HierarchicalMDH, ProjectionPursuitTree, QuadraticFeatures
from mdh_dask.metrics import adjusted_rand_index


def test_features_are_the_columns_and_each_product_once():
    X = np.random.default_rng(0).normal(3, 2, (50, 3))
    features = QuadraticFeatures(scale=False).fit_transform(X)
    a, b, c = X.T
    expected = np.column_stack([a, b, c, a * a, a * b, a * c, b * b, b * c, c * c])
    np.testing.assert_allclose(features, expected, rtol=1e-6)


def test_scaled_features_have_unit_variance_and_squares_are_not_their_columns_again():
    X = np.random.default_rng(0).normal(1000, 2, (2000, 3)) * [1, 1e-3, 1e3]
    features = QuadraticFeatures().fit_transform(X)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=0.01)
    assert np.abs(np.corrcoef(features.T) - np.eye(9)).max() < 0.1


@pytest.mark.slow
def test_one_split_parts_a_ball_from_the_ring_around_it_that_no_line_parts():
    X, y = rings(1000, (0.5, 5.0), sd=0.2, first=500)
    X = X * [1.0, 100.0] + [50.0, -3.0]  # far from the origin
    for method in (ProjectionPursuitTree, HierarchicalMDH):
        # More splits would cut the ring, which has valleys across its arcs.
        model = method(feature_map="products").as_divisive(max_levels=1).fit(X)
        assert model.n_clusters_ == 2
        assert adjusted_rand_index(y, model.labels_) > 0.99
    assert adjusted_rand_index(y, ProjectionPursuitTree(max_clusters=2).fit(X).labels_) < 0.2


def test_more_columns_than_are_multiplied_are_refused_before_any_work():
    X = da.from_array(np.ones((100, 61))).map_blocks(lambda block: pytest.fail("rows were read"), meta=np.ones((0, 0)))
    with pytest.raises(ValueError, match=r"at most 60 columns .* got 61\..*feature_map='quadratic'"):
        QuadraticFeatures().fit(X)
