"""Scores against scikit-learn, brute force, hand-computed examples and their laws."""

from itertools import permutations

import dask.array as da
import numpy as np
import pytest
import sklearn.metrics as reference
from helpers import same_partition
from hypothesis import given
from hypothesis import strategies as st

from mdh_dask.metrics import (
    Contingency,
    ContingencyTable,
    adjusted_rand_index,
    binary_v_measure,
    contingency_table,
    matching_accuracy,
    normalized_mutual_information,
    purity,
    success_ratio,
    v_measure,
)

SCORES = [adjusted_rand_index, matching_accuracy, normalized_mutual_information, purity, v_measure]
BINARY_SCORES = [binary_v_measure, success_ratio]


@st.composite
def labellings(draw, n_true=6, n_predicted=6, min_size=1):
    """Two aligned labellings; the values are far apart, negative and not in order."""
    n = draw(st.integers(min_size, 60))
    true = draw(st.lists(st.integers(0, n_true - 1), min_size=n, max_size=n))
    predicted = draw(st.lists(st.integers(0, n_predicted - 1), min_size=n, max_size=n))
    names = np.array([-7, 3, 10**12, 0, -1, 5])
    return names[true], names[predicted]


def table_of(counts):
    counts = np.asarray(counts, dtype=np.int64)
    return ContingencyTable(np.arange(counts.shape[0]), np.arange(counts.shape[1]), counts)


def rename(labels, seed):
    names, positions = np.unique(labels, return_inverse=True)
    return np.random.default_rng(seed).permutation(len(names))[positions]


class TestContingency:
    @given(labellings())
    def test_table_is_that_of_scikit_learn(self, labels):
        table = contingency_table(*labels)
        np.testing.assert_array_equal(table.counts, reference.cluster.contingency_matrix(*labels))
        np.testing.assert_array_equal(table.true_labels, np.unique(labels[0]))
        np.testing.assert_array_equal(table.predicted_labels, np.unique(labels[1]))
        assert table.counts.dtype == np.int64

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([True, False, True]),
            np.array(["b", "a", "b"]),
            np.array(["b", "a", "b"], dtype=object),
            ["b", "a", "b"],
            np.array([127, -128, 127], dtype=np.int8),
            np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
            np.array([-(2**63), 2**63 - 1, -(2**63)]),
        ],
    )
    def test_any_kind_of_label(self, labels):
        table = contingency_table(labels, [0, 1, 0])
        assert sorted(table.counts.sum(axis=1).tolist()) == [1, 2]
        assert table.true_labels.tolist() == sorted(set(np.asarray(labels).tolist()))

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
    def test_every_value_of_a_byte(self, dtype):
        info = np.iinfo(np.int8 if dtype in (np.int8, np.int64) else np.uint8)
        values = np.arange(info.min, info.max + 1).astype(dtype)
        table = contingency_table(np.repeat(values, 2), np.tile(values, 2))
        np.testing.assert_array_equal(table.true_labels, values)
        assert table.true_labels.dtype == dtype
        assert table.counts.sum() == 512

    def test_counts_beyond_the_exact_range_of_floats_add_exactly(self):
        one = Contingency().chunk(0, np.zeros(1, int), np.zeros(1, int))
        many = one._replace(counts=np.array([2**60]))
        assert Contingency().combine(many, one).counts.tolist() == [2**60 + 1]

    def test_bad_labels_are_refused(self):
        with pytest.raises(ValueError, match="same rows; got 3 and 2"):
            contingency_table([0, 1, 2], [0, 1])
        with pytest.raises(ValueError, match="labels_true is empty"):
            contingency_table(np.empty(0, int), np.empty(0, int))
        with pytest.raises(ValueError, match=r"one-dimensional; got shape \(2, 1\)"):
            contingency_table([0, 1], [[0], [1]])
        with pytest.raises(TypeError, match=r"got float64: convert it.*astype\(int\)"):
            contingency_table([0.0, 1.0], [0, 1])
        unknown = da.arange(5, chunks=2)
        with pytest.raises(ValueError, match=r"call labels_true.compute_chunk_sizes\(\)"):
            contingency_table(unknown[unknown > 2], [0, 1])
        rows = np.arange(20_000)
        with pytest.raises(ValueError, match="20000 true and 20000 predicted labels"):
            contingency_table(rows, rows)

    @pytest.mark.parametrize(
        "labels",
        [
            [0, None, 1],
            ["a", np.nan, "b"],
            np.array([0.0, np.nan, 1.0]),
            np.array(["a", None, "b"], dtype=object),
            np.array(["a", np.nan, "b"], dtype=object),
            np.ma.array([0, 5, 1], mask=[False, True, False]),
        ],
        ids=["list", "texts", "floats", "objects", "NaN beside texts", "masked"],
    )
    def test_missing_labels_are_refused(self, labels):
        message = "expected a label of every row in labels_true; got 1 missing label, the first in row 1"
        with pytest.raises(ValueError, match=message):
            contingency_table(labels, [0, 1, 0])

    def test_masked_labels_of_lazy_arrays_are_refused(self):
        lazy = da.from_array(np.ma.array([0, 5, 1, 1], mask=[False, False, False, True]), chunks=2)
        with pytest.raises(ValueError, match="got 1 missing label, the first in row 3"):
            contingency_table(lazy, [0, 1, 0, 1])

    @pytest.mark.parametrize("labels", [["a", 1, "1"], ["a", b"a", "b"], np.array(["a", 1, "1"], dtype=object)])
    def test_strings_beside_other_values_are_refused(self, labels):
        with pytest.raises(TypeError, match=r"expected labels of one type in labels_true; got b?.* beside strings"):
            contingency_table(labels, [0, 1, 0])

    def test_a_label_of_minus_one_is_one_like_all_others(self):
        assert contingency_table([-1, 0, -1], [0, 1, 0]).true_labels.tolist() == [-1, 0]


