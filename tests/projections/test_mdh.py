"""Minimum density hyperplanes: the index from its formula, its gradient, laws of the pursuit, published partitions."""

import numpy as np
import pytest
import reference_mdh
from helpers import DEGENERATE_ROWS, at_night, best_separator, in_turns, unit
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import HierarchicalKernelMDH, HierarchicalMDH
from mdh_dask._jit.descent import FLATTER, MEMORY, SUFFICIENT, line_search, quasi_newton_step, start_descent, take_step
from mdh_dask._jit.valleys import bin_linearly, grid_within, valleys
from mdh_dask.density.kde import CERTAIN_DEPTH
from mdh_dask.metrics import normalized_mutual_information, success_ratio
from mdh_dask.projections import PROJECTIONS, mdh_families, principal_components
from mdh_dask.projections.mdh import minimum_density_hyperplanes
from mdh_dask.projections.pca import centred_rows, scaled_components
from mdh_dask.projections.pursuit import PenalisedDensity, growing_alphas, penalty_of, pursue
from mdh_dask.projections.starts import ROWS_LOOKED_AT, Start, valley_starts
from mdh_dask.projections.thesis import constrained_hyperplane

alphas = st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9, 1.5])


def rng():
    return np.random.default_rng(0)


def made_rows(seed, n, d, gap=3.0):
    """Two or three clouds apart along a random line, stretched at random."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=d)
    centres *= gap / np.linalg.norm(centres)
    rows = rng.normal(size=(n, d)) + rng.integers(0, rng.integers(2, 4), n)[:, None] * centres
    return rows / rows.std(axis=0)


def hyperplane(rows, start, bandwidth=None, alpha_max=1.5):
    """The hyperplane that one pursuit reaches, for the rows as they are."""
    centred = centred_rows(rows)
    start = Start(unit(np.array(start)), growing_alphas(alpha_max))
    sd = float(scaled_components(centred, 1)[1][0])
    return pursue(centred, start, sd, bandwidth).moved(None, rows[0] - centred[0])


def directions(rows, rng, **options):
    """The directions of the hyperplanes from several starts, by falling depth, without those that have no depth."""
    results = minimum_density_hyperplanes(rows, rng, **options)
    found = [result for result in results if result.relative_depth > 0] or results[:1]
    return np.array([result.direction for result in found])


def candidates(rows, rng, n_directions=1000, **options):
    """The directions of all families of candidates."""
    return np.concatenate(mdh_families(rows, rng, n_directions, **options))


def made_index(seed, n, d, h=0.35, eta=0.01, epsilon=1 - 1e-6):
    rows = made_rows(seed, n, d)
    return PenalisedDensity(rows - rows.mean(axis=0), penalty_of(d, h, eta, epsilon))


def along(index, x, alpha):
    """The index of the direction of a vector, and its gradient by the vector."""
    length = np.linalg.norm(x)
    best = best_separator(index, x / length, alpha)
    return best.index, best.gradient / length


def brute_force(rows):
    """The index, its lowest value for alpha 0.9 over a grid of angles and offsets, where that is, and the grid."""
    index = PenalisedDensity(rows - rows.mean(axis=0), penalty_of(2, 0.3, 0.01))
    angles = np.linspace(0, np.pi, 361)
    V = np.column_stack([np.cos(angles), np.sin(angles)])
    sd = (index.centred @ V.T).std(axis=0)
    lowest = np.array(
        [
            reference_mdh.penalised_density(index.centred, v, np.linspace(-s, s, 400), 0.3, 0.9, 0.01, 1 - 1e-6).min()
            for v, s in zip(V, sd)
        ]
    )
    return index, lowest.min(), V[lowest.argmin()], V


@given(seeds, st.integers(0, 50), st.integers(2, 30), st.sampled_from([0.1, 0.5]))
def test_rows_between_two_bins_count_in_both(seed, n, n_bins, width):
    projections = np.random.default_rng(seed).choice([-9.0, -0.5, 0.0, 0.3, 0.31, 0.9, 9.0], n)
    weights = np.zeros(n_bins)
    bin_linearly(projections, -1.0, width, weights)
    expected = reference_mdh.bin_linearly(projections, -1.0, width, n_bins)
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    assert weights.sum() == pytest.approx(n)


class TestValleys:
    @given(seeds, st.integers(1, 20), st.floats(0.01, 0.9))
    def test_the_grid_ends_at_the_bound(self, seed, half, share):
        centres = (np.arange(2 * half) + 0.5 - half) * 0.3
        density = np.random.default_rng(seed).random(2 * half)
        bound = share * centres[-1]
        for got, expected in zip(
            grid_within(centres, density, bound), reference_mdh.grid_within(centres, density, bound)
        ):
            np.testing.assert_allclose(got, expected, atol=1e-12)

    @given(seeds, st.integers(1, 40), st.sampled_from([0.0, 1.0, 3.0]))
    def test_are_the_runs_without_a_lower_neighbour_near_the_lowest(self, seed, n, tolerance):
        height = np.random.default_rng(seed).integers(0, 6, n).astype(float)
        grid = np.linspace(-1.0, 1.0, n)
        expected = reference_mdh.valleys(grid, height, 1.0, tolerance)
        np.testing.assert_allclose(valleys(grid, height.copy(), 1.0, tolerance), expected)


class TestIndex:
    @given(seeds, st.integers(2, 200), st.integers(1, 5), alphas, st.sampled_from([0.1, 0.35, 1.0]))
    @example(729107548, 161, 2, 0.3, 1.0)  # two valleys, of which the lower is reached to the last bit
    def test_is_the_lowest_penalised_density_over_all_offsets(self, seed, n, d, alpha, h):
        index = made_index(seed, n, d, h)
        v = unit(np.random.default_rng(seed).normal(size=d))
        best = best_separator(index, v, alpha)
        sd = (index.centred @ v).std()
        offsets = np.linspace(-alpha * sd - 0.02, alpha * sd + 0.02, 4001)
        f = reference_mdh.penalised_density(index.centred, v, offsets, h, alpha, 0.01, index.penalty.epsilon)
        # In a bound of less than a bin, the lower end is only found to the accuracy of the grid.
        assert best.index <= f.min() * (1 + (1e-6 if alpha > 0.1 else 1e-3)) + 1e-12
        here = reference_mdh.penalised_density(index.centred, v, best.offset, h, alpha, 0.01, index.penalty.epsilon)
        assert best.index == pytest.approx(float(here), rel=1e-9, abs=1e-12)

    @given(seeds, st.integers(2, 100), st.integers(1, 4), alphas)
    def test_no_minimiser_is_more_than_eta_outside_the_bound(self, seed, n, d, alpha):
        # JMLR 17(156), proposition 2.
        index = made_index(seed, n, d, eta=0.05)
        v = unit(np.ones(d))
        best = best_separator(index, v, alpha)
        sd = (index.centred @ v).std()
        assert abs(best.offset) <= alpha * sd + 0.05
        if abs(abs(best.offset) - alpha * sd) > 1e-9:
            assert best.inside == (abs(best.offset) < alpha * sd)

    @given(seeds, st.integers(2, 6), alphas, st.sampled_from([0.5, 1 - 1e-6]))
    def test_gradient_is_that_of_central_differences(self, seed, d, alpha, epsilon):
        index = made_index(seed, 120, d, epsilon=epsilon)
        random = np.random.default_rng(seed)
        v, step = unit(random.normal(size=d)), 1e-5
        along = random.normal(size=d)
        along = unit(along - (along @ v) * v)
        best = best_separator(index, v, alpha)
        ahead, behind = (best_separator(index, unit(v + s * along), alpha) for s in (step, -step))
        if max(abs(ahead.offset - best.offset), abs(behind.offset - best.offset)) > 0.01:
            return  # The lowest valley changes here: the index has a kink.
        difference = (ahead.index - behind.index) / (2 * np.arctan(step))
        # With epsilon 0.5 the index bends without limit at the bound, and differences are inexact beside it.
        assert best.gradient @ along == pytest.approx(difference, rel=1e-3 if epsilon > 0.9 else 0.02, abs=1e-5)
        assert best.gradient @ v == pytest.approx(0, abs=1e-12)

    def test_gradient_holds_inside_the_bound_and_outside(self):
        index = made_index(5, 400, 3)
        v, along = unit(np.array([1.0, 0.4, -0.2])), unit(np.array([-0.4, 1.0, 0.0]))
        seen = set()
        for alpha in np.linspace(0.01, 1.5, 12):
            best = best_separator(index, v, alpha)
            a, b = (best_separator(index, unit(v + s * along), alpha).index for s in (1e-5, -1e-5))
            assert best.gradient @ along == pytest.approx((a - b) / 2e-5, rel=1e-4, abs=1e-6)
            seen.add(best.inside)
        assert seen == {True, False}

    def test_in_a_gap_without_rows_the_hyperplane_lies_in_the_middle(self):
        index = PenalisedDensity(np.repeat([[-5.0], [5.0]], 20, axis=0), penalty_of(1, 0.01, 0.01))
        best = best_separator(index, np.array([1.0]), 0.9)
        assert best.inside
        assert best.offset == pytest.approx(0, abs=0.5)

    def test_projections_without_spread_have_no_gradient(self):
        index = PenalisedDensity(np.array([[-1.0, 0.0], [1.0, 0.0]]), penalty_of(2, 0.5, 0.01))
        best = best_separator(index, np.array([0.0, 1.0]), 0.5)
        assert abs(best.offset) <= 0.01
        np.testing.assert_allclose(best.gradient, 0, atol=1e-9)

    @given(seeds, st.integers(2, 5), alphas, st.integers(0, 20))
    def test_descent_never_ends_above_its_start(self, seed, d, alpha, n_steps):
        index = made_index(seed, 80, d)
        start = unit(np.random.default_rng(seed).normal(size=d))
        v, best = index.descend(start, alpha, n_steps, unit=1.0)
        # Without a step too, the direction is scaled to length one, which may change its last bit.
        before = best_separator(index, start, alpha)
        assert best.index <= before.index * (1 + 1e-12)
        assert np.linalg.norm(v) == pytest.approx(1)

    @given(seeds, st.integers(2, 5), alphas)
    def test_descent_returns_the_gradient_at_the_unit_direction_where_it_ends(self, seed, d, alpha):
        index = made_index(seed, 80, d)
        v, best = index.descend(unit(np.random.default_rng(seed).normal(size=d)), alpha, 5, unit=2.0)
        np.testing.assert_allclose(best.gradient, best_separator(index, v, alpha).gradient, rtol=1e-6, atol=1e-9)


class TestDescent:
    @given(seeds, st.integers(0, MEMORY + 3), st.integers(1, 5))
    def test_a_step_is_that_of_bfgs_with_the_whole_inverse_hessian(self, seed, n_steps, d):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(d, d)) + 2 * np.eye(d)
        steps = rng.normal(size=(n_steps, d))
        changes = steps @ (root @ root.T)
        gradient = rng.normal(size=d)
        work = start_descent(np.zeros(d))
        work.gradient[:] = gradient
        for i in range(n_steps):
            at = i % MEMORY
            work.steps[at], work.changes[at], work.products[at] = steps[i], changes[i], steps[i] @ changes[i]
        quasi_newton_step(work, n_steps)
        step = work.step
        expected = reference_mdh.bfgs_step(gradient, steps[-MEMORY:], changes[-MEMORY:])
        np.testing.assert_allclose(step, expected, rtol=1e-5, atol=1e-6 * np.linalg.norm(expected))

    def test_the_last_steps_along_which_the_index_is_convex_are_remembered(self):
        work, kept = start_descent(np.zeros(2)), 0
        for i in range(1, MEMORY + 4):
            for sign in (1.0, -1.0):
                work.step[:], work.slopes[:] = (2 * i, 0), work.gradient + np.array([sign * i, 1])
                kept = take_step(work, 0.5, kept)
                np.testing.assert_array_equal(work.gradient, work.slopes)
        assert kept == MEMORY + 3
        last = np.roll(np.arange(4, MEMORY + 4), 3)
        np.testing.assert_array_equal(work.steps[:, 0], last)
        np.testing.assert_array_equal(work.changes[:, 0], last)
        np.testing.assert_array_equal(work.products, last**2)
        np.testing.assert_array_equal(work.x, (np.arange(1, MEMORY + 4).sum() * 2, 0))

    @pytest.mark.slow
    @given(seeds, st.integers(2, 5), alphas)
    def test_a_line_search_without_a_step_returns_value_and_gradient_at_its_start(self, seed, d, alpha):
        index = made_index(seed, 80, d)
        x = np.random.default_rng(seed).normal(size=d)
        work = start_descent(x)
        value = line_search(index.centred, index.columns, np.inf, alpha, index.penalty, 2.0, work)[1][0]
        expected, uphill = along(index, x, alpha)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(work.slopes, uphill / 2, atol=1e-12)

    @given(seeds, st.integers(2, 5), alphas, st.floats(1e-3, 1e3))
    def test_a_line_search_ends_lower_and_on_flatter_ground(self, seed, d, alpha, length):
        index = made_index(seed, 80, d)
        x = unit(np.random.default_rng(seed).normal(size=d))
        value, gradient = along(index, x, alpha)
        step, work = -length * gradient, start_descent(x)
        work.gradient[:], work.step[:] = gradient, step
        share, best = line_search(index.centred, index.columns, value, alpha, index.penalty, 1.0, work)
        lower, there = best[0], work.slopes
        if share == 0:
            assert lower == value
            return
        again, gradient_again = along(index, x + share * step, alpha)
        assert lower == pytest.approx(again)
        np.testing.assert_allclose(there, gradient_again, atol=1e-9)
        assert lower <= value + SUFFICIENT * share * (gradient @ step)
        # Where the index has a kink, bisection may end on the steep side of it.
        steep = there @ step < FLATTER * (gradient @ step)
        beyond, _ = along(index, x + 1.01 * share * step, alpha)
        assert not steep or beyond > lower


class TestPursuit:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", at_night(range(6), 3))
    def test_in_two_dimensions_the_best_of_many_starts_is_the_lowest_of_all_hyperplanes(self, seed):
        index, lowest, _, V = brute_force(made_rows(seed, 200, 2, gap=5))
        ends = [index.descend(v, 0.9, 50, unit=1.0)[1].index for v in V[::5]]
        assert lowest * 0.995 <= min(ends) <= lowest

    @given(seeds, st.integers(2, 5))
    def test_a_positive_depth_means_a_minimiser_between_two_modes_within_the_bound(self, seed, d):
        rows = made_rows(seed, 150, d)
        result = hyperplane(rows, np.ones(d), bandwidth=0.4, alpha_max=0.9)
        p = rows @ result.direction
        assert abs(result.offset - p.mean()) <= 0.9 * p.std() + 0.05
        near = reference_mdh.penalised_density(
            rows, result.direction, result.offset + np.array([-0.02, 0.0, 0.02]), 0.4, 100, 0.01, 0.5
        )
        assert result.density == pytest.approx(near[1], rel=1e-6)
        if result.relative_depth > 0:
            assert near.min() == near[1]
            grid = np.linspace(p.min(), p.max(), 2000)
            f = reference_mdh.penalised_density(rows, result.direction, grid, 0.4, 100, 0.01, 0.5)
            modes = min(f[grid < result.offset].max(), f[grid > result.offset].max())
            kernel = 1 / (len(rows) * 0.4 * np.sqrt(2 * np.pi))
            expected = (modes - near[1]) / (near[1] + kernel)
            assert result.relative_depth == pytest.approx(expected, rel=0.01, abs=0.003)

    @pytest.mark.parametrize("seed", range(3))
    def test_rotating_moving_and_scaling_the_rows_does_the_same_to_the_hyperplane(self, seed):
        rows = made_rows(seed, 300, 4, gap=5)
        start = np.random.default_rng(seed).normal(size=4)
        Q, _ = np.linalg.qr(np.random.default_rng(seed + 9).normal(size=(4, 4)))
        shift = np.array([5.0, -3.0, 0.0, 100.0])
        here = hyperplane(rows, start)
        there = hyperplane(2.5 * rows @ Q.T + shift, Q @ start)
        np.testing.assert_allclose(there.direction, Q @ here.direction, atol=1e-4)
        assert there.offset == pytest.approx(2.5 * here.offset + shift @ there.direction, abs=1e-3)
        assert there.density == pytest.approx(here.density / 2.5, rel=1e-3)
        assert there.relative_depth == pytest.approx(here.relative_depth, rel=1e-2)

    def test_two_clouds_that_touch_along_the_first_component_are_parted(self):
        rows = rng().normal(size=(600, 20)) * ([6.0] + [1.0] * 19)
        rows[:300, 7] += 6
        best = minimum_density_hyperplanes(rows, rng())[0]
        assert abs(best.direction[7]) > 0.95
        assert success_ratio(np.arange(600) < 300, rows @ best.direction > best.offset) > 0.98

    @pytest.mark.slow
    def test_more_components_than_features_are_all_and_fewer_a_span(self):
        rows = made_rows(3, 200, 60)
        whole = directions(rows, rng(), max_components=None)
        np.testing.assert_array_equal(directions(rows, rng(), max_components=60), whole)
        components = principal_components(rows, 2)
        starts = valley_starts(rng(), rows - rows.mean(axis=0), 3, within=1.5)
        span = np.linalg.qr(np.array([*components, *(start.direction for start in starts)]).T)[0]
        within = directions(rows, rng(), max_components=2)
        np.testing.assert_allclose(within @ span @ span.T, within, atol=1e-9)
        assert np.linalg.norm(whole[0] @ span) < 0.99

    @pytest.mark.slow
    @pytest.mark.parametrize("method", [HierarchicalMDH, HierarchicalKernelMDH])
    def test_trees_search_so_many_components_and_none_for_all(self, method):
        rows = made_rows(3, 200, 60)
        for most in (50, None):
            tree = method().as_divisive(**{} if most else {"max_components": most})
            expected = candidates(rows, rng(), starts=method().starts, max_components=most)
            np.testing.assert_array_equal(np.concatenate(tree._directions(rows, rng())), expected)

    @pytest.mark.parametrize("subspace", [None, 3])
    def test_trees_take_so_many_directions_and_those_come_first(self, subspace):
        rows = made_rows(3, 200, 5)
        tree = HierarchicalMDH(starts="pca2").as_divisive(subspace=subspace)
        whole = np.concatenate(tree._directions(rows, rng()))
        few = np.concatenate(tree.set_params(n_projections=1)._directions(rows, rng()))
        assert len(whole) > 1
        np.testing.assert_allclose(few, whole[:1], rtol=1e-12)  # products with fewer columns may round differently

    def test_directions_come_by_falling_depth_and_as_many_as_wanted(self):
        rows = made_rows(2, 300, 5)
        results = minimum_density_hyperplanes(rows, rng())
        depths = [result.relative_depth for result in results]
        assert len(results) == 5
        assert depths == sorted(depths, reverse=True)
        assert directions(rows, rng(), starts="pca2").shape == (2, 5)


def sheets(seed, gap=8.0):
    """Two long thin clusters side by side, across neither column."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(1000, 2)) * [40.0, 1.0]
    rows[500:, 1] += gap
    return rows @ np.array([[0.6, 0.8], [-0.8, 0.6]])


