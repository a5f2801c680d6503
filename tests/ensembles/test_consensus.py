"""The consensus of clusterings: exact in integers, whatever the chunks, the names of the labels and their order."""

from itertools import permutations, product

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import noting_reads, peak_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import normalized_mutual_info_score
from strategies import seeds

from mdh_dask import consensus
from mdh_dask._jit.sums import count_votes
from mdh_dask.chunks import reduce_rows
from mdh_dask.ensembles.consensus import join, match_labels
from mdh_dask.ensembles.labels import found_by
from mdh_dask.ensembles.linkage import information_shared, linkage_of, tally_of
from mdh_dask.ensembles.votes import LabelTuples, LabelVotes
from mdh_dask.growth.passes import HASH_RANGE
from mdh_dask.metrics import adjusted_rand_index

ALL = LabelVotes(0, HASH_RANGE - 1)


def noisy(seed, n, k, m, noise=0.2):
    """The same labels, each renamed and with some drawn anew."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return truth, [rng.permutation(k)[np.where(rng.random(n) < noise, rng.integers(0, k, n), truth)] for _ in range(m)]


def full_tables(labels):
    votes = reduce_rows(ALL, *labels)
    return np.maximum(votes.tables, votes.tables.T), votes.starts


def objective(labels, columns, n_columns):
    """The mean square of the distances of the shares from the memberships (thesis 6.2.5), row by row."""
    members = [np.eye(n_columns)[column[own]] for own, column in zip(labels, columns)]
    shares = np.mean(members, axis=0)
    return float(np.mean([((shares - own) ** 2).sum() for own in members]))


class TestVotes:
    @given(seeds)
    def test_tables_first_rows_and_votes_are_those_counted_row_by_row(self, seed):
        rng = np.random.default_rng(seed)
        labels = [rng.integers(-1, 3, 30), rng.integers(0, 2, 30), rng.integers(5, 9, 30)]
        votes = reduce_rows(ALL, *labels)
        flat = [(j, name) for j, names in enumerate(votes.names) for name in names.tolist()]
        assert flat == sorted({(j, x) for j, own in enumerate(labels) for x in own.tolist() if x >= 0})
        for a, (i, x) in enumerate(flat):
            assert votes.first[a] == min(row for row in range(30) if labels[i][row] == x)
            for b, (j, y) in enumerate(flat):
                both = sum(labels[i][row] == x and labels[j][row] == y for row in range(30))
                assert votes.tables[a, b] == (both if a == b or i < j else 0)
        clusters = rng.integers(-1, 4, (30, 5)).astype(np.int32)
        counted = np.zeros((30, 4), dtype=np.int32)
        count_votes(clusters, counted)
        assert counted.tolist() == [[list(row).count(k) for k in range(4)] for row in clusters]


class TestMatching:
    @given(seeds)
    def test_is_the_best_of_all_matchings_of_three_clusterings(self, seed):
        _, labels = noisy(seed, 60, 3, 3, noise=0.3)
        tables, starts = full_tables(labels)
        orders = (np.array(order) for order in permutations(range(3)))
        ends = [np.split(match_labels(tables, starts, order).column, starts[1:-1]) for order in orders]
        best = min(objective(labels, columns, 3) for columns in ends)
        every = product(permutations(range(3)), repeat=2)
        least = min(objective(labels, [np.arange(3), *map(np.array, both)], 3) for both in every)
        assert best == pytest.approx(least)

    @given(seeds, st.integers(2, 5))
    def test_agreement_is_the_objective_without_the_rows(self, seed, m):
        _, labels = noisy(seed, 80, 4, m)
        tables, starts = full_tables(labels)
        found = match_labels(tables, starts, np.arange(m))
        columns = np.split(found.column, starts[1:-1])
        n = len(labels[0])
        # n - sum of squared shares, which are pairs of equal labels, each clustering with itself included.
        assert objective(labels, columns, 4) == pytest.approx(n - (found.agreement.sum() + m * n) / m**2)

    def test_columns_that_share_labels_are_linked_first(self):
        shared = np.array([[9, 1, 0, 0], [0, 0, 5, 5], [1, 9, 0, 0], [0, 0, 4, 6]])
        joined = join(shared, 1)
        assert joined.groups(1).tolist() == [0, 1, 2, 1]
        assert joined.groups(2).tolist() == [0, 1, 0, 1]
        assert joined.groups(3).tolist() == [0, 0, 0, 0]


class TestConsensus:
    def test_of_equal_clusterings_is_each_of_them(self):
        labels = np.random.default_rng(0).integers(0, 5, 300)
        found = consensus(labels, labels, labels)
        assert adjusted_rand_index(labels, found.labels) == 1
        assert found.n_clusters == 5
        assert (found.confidence == 1).all()

    @given(seeds)
    def test_renaming_the_labels_of_an_input_changes_nothing(self, seed):
        _, labels = noisy(seed, 150, 5, 6, noise=0.5)
        rng = np.random.default_rng(seed)
        renamed = [(rng.permutation(5) * 7)[own] for own in labels]
        renamed[0] = np.array(["e", "d", "c", "b", "a"])[labels[0]]
        before, after = consensus(*labels), consensus(*renamed)
        np.testing.assert_array_equal(before.labels, after.labels)
        np.testing.assert_array_equal(before.shares, after.shares)

    @pytest.mark.slow
    @settings(max_examples=8)
    @given(seeds, st.integers(1, 60), st.sampled_from(["votes", "linkage"]), st.booleans())
    def test_chunks_change_no_bit_and_texts_are_labels(self, seed, rows, method, texts):
        _, labels = noisy(seed, 150, 5, 4, noise=0.5)
        labels[1][::7] = -1
        if texts:
            labels = [np.array([*"abcde"])[own] for own in labels]
        whole = consensus(*labels, method=method)
        lazy = consensus(*(da.from_array(own, chunks=rows) for own in labels), method=method)
        assert isinstance(lazy.labels, da.Array)
        np.testing.assert_array_equal(lazy.labels.compute(), whole.labels)
        np.testing.assert_array_equal(lazy.shares.compute(), whole.shares)
        np.testing.assert_array_equal(lazy.confidence.compute(), whole.confidence)

    def test_of_noisy_clusterings_is_nearer_to_the_truth_than_any_of_them(self):
        truth, labels = noisy(1, 2000, 6, 15, noise=0.4)
        single = [adjusted_rand_index(truth, own) for own in labels]
        assert adjusted_rand_index(truth, consensus(*labels).labels) > max(single) + 0.3

    def test_lazy_labels_are_read_once_for_the_matching(self):
        labels = np.random.default_rng(0).integers(0, 4, 100)
        lazy, read = noting_reads(da.from_array(labels, chunks=10))
        consensus(lazy, labels, labels)
        assert sum(read) == 100

    def test_shares_are_those_of_the_votes(self):
        found = consensus([0, 0, 1, 1, 1], [0, 0, 1, 1, 0], [0, 0, 1, 0, 1])
        larger = found.labels[2]
        assert found.labels.tolist() == [1 - larger, 1 - larger, larger, larger, larger]
        np.testing.assert_allclose(found.confidence, [1, 1, 1, 2 / 3, 2 / 3])
        np.testing.assert_allclose(found.shares[:, larger], [0, 0, 1, 2 / 3, 2 / 3])

    @pytest.mark.parametrize("method", ["votes", "linkage"])
    @given(seed=seeds)
    def test_clusters_are_numbered_by_their_rows_although_many_rows_are_as_near_to_several(self, method, seed):
        _, labels = noisy(seed, 60, 6, 2, noise=0.7)
        found = consensus(*labels, method=method)
        assert (np.diff(np.bincount(found.labels)) <= 0).all()

    def test_negative_labels_are_no_votes(self):
        a = np.repeat([0, 1], 50)
        b = np.where(np.arange(100) % 2, a, -1)
        found = consensus(a, b, a)
        assert found.n_clusters == 2
        assert adjusted_rand_index(a, found.labels) == 1
        np.testing.assert_allclose(found.confidence, np.where(b < 0, 2 / 3, 1))
        np.testing.assert_allclose(found.shares.max(axis=1), 1)

    def test_labels_that_no_row_prefers_are_no_clusters(self):
        labels = np.repeat([0, 1], 50)
        with_outliers = labels.copy()
        with_outliers[::9] = np.arange(2, 2 + len(labels[::9]))
        found = consensus(labels, labels, with_outliers)
        assert found.n_clusters == 2
        np.testing.assert_array_equal(np.unique(found.labels), [0, 1])

    def test_n_clusters_merges_what_the_clusterings_put_together(self):
        fine, coarse = np.repeat([0, 1, 2, 3], 25), np.repeat([0, 0, 1, 1], 25)
        found = consensus(fine, fine, fine, coarse, coarse, n_clusters=2)
        assert found.n_clusters == 2
        assert adjusted_rand_index(coarse, found.labels) == 1
        assert consensus(fine, fine, coarse, n_clusters=9).n_clusters == 4

    def test_options_may_be_integers_of_numpy(self):
        labels = [0, 0, 1, 2]
        options = {"n_clusters": np.int64(2), "n_init": np.int32(3), "random_state": np.int64(0)}
        assert consensus(labels, labels, **options).n_clusters == 2

    @pytest.mark.parametrize(
        ("labels", "options", "message"),
        [
            ([[0, 1]], {}, r"at least 2 arrays of labels; got 1: .* as consensus\(first, second\)"),
            ([[0, 1], [0, 1, 2]], {}, r"got 2 and 3 labels"),
            ([[0, 1], [0.5, 1.5]], {}, "labels_2 must hold integers"),
            ([[0, 1], [0, np.nan]], {}, "expected a label of every row in labels_2; got 1 missing"),
            ([[0, 1], [-1, -1]], {}, "labels_2 has no label"),
            ([[[0, 1]], [0, 1]], {}, "labels_1 must be one-dimensional"),
            ([[0, 1], [0, 1]], {"n_clusters": 0}, "n_clusters must be None or an integer of at least 1; got 0"),
            ([[0, 1], [0, 1]], {"n_init": 0}, "n_init must be an integer of at least 1; got 0"),
            ([[0, 1], [0, 1]], {"random_state": None}, "random_state must be an integer of at least 0; got None"),
            ([[0, 1], [0, 1]], {"random_state": -1}, "random_state must be an integer of at least 0; got -1"),
        ],
    )
    def test_bad_labels_are_refused(self, labels, options, message):
        with pytest.raises((ValueError, TypeError), match=message):
            consensus(*labels, **options)


class TestMemory:
    @pytest.mark.parametrize("method", ["votes", "linkage"])
    def test_of_a_block_votes_are_taken_a_few_rows_at_a_time(self, method):
        _, labels = noisy(0, 200_000, 50, 3, noise=0)
        table = 200_000 * 50 * 4
        blocks = [da.from_array(own, chunks=-1) for own in labels]
        assert peak_of(lambda: consensus(*blocks, method=method).labels.compute(scheduler="synchronous")) < table / 2

    @pytest.mark.parametrize("method", ["votes", "linkage"])
    def test_more_labels_than_tables_can_have_are_refused(self, method):
        with pytest.raises(ValueError, match="at most 8192 different labels of all clusterings together, got at least"):
            consensus(np.arange(5000), np.arange(5000), method=method)

    def test_tables_of_merged_blocks_are_refused_where_they_have_too_many_labels(self, monkeypatch):
        monkeypatch.setattr("mdh_dask.ensembles.votes.MOST_LABELS", 50)
        with pytest.raises(ValueError, match=r"at most 50 different labels .* got at least 61"):
            consensus(da.arange(60, chunks=30), da.zeros(60, dtype=int, chunks=30))

    def test_linkage_holds_no_table_of_all_tuples_and_labels(self, monkeypatch):
        monkeypatch.setattr("mdh_dask.ensembles.linkage.MOST_LINKED", 4)
        rng = np.random.default_rng(0)
        tuples = reduce_rows(LabelTuples(2**16), *(rng.integers(0, 2000, 20_000) for _ in range(2)))
        assert peak_of(lambda: linkage_of(tuples)) < 20_000 * 4000 * 8 / 10

    def test_shares_are_computed_when_asked_for_in_blocks_of_the_configured_size(self):
        _, labels = noisy(0, 3000, 20, 3)
        assert "shares" not in vars(consensus(*labels))
        with dask.config.set({"mdh-dask.block-size": "16KiB"}):
            shares = consensus(*(da.from_array(own, chunks=-1) for own in labels)).shares
        assert max(shares.chunks[0]) * 20 * 8 <= 2**14


def by_hand(labels):
    """Average linkage of rows by SciPy, cut where the mean NMI with the clusterings is largest."""
    rows = np.stack(labels, axis=1)
    tree = linkage(rows, "average", metric="hamming")
    most = max(len(np.unique(own)) for own in labels)
    cuts = [fcluster(tree, k, "maxclust") for k in range(1, most + 1)]
    shared = [np.mean([normalized_mutual_info_score(own, cut) for own in labels]) for cut in cuts]
    return cuts[int(np.argmax(np.round(shared, 9)))]


class TestLinkage:
    def test_it_finds_the_groups_that_noisy_labels_share(self):
        truth, labels = noisy(0, 2000, 4, 8)
        found = consensus(*labels, method="linkage")
        assert found.n_clusters == 4
        assert adjusted_rand_index(truth, found.labels) > 0.95
        np.testing.assert_allclose(found.shares.sum(axis=1), 1)
        np.testing.assert_array_equal(found.labels, found.shares.argmax(axis=1))
        np.testing.assert_array_equal(found.confidence, found.shares.max(axis=1))
        assert (np.diff(np.bincount(found.labels)) <= 0).all()
        assert consensus(*labels, method="linkage", n_clusters=2).n_clusters == 2

    @given(seeds)
    def test_merges_are_those_of_average_linkage_of_all_rows(self, seed):
        rng = np.random.default_rng(seed)
        distinct, times = rng.integers(0, 3, (5, 400)), rng.integers(1, 5, 5)
        labels = [*np.repeat(distinct, times, axis=0).T]
        tally, _ = tally_of(reduce_rows(LabelTuples(2**16), *labels))
        apart = pdist(np.stack(labels, axis=1), "hamming")
        little = 1e-6 * rng.random(len(apart))
        above, heights, below = (linkage(apart + more, "average")[-4:, 2] for more in (little, 0, -little))
        # Of equal distances, also of those after a merge, either may be merged first.
        assume(np.allclose(above, heights, atol=1e-5) and np.allclose(below, heights, atol=1e-5))
        np.testing.assert_allclose(1 - join(tally.counts(), 400).similarity, heights)

    def test_of_equal_similarities_the_same_is_merged_first_for_any_order_of_the_labels(self):
        for seed in range(100):
            rng = np.random.default_rng(seed)
            places = np.unique(rng.integers(0, 3, (12, 7)), axis=0) + 3 * np.arange(7)
            counts = np.zeros((len(places), 21), dtype=np.int64)
            np.put_along_axis(counts, places, rng.integers(1, 9, (len(places), 1)), axis=1)
            for own, other in zip(join(counts, 7), join(counts[:, rng.permutation(21)], 7)):
                np.testing.assert_array_equal(own, other)

    @pytest.mark.slow
    @given(seeds)
    def test_the_information_shared_is_normalised_by_the_mean_of_the_entropies(self, seed):
        _, labels = noisy(seed, 15, 3, 4, noise=0.3)
        tally, _ = tally_of(reduce_rows(LabelTuples(2**16), *labels))
        counts = tally.counts()
        shared = information_shared(counts, tally.starts, joined := join(counts, 4))
        group = np.arange(len(tally.rows))
        for step in range(len(shared)):
            if step:
                group[group == joined.gone[step - 1]] = joined.kept[step - 1]
            of_rows = np.repeat(group, tally.rows)
            each = [normalized_mutual_info_score(np.repeat(own, tally.rows), of_rows) for own in tally.places.T]
            assert shared[step] == pytest.approx(each)

    def test_the_cut_is_that_of_the_linkage_of_all_rows(self):
        for seed in range(5):
            _, labels = noisy(seed, 300, 4, 7, noise=0.2)
            found = consensus(*labels, method="linkage")
            assert adjusted_rand_index(by_hand(labels), found.labels) > 0.9

    def test_other_names_of_the_labels_give_the_same_clusters(self):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            labels = [rng.integers(0, 4, 60) for _ in range(3)]
            renamed = [rng.permutation(100)[:4][own] for own in labels]
            one, other = (consensus(*own, method="linkage").labels for own in (labels, renamed))
            np.testing.assert_array_equal(one, other)

    def test_what_a_fifth_of_the_clusterings_divide_is_one_cluster_and_what_more_of_them_divide_is_not(self):
        one, two = np.zeros(100, dtype=int), np.repeat([0, 1], 50)
        assert consensus(one, one, one, one, one, one, two, method="linkage").n_clusters == 1
        assert consensus(one, one, one, one, two, method="linkage").n_clusters == 1
        assert consensus(*[one] * 7, two, two, method="linkage").n_clusters == 2

    def test_a_cluster_that_most_of_the_others_do_not_divide_is_one(self):
        two, three = np.repeat([0, 1], 60), np.repeat([0, 1, 2], 40)
        assert consensus(two, two, two, three, three, method="linkage").n_clusters == 2
        assert consensus(two, two, three, three, three, method="linkage").n_clusters == 3

    def test_rows_between_two_borders_are_no_cluster(self):
        first, second = np.repeat([0, 1], 100), np.repeat([0, 1], [110, 90])
        found = consensus(first, first, second, second, method="linkage")
        assert found.n_clusters == 2
        assert adjusted_rand_index(first, found.labels) > 0.7

    def test_an_unknown_method_is_refused(self):
        with pytest.raises(ValueError, match="method must be 'votes' or 'linkage'; got 'mean'"):
            consensus([0, 1], [0, 1], method="mean")

    def test_each_label_alone_gives_its_cluster_also_a_negative_one(self):
        labels = [np.repeat([-2, 0, 3], 20), np.repeat([5, -1, 2], 20)]
        tuples = reduce_rows(LabelTuples(2**16), *labels)
        linked = linkage_of(tuples, 3)
        found = found_by(linked, tuples)
        assert [names.tolist() for names in found.consensus.names] == [[-2, 0, 3], [-1, 2, 5]]
        expected = linked.labels(linked.votes(labels))
        assert (found.consensus.labels(found.consensus.votes(labels)) == expected).all()
        assert found.confidence.tolist() == [0, 0, 60]