class TestAgainstScikitLearn:
    @given(labels=labellings())
    def test_mutual_information_and_v_measure(self, labels):
        expected = reference.normalized_mutual_info_score(*labels, average_method="geometric")
        assert normalized_mutual_information(*labels) == pytest.approx(expected, abs=1e-12)
        assert v_measure(*labels) == pytest.approx(reference.v_measure_score(*labels), abs=1e-12)

    @given(labellings())
    def test_adjusted_rand_index(self, labels):
        expected = reference.adjusted_rand_score(*labels)
        assert adjusted_rand_index(*labels) == pytest.approx(expected, abs=1e-12)


class TestAgainstBruteForce:
    @given(labellings(n_true=4, n_predicted=5))
    def test_accuracy_is_the_best_over_all_matchings(self, labels):
        true, predicted = labels
        names = np.unique(predicted).tolist()
        classes = np.unique(true).tolist()
        classes += [None] * (len(names) - len(classes))
        best = max(
            sum(matching[name] == label for name, label in zip(predicted.tolist(), true.tolist()))
            for matching in (dict(zip(names, chosen)) for chosen in permutations(classes, len(names)))
        )
        assert matching_accuracy(*labels) == pytest.approx(best / len(true))

    @given(labellings())
    def test_purity_counts_the_most_frequent_class_of_each_cluster(self, labels):
        true, predicted = labels
        correct = sum(np.unique(true[predicted == name], return_counts=True)[1].max() for name in set(predicted))
        assert purity(*labels) == pytest.approx(correct / len(true))


class TestLaws:
    @pytest.mark.parametrize("score", BINARY_SCORES)
    @given(labels=labellings(n_predicted=2), seed=st.integers(0, 99))
    def test_names_of_parts_and_classes_do_not_matter_to_binary_scores(self, score, labels, seed):
        assert score(*(rename(x, seed) for x in labels)) == score(*labels)

    @pytest.mark.parametrize(
        "score", [adjusted_rand_index, matching_accuracy, normalized_mutual_information, v_measure]
    )
    @given(labels=labellings(n_true=3, n_predicted=3))
    def test_perfect_if_and_only_if_equal_up_to_names(self, score, labels):
        assert (score(*labels) == 1.0) == same_partition(*labels)
        assert score(labels[0], -labels[0]) == 1.0

    @pytest.mark.parametrize("score", [*SCORES, *BINARY_SCORES])
    def test_table_dask_and_numpy_give_the_same(self, score):
        true, predicted = np.arange(30) % 4, np.arange(30) % 5 // 3
        expected = score(true, predicted)
        assert score(contingency_table(true, predicted)) == expected
        assert score(da.from_array(true, chunks=7), da.from_array(predicted, chunks=11)) == expected


