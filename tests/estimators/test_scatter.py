"""Principal direction divisive partitioning and its kin against their naive twins, and the order of scatter."""

import numpy as np
import pytest
import reference_pddp as naive
from helpers import in_turns, same_partition
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde
from strategies import row_sets

from mdh_dask.chunks import run
from mdh_dask.density.kde import BANDWIDTHS, relative_depth
from mdh_dask.growth.bounds import near_rows
from mdh_dask.growth.branches import Branch, GrowthSettings, SampleRows
from mdh_dask.growth.growth import grow
from mdh_dask.growth.order import spread_of
from mdh_dask.growth.passes import Sample
from mdh_dask.growth.scaling import Standardiser
from mdh_dask.projections import RANDOM_PROJECTIONS, principal_components
from mdh_dask.projections.directions import Proposal, StandardDirections
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.choose import SplitSelector
from mdh_dask.splits.rules import THRESHOLD_RULES, SplitRule
from mdh_dask.splits.stopping import STOP_RULES


def grown(rows, place, *, propose=None, stop="none", min_rows=1, bandwidth="normal", sample_size=10_000, **options):
    """Grow a tree on the first principal component, by default of every split that can be placed."""
    found = propose or (lambda rows, rng: principal_components(rows, 1))
    settings = GrowthSettings(
        propose=lambda rows, rng, *_: Proposal(StandardDirections(found(rows, rng))),
        selector=SplitSelector(SplitRule("variance", threshold_rule=place), STOP_RULES[stop](), 1, len(rows), min_rows),
        bandwidth=BANDWIDTHS[bandwidth],
        n_candidates=1,
        sample_size=sample_size,
        **{"scale": False, "max_levels": None, "seed": 0} | options,
    )
    (tree, *_), n_passes = run(grow(settings, rows.shape, lambda look: None), rows)
    return tree, n_passes


def tree_of(rows, place, **options):
    return grown(rows, place, **options)[0]


