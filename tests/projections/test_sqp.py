"""Hyperplanes by sequential quadratic programming: exact gradients, constraints, the lowest of the plane, laws."""

import numpy as np
import pytest
import reference_mdh
from helpers import DEGENERATE_ROWS, at_night, in_turns, unit
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask.projections.mdh import MOST_COMPONENTS
from mdh_dask.projections.thesis import ConstrainedDensity, constrained_hyperplane

alphas = st.sampled_from([0.01, 0.3, 0.9, 1.5])
bandwidths = st.sampled_from([0.1, 0.35, 1.0])


def clouds(seed, n, d, gap=3.0):
    """Some clouds at random places, stretched at random."""
    rng = np.random.default_rng(seed)
    centres = gap * rng.normal(size=(rng.integers(1, 5), d))
    return rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + centres[rng.integers(0, len(centres), n)]


def density(rows, direction, offsets, h):
    """The kernel density from its formula, without penalty."""
    return reference_mdh.penalised_density(rows, direction, offsets, h, 1e9, 1.0, 1.0)


def lowest_of_the_plane(rows, h, alpha):
    """The lowest density over a grid of angles and of offsets within the bound."""
    lowest = np.inf
    for angle in np.linspace(0, np.pi, 361):
        v = np.array([np.cos(angle), np.sin(angle)])
        p = rows @ v
        offsets = p.mean() + np.linspace(-alpha, alpha, 401) * p.std()
        lowest = min(lowest, density(rows, v, offsets, h).min())
    return lowest


def differences(function, x, step=1e-6):
    """The derivatives of a function by every entry of `x`, from central differences, on the last axis."""
    return np.stack([(function(x + e) - function(x - e)) / (2 * step) for e in step * np.eye(len(x))], axis=-1)