class TestOneCluster:
    def test_on_both_sides_is_agreement(self):
        for score in SCORES:
            assert score([1, 1, 1], [2, 2, 2]) == 1.0
            assert score([1], [2]) == 1.0

    @pytest.mark.parametrize("labels", [([0, 0, 0, 1], [5, 5, 5, 5]), ([5, 5, 5, 5], [0, 0, 0, 1])])
    def test_on_one_side_shares_no_information(self, labels):
        assert normalized_mutual_information(*labels) == 0.0
        assert adjusted_rand_index(*labels) == v_measure(*labels) == 0.0
        assert matching_accuracy(*labels) == 0.75


class TestLargeCounts:
    def test_rand_index_of_more_pairs_than_64_bits_hold(self):
        # The index depends on proportions only, but for terms of order 1 / n.
        small, large = np.array([[40, 10], [5, 45]]) * 10**3, np.array([[40, 10], [5, 45]]) * 10**9
        assert adjusted_rand_index(table_of(large)) == pytest.approx(adjusted_rand_index(table_of(small)), abs=1e-4)
        assert adjusted_rand_index(table_of(np.diag([10**10, 3 * 10**10]))) == 1.0

    def test_information_of_more_rows_than_floats_count(self):
        counts = np.array([[40, 10], [5, 45]])
        expected = normalized_mutual_information(table_of(counts))
        assert normalized_mutual_information(table_of(counts * 10**15)) == pytest.approx(expected)
        assert normalized_mutual_information(table_of(np.diag([10**16, 3, 10**9]))) == pytest.approx(1.0)


class TestBinaryScores:
    """Rows are classes, columns are the two parts."""

    def test_worked_example(self):
        # The first two classes go to part one (12 + 9 = 21, with 3 + 1 = 4 astray), the third to part two.
        table = table_of([[12, 3], [9, 1], [2, 20]])
        assert success_ratio(table) == pytest.approx(20 / (20 + 4 + 2))
        assert binary_v_measure(table) == pytest.approx(v_measure(table_of([[21, 4], [2, 20]])))

    @pytest.mark.parametrize("counts", [[[12, 3], [9, 1]], [[3, 12], [1, 9]], [[12, 3]]])
    def test_parts_that_separate_no_class_score_nothing(self, counts):
        assert success_ratio(table_of(counts)) == binary_v_measure(table_of(counts)) == 0.0

    def test_divided_class_goes_to_the_smaller_part(self):
        # Part two has 9 rows, part one 14: class two joins class three.
        table = table_of([[10, 0], [4, 4], [0, 5]])
        assert success_ratio(table) == pytest.approx(9 / (9 + 4))
        assert binary_v_measure(table) == pytest.approx(v_measure(table_of([[10, 0], [4, 9]])))

    def test_divided_class_between_equal_parts_goes_where_fewer_rows_are(self):
        # Both parts have 12 rows; the other classes are 8 rows of part one and 10 of part two.
        table = table_of([[8, 0], [1, 9], [3, 3]])
        assert success_ratio(table) == pytest.approx(9 / (9 + 3 + 1))
        assert binary_v_measure(table) == pytest.approx(v_measure(table_of([[11, 3], [1, 9]])))

    def test_more_than_two_parts_are_refused(self):
        with pytest.raises(ValueError, match="at most two predicted labels; got 3"):
            success_ratio([0, 1, 1], [0, 1, 2])


def test_scores_need_two_labellings_or_a_table():
    with pytest.raises(TypeError, match="pass labels_pred too"):
        purity([0, 1])
    with pytest.raises(TypeError, match="a table and an array"):
        purity(table_of([[1]]), [0])
