"""A fit with weights is that of the repeated rows, to the last bit; weights that are no counts are refused."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cases import assert_same_fit, new
from helpers import at_night
from scipy.sparse import csr_array

from mdh_dask import HierarchicalKernelMDH, HierarchicalMDH, KernelKMeans, RandomProjectionTree, SemiSupervisedMDH
from mdh_dask._sparse import RepeatedRows
from mdh_dask.chunks import repeated_rows
from mdh_dask.estimators.consensus_members import limit_to_sample
from mdh_dask.estimators.parameters import rows_of_share
from mdh_dask.estimators.tables import plain_labels
from mdh_dask.growth.passes import FirstPass

N = 240


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    rows = np.repeat([[0.0, 0, 0], [7, 0, 7], [0, 7, 0]], N // 3, axis=0) + rng.normal(size=(N, 3))
    return np.where(np.abs(rows) < 0.7, 0.0, rows)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(1).integers(0, 5, N)


@pytest.mark.slow
@pytest.mark.parametrize("name", at_night(["RandomProjectionTree", "KernelKMeans", "HierarchicalKernelMDH"], 2))
def test_weights_of_any_form_go_with_rows_of_any_form(rows, weights, name):
    expected = new(name).fit(rows, sample_weight=weights)
    for X, w in (
        (rows, weights.tolist()),
        (csr_array(rows), weights.astype(float)),
        (da.from_array(rows, chunks=(70, 2)), da.from_array(weights, chunks=50)),
    ):
        assert_same_fit(new(name).fit(X, sample_weight=w), expected)
    assert_same_fit(new(name).fit(rows, None, np.ones(N)), new(name).fit(rows))


@pytest.mark.slow
def test_weights_of_many_columns_of_sparse_rows_count_in_the_map_and_its_landmarks(weights):
    words = np.random.default_rng(0).poisson(0.02, (N, 1200)) + np.repeat(np.eye(3, 1200) * 9, N // 3, axis=0)
    model = HierarchicalMDH().fit(csr_array(words), sample_weight=weights)
    repeated = HierarchicalMDH().fit(csr_array(np.repeat(words, weights, axis=0)))
    np.testing.assert_array_equal(model.feature_map_.map_.components, repeated.feature_map_.map_.components)
    np.testing.assert_array_equal(np.repeat(model.labels_, weights), repeated.labels_)


def test_weights_do_not_stay_for_the_next_fit(rows, weights):
    model = RandomProjectionTree().fit(rows, sample_weight=weights)
    assert model.tree_.n_rows[0] == weights.sum()
    assert model.fit(rows).tree_.n_rows[0] == N


def test_repeated_rows_are_made_a_few_at_a_time(rows, monkeypatch):
    lengths = []
    plain = RepeatedRows.plain
    monkeypatch.setattr(RepeatedRows, "plain", lambda self, sparse: lengths.append(len(self)) or plain(self, sparse))
    FirstPass(0, 2**40).state_of(0, repeated_rows(rows[:3], np.cumsum([1_500_000, 0, 1_500_000])))
    assert sum(lengths) == 3_000_000
    assert max(lengths) < 10**6


MASKED = np.ma.array(np.ones(N), mask=np.arange(N) == 7)
BAD = {
    "shape": (np.ones(5), r"of shape \(240,\), one for each row; got shape \(5,\)"),
    "negative": (np.full(N, -1), "finite numbers of at least 0"),
    "NaN": (np.full(N, np.nan), "finite numbers of at least 0"),
    "text": (["a"] * N, "finite numbers of at least 0"),
    "fraction": (np.full(N, 0.25), "whole numbers.*got the fraction 0.25: give counts"),
    "too many": (np.full(N, 1e13), "a sum of 2.4e[+]15: give counts"),
    "masked": (MASKED, "got a masked value in row 7: correct the weights of 1 row,"),
    "masked, lazy": (da.from_array(MASKED, chunks=50), "masked value in row 7"),
    "none": (np.zeros(N), "other than zero with a sum of at least 2; got 0"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_weights_that_are_no_counts_are_refused(rows, given, message):
    with pytest.raises(ValueError, match=message):
        RandomProjectionTree().fit(rows, sample_weight=given)


@pytest.mark.parametrize("lazy", [False, True])
def test_values_that_are_not_finite_are_refused_with_their_row_of_fit(rows, weights, lazy):
    rows = rows.copy()
    rows[7, 1] = np.nan
    given = da.from_array(rows, chunks=((80, 160), -1)) if lazy else rows
    with pytest.raises(
        ValueError, match=f"got 1 NaN .* in a block of {80 if lazy else N} rows, the first in its row 7"
    ):
        RandomProjectionTree().fit(given, sample_weight=weights + 1)


def test_what_does_not_go_with_weights_is_refused(rows, weights):
    labels = np.where(np.arange(N) % 9, -1, np.arange(N) // 80)
    with pytest.raises(ValueError, match="sample_weight or labels of some rows"):
        RandomProjectionTree().fit(rows, labels, sample_weight=weights)
    with pytest.raises(TypeError, match="sample_weight"):  # scikit-learn asks the signature of fit
        SemiSupervisedMDH().fit(rows, np.minimum(labels, 1), sample_weight=weights)
    with pytest.raises(ValueError, match="missing='error' with sample_weight"):
        RandomProjectionTree(missing="drop").fit(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="precomputed kernel: repeat its rows and columns"):
        KernelKMeans(n_clusters=2, feature_map="precomputed").fit(rows @ rows.T, sample_weight=weights)
    with pytest.raises(ValueError, match="columns of numbers with sample_weight"):
        HierarchicalMDH(feature_map="gower").fit(pd.DataFrame({"a": ["x", "y"] * (N // 2)}), sample_weight=weights)


def test_weights_and_labels_may_be_series_of_dask():
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0]], 150, axis=0)
    series = dd.from_pandas(pd.Series(np.arange(300) // 150), npartitions=3)
    expected = RandomProjectionTree(n_projections=20).fit(rows, sample_weight=1 + np.arange(300) // 150)
    found = RandomProjectionTree(n_projections=20).fit(rows, sample_weight=series + 1)
    assert found.tree_ == expected.tree_
    np.testing.assert_array_equal(plain_labels(series).compute(), np.arange(300) // 150)


def test_a_share_of_any_type_is_one_and_a_count_of_all_rows_stays_one():
    assert [rows_of_share(share, 1000) for share in (0.1, np.float32(0.1), np.float64(0.1))] == [100, 100, 100]
    assert (rows_of_share(1, 50), rows_of_share(0.5, 51), rows_of_share(None, 101)) == (1, 26, 11)
    member = HierarchicalKernelMDH(min_cluster_size=5000)
    limit_to_sample([(member, 0)], 1000, 4000)
    assert member.min_cluster_size == 1000
