"""Few rows: a majority of divisions into halves decides about a split."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from helpers import at_night
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import load_wine

from mdh_dask import DivisiveClustering, HierarchicalMDH, RandomProjectionTree
from mdh_dask.estimators.parameters import checked_proposal
from mdh_dask.growth import examine
from mdh_dask.growth.cross_fitting import (
    FEW_ROWS,
    LEAD,
    LEAST,
    N_DIVISIONS,
    Fold,
    decided,
    joint_p_value,
    joint_p_values,
    shared_p_value,
    with_a_say,
)
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections.directions import Proposal, StandardDirections

METHODS = [RandomProjectionTree, HierarchicalMDH]

votes = st.lists(st.booleans(), min_size=N_DIVISIONS, max_size=N_DIVISIONS)


def two_normals(n, d, apart, seed):
    rng = np.random.default_rng([seed, n, d])
    rows = rng.normal(size=(n, d))
    rows[n // 2 :, 0] += apart
    return rows


class TestVote:
    def test_the_joint_p_value_of_independent_tests_is_uniform(self):
        rng = np.random.default_rng(0)
        joint = np.array([joint_p_value(*pair) for pair in rng.uniform(size=(4000, 2))])
        for level in (0.025, 0.1, 0.3):
            assert abs((joint <= level).sum() - 4000 * level) < 4 * np.sqrt(4000 * level)

    def test_one_half_alone_rejects_nothing_where_the_other_shows_nothing(self):
        assert joint_p_value(LEAST, 1.0) > 0.1
        assert joint_p_value(LEAST, 0.3) < 0.025

    @given(votes)
    def test_the_majority_wins_unless_the_others_lead_clearly_before(self, asked):
        leads = np.cumsum(np.where(asked, 1, -1))
        clear = np.flatnonzero(np.abs(leads) >= LEAD)
        winner = leads[clear[0]] > 0 if len(clear) else leads[-1] > 0
        assert next(v for i in range(N_DIVISIONS + 1) if (v := decided(asked[:i])) is not None) == winner


class TestFewRows:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("method", "n", "d", "apart"),
        at_night([(method, *at) for at in ((100, 2, 5.0), (300, 2, 4.0), (300, 10, 5.0)) for method in METHODS], 3),
    )
    def test_two_normals_are_two_clusters_with_nearly_every_seed(self, method, n, d, apart):
        # One half alone finds the first with .4 of the seeds.
        found = []
        for seed in range(6):
            labels = method(random_state=seed).fit_predict(two_normals(n, d, apart, seed))
            found.append(len(np.unique(labels)) == 2 and adjusted_rand_index(labels, np.arange(n) >= n // 2) > 0.8)
        assert sum(found) >= 5

    @pytest.mark.slow
    def test_wine_has_two_or_all_three_of_its_clusters_with_every_seed(self):
        wine, classes = load_wine(return_X_y=True)
        for seed in (1, 2, 3):
            labels = HierarchicalMDH(random_state=seed).fit_predict(wine)
            assert adjusted_rand_index(classes, labels) > {2: 0.45, 3: 0.75}[len(np.unique(labels))]

    @pytest.mark.slow
    @pytest.mark.parametrize("method", at_night(METHODS))
    def test_clouds_without_clusters_are_split_with_at_most_the_level(self, method):
        split = []
        for cloud, d, (seed, n) in product(
            ("normal", "lognormal", "uniform", "standard_t"), (1, 2, 10), enumerate((50, 120, 300))
        ):
            rng = np.random.default_rng([seed, d])
            draw = partial(rng.standard_t, 3) if cloud == "standard_t" else getattr(rng, cloud)
            split.append(method(random_state=seed).as_divisive(max_levels=1).fit(draw(size=(n, d))).n_clusters_ > 1)
        assert sum(split) <= binom.isf(0.01, len(split), 0.05)  # 5 of 36


class TestFamilies:
    """Directions found in different ways."""

    @staticmethod
    def proposed(rows, rng, n_directions):
        """Return the column that shows two clusters, and a direction that separates random halves of the rows."""
        sides = rng.choice([-1.0, 1.0], len(rows))
        by_chance = np.linalg.lstsq(rows - rows.mean(axis=0), sides, rcond=None)[0]
        return [np.eye(1, rows.shape[1]), by_chance[None]]

    @pytest.mark.parametrize("seed", range(3))
    def test_a_family_that_suits_the_choosing_rows_by_chance_hides_no_other(self, seed):
        def together(*given):
            return np.concatenate(self.proposed(*given))

        rows = two_normals(300, 200, 5.0, seed)
        labels = DivisiveClustering(projection=self.proposed, random_state=seed, n_candidates=1).fit_predict(rows)
        assert adjusted_rand_index(labels, np.arange(300) >= 150) > 0.9
        assert DivisiveClustering(projection=together, random_state=seed, n_candidates=1).fit(rows).n_clusters_ == 1

    def test_pursuits_that_fit_few_rows_too_closely_do_not_hide_the_column_that_they_start_from(self):
        rng = np.random.default_rng([1, 7])
        rows, small = rng.uniform(-1, 1, (300, 30)), np.arange(300) < 40
        rows[small, 0] = rng.normal(2.2, 0.3, 40)
        labels = HierarchicalMDH(random_state=1).fit_predict(rows)
        assert adjusted_rand_index(labels, small) > 0.9

    def test_share_the_level(self):
        assert shared_p_value([0.3, 0.02]) == 0.04
        assert shared_p_value([0.03, 0.02]) == 0.03
        assert shared_p_value([0.3, 1.0, 0.02]) == pytest.approx(0.06)
        assert shared_p_value([]) == 1

    def test_are_combined_over_both_halves_before_they_share_the_level(self):
        both = joint_p_values({0: 0.06, 2: 1.0}, {0: 0.06, 1: 0.2})
        assert both == {0: joint_p_value(0.06, 0.06), 1: joint_p_value(1.0, 0.2), 2: joint_p_value(1.0, 1.0)}
        halves = [shared_p_value([0.06, 1.0, 1.0]) for _ in range(2)]
        assert shared_p_value(both.values()) < 0.05 < joint_p_value(*halves)

    def test_the_first_family_with_a_majority_of_its_own_chooses_the_split(self):
        folds = [Fold(p_value, family, None, None) for family, p_value in ((1, 0.01), (0, 0.05), (1, 0.1), (0, 0.2))]

        def chosen(*own):
            return [(fold.family, fold.p_value) for fold in with_a_say(folds, dict(enumerate(own)), 4)]

        assert chosen(3, 4) == [(0, 0.05)]
        assert chosen(2, 4) == chosen(1, 2) == [(1, 0.01), (1, 0.1)]
        assert chosen(2, 2) == [(0, 0.05)]

    def test_of_proposals_stay_apart_when_these_are_joined(self):
        families = [np.eye(3)[:1], np.empty((0, 3)), np.eye(3)[1:]]
        proposal = checked_proposal(families, 3)
        both = Proposal(StandardDirections(np.ones((2, 3)))).joined(proposal)
        assert [one.directions.vectors.tolist() for one in both.families()] == [
            [[1, 1, 1], [1, 1, 1], [1, 0, 0]],
            [[0, 1, 0], [0, 0, 1]],
        ]
        assert [len(one) for one in proposal[1:].of_length_one().families()] == [2]
        with pytest.raises(ValueError, match="expected directions of shape"):
            checked_proposal([np.eye(3), np.eye(2)], 3)


class TestWhoVotes:
    """What else tests splits does as it did."""

    @pytest.fixture
    def asked(self, monkeypatch):
        """Let every vote reject a split, and return the numbers of rows of the branches that vote."""
        asked = []

        def rejected(branch, sample, *_):
            asked.append(len(sample.hashes))
            return None, 1.0

        monkeypatch.setattr(examine, "cross_fitted", rejected)
        return asked

    @pytest.mark.parametrize("stop_rule", ["hold-out-uniform", "level", "fixed", "none"])
    def test_no_other_stop_rule(self, asked, stop_rule):
        DivisiveClustering(n_projections=10, stop_rule=stop_rule).fit(two_normals(200, 2, 0.0, 0))
        assert not asked

    def test_nobody_where_rows_are_many_or_the_sample_holds_some_of_them(self, asked):
        RandomProjectionTree(n_projections=100).fit(two_normals(FEW_ROWS + 1, 2, 8.0, 0))
        RandomProjectionTree(n_projections=10, sample_size=200).fit(two_normals(FEW_ROWS, 2, 0.0, 0))
        assert not asked
