"""Two means, normalised cuts and the connectivity of projections, and trees that split by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import DivisiveClustering
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.indices import connectivity, cuts_of, two_means
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.rules import CRITERIA, SplitRule
from mdh_dask.splits.thresholds import THRESHOLD_RULES

RULES = {
    "sse": "two_means",
    "clusterability": "two_means",
    "normalised_cut": "normalised_cut",
    "eigenvalue": "two_means",
}


@st.composite
def some_counts(draw):
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(2, 30))
    counts = rng.integers(0, 6, n) * (rng.random(n) < draw(st.sampled_from([0.2, 0.6, 1.0])))
    counts[rng.integers(n)] += 1
    return counts


def affinities(rows, reach):
    return np.exp(-np.abs(rows[:, None] - rows) / reach)


class TestHistograms:
    @given(some_counts())
    def test_sums_of_squares_are_those_of_the_rows_at_the_centres_of_their_bins(self, counts):
        rows, within = np.repeat(np.arange(len(counts)), counts), two_means(counts[None])[0][0]
        for k in range(len(counts)):
            sides = [side for side in (rows[rows <= k], rows[rows > k]) if len(side)]
            expected = sum(((side - side.mean()) ** 2).sum() for side in sides) + len(rows) / 12
            assert within[k] == pytest.approx(expected, abs=1e-9)

    @given(some_counts(), st.floats(0.05, 300))
    def test_cuts_are_sums_over_all_pairs_of_rows(self, counts, reach):
        rows, found = np.repeat(np.arange(len(counts)), counts), cuts_of(counts[None], np.array([reach]))[0]
        affinity = affinities(rows, reach)
        for k in range(len(counts)):
            left = rows <= k
            if not 0 < left.sum() < len(rows):
                assert found[k] == np.inf
            else:
                volumes = affinity[left].sum(), affinity[~left].sum()
                assert found[k] == pytest.approx(
                    affinity[left][:, ~left].sum() * sum(1 / v for v in volumes), abs=1e-12
                )

    @given(some_counts(), st.floats(0.05, 300))
    def test_connectivity_is_the_second_eigenvalue_of_the_laplacian_of_the_rows(self, counts, reach):
        rows = np.repeat(np.arange(len(counts)), counts)
        affinity = affinities(rows, reach)
        roots = np.sqrt(affinity.sum(axis=1))
        values = np.linalg.eigvalsh(np.eye(len(rows)) - affinity / roots / roots[:, None])
        expected = values[1] if len(np.unique(rows)) > 1 else 1.0
        assert connectivity(counts, reach) == pytest.approx(expected, abs=1e-9)


class TestRules:
    @pytest.mark.parametrize("name", ["two_means", "normalised_cut"])
    def test_an_existing_split_stays_while_its_cost_is_near_the_least_and_is_followed_downhill(self, name):
        rng = np.random.default_rng(0)
        rows = np.concatenate([rng.normal(-3, 1, 500), rng.normal(3, 1, 500)])
        counts = np.histogram(rows, 120, (-6, 6))[0][None]
        histogram = Histograms(counts, np.array([-6.0]), np.array([0.1]), BANDWIDTHS["normal"])
        rule = THRESHOLD_RULES[name]
        k = int(SplitRule(threshold_rule=name).locate(histogram, 10)[0])
        assert abs(histogram.threshold[0, k]) < 0.7
        near, far = (float(histogram.threshold[0, k + by]) for by in (1, 20))
        assert rule.unmoved(histogram, k, near) == (k + 1, near)
        assert rule.unmoved(histogram, k, far) is None
        assert rule.cost(histogram)[0, rule.follow(histogram, far)] <= 1.05 * rule.cost(histogram)[0, k]


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(3000, 4, 5, sd=0.6, random_state=1)
    return X.compute(), np.asarray(y)


def tree(criterion, **parameters):
    settings = {"stop_rule": "none", "order": "scatter", "max_clusters": 5, "n_projections": 100} | parameters
    return DivisiveClustering(criterion=criterion, threshold_rule=RULES[criterion], **settings)


class TestTrees:
    def test_a_test_of_the_valley_between_two_means_finds_the_number_of_clusters(self, mixture):
        assert (
            tree("clusterability", stop_rule="hold-out", max_clusters=None, order=None).fit(mixture[0]).n_clusters_ == 5
        )

    def test_the_order_by_criterion_takes_the_best_of_all_splits_next(self, mixture):
        settings = {"n_candidates": 1, "scale": False}
        everything = tree("sse", order=None, max_levels=5, max_clusters=None, **settings).fit(mixture[0]).tree_
        frontier = [0]
        for k in range(2, 6):
            best = max((node for node in frontier if everything.left[node] >= 0), key=lambda v: score(everything, v))
            frontier.remove(best)
            frontier += [int(everything.left[best]), int(everything.right[best])]
            some = tree("sse", order="criterion", max_clusters=k, **settings).fit(mixture[0]).tree_
            assert sorted(some.n_rows[some.leaves]) == sorted(everything.n_rows[frontier])

    def test_more_of_the_same_rows_change_no_cluster_of_the_order_by_criterion(self, mixture):
        rows = np.random.default_rng(0).permutation(mixture[0])
        model = tree("clusterability", order="criterion", max_clusters=4).fit(rows[:1500])
        before = model.predict(rows)
        assert adjusted_rand_index(before, model.partial_fit(rows[1500:]).predict(rows)) > 0.99

    def test_without_a_test_and_without_a_limit_there_is_no_end(self, mixture):
        for limits in ({"order": None}, {"order": "criterion"}):
            with pytest.raises(ValueError, match="expected a limit for threshold_rule='two_means'"):
                tree("sse", max_clusters=None, **limits).fit(mixture[0])
        assert tree("sse", max_clusters=None, order=None, max_levels=1).fit(mixture[0]).n_clusters_ == 2


def score(tree, node):
    length, one = np.linalg.norm(tree.planes[[node]], axis=1), [node]
    counts, origin, width = tree.histogram(node)[None], tree.origin[one], tree.width[one]
    histogram = Histograms(counts, origin, width, BANDWIDTHS["normal"], length=length)
    return CRITERIA["sse"].score(histogram, SplitRule(threshold_rule="two_means").admissible(histogram, 55))[0]
