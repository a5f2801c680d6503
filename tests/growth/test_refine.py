"""Refining: hyperplanes turned by all rows, whatever their chunks, to lower densities and never to higher ones."""

from dataclasses import replace

import numpy as np
import pytest
import reference_mdh
from helpers import unit
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import DivisiveClustering, MinimumDensityHyperplane, PCATree, drift
from mdh_dask._jit.sums import QUANTUM, RowSums, sum_rows_in_bins
from mdh_dask.chunks import run
from mdh_dask.growth.refine import ROUNDS, Splitter, refine
from mdh_dask.growth.scaling import Standardiser
from mdh_dask.growth.sweeps import N_BINS, ValleySums, valley_of
from mdh_dask.metrics import contingency_table, normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.tree.structure import tree_from_nodes

UNSCALED = Standardiser(np.zeros(2), np.ones(2))


def nmi(groups, labels):
    return normalized_mutual_information(contingency_table(groups, labels))


def densities(tree):
    """Density on the hyperplane of every split."""
    nodes = [tree.density(node) for node in np.flatnonzero(tree.left >= 0)]
    return np.array([np.interp(node.threshold, node.position, node.density) for node in nodes])


def no_row_sums(n_directions, n_bins, n_features):
    counts = np.zeros((n_directions, n_bins), dtype=np.int64)
    ends = np.full((2, n_directions), [[np.inf], [-np.inf]])
    return RowSums(counts, np.zeros((n_directions, n_bins, n_features)), *ends)


@pytest.fixture(scope="module")
def mixture():
    return [a.compute() for a in gaussian_mixture(20_000, 20, 6, centre_range=(-10, 10), sd=4.5, random_state=0)]


@pytest.fixture(scope="module")
def models(mixture):
    rows = mixture[0]
    return tuple(
        DivisiveClustering(n_projections=300, sample_size=1000, refine=refine).fit(rows) for refine in (False, True)
    )


def test_every_hyperplane_comes_to_a_lower_density(models):
    rough, refined = (densities(model.tree_) for model in models)
    assert (refined < rough).all()
    assert (refined < 0.5 * rough).any()
    assert (models[1].tree_.relative_depth > models[0].tree_.relative_depth)[models[0].tree_.left >= 0].all()


def test_the_clusters_come_closer_to_the_groups_and_stay_as_many(models, mixture):
    rough, refined = models
    assert refined.n_clusters_ == rough.n_clusters_
    assert nmi(mixture[1], refined.labels_) > nmi(mixture[1], rough.labels_) + 0.005


def test_rows_far_from_zero_are_counted_in_bins_along_the_turned_directions(mixture):
    rows = mixture[0].astype(np.float64)  # in float32 the shift would cost digits
    near, far = (
        DivisiveClustering(n_projections=300, sample_size=1000, refine=True).fit(rows + shift) for shift in (0, -1e4)
    )
    np.testing.assert_array_equal(far.labels_, near.labels_)
    np.testing.assert_allclose(far.tree_.relative_depth, near.tree_.relative_depth, rtol=1e-6)
    assert all(far.tree_.histogram(node)[[0, -1]].sum() == 0 for node in np.flatnonzero(far.tree_.left >= 0))
    moved = rows[:3000] + np.where(mixture[1][:3000, None] == 0, 9.0, 0.0)
    assert drift(far, moved - 1e4).alarms == drift(near, moved).alarms != ()
    assert not drift(far, rows[:3000] - 1e4).found


def test_refining_takes_at_most_so_many_passes_more(models):
    assert models[0].n_passes_ < models[1].n_passes_ <= models[0].n_passes_ + ROUNDS + 2


def test_a_hyperplane_pursued_on_all_rows_stays_about_where_it_is():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3)) * [1.0, 2.0, 3.0]
    rows[:1000, 0] += 5
    rough, refined = (
        MinimumDensityHyperplane(refine=refine, bandwidth="multimodal").fit(rows) for refine in (False, True)
    )
    cosine = unit(rough.direction_ * rows.std(axis=0)) @ unit(refined.direction_ * rows.std(axis=0))
    assert cosine > 0.99
    # Both are read in bins of a fifth of a bandwidth, which lie differently along both directions.
    assert refined.density_ <= rough.density_ * 1.005


@pytest.mark.parametrize("shape", [(2000, 1), (500, 1)])
def test_rows_of_few_values_are_refined_though_no_row_is_near_a_split(shape):
    rows = np.random.default_rng(1).choice([0.0, 1.0, 4.0], shape)
    rough, refined = (PCATree().as_divisive(refine=refine).fit(rows) for refine in (False, True))
    assert rough.n_clusters_ > 1
    np.testing.assert_array_equal(refined.labels_, rough.labels_)
    assert (refined.tree_.relative_depth >= 0.9 * rough.tree_.relative_depth)[rough.tree_.left >= 0].all()


