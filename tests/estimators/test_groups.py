"""Trees fitted to groups of dependent rows find what shows between groups, and nothing else."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import at_night, in_turns
from numpy.testing import assert_array_equal
from sklearn.metrics import normalized_mutual_info_score

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    HyperplaneEnsemble,
    RandomProjectionTree,
    SupportVectorClustering,
    drift,
)
from mdh_dask.estimators.groups import GroupSizes, dealt, parts_of

TREES = [RandomProjectionTree, HierarchicalMDH]

MERGING = [HierarchicalKernelMDH, DensityTree]
OTHERS = [SupportVectorClustering, HyperplaneEnsemble]


def donors(seed, n_groups=20, n=150, effect=2.0, d=4):
    """Rows around the centre of their donor; all centres are from one normal cloud."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n)
    return rng.normal(size=(n_groups * n, d)) + effect * rng.normal(size=(n_groups, d))[groups], groups


def clusters(seed, n_groups=20, n=4000, d=4, apart=4):
    """Three clusters, of which every group has rows."""
    rng = np.random.default_rng(seed)
    label, groups = rng.integers(3, size=n), rng.integers(n_groups, size=n)
    return rng.normal(size=(n, d)) + apart * np.eye(3, d)[label], groups, label


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_donors_are_no_clusters_unless_rows_are_taken_for_independent(tree):
    found = []
    for seed in range(4):
        X, groups = donors(seed, n=300)
        found.append([tree().fit(X).n_clusters_, tree().fit(X, groups=groups).n_clusters_])
    alone, with_groups = np.array(found).T
    assert (alone > 1).sum() >= 3
    assert (with_groups > 1).sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_groups_of_one_class_each_vote_by_a_sample_of_their_rows(tree):
    groups, rng = np.repeat(np.arange(180), 100), np.random.default_rng(1)
    noise = rng.normal(size=(len(groups), 4))
    classes = noise + np.outer(3.5 * (groups % 3), np.eye(4)[0])
    assert tree(sample_size=1000).fit(classes, groups=groups).n_clusters_ == 3
    alike = noise + 3 * rng.normal(size=(180, 1))[groups] * np.eye(4)[0]
    assert tree(sample_size=1000).fit(alike, groups=groups).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "n"), in_turns(TREES, [600, 4000]))
def test_clusters_that_all_groups_show_are_found(tree, n):
    X, groups, _ = clusters(0, n=n)
    assert tree().fit(X, groups=groups).n_clusters_ == 3


@pytest.mark.slow
@pytest.mark.parametrize(("method", "d"), at_night([*zip(MERGING, [4, 12]), *zip(MERGING, [12, 4])], 2))
def test_methods_that_merge_do_not_take_donors_for_clusters(method, d):
    found = [method().fit(X, groups=groups).n_clusters_ for X, groups in (donors(s, n=75, d=d) for s in range(2))]
    assert found == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "place"),
    at_night(in_turns(MERGING * 2, [(4, 4), (4, 4), (12, 30), (12, 5), (4, 20), (4, 20), (12, 5), (12, 30)]), 2),
)
def test_methods_that_merge_find_clusters_that_all_groups_show(method, place):
    d, apart = place
    X, groups, label = clusters(0, n=2000, d=d, apart=apart)
    model = method().fit(X, groups=groups)
    assert model.n_clusters_ == 3
    assert normalized_mutual_info_score(label, model.labels_) > 0.85
    assert "in 20 groups" in model.why()


@pytest.mark.slow
def test_an_ensemble_compares_groups_in_all_trees_and_where_it_merges():
    own = RandomProjectionTree(n_projections=50)
    X, groups = donors(0)
    assert ConsensusClustering(estimator=own, n_trees=4).fit(X, groups=groups).n_clusters_ == 1
    X, groups, _ = clusters(0)
    assert ConsensusClustering(estimator=own, n_trees=4).fit(X, groups=groups).n_clusters_ == 3
    own = DivisiveClustering(stop_rule="level")
    with pytest.raises(ValueError, match="expected stop_rule='hold-out' or 'none' with groups"):
        ConsensusClustering(estimator=own, n_trees=4).fit(X, groups=groups)


