"""Trees that learn from batches of rows: as good as one fit to all of them, one pass a batch, and up to date."""

from copy import deepcopy
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from helpers import at_night, noting_reads
from hypothesis import given
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from trees import trees

from mdh_dask import (
    DivisiveClustering,
    HierarchicalMDH,
    PCATree,
    RandomProjectionTree,
    load_model,
)
from mdh_dask._journal import use_journal
from mdh_dask.density.histograms import Histograms, no_extremes
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.growth.trees import branches_of, tree_of
from mdh_dask.io.codec import FolderJournal
from mdh_dask.metrics import adjusted_rand_index, contingency_table, normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.choose import Counts, SplitSelector
from mdh_dask.splits.rules import SplitRule
from mdh_dask.splits.stopping import HoldOut
from mdh_dask.splits.thresholds import THRESHOLD_RULES

CORNERS = np.array([[0.0, 0.0, 0.0], [7.0, 0.0, 0.0], [0.0, 8.0, 0.0], [8.0, 8.0, 0.0]])


def night(seed, *corners, n=900, centres=CORNERS):
    """Rows around some of the corners, and the corner of each."""
    rng = np.random.default_rng(seed)
    of = rng.choice(corners, n)
    return rng.normal(size=(n, centres.shape[1])) + centres[of], of


FIRST, SECOND = night(0, 0, 1, 2)[0], night(1, 0, 1, 2, 3, n=1500)[0]


def crowded(n_clusters, n_columns):
    """Centres of so many clusters that only neighbourhoods show them."""
    centres = np.random.default_rng(0).uniform(size=(n_clusters, n_columns))
    return centres * (6 / np.quantile(pdist(centres), 0.002))


def labels_that_differ(first, second):
    """Share of the rows whose labels differ, with the labels of one matched to those of the other."""
    table = contingency_table(first, second).counts
    return 1 - table[linear_sum_assignment(-table)].sum() / len(first)


def after_nights(model, nights):
    """Return the number of clusters after every night."""
    return [model.partial_fit(rows).n_clusters_ for rows, _ in nights]


@given(trees)
def test_branches_of_a_tree_make_the_same_tree(tree):
    assert tree_of(branches_of(tree, BANDWIDTHS["normal"])) == tree