def nested_clusters(seed=0, n=40, d=5):
    """Eight clusters of equal size, each pair of pairs of them apart along another line and by another distance."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    centres = np.zeros((1, d))
    for axis, (near, far) in zip(axes, [(40, 40), (12, 20), (4, 7)]):
        apart = rng.uniform(near, far, len(centres))[:, None] * axis
        centres = np.concatenate([centres - apart, centres + apart])
    return rng.permutation(np.repeat(centres, n, axis=0) + rng.normal(0, 0.5, (8 * n, d)))


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(20_000, 8, 6, sd=1.0, random_state=5)
    return X.compute(), y.compute()


class TestAgainstNaivePartitioning:
    @pytest.mark.parametrize(("max_clusters", "seed"), in_turns(range(2, 9), range(5)))
    def test_pddp_makes_the_same_clusters(self, seed, max_clusters):
        rows = nested_clusters(seed)
        tree = tree_of(rows, "mean", order="scatter", max_clusters=max_clusters)
        labels, _ = naive.pddp(rows, naive.mean_of, max_clusters)
        assert same_partition(tree.labels(rows), labels)

    @pytest.mark.parametrize("seed", range(5))
    def test_pddp_stops_when_the_centroids_scatter_more_than_any_cluster(self, seed):
        # With few rows, the scatter of the clusters falls under that of the centroids before all eight are found.
        for n in (2, 5, 40):
            rows = nested_clusters(seed, n)
            labels, _ = naive.pddp(rows, naive.mean_of)
            assert same_partition(tree_of(rows, "mean", order="scatter").labels(rows), labels)

    @pytest.mark.parametrize("seed", range(5))
    def test_each_split_of_pddp_is_at_the_mean_along_the_first_component(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 100
        tree = tree_of(rows, "mean", order="scatter", max_clusters=6)
        for node, own in rows_of_inner_nodes(tree, rows):
            component = naive.first_component(own)
            assert abs(tree.planes[node] @ component) == pytest.approx(1)
            mean = (own @ tree.planes[node]).mean()
            # The mean of the bins' centres differs from it by less than half a bin, and so does the nearest end.
            assert abs(tree.thresholds[node] - mean) <= tree.width[node]

    @pytest.mark.parametrize(("seed", "max_clusters"), in_turns(range(5), [2, 4, 7]))
    def test_ipddp_makes_the_same_clusters(self, seed, max_clusters):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
        tree = tree_of(rows, "gap", order="scatter", max_clusters=max_clusters)
        labels, _ = naive.pddp(rows, lambda x: naive.middle_of_widest_gap(x)[1], max_clusters)
        assert same_partition(tree.labels(rows), labels)
        for node, own in rows_of_inner_nodes(tree, rows):
            _, middle = naive.middle_of_widest_gap(own @ tree.planes[node])
            assert tree.thresholds[node] == pytest.approx(middle, abs=1e-12)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(5))
    def test_depddp_splits_at_the_lowest_density_between_the_outermost_modes_until_there_is_one(self, seed):
        rows = nested_clusters(seed)
        tree = tree_of(rows, "minimum_density")
        assert tree.n_leaves >= 8
        for node, own in rows_of_inner_nodes(tree, rows):
            grid, density = kernel_estimate(own @ tree.planes[node], tree.bandwidth[node])
            peaks = find_peaks(density)[0]
            lowest = density[peaks[0] : peaks[-1]].min()
            here = np.interp(tree.thresholds[node], grid, density)
            assert grid[peaks[0]] < tree.thresholds[node] < grid[peaks[-1]]
            assert here - lowest < 0.02 * density.max()
        for leaf in np.flatnonzero(tree.n_rows[tree.leaves] > 1):
            own = rows[tree.labels(rows) == leaf]
            x = own @ naive.first_component(own)
            _, density = kernel_estimate(x, (4 / (3 * len(x))) ** 0.2 * x.std())
            # No second mode that bins could tell from none.
            assert relative_depth(density, density.max()).max() < 0.005


def kernel_estimate(x, h):
    grid = np.linspace(x.min() - 3 * h, x.max() + 3 * h, 4000)
    return grid, gaussian_kde(x, h / x.std(ddof=1))(grid)


def rows_of_inner_nodes(tree, rows):
    """Each inner node with the rows that reach it."""
    leaf = tree.apply(rows)
    under = [{node} for node in range(tree.n_nodes)]
    for node in range(tree.n_nodes)[::-1]:
        if tree.left[node] >= 0:
            under[node] |= under[tree.left[node]] | under[tree.right[node]]
    return [(node, rows[np.isin(leaf, list(under[node]))]) for node in np.flatnonzero(tree.left >= 0)]


class TestLargerThanTheSample:
    def test_splits_at_the_mean_that_a_sample_found_are_left_where_they_are(self, mixture):
        tree, n_passes = grown(mixture[0], "mean", order="scatter", max_clusters=6, sample_size=2500)
        assert (tree.n_leaves, n_passes) == (6, 2)

    def test_a_gap_that_a_sample_found_is_split_in_its_middle_on_all_rows(self):
        rng = np.random.default_rng(0)
        rows = np.concatenate([rng.uniform(0, 1, (30_000, 1)), rng.uniform(3, 4, (30_000, 1))])
        tree, n_passes = grown(rows, "gap", sample_size=1000, stop="hold-out", min_rows=200)
        low, high = rows[rows < 2].max(), rows[rows > 2].min()
        assert tree.n_leaves == 2
        assert tree.thresholds[0] * np.sign(tree.planes[0, 0]) == pytest.approx((low + high) / 2, abs=1e-12)
        assert n_passes == 2


def branch_of(rows, n_rows):
    numbers = np.arange(len(rows))
    sample = Sample(rows, numbers.astype(np.uint64), numbers)
    return Branch(1, SampleRows.of_all(sample), n_rows, counted=True)


class TestSpread:
    @given(row_sets(), st.floats(1, 50))
    def test_scatter_is_that_of_the_standardised_rows_times_what_they_stand_for(self, rows, times):
        d = rows.shape[1]
        standardise = Standardiser(np.full(d, 3.0), np.linspace(0.5, 2, d))
        centroid, scatter = spread_of(branch_of(rows, times * len(rows)), standardise)
        standard = standardise(rows).astype(float)
        standard = near_rows(standard, standard)[0]
        times *= len(rows) / len(standard)
        np.testing.assert_allclose(centroid, standard.mean(axis=0), rtol=1e-9, atol=1e-9)
        size = len(rows) * np.abs(standard).max() ** 2
        assert scatter == pytest.approx(times * naive.scatter(standard), rel=1e-9, abs=1e-9 * times * size)


class TestOrder:
    def test_only_the_clusters_whose_turn_comes_are_looked_at(self):
        rows, seen = nested_clusters(), []

        def propose(rows, rng):
            seen.append(len(rows))
            return principal_components(rows, 1)

        tree_of(rows, "mean", propose=propose, order="scatter", max_clusters=4)
        assert len(seen) == 3

    def test_a_cluster_that_cannot_be_split_leaves_its_turn_to_the_next(self):
        # The widest cluster is too small to be split.
        rng = np.random.default_rng(0)
        rows = np.concatenate([rng.normal(0, 60, (30, 2)) + 900, nested_clusters(d=5)[:, :2]])
        tree = tree_of(rows, "mean", order="scatter", max_clusters=4, min_rows=20)
        sizes = tree.n_rows[tree.leaves]
        assert tree.n_leaves == 4
        assert 30 in sizes

    @pytest.mark.parametrize("place", [name for name, rule in THRESHOLD_RULES.items() if not rule.needs_thresholds])
    def test_the_order_takes_nothing_but_splits_that_growth_without_it_makes(self, place):
        rows = nested_clusters(1)
        everything, some = (
            tree_of(rows, place, min_rows=20, **order) for order in ({}, {"order": "scatter", "max_clusters": 4})
        )
        assert some.n_leaves == 4
        assert len(np.unique(np.c_[some.labels(rows), everything.labels(rows)], axis=0)) == everything.n_leaves


class TestPrincipalBandwidth:
    @pytest.mark.parametrize("length", [1.0, 1e-3, 50.0])
    def test_is_that_of_the_first_component_for_directions_of_any_length(self, length):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(400, 3)) * [5, 1, 0.2]
        tree = tree_of(
            rows, "mean", propose=lambda rows, rng: length * np.eye(3)[1:2], bandwidth="principal", max_levels=1
        )
        sd = (rows @ naive.first_component(rows)).std()
        assert tree.bandwidth[0] / np.linalg.norm(tree.planes[0]) == pytest.approx(0.9 * sd * 400**-0.2, rel=1e-6)

    def test_directions_that_workers_could_make_have_length_one_all_the_same(self, mixture):
        rows = mixture[0][:3000]
        family = RANDOM_PROJECTIONS["normal"]
        options = {"sample_size": None, "bandwidth": "principal", "min_rows": 50, "stop": "hold-out", "max_levels": 2}
        shipped, made = (
            tree_of(rows, "relative_depth", propose=lambda rows, rng: family(rng, 30, 8), family=name, **options)
            for name in (None, "normal")
        )
        assert shipped.n_leaves > 1
        assert shipped == made