@pytest.mark.slow
@pytest.mark.parametrize("method", OTHERS)
def test_contours_and_hyperplanes_do_not_take_donors_for_clusters_and_find_those_of_all_donors(method):
    X, groups = donors(1, n_groups=16, n=60, effect=3.0)
    assert method().fit(X).n_clusters_ > 1
    assert method().fit(X, groups=groups).n_clusters_ == 1
    X, groups, label = clusters(0, n=600, d=2, apart=6)
    model = method().fit(X, groups=groups)
    assert model.n_groups_ == 20
    assert normalized_mutual_info_score(label, model.labels_) > 0.85


@pytest.mark.slow
def test_labels_depend_on_which_rows_are_together_and_not_on_names_chunks_or_types():
    X, groups, _ = clusters(1, n_groups=40)
    expected = RandomProjectionTree(sample_size=500).fit(X, groups=groups).labels_
    names = np.array([f"donor {g:02}" for g in groups])
    lazy, chunks = da.from_array(X, chunks=(700, 4)), (900,)
    for rows, given in ((X, names), (lazy, groups), (lazy, da.from_array(groups, chunks=chunks)), (X, names.tolist())):
        labels = RandomProjectionTree(sample_size=500).fit(rows, groups=given).labels_
        assert_array_equal(np.asarray(labels), expected)


def test_groups_of_a_series_of_dask_and_of_pandas_are_taken():
    X, groups, _ = clusters(2)
    series = pd.Series(groups).astype("category")
    assert RandomProjectionTree().fit(X, groups=series).n_groups_ == 20
    frame = dd.from_pandas(pd.DataFrame({"donor": groups.astype(str)}), npartitions=3)
    assert RandomProjectionTree().fit(da.from_array(X, chunks=(999, 4)), groups=frame["donor"]).n_clusters_ == 3