class TestStream:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "model", at_night([RandomProjectionTree(n_projections=200), PCATree(), HierarchicalMDH(starts="pca2")], 1)
    )
    def test_ten_nights_of_a_stable_mixture_give_the_tree_of_all_rows_but_for_two_percent(self, model):
        X = gaussian_mixture(10_000, 6, 5, sd=1.8, random_state=2)[0].compute()
        X = X[np.random.default_rng(0).permutation(len(X))]
        whole = type(model)(**model.get_params()).fit(X)
        assert whole.n_clusters_ == 5
        for batch in np.split(X, 10):
            model.partial_fit(batch)
        assert model.n_batches_ == 10
        assert labels_that_differ(whole.labels_, model.predict(X)) <= 0.02

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "model", at_night([RandomProjectionTree(n_projections=200), PCATree(), HierarchicalMDH(starts="pca2")], 1)
    )
    def test_a_cluster_that_appears_in_batch_six_is_found_by_batch_seven(self, model):
        found = after_nights(model, [night(i, 0, 1, 2) for i in range(5)] + [night(i, 0, 1, 2, 3) for i in (5, 6)])
        assert found[:5] == [3] * 5
        assert found[6] == 4
        rows, of = night(99, 0, 1, 2, 3)
        assert adjusted_rand_index(of, model.predict(rows)) > 0.9  # directions of the other splits stay

    def test_the_split_of_a_cluster_that_vanishes_goes_and_the_others_stay(self):
        model = RandomProjectionTree(n_projections=200)
        after_nights(model, [night(i, 0, 1, 2, 3) for i in range(3)])
        found = after_nights(model, [night(i, 0, 2, 3) for i in range(10, 20)])
        assert found[0] == 4
        assert found[-1] == 3
        assert sorted(found, reverse=True) == found
        rows, of = night(99, 0, 2, 3)
        assert adjusted_rand_index(of, model.predict(rows)) > 0.97

    def test_without_decay_nothing_is_forgotten_and_with_decay_zero_all_is(self):
        for decay, left in ((1.0, 3), (0.0, 2)):
            model = RandomProjectionTree(n_projections=100, decay=decay)
            assert after_nights(model, [night(0, 0, 1, 2), *(night(i, 0, 2) for i in range(1, 5))])[-1] == left
            assert model.tree_.n_rows[0] == (4500 if decay else 900)

    def test_two_clusters_that_drift_together_are_merged(self):
        model, found = RandomProjectionTree(n_projections=200), []
        for i, gap in enumerate([7, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]):
            rows, _ = night(i, 0, 1, centres=np.array([[0.0, 0.0, 0.0], [gap, 0.0, 0.0]]))
            found.append(model.partial_fit(rows).n_clusters_)
        assert (found[0], found[-1]) == (2, 1)

    def test_two_clusters_whose_valley_fills_are_one_in_the_same_night(self):
        model = RandomProjectionTree(n_projections=200)
        after_nights(model, [night(i, 0, 1, 2, 3) for i in range(4)])
        rows, of = night(9, 0, 2, 3, n=3000)
        rows[of == 0, 0] += np.random.default_rng(9).uniform(0, 7, np.sum(of == 0))
        assert model.partial_fit(rows).n_clusters_ == 3
        assert model.history_.changes() == {"born": 0, "split": 0, "merged": 1, "died": 0}
        assert adjusted_rand_index(of, model.predict(rows)) > 0.97

    def test_no_split_cuts_a_cluster_that_is_born_in_its_valley(self):
        model = RandomProjectionTree(n_projections=200)
        corners = np.array([[0.0, 0, 0], [14, 0, 0], [7, 0, 0]])
        after_nights(model, [night(i, 0, 1, n=3000, centres=corners) for i in range(4)])
        rows, of = night(9, 0, 0, 1, 1, 2, centres=corners)
        assert model.partial_fit(rows).n_clusters_ == 3
        assert adjusted_rand_index(of, model.predict(rows)) > 0.97

    def test_a_cluster_without_rows_in_a_night_keeps_its_place(self):
        model = RandomProjectionTree(n_projections=200)
        assert after_nights(model, [night(0, 0, 1, 2), night(1, 0, 2), night(2, 0, 1, 2)]) == [3, 3, 3]

    def test_a_split_moves_with_its_valley(self):
        model, step = RandomProjectionTree(n_projections=200), np.array([0.4, 0, 0])
        for i in range(12):
            model.partial_fit(night(i, 0, 1)[0] + i * step)
        rows, of = night(99, 0, 1)
        assert adjusted_rand_index(of, model.predict(rows + 11 * step)) > 0.97

    def test_small_batches_leave_the_clusters_as_they_were(self):
        rng = np.random.default_rng(2)
        centres = 3 * rng.normal(size=(10, 6))
        model = RandomProjectionTree(n_projections=200).fit(night(0, *range(10), n=5000, centres=centres)[0])
        batches = [night(i, *range(10), n=200, centres=centres) for i in range(1, 9)]
        assert after_nights(model, batches) == [model.n_clusters_] * 8

    def test_no_update_makes_clusters_smaller_than_users_want(self):
        model = RandomProjectionTree(n_projections=200, min_cluster_size=400)
        model.fit(night(0, 0, 1, n=1000)[0])
        for i in range(1, 6):  # old rows count less and less
            model.partial_fit(night(i, 0, 1, n=150)[0])
            assert model.n_clusters_ == 1 or model.tree_.n_rows[model.tree_.leaves].min() >= 400

    @pytest.mark.slow
    @pytest.mark.parametrize(("n_clusters", "n_columns", "n"), at_night([(100, 32, 12_000), (200, 8, 20_000)]))
    def test_a_batch_leaves_nearly_all_of_hundreds_of_clusters(self, n_clusters, n_columns, n):
        centres = crowded(n_clusters, n_columns)
        fitted = RandomProjectionTree().fit(night(1, *range(n_clusters), n=n, centres=centres)[0])
        # Neighbourhoods show them in the larger batch alone, too.
        for size in (5000, 3000):
            rows, of = night(2, *range(n_clusters), n=size, centres=centres)
            before = normalized_mutual_information(of, fitted.predict(rows))
            model = deepcopy(fitted).partial_fit(rows)
            assert normalized_mutual_information(of, model.labels_) > before - 0.02, size
            assert model.n_clusters_ >= 0.95 * fitted.n_clusters_, size

    @pytest.mark.slow
    def test_a_new_cluster_in_the_first_valley_leaves_a_hundred_others(self):
        # The batch shows each of their splits, but not enough to find them again.
        rng = np.random.default_rng(2)
        centres = 3 * rng.normal(size=(100, 8))
        model = RandomProjectionTree(n_projections=200).fit(night(2, *range(100), n=10_000, centres=centres)[0])
        before, plane = model.n_clusters_, model.tree_.planes[0]
        middle = centres.mean(axis=0)
        middle += (model.tree_.thresholds[0] - plane @ middle) / (plane @ plane) * plane
        rows = night(3, *range(100), n=5000, centres=centres)[0]
        assert before > 90
        assert model.partial_fit(np.concatenate([rows, middle + rng.normal(size=(1500, 8))])).n_clusters_ > 90

    def test_a_shallow_valley_outlives_batches_that_are_too_small_to_show_it(self):
        rng = np.random.default_rng(0)

        def near(n):
            return rng.normal(size=(n, 1)) + rng.choice([0, 2.7], (n, 1))

        model = RandomProjectionTree(n_projections=10, decay=0.03).fit(near(20_000))  # a batch has a third of the rows
        assert [deepcopy(model).partial_fit(near(300)).n_clusters_ for _ in range(8)] == [2] * 8

    @pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_exponential"])
    def test_nights_without_clusters_are_not_split(self, draw):
        model = RandomProjectionTree(n_projections=100)
        rng = np.random.default_rng(3)
        nights = [(getattr(rng, draw)(size=(600, 4)), None) for _ in range(8)]
        assert after_nights(model, nights) == [1] * 8


