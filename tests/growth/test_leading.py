"""Several directions of the rows, by deflation."""

from itertools import combinations

import dask.array as da
import numpy as np
import pytest

from mdh_dask import (
    ClusterabilityTree,
    DivisiveClustering,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    NormalisedCutTree,
    PCATree,
    RandomProjectionTree,
    load_model,
)
from mdh_dask._random import generator
from mdh_dask.projections import clusterable_direction, cutting_direction

MODELS = [
    ClusterabilityTree(),
    NormalisedCutTree(),
    MinimumDensityHyperplane(starts="pca2"),
    RandomProjectionTree(n_projections=60),
    DivisiveClustering(n_projections=60, projection="uniform_sphere", sample_size=400),
]


@pytest.fixture(scope="module")
def rows():
    """Four groups, at the corners of a rectangle in the plane of two of six columns."""
    rng = np.random.default_rng(0)
    corners = np.array([[0, 0], [9, 0], [0, 12], [9, 12]]) @ np.eye(2, 6)
    return rng.normal(size=(800, 6)) + np.repeat(corners, 200, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_directions_are_orthogonal_and_the_same_for_any_chunks_and_a_loaded_model(model, rows, tmp_path):
    model = model.fit(rows)
    found = model.directions(rows, 2)
    scaled = found * rows.std(axis=0)
    assert np.abs(scaled @ scaled.T - np.eye(2)).max() < 0.01  # scales are rounded to 12 bits
    np.testing.assert_array_equal(model.directions(da.from_array(rows, chunks=(137, 6)), 2), found)
    model.save(tmp_path / "m.zarr")
    np.testing.assert_array_equal(load_model(tmp_path / "m.zarr").directions(rows, 2), found)


@pytest.mark.parametrize("model", MODELS[:3], ids=lambda model: type(model).__name__)
def test_two_pursued_directions_show_four_groups_in_a_plane(model, rows):
    found = model.set_params(scale=False).fit(rows).directions(rows, 2)
    assert np.linalg.norm(found[:, :2], axis=1).min() > 0.95
    points = (rows @ found.T).reshape(4, 200, 2)
    means = points.mean(axis=1)
    apart = [np.linalg.norm(a - b) for a, b in combinations(means, 2)]
    assert min(apart) > 6 * points.std(axis=1).max()


@pytest.mark.parametrize(
    ("tree", "direction"), [(ClusterabilityTree, clusterable_direction), (NormalisedCutTree, cutting_direction)]
)
def test_each_direction_is_that_of_rows_without_those_before(tree, direction, rows):
    model = tree(scale=False).fit(rows)
    left, expected = rows - rows.mean(axis=0), []
    for k in range(2):
        expected.append(direction(left, generator(model.random_state, k), 1)[0][0])
        left = left - np.outer(left @ expected[-1], expected[-1])
    found = model.directions(rows, 2)
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=1)), 1, atol=1e-3)


def test_there_are_no_more_directions_than_rows_vary_along():
    flat = np.random.default_rng(0).normal(size=(200, 2)) @ np.array([[1.0, 1, 0], [0, 1, 1]])
    assert len(PCATree().fit(flat).directions(flat, 3)) == 2
    assert len(ClusterabilityTree().fit(np.ones((40, 3))).directions(np.ones((40, 3)), 2)) == 0


def test_directions_belong_to_features_if_there_is_a_map(rows):
    model = ClusterabilityTree(feature_map=KernelPCAFeatures(kernel="rbf", n_landmarks=50)).fit(rows)
    found = model.directions(rows, 2)
    assert found.shape == (2, model.feature_map_.n_components_)
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-9)
