"""Parameter sets of the publications, and the switches that they need."""

import numpy as np
import pytest
from benchmarks.published_settings import kernel_mdh, mdh, projection_pursuit, random_projections

from mdh_dask import (
    DivisiveClustering,
    MinimumDensityHyperplane,
    ProjectionPursuitTree,
)
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections.mdh import N_RANDOM, minimum_density_hyperplanes
from mdh_dask.simulate import gaussian_mixture


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(800, 4, 3, sd=0.6, random_state=5)
    return X.compute(), np.asarray(y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: random_projections(60),
        mdh,
        lambda: kernel_mdh(feature_map="quadratic"),
        lambda: projection_pursuit(3),
    ],
    ids=["rp", "mdh", "kernel mdh", "hppc"],
)
def test_trees_of_the_publications_find_separated_clusters(make, mixture):
    model = make().fit(mixture[0])
    assert adjusted_rand_index(mixture[1], model.labels_) > 0.9


def test_with_the_criterion_first_a_branch_whose_best_direction_has_no_valley_is_a_cluster():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(0, 1, 600) + np.repeat([-4.0, 4.0], 300), rng.normal(0, 20, 600)]
    settings = {"criterion": "variance", "n_projections": 200, "n_candidates": 1, "scale": False}
    found = [DivisiveClustering(criterion_first=first, **settings).fit(rows).n_clusters_ for first in (True, False)]
    assert found == [1, 2]


@pytest.mark.parametrize("sample_size", [10_000, None])
def test_fixed_directions_are_the_same_in_all_branches(sample_size, mixture):
    settings = {"projection": "uniform_sphere", "n_projections": 4, "scale": False, "stop_rule": "level"}
    model = DivisiveClustering(sample_size=sample_size, n_candidates=4, fixed_directions=True, **settings)
    tree = model.fit(mixture[0]).tree_
    planes = tree.planes[tree.left >= 0]
    assert len(planes) > 1
    own = model.set_params(fixed_directions=False).fit(mixture[0]).tree_
    assert len(np.unique(np.round(planes, 6), axis=0)) <= 4
    first, second = (set(map(tuple, np.round(tree.planes, 6))) for tree in (tree, own))
    assert first != second


def test_the_published_test_of_projection_pursuit_splits_a_normal_cloud_and_the_default_does_not():
    X = np.random.default_rng(0).normal(size=(400, 4))
    assert projection_pursuit(n_projections=50).fit(X).n_clusters_ > 1
    assert ProjectionPursuitTree(n_projections=50).fit(X).n_clusters_ == 1


def test_random_starts_are_pursued_in_all_directions(mixture):
    rows = mixture[0][:300]
    results = minimum_density_hyperplanes(rows, np.random.default_rng(0), starts="random")
    assert len(results) == N_RANDOM
    again = minimum_density_hyperplanes(rows, np.random.default_rng(0), starts="random", max_components=2)
    np.testing.assert_array_equal([r.direction for r in results], [r.direction for r in again])
    assert results[0].relative_depth > 1
    assert MinimumDensityHyperplane(starts="random").fit(rows).n_clusters_ == 2