class TestCandidates:
    @pytest.mark.slow
    @pytest.mark.parametrize("starts", ["balanced", "valleys", "pca2"])
    def test_come_after_the_ends_of_pursuits_and_are_of_length_one(self, starts):
        rows = made_rows(3, 200, 60)
        ends, found = directions(rows, rng(), starts=starts), candidates(rows, rng(), starts=starts)
        np.testing.assert_allclose(found[: len(ends)], ends, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
        for n in (0, 3, len(ends) + 1):
            np.testing.assert_array_equal(candidates(rows, rng(), n, starts=starts), found[:n])
        assert (len(found) > len(ends)) == (starts != "pca2")

    def test_start_at_valleys_between_groups_that_take_turns(self):
        rows = rng().normal(size=(2 * ROWS_LOOKED_AT, 5))
        rows[::2] += 12 / 5**0.5
        assert valley_starts(rng(), rows - rows.mean(axis=0), 8)[0].depth > CERTAIN_DEPTH

    @pytest.mark.parametrize(("apart", "certain"), [(12, True), (3, False)])
    def test_are_one_end_and_few_starts_where_a_valley_is_beyond_doubt(self, apart, certain, monkeypatch):
        rows = rng().normal(size=(1000, 5))
        rows[:500] += apart / 5**0.5
        starts = valley_starts(rng(), rows - rows.mean(axis=0), 8)
        found = candidates(rows, rng())
        assert (len(found) == 1 + len(starts)) == certain
        if certain:
            np.testing.assert_allclose(found[1:], [start.direction for start in starts])
            assert success_ratio(np.arange(1000) < 500, rows @ found[0] > rows.mean(axis=0) @ found[0]) == 1
        monkeypatch.setattr("mdh_dask.projections.starts.N_DRAWN", 512)
        fewer = valley_starts(rng(), rows - rows.mean(axis=0), 8)
        assert all((a.direction == b.direction).all() for a, b in zip(starts, fewer, strict=True)) == certain

    def test_a_group_too_small_for_a_cluster_ends_no_search(self):
        rows = rng().normal(size=(1000, 3))
        rows[:500, 0] += 4.5
        rows[:60, 1] += 12  # more than the square root
        first = (np.arange(1000) < 500)[60:]

        def best(min_rows):
            found = candidates(rows, rng(), min_rows=min_rows)
            return max(success_ratio(first, side) for side in (rows @ found.T > rows.mean(axis=0) @ found.T)[60:].T)

        assert best(60) < 0.7
        assert best(61) > 0.95
        named = np.concatenate(PROJECTIONS["mdh"](rows, rng(), 99))
        np.testing.assert_array_equal(named, candidates(rows, rng(), min_rows=61))

    @pytest.mark.parametrize("seed", range(2))
    def test_a_few_rows_beside_two_clusters_of_a_branch_hide_none(self, seed):
        rows, y = np.random.default_rng(seed).normal(size=(6000, 3)), np.arange(6000) // 500
        rows[:500, 0] += 4.5
        rows[1000:, 2] += 30
        rows[:60, 1] += 10  # more than the square root of the rows of the branch, but not of all
        labels = HierarchicalMDH(random_state=seed).fit_predict(rows)
        assert len(np.unique(labels)) == 3
        assert success_ratio(y[60:1000] == 0, labels[60:1000]) > 0.9

    def test_start_at_gaps_between_values_of_a_column_although_few_looked_at_rows_leave_deeper_ones_in_tails(self):
        for seed in range(5):
            generator = np.random.default_rng(seed)
            values = np.cumsum(generator.exponential(size=60))[generator.integers(0, 60, 6000)]
            rows = np.column_stack([values, generator.standard_t(2, size=(6000, 3))])
            rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
            assert max(abs(start.direction[0]) for start in valley_starts(generator, rows, 4)) > 0.95

    @pytest.mark.slow
    def test_a_valley_too_far_from_the_mean_ends_no_search(self):
        rows = np.random.default_rng(2).normal(size=(3000, 3))
        rows[:1500, 0] += 4.5
        rows[::20, 1] += 10
        model = HierarchicalMDH(random_state=2).as_divisive(alpha=1.0).fit(rows)
        assert success_ratio(np.arange(3000) < 1500, model.cut(2).predict(rows)) > 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", at_night(range(4), 2))
    def test_show_a_valley_across_the_thin_side_of_a_branch_that_pursuits_leave(self, seed):
        rows = sheets(seed)
        across = np.array([-0.8, 0.6])
        assert np.abs(directions(rows, rng(), starts="valleys") @ across).max() < 0.99
        assert np.abs(candidates(rows, rng(), starts="valleys") @ across).max() > 0.999
        labels = HierarchicalMDH(random_state=seed).fit_predict(rows)
        assert success_ratio(np.arange(1000) < 500, labels) > 0.95


class TestManyColumns:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    def test_of_which_each_is_dark_or_light_hide_no_cluster_of_all(self, seed):
        random, y = np.random.default_rng(seed), np.repeat(range(3), 300)
        prototypes = random.integers(0, 2, (3, 80))
        pixels = np.where(random.random((900, 80)) < 0.2, 1 - prototypes[y], prototypes[y])
        labels = HierarchicalMDH(random_state=seed).fit_predict(pixels + 0.15 * random.normal(size=pixels.shape))
        assert normalized_mutual_information(y, labels) > 0.95

    def test_of_counts_hide_no_clusters_that_differ_in_the_only_measured_one(self):
        rng = np.random.default_rng(0)
        rows = np.column_stack([rng.poisson(3, (1500, 70)), rng.normal(size=(1500, 5))])
        rows[:750, -1] += 7
        assert success_ratio(np.arange(1500) < 750, HierarchicalMDH().fit_predict(rows)) > 0.95


class TestDegenerateRows:
    @pytest.mark.parametrize(("starts", "rows"), in_turns(["balanced", "valleys", "pca2"], DEGENERATE_ROWS.values()))
    def test_directions_are_finite_and_of_length_one(self, rows, starts):
        assert np.linalg.norm(candidates(rows, rng(), starts=starts), axis=1) == pytest.approx(1)
        results = minimum_density_hyperplanes(rows, rng(), starts=starts)
        assert results
        for result in results:
            assert np.linalg.norm(result.direction) == pytest.approx(1)
            assert np.isfinite(result.offset)
            assert 0 <= result.relative_depth < np.inf
            assert result.density > 0

    @pytest.mark.parametrize("sought", [hyperplane, constrained_hyperplane])
    def test_equal_rows_have_no_hyperplane_to_look_for(self, sought):
        result = sought(np.full((5, 2), 3.0), [0.0, 2.0])
        assert (result.offset, result.density, result.relative_depth) == (3.0, np.inf, 0.0)

    def test_far_rows_and_a_narrow_kernel_do_not_exhaust_the_memory(self):
        rows = np.concatenate([rng().normal(size=(200, 2)), [[1e9, 0.0]]])
        assert np.isfinite(hyperplane(rows, [1.0, 1.0], bandwidth=1e-3).offset)

    def test_rows_that_are_not_finite_are_refused(self):
        with pytest.raises(ValueError, match="finite"):
            minimum_density_hyperplanes(np.array([[np.nan, 1.0]]), rng())
