"""Searches for directions: they reach the best there is, in any units, and draw from the stream they are given."""

from functools import partial

import numpy as np
import pytest
from helpers import in_turns
from scipy.stats import ortho_group

from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.projections import PROJECTIONS, DirectionSearch
from mdh_dask.projections.search import GeneticSearch, IndexScore, SearchSpace, ascend, unit
from mdh_dask.splits.null import search_score
from mdh_dask.splits.rules import CRITERIA, SplitRule

stream = partial(np.random.default_rng, 5)


def two_clusters(n=600, d=8, gap=5.0, seed=0):
    """Rows of two clusters that lie apart along a direction of which no column shows much."""
    rng = np.random.default_rng(seed)
    apart = unit(rng.normal(size=d))
    return rng.normal(size=(n, d)) + np.outer(np.repeat([-gap / 2, gap / 2], n // 2), apart), apart


def best_index(rows, search):
    space = SearchSpace.of(rows, search.whiten)
    return search.search(space, stream())[1][0]


class TestReached:
    @pytest.mark.parametrize(("kind", "whiten"), in_turns(["combined", "genetic"], [True, False]))
    def test_the_direction_between_two_clusters_is_found(self, kind, whiten):
        rows, apart = two_clusters()
        found = DirectionSearch(kind, whiten=whiten)(rows, stream(), 1)[0]
        assert abs(found @ apart) > 0.97

    def test_every_part_of_the_search_adds_to_what_it_reaches(self):
        # The means over clouds without clusters, whose index has many local maxima.
        rng = np.random.default_rng(0)
        clouds = [rng.normal(size=(200, 6)) for _ in range(6)]
        drawn = np.mean([best_index(rows, DirectionSearch("random")) for rows in clouds])
        combined = np.mean([best_index(rows, DirectionSearch("combined")) for rows in clouds])
        genetic = np.mean([best_index(rows, DirectionSearch("genetic")) for rows in clouds])
        assert drawn < min(genetic, combined)
        assert combined > 1.15 * drawn

    def test_brute_force_reaches_what_a_finer_grid_and_the_combined_search_reach(self):
        rows, _ = two_clusters(300, 3, gap=3.0)
        brute, finer, combined = (
            best_index(rows, DirectionSearch(kind, step=step))
            for kind, step in (("brute", 0.1), ("brute", 0.03), ("combined", 0.1))
        )
        assert brute > 0.85 * max(finer, combined)
        assert combined > 0.85 * finer

    def test_the_ascent_ends_where_no_coordinate_is_better_moved(self):
        rows, _ = two_clusters(d=4)
        space, score = SearchSpace.of(rows, True), IndexScore()
        start = unit(stream().normal(size=(3, 4)))
        ends, reached = ascend(space, score, start, space.score(start, score))
        assert (np.diff(reached) <= 0).all()
        for v, best in zip(ends, reached):
            around = unit(v + 0.00625 * np.concatenate([np.eye(4), -np.eye(4)]))
            assert best >= space.score(around, score).max()


class TestCoordinates:
    @pytest.mark.parametrize("kind", ["combined", "genetic"])
    def test_the_search_in_components_does_not_know_the_units_and_the_mixing_of_columns(self, kind):
        rows, _ = two_clusters(d=5)
        mix = ortho_group.rvs(5, random_state=0) * [1.0, 10.0, 100.0, 0.1, 1.0]
        plain, mixed = (DirectionSearch(kind)(part, stream(), 1)[0] for part in (rows, rows @ mix))
        p, q = rows @ plain, rows @ mix @ mixed
        assert abs(np.corrcoef(p, q)[0, 1]) > 0.98

    def test_clusters_across_correlated_columns_are_found_among_components(self):
        # A share of 1e-4 of the variance tells them apart, as the width of crabs tells their sex.
        rng = np.random.default_rng(0)
        size = rng.normal(0, 10, (300, 1)) * np.ones(4)
        rows = size + rng.normal(0, 0.1, (300, 4)) + np.outer(np.repeat([-0.4, 0.4], 150), [1, -1, 1, -1])
        side = np.repeat([False, True], 150)
        found = DirectionSearch()(rows, stream(), 1)[0]
        p = rows @ found
        assert max(((p > np.median(p)) == side).mean(), ((p <= np.median(p)) == side).mean()) > 0.99

    def test_constant_columns_have_no_part_and_a_single_one_needs_no_search(self):
        rows, _ = two_clusters(d=3)
        wide = np.insert(rows, 1, 7.0, axis=1)
        for whiten in (True, False):
            V = DirectionSearch(whiten=whiten)(wide, stream(), 5)
            np.testing.assert_allclose(V[:, 1], 0.0, atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1.0)
            assert np.abs(DirectionSearch(whiten=whiten)(rows[:, :1], stream(), 5)).tolist() == [[1.0]]
            assert DirectionSearch(whiten=whiten)(np.ones((9, 3)), stream(), 5).shape == (0, 3)

    def test_few_rows_of_many_columns_are_searched_in_few_dimensions(self):
        rows = np.random.default_rng(0).normal(size=(40, 100))
        assert SearchSpace.of(rows, True).n_dimensions == 8
        assert SearchSpace.of(np.random.default_rng(0).normal(size=(400, 100)), True).n_dimensions == 50


@pytest.mark.parametrize("name", ["pursuit", "genetic", "brute_force"])
def test_the_same_stream_gives_the_same_directions_and_another_stream_others(name):
    rows, _ = two_clusters(200, 3, gap=1.0)
    a, b, other = (PROJECTIONS[name](rows, np.random.default_rng(seed), 40) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert np.array_equal(a, other) == (name != "genetic")  # in three columns the grid is searched


@pytest.mark.parametrize("criterion", sorted(name for name, entry in CRITERIA.items() if not entry.depends_on_length))
def test_any_criterion_can_be_searched(criterion):
    rows, apart = two_clusters(400, 4)
    score = search_score(SplitRule(criterion), BANDWIDTHS["normal"], 100)
    found = DirectionSearch("combined", n_random=50, genetic=GeneticSearch(10), score=score)(rows, stream(), 1)[0]
    assert abs(found @ apart) > 0.9


def test_without_any_score_the_search_goes_on_and_returns_directions():
    V = DirectionSearch("combined", score=lambda projections: np.zeros(len(projections)))(
        two_clusters()[0], stream(), 3
    )
    assert V.shape == (3, 8)
    assert np.isfinite(V).all()