class TestProblem:
    @given(seeds, st.integers(2, 60), st.integers(1, 5), alphas, bandwidths)
    def test_gradients_are_those_of_central_differences(self, seed, n, d, alpha, h):
        rows = clouds(seed, n, d)
        rows -= rows.mean(axis=0)
        problem = ConstrainedDensity(rows / np.linalg.norm(rows, 2) * np.sqrt(n), h, alpha)
        random = np.random.default_rng(seed)
        x = np.append(unit(random.normal(size=d)), random.uniform(-1, 1))
        gradient = problem.objective(x)[1]
        np.testing.assert_allclose(gradient, differences(lambda y: problem.objective(y)[0], x), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(problem.room_gradient(x), differences(problem.room, x), rtol=1e-4, atol=1e-6)

    @given(seeds, st.integers(2, 60), st.integers(1, 5), alphas, st.floats(-1, 1), st.integers(0, 30))
    def test_solutions_keep_to_the_sphere_and_the_bound_after_any_number_of_steps(
        self, seed, n, d, alpha, share, n_steps
    ):
        rows = clouds(seed, n, d)
        rows -= rows.mean(axis=0)
        problem = ConstrainedDensity(rows / np.linalg.norm(rows, 2) * np.sqrt(n), 0.3, alpha)
        v = unit(np.random.default_rng(seed).normal(size=d))
        start = np.append(v, share * alpha * problem.sd(v))
        x = problem.solve(start, n_steps)
        assert np.linalg.norm(x[:-1]) == pytest.approx(1, abs=1e-12)
        assert problem.room(x).min() >= -1e-12
        assert problem.total(x) <= problem.total(start)


class TestHyperplane:
    @given(seeds, st.integers(2, 150), st.integers(1, 6), alphas, st.floats(-1, 1), bandwidths | st.none())
    def test_keeps_to_the_bound_and_never_lies_above_its_start(self, seed, n, d, alpha, share, bandwidth):
        rows = clouds(seed, n, d)
        start = unit(np.random.default_rng(seed).normal(size=d))
        result = constrained_hyperplane(rows, start, share * alpha, bandwidth=bandwidth, alpha=alpha)
        p = rows @ result.direction
        assert np.linalg.norm(result.direction) == pytest.approx(1)
        assert abs(result.offset - p.mean()) <= alpha * p.std() + 1e-6
        first = (rows @ start).mean() + share * alpha * (rows @ start).std()
        h = result.bandwidth
        assert result.density <= density(rows, start, first, h) * (1 + 1e-6) + 1e-12
        assert result.density == pytest.approx(float(density(rows, result.direction, result.offset, h)), rel=1e-6)

    @pytest.mark.parametrize(("seed", "alpha"), in_turns(range(6), [0.05, 0.3, 0.9]))
    def test_in_two_dimensions_is_a_stationary_point(self, seed, alpha):
        rows, random = clouds(seed, 200, 2), np.random.default_rng(seed)
        rows -= rows.mean(axis=0)
        result = constrained_hyperplane(rows, random.normal(size=2), bandwidth=0.5, alpha=alpha)

        def p(y):
            v = np.array([np.cos(y[0]), np.sin(y[0])])
            return float(density(rows, v, y[1] * (rows @ v).std(), 0.5))

        v = result.direction
        beta = result.offset / (rows @ v).std()  # In angle and beta, the bound is that of a box.
        by_angle, by_beta = differences(p, np.array([np.arctan2(v[1], v[0]), beta])) / result.density
        assert by_angle == pytest.approx(0, abs=1e-2)
        if abs(beta) < alpha - 1e-6:
            assert by_beta == pytest.approx(0, abs=1e-2)
        else:
            assert by_beta * beta <= 1e-2

    @pytest.mark.slow
    @pytest.mark.parametrize(("alpha", "seed"), at_night(in_turns([0.3, 0.9], range(4)), 2))
    def test_in_two_dimensions_the_best_of_many_starts_is_the_lowest_of_all_hyperplanes(self, seed, alpha):
        rows = clouds(seed, 150, 2)
        ends = [
            constrained_hyperplane(rows, [np.cos(angle), np.sin(angle)], share * alpha, bandwidth=0.4, alpha=alpha)
            for angle in np.linspace(0, np.pi, 24, endpoint=False)
            for share in (-1, -0.5, 0, 0.5, 1)
        ]
        lowest = lowest_of_the_plane(rows, 0.4, alpha)
        assert lowest * 0.99 <= min(end.density for end in ends) <= lowest

    @given(seeds, st.integers(2, 5), alphas)
    def test_a_positive_depth_means_a_minimiser_between_two_modes_within_the_bound(self, seed, d, alpha):
        rows = clouds(seed, 150, d)
        result = constrained_hyperplane(rows, np.ones(d), bandwidth=0.4, alpha=alpha)
        p = rows @ result.direction
        room = alpha * p.std() - abs(result.offset - p.mean())
        near = density(rows, result.direction, result.offset + np.array([-0.04, 0.0, 0.04]), 0.4)
        kernel = 1 / (len(rows) * 0.4 * np.sqrt(2 * np.pi))
        inside = room > 1e-4 and near.min() >= near[1]
        grid = np.linspace(p.min(), p.max(), 2000)
        f = density(rows, result.direction, grid, 0.4)
        modes = min(f[grid < result.offset].max(initial=0), f[grid > result.offset].max(initial=0))
        expected = max(modes - near[1], 0) / (near[1] + kernel)
        if inside:
            assert result.relative_depth == pytest.approx(expected, rel=0.01, abs=0.003)
        elif result.relative_depth > 0:
            assert room > 0
            assert near.min() >= near[1] - 2e-3 * kernel

    def test_held_by_the_bound_it_has_no_depth(self):
        rows = np.concatenate([np.random.default_rng(0).normal(size=150), np.full(50, 8.0)])[:, None]
        held, free = (constrained_hyperplane(rows, [1.0], alpha=alpha) for alpha in (0.2, 0.9))
        assert held.offset == pytest.approx(rows.mean() + 0.2 * rows.std())
        assert held.relative_depth == 0
        assert free.relative_depth > 1

    def test_on_a_mode_between_two_others_it_has_no_depth(self):
        # By symmetry, the density has no slope at the start.
        rows = np.repeat([[-3.0], [0.0], [3.0]], [40, 20, 40], axis=0)
        result = constrained_hyperplane(rows, [1.0], bandwidth=0.8)
        assert result.offset == 0
        assert result.relative_depth == 0

    @pytest.mark.slow
    @pytest.mark.parametrize(("d", "seed"), at_night(in_turns([4, MOST_COMPONENTS + 10], range(3)), 1))
    def test_rotating_moving_and_scaling_the_rows_does_the_same_to_the_hyperplane(self, seed, d):
        rows, random = clouds(seed + 10, 300, d), np.random.default_rng(seed)
        start, shift = random.normal(size=(2, d))
        Q, _ = np.linalg.qr(random.normal(size=(d, d)))
        here = constrained_hyperplane(rows, start, 0.2)
        there = constrained_hyperplane(2.5 * rows @ Q.T + shift, Q @ start, 0.2)
        np.testing.assert_allclose(there.direction, Q @ here.direction, atol=1e-3)
        assert there.offset == pytest.approx(2.5 * here.offset + shift @ there.direction, abs=1e-2)
        assert there.density == pytest.approx(here.density / 2.5, rel=1e-3)
        assert there.relative_depth == pytest.approx(here.relative_depth, rel=1e-2)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("dtype", "d"), in_turns([np.float32, np.float64], [MOST_COMPONENTS, MOST_COMPONENTS + 1, 1001])
    )
    def test_many_features_are_sought_in_the_span_of_components_and_start(self, d, dtype):
        rows = np.random.default_rng(0).normal(size=(150, d)).astype(dtype)
        rows[:75, :30] += 4
        start = np.ones(d)
        result = constrained_hyperplane(rows, start)
        parts = rows @ result.direction > result.offset
        assert len(np.unique(parts[:75])) == len(np.unique(parts[75:])) == 1
        assert parts[0] != parts[-1]
        first = density(rows.astype(float), start, (rows @ unit(start)).mean(), result.bandwidth)
        assert result.density <= first


class TestDegenerateRows:
    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "bound"), in_turns(DEGENERATE_ROWS, [(0.01, None), (0.9, 0.01), (20.0, 50.0)]))
    def test_the_hyperplane_is_finite_and_within_the_bound(self, name, bound):
        rows, (alpha, bandwidth) = DEGENERATE_ROWS[name], bound
        d = rows.shape[1]
        for start in np.vstack([np.random.default_rng(0).normal(size=(3, d)), np.eye(d)[[0, -1]]]):
            result = constrained_hyperplane(rows, start, bandwidth=bandwidth, alpha=alpha)
            p = rows @ result.direction
            assert np.linalg.norm(result.direction) == pytest.approx(1)
            assert abs(result.offset - p.mean()) <= alpha * p.std() + 1e-6 * (1 + np.abs(rows).max())
            assert 0 <= result.relative_depth < np.inf
            assert result.density >= 0

    @pytest.mark.parametrize(
        ("rows", "message"), [([[np.nan, 1.0]], "finite"), ([1.0, 2.0], "shape"), (np.zeros((0, 2)), "at least one")]
    )
    def test_bad_rows_are_refused(self, rows, message):
        with pytest.raises(ValueError, match=message):
            constrained_hyperplane(np.asarray(rows), [1.0, 0.0])