def test_a_column_of_a_frame_that_names_the_groups_is_no_feature():
    X, groups = donors(0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(donor=[f"d{g}" for g in groups])
    expected = RandomProjectionTree().fit(X, groups=groups)
    of_polars, of_dask = pl.from_pandas(frame), dd.from_pandas(frame, npartitions=3)
    for given in (frame, of_dask, of_polars, of_polars.lazy(), pa.Table.from_pandas(frame)):
        model = RandomProjectionTree().fit(given, groups="donor")
        assert (model.n_groups_, list(model.feature_names_in_)) == (20, list("abcd"))
        assert_array_equal(np.asarray(model.labels_), expected.labels_)
    with pytest.raises(ValueError, match="expected one of the columns of a frame for groups, or one for each row; got"):
        RandomProjectionTree().fit(frame, groups="day")


def shares_of_donors(seed, shift=0.0, n=100, n_groups=100):
    """Rows of two clusters in shares that differ from donor to donor, around one half and a shift."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n)
    share = np.clip(rng.beta(0.7, 0.7, n_groups) + shift, 0, 1)
    y = rng.random(n * n_groups) < share[groups]
    return rng.normal(size=(n * n_groups, 3)) + 7 * y[:, None], groups


def test_shares_that_differ_from_donor_to_donor_are_no_drift_between_groups_and_others_are():
    model = RandomProjectionTree().fit(shares_of_donors(0)[0])
    found = {}
    for shift in (0.0, 0.6):
        new = [shares_of_donors(seed, shift) for seed in range(1, 11)]
        alone = sum(drift(model, rows, threshold=0.02).found for rows, _ in new)
        grouped = [drift(model, rows, threshold=0.02, groups=groups) for rows, groups in new]
        found[shift] = alone, sum(one.found for one in grouped)
    assert found[0.0][0] >= 3
    assert found[0.0][1] == 0
    assert found[0.6] == (10, 10)
    assert grouped[0].to_dict()["design_effect"] > 20
    lazy = da.from_array(new[0][0], chunks=(999, 3))
    assert drift(model, lazy, threshold=0.02, groups=new[0][1]).to_dict() == grouped[0].to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("method", [RandomProjectionTree, *MERGING, *OTHERS, ConsensusClustering])
def test_all_methods_say_that_groups_are_too_few_and_what_to_do(method, caplog):
    X, _, label = clusters(0, n=600, d=2, apart=8)
    model = method().fit(X, groups=label)
    assert model.n_clusters_ == 1
    assert "3 groups are too few to confirm a split" in caplog.text
    assert "3 groups are too few to confirm any split: more groups show more" in model.why()


def test_of_groups_that_may_confirm_a_split_none_is_said_to_be_too_few(caplog):
    X, _, _ = clusters(0, n=600, d=2, apart=8)
    found = {RandomProjectionTree(random_state=seed).fit(X, groups=np.arange(600) % 7).n_clusters_ for seed in range(4)}
    assert max(found) > 1
    assert "7 groups may be too few to confirm a split: 8 are enough" in caplog.text
    parts_of(np.zeros(9), GroupSizes(np.zeros(1), np.array([9])), seed=0)  # of one tile
    assert "1 group is too few" in caplog.text


def test_updates_are_refused_as_the_counts_of_a_tree_do_not_tell_groups():
    X, groups, _ = clusters(0)
    model = RandomProjectionTree().fit(X, groups=groups)
    for update in (lambda: model.partial_fit(X), lambda: model.regrow(0, X)):
        with pytest.raises(ValueError, match="fit a new model to all rows with their groups"):
            update()


@pytest.mark.parametrize(
    ("model", "groups", "said"),
    [
        (RandomProjectionTree(), np.zeros(50), "expected groups of shape"),
        (RandomProjectionTree(), np.zeros(4000), "got a single one"),
        (RandomProjectionTree(), np.where(np.arange(4000) == 7, np.nan, 1), "got none for row 7"),
        (RandomProjectionTree(), [None] * 4000, "got none for row 0"),
        (RandomProjectionTree(), np.r_[np.arange(3999), -(2**63)].astype("M8[s]"), "got none for row 3999"),
        (RandomProjectionTree(), np.r_[-(2**63), np.arange(3999)].astype("m8[s]"), "got none for row 0"),
        (DensityTree(missing="drop"), np.arange(4000) % 9, "got 'drop'"),
        (DivisiveClustering(stop_rule="level"), np.arange(4000) % 9, "expected stop_rule='hold-out' or 'none' with"),
        (DivisiveClustering(stop_rule="hold-out-uniform"), np.arange(4000) % 9, "got 'hold-out-uniform', which"),
        (RandomProjectionTree(missing="drop"), np.arange(4000) % 9, "got 'drop'"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(model, groups, said):
    with pytest.raises(ValueError, match=said):
        model.fit(clusters(0)[0], groups=groups)


def test_weights_and_groups_exclude_each_other():
    X, groups, _ = clusters(0)
    with pytest.raises(ValueError, match="expected sample_weight or groups; got both"):
        RandomProjectionTree().fit(X, sample_weight=np.ones(len(X)), groups=groups)


def test_groups_and_labels_of_some_rows_go_together():
    X, groups, label = clusters(0)
    y = np.where(np.arange(len(X)) < 30, label, -1)
    model = RandomProjectionTree().fit(X, y, groups=groups)
    assert model.n_clusters_ == 3
    assert model.label_counts_.sum() == 30


@pytest.mark.parametrize("n_groups", [5, 32, 100, 1000])
def test_parts_have_about_as_many_rows(n_groups):
    sizes = np.random.default_rng(0).integers(50, 100, n_groups)
    rows = np.bincount(dealt(sizes, 0), sizes, 32)
    held = rows[rows > 0]
    assert len(held) == min(n_groups, 32)
    assert held.max() - held.min() <= 100


def test_one_column_is_not_looked_at_alone_where_rows_depend_on_each_other():
    rng = np.random.default_rng(0)
    donor = np.repeat(np.arange(12), 100)
    rows = rng.normal(size=(1200, 6))
    rows[:, 0] += 9 * (donor % 2)
    model = DensityTree().fit(rows, groups=donor)
    assert model.n_clusters_ == 1
    assert "alone has a valley" not in model.why()