def test_steps_along_which_the_gradient_hardly_changes_are_not_remembered():
    splitter = Splitter(0, np.array([1.0, 0.0]), 1.0, 1.0, 1.0, 0.0)
    for size in (1e-170, 9e-171, 8e-171):
        splitter.propose()
        valleys = np.zeros((1, len(splitter.trials), N_BINS), dtype=np.int64)
        valleys[..., [0, -1]] = 1
        sums = np.zeros((*valleys.shape, 2))
        sums[..., 40, 1] = size
        ends = np.zeros(valleys.shape[:2])
        axes = replace(splitter.axes(UNSCALED), origin=np.full(len(ends[0]), -4.0))
        splitter.learn(ValleySums(np.array([2]), valleys, sums, ends, ends), 0, axes)
    assert np.isfinite(splitter.trials).all()


def test_a_hyperplane_at_the_wrong_angle_is_turned_to_the_valley():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4000, 2))
    rows[::2, 0] += 6
    rows -= rows.mean(axis=0)
    angle = 0.4
    direction = np.array([np.cos(angle), np.sin(angle)])
    projections = rows @ direction
    origin, width = projections.min() - 1, (np.ptp(projections) + 2) / 200
    bins = np.bincount(((projections - origin) / width).astype(int), minlength=200)
    split = {"left": 1, "right": 2, "n_rows": 4000, "plane": direction, "threshold": 0.0, "relative_depth": 1.0}
    split |= {"origin": origin, "width": width, "bandwidth": 0.3, "bins": bins}
    leaf = {"left": -1, "right": -1, "n_rows": 2000}
    tree = tree_from_nodes([split, leaf, leaf], 2)
    turned, _ = run(refine(tree, UNSCALED), rows)
    assert unit(turned.planes[0])[0] > 0.999
    assert densities(turned)[0] < 0.5 * densities(tree)[0]


class TestValley:
    @given(seeds, st.integers(1, 40), st.integers(1, 4), st.sampled_from([np.float32, np.float64]))
    def test_sums_equal_their_twin_up_to_the_quantum(self, seed, n, d, dtype):
        rng = np.random.default_rng(seed)
        rows, directions = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(2, d))
        centre, scale = rng.normal(size=d), rng.uniform(0.5, 2, d)
        origin, width = rng.normal(-2, 1, 2), rng.uniform(0.1, 0.5, 2)
        chosen = np.flatnonzero(rng.integers(0, 2, n))
        total = no_row_sums(2, 12, d)
        sum_rows_in_bins(rows, chosen, directions, origin, width, centre, scale, total)
        counts, sums, low, high = reference_mdh.sum_rows_in_bins(
            rows[chosen], directions, origin, width, centre, scale, 12
        )
        np.testing.assert_array_equal(total.counts, counts)
        np.testing.assert_allclose(total.sums, sums, atol=n * QUANTUM)
        np.testing.assert_array_equal(total.sums, np.rint(total.sums / QUANTUM) * QUANTUM)
        np.testing.assert_allclose([total.low, total.high], [low, high], rtol=1e-12, atol=1e-12)

    @given(seeds)
    def test_gradient_is_that_of_central_differences_of_the_exact_density(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(800, 3)) + np.repeat([[-2.5, 0, 0], [2.5, 0, 0]], 400, axis=0)
        v, h = unit(np.array([1.0, 0.2, -0.3]) + 0.1 * rng.normal(size=3)), 0.4
        total = no_row_sums(1, N_BINS, 3)
        origin, width = np.array([-4 * h]), np.array([8 * h / N_BINS])
        sum_rows_in_bins(rows, np.arange(800), v[None], origin, width, np.zeros(3), np.ones(3), total)
        valley = valley_of(800, total.counts[0], total.sums[0], v, float(origin[0]), h)
        if not np.isfinite(valley.place):
            return
        along = unit(np.cross(v, rng.normal(size=3)))

        def lowest(t):
            offsets = valley.place + np.linspace(-0.2, 0.2, 2001) * h
            return reference_mdh.penalised_density(rows, v + t * along, offsets, h, 99.0, 1.0, 1.0).min()

        assert valley.value == pytest.approx(lowest(0.0), rel=0.05)  # few rows in a valley, by the bin
        difference = (lowest(1e-3) - lowest(-1e-3)) / 2e-3
        assert valley.gradient @ along == pytest.approx(difference, rel=0.1, abs=2e-3)
        assert valley.gradient @ v == pytest.approx(0, abs=1e-12)

    def test_a_density_that_only_falls_has_no_valley(self):
        counts = np.arange(N_BINS)[::-1]
        assert np.isnan(valley_of(100, counts, np.zeros((N_BINS, 2)), np.array([1.0, 0.0]), 0.0, 1.0).place)
