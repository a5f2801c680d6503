"""Distances of rows from separators, confidence, outliers."""

import dask
import dask.array as da
import numpy as np
import pytest
import reference
from helpers import noting_reads
from hypothesis import given
from hypothesis import strategies as st
from trees import trees

from mdh_dask import PCATree, RandomProjectionTree
from mdh_dask.density.kde import threshold_error
from mdh_dask.tree.routing import margins_of


def nodes_of(tree):
    nodes = [
        {
            "id": i,
            "plane": tree.planes[i],
            "threshold": tree.thresholds[i],
            "origin": tree.origin[i],
            "width": tree.width[i],
        }
        for i in range(tree.n_nodes)
    ]
    for i, node in enumerate(nodes):
        node["bins"] = len(tree.histogram(i)) > 0 and tree.planes[i].any()
        if tree.left[i] >= 0:
            node["children"] = nodes[tree.left[i]], nodes[tree.right[i]]
    return nodes


@given(trees, st.integers(0, 2**32))
def test_the_loop_equals_its_twin(tree, seed):
    rows = np.random.default_rng(seed).integers(-3, 4, (20, tree.n_features)) / 2
    margins = margins_of(tree)
    tails = [margins.tails[a:b] for a, b in zip(margins.first_bin, margins.first_bin[1:])]
    expected = [reference.row_margin(row, nodes_of(tree)[0], margins.scale, tails) for row in rows]
    np.testing.assert_allclose(margins.of_rows(rows), expected, rtol=1e-14)


def two_groups(n_rows, seed, apart=4.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 2)) + np.repeat([[0.0, 0.0], [apart, 0.0]], n_rows // 2, axis=0)


def test_the_standard_error_of_a_threshold_is_its_spread_over_samples():
    thresholds, errors = [], []
    for seed in range(12):
        tree = (
            PCATree(random_state=seed, scale=False).as_divisive(max_levels=1).fit(two_groups(2000, seed)[:, :1]).tree_
        )
        direction = tree.planes[0, 0]
        thresholds.append(tree.thresholds[0] / direction)
        histogram = tree.histogram(0)
        errors.append(threshold_error(*tree.density(0), histogram[1:-1].sum(), tree.bandwidth[0]) / abs(direction))
    assert 0.6 < np.mean(errors) / np.std(thresholds) < 1.7


@pytest.fixture(scope="module")
def model():
    return RandomProjectionTree(n_projections=100).fit(two_groups(2000, 0))


class TestModels:
    def test_confidence_is_a_half_on_a_separator_and_grows_with_the_distance_from_it(self, model):
        normal, threshold = model.tree_.planes[0], model.tree_.thresholds[0]
        steps = np.array([0.0, 0.02, 0.1, 0.5, 2.0])
        rows = (threshold + steps)[:, None] * normal / (normal @ normal)
        assert model.confidence(rows)[0] == pytest.approx(0.5, abs=0.01)
        assert (np.diff(model.confidence(rows)) >= 0).all()
        assert (np.diff(model.boundary_distance(rows)) > 0).all()
        assert model.confidence(rows)[-1] > 0.95

    def test_labels_that_another_sample_changes_have_low_confidence(self, model):
        new, sure = two_groups(4000, 9), []
        other = RandomProjectionTree(n_projections=100).fit(two_groups(2000, 1))
        swap = np.array([0, 1]) if np.mean(other.predict(new) == model.predict(new)) > 0.5 else np.array([1, 0])
        changed = swap[other.predict(new)] != model.predict(new)
        sure = model.confidence(new)
        assert 0 < changed.mean() < 0.05
        assert np.median(sure[changed]) < 0.95 < np.median(sure[~changed])

    def test_at_most_the_level_of_the_fitted_rows_are_outliers_and_far_rows_always_are(self, model):
        rows = two_groups(2000, 0)
        for level in (0.001, 0.02, 0.1):
            assert model.outliers(rows, level).mean() <= level
        assert model.outliers(rows, 0.1).mean() > 0.01
        assert model.outliers(rows + 40.0).all()
        with pytest.raises(ValueError, match="a level from 0 to 1"):
            model.outliers(rows, 2)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_rounded_rows_of_the_fit_count_themselves(self, seed):
        rng = np.random.default_rng(seed)
        rows = np.round(rng.normal(size=(1100, 4)) + np.repeat([[0, 0, 0, 0], [6, 0, 0, 0]], 550, axis=0))
        model = RandomProjectionTree(random_state=seed).fit(rows)
        assert model.tree_.jitter  # rows were counted beside their places
        assert model.score_samples(rows).min() > 0
        assert model.outliers(rows + 40.0).all()

    def test_no_more_rows_have_a_low_score_in_a_tree_whose_leaves_lie_at_different_depths(self):
        rng = np.random.default_rng(0)
        around = [rng.normal(size=(100, 2)) * 0.4 + [7 * np.cos(at), 7 * np.sin(at)] for at in range(6)]
        rows = np.concatenate([rng.normal(size=(400, 2)), *around])
        model = RandomProjectionTree(n_projections=100, feature_map="rbf").fit(rows)
        depths = model.tree_.level[model.tree_.leaves]
        assert depths.max() > depths.min() + 2
        scores = np.sort(model.score_samples(rows))
        lower = np.arange(1, len(scores) + 1)[scores < 1] / len(scores)
        assert (lower <= scores[scores < 1] + 1e-12).all()

    def test_labels_and_confidence_share_a_pass(self, model):
        lazy, read = noting_reads(da.from_array(two_groups(500, 0), chunks=(100, 2)))
        with dask.config.set(scheduler="synchronous"):
            dask.compute(model.predict(lazy), model.confidence(lazy), model.outliers(lazy))
        assert sum(read) == 500