class TestBatch:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "settings", at_night([{}, {"feature_map": "rbf"}, {"sample_size": None}, {"refine": True}], 2)
    )
    def test_a_batch_costs_one_pass(self, settings):
        model = DivisiveClustering(n_projections=50, **settings).fit(FIRST)
        lazy, read = noting_reads(da.from_array(SECOND, chunks=(400, 3)))
        model.partial_fit(lazy)
        assert sum(read) == len(SECOND)
        assert model.n_passes_ == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("chunks", at_night([1500, 700, 333], 1))
    def test_chunks_do_not_change_a_bit(self, chunks):
        models = [RandomProjectionTree(n_projections=100).fit(FIRST) for _ in range(2)]
        models[0].partial_fit(SECOND)
        models[1].partial_fit(da.from_array(SECOND, chunks=(chunks, 3)))
        assert models[0].tree_ == models[1].tree_
        np.testing.assert_array_equal(models[0].labels_, models[1].labels_.compute())

    def test_the_first_batch_is_fitted(self):
        first, fitted = (
            RandomProjectionTree(n_projections=50).partial_fit(FIRST),
            RandomProjectionTree(n_projections=50).fit(FIRST),
        )
        assert first.tree_ == fitted.tree_
        assert first.n_batches_ == fitted.n_batches_ == 1
        assert fitted.partial_fit(SECOND).fit(FIRST).tree_ == first.tree_

    @pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
    def test_numbers_of_rows_add_up_at_all_nodes_and_in_their_bins(self, decay):
        tree = RandomProjectionTree(n_projections=100, decay=decay).fit(FIRST).partial_fit(SECOND).tree_
        assert tree.n_rows[0] == round(decay * 900) + 1500
        for node in range(tree.n_nodes):
            if tree.left[node] >= 0:
                assert tree.n_rows[node] == tree.n_rows[tree.left[node]] + tree.n_rows[tree.right[node]]
            assert len(tree.histogram(node)) == 0 or tree.histogram(node).sum() == tree.n_rows[node]

    @pytest.mark.parametrize("rule", ["relative_depth", "gap"])
    def test_columns_that_are_not_scaled_may_be_of_any_size(self, rule):
        settings = {"scale": False, "projection": "pca", "n_projections": 3, "threshold_rule": rule}
        models = [DivisiveClustering(**settings) for _ in range(2)]
        for model, unit in zip(models, (1.0, 2.0**40)):
            model.fit(unit * FIRST).partial_fit(unit * SECOND)
        assert models[0].n_clusters_ == 4
        np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
        np.testing.assert_allclose(models[1].tree_.thresholds, 2.0**40 * models[0].tree_.thresholds)

    def test_without_forgetting_a_stable_tree_counts_all_rows_as_a_fit_does(self):
        model = PCATree(decay=1.0).fit(FIRST)
        more = night(7, 0, 1, 2)[0]
        model.partial_fit(more)
        both = np.concatenate([FIRST, more])
        np.testing.assert_allclose(model.tree_.cluster_rows, np.bincount(model.predict(both)), atol=2)

    def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(self, tmp_path):
        model = RandomProjectionTree(n_projections=50, decay=0.6).fit(FIRST).partial_fit(FIRST[::2])
        model.save(tmp_path / "m.zarr")
        loaded = load_model(tmp_path / "m.zarr")
        assert (loaded.n_batches_, loaded.decay) == (2, 0.6)
        assert loaded.partial_fit(SECOND).tree_ == model.partial_fit(SECOND).tree_
        assert loaded.n_batches_ == 3

    def test_rows_that_cannot_be_learned_from_leave_the_model_as_it_was(self):
        model = RandomProjectionTree(n_projections=50).fit(FIRST)
        tree, bad = model.tree_, SECOND.copy()
        bad[7, 1] = np.nan
        for rows in (bad, da.from_array(bad, chunks=(200, 3))):
            with pytest.raises(ValueError, match="row 7"):
                model.partial_fit(rows)
        with pytest.raises(ValueError, match="2 features"):
            model.partial_fit(SECOND[:, :2])
        assert model.tree_ is tree
        assert model.n_batches_ == 1

    def test_an_update_that_was_interrupted_can_be_repeated(self, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        model, other = (RandomProjectionTree(n_projections=50).fit(FIRST) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(RandomProjectionTree, "_finish", interrupt)
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(SECOND)
        assert model.partial_fit(SECOND).tree_ == other.partial_fit(SECOND).tree_
        assert model.n_batches_ == other.n_batches_ == 2

    def test_a_journal_replays_the_pass(self, tmp_path):
        found = []
        for _ in range(2):
            journal = FolderJournal(tmp_path, "job")
            with use_journal(journal):
                found.append(RandomProjectionTree(n_projections=50).fit(FIRST).partial_fit(SECOND).tree_)
        assert found[0] == found[1]
        assert [made.statistic for made in journal.passes] == ["FirstPass", "UpdatePass"]
        assert all(made.replayed for made in journal.passes)


class TestFollow:
    def histogram(self, *counts):
        return Histograms(np.array([counts]), np.zeros(1), np.ones(1), BANDWIDTHS["normal"], known_bandwidth=np.ones(1))

    def test_a_split_stays_in_its_valley_though_another_is_deeper(self):
        both = self.histogram(0, 0, 0, 20, 90, 20, 15, 20, 80, 20, 0, 0, 0, 0, 20, 90, 20, 0, 0, 0)
        place = THRESHOLD_RULES["relative_depth"]
        assert both.depth[0].argmax() in (11, 12)
        assert place.follow(both, 6.0) == 6
        assert place.follow(both, 8.0) == 6

    def test_a_split_that_was_made_without_a_valley_keeps_its_place(self):
        old, new = np.array([2, 9, 20, 60, 90, 70, 30, 9, 1]), np.array([1, 4, 9, 20, 60, 20, 5, 9, 1])
        candidates, counts = self.histogram(*old), Counts(np.stack([old, new])[None], no_extremes(1, 2, 0))
        selector = SplitSelector(SplitRule(min_relative_depth=0.1), HoldOut(), n_tests=1, n_root=500, min_rows=10)
        made = selector.suggested(replace(candidates, suggested=np.array([4.0])))
        assert made.depth == 0
        for earlier, place in ((made, made.threshold), (replace(made, depth=0.2), None)):
            followed = selector.follow(counts, candidates, earlier, 1, np.random.default_rng(0))
            assert (followed.threshold if followed.accepted else None) == place

    def test_a_split_in_a_gap_stays_until_the_gap_is_narrower_than_a_bin(self):
        def with_extremes(*counts):
            held = np.array(counts) > 0
            ends = np.arange(len(counts), dtype=float)
            extremes = np.stack([np.where(held, ends, np.inf), np.where(held, ends + 1, -np.inf)])[None]
            return Histograms(np.array([counts]), np.zeros(1), np.ones(1), BANDWIDTHS["normal"], extremes=extremes)

        place = THRESHOLD_RULES["gap"]
        assert place.follow(with_extremes(0, 5, 0, 0, 5, 0, 0, 0, 5, 0), 3.0) == 2
        assert place.follow(with_extremes(0, 5, 0, 5, 5, 0, 0, 0, 5, 0), 2.0) == 1
        assert place.follow(with_extremes(0, 5, 5, 5, 5, 0, 0, 0, 5, 0), 3.0) in (4, 5, 6, 7)


def test_a_batch_that_shows_no_split_by_itself_may_end_one_of_any_depth():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2)) + np.repeat([[0, 0], [9, 0]], 1000, axis=0)
    model = RandomProjectionTree(min_relative_depth=0).fit(rows)
    assert model.partial_fit(rng.uniform(2, 7, (60, 2))).n_clusters_ == 1  # an UnboundLocalError


def test_labels_do_not_stay_where_another_branch_has_the_place_of_one_that_ended():
    rng = np.random.default_rng(0)
    left, middle, right = (rng.normal(8 * i, 1, (n, 1)) for i, n in enumerate((900, 500, 900)))
    model = RandomProjectionTree(decay=0.0).fit(np.concatenate([left, middle]))
    model.partial_fit(np.concatenate([middle, right]))
    assert model.predict(np.array([[8.0], [16.0]])).tolist() == [1, 0]
