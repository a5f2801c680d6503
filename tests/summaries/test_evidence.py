"""The evidence for splits and merges as a table: what was tested, how certain it is, and what survives a whole tree."""

import json

import numpy as np
import pytest
from helpers import at_night
from trees import random_tree

from mdh_dask import (
    PDDP,
    ConsensusClustering,
    DensityTree,
    HierarchicalKernelMDH,
    HyperplaneEnsemble,
    PCATree,
    RandomProjectionTree,
    SupportVectorClustering,
)
from mdh_dask.estimators.history import set_apart
from mdh_dask.report.entries import entries_of
from mdh_dask.summaries.evidence import COLUMNS, MERGES_DTYPE, adjusted, evidence_of, p_values_of_merges
from mdh_dask.tree.structure import tree_from_nodes


def two_normals(n, apart, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) + np.repeat([[0.0], [apart]], n // 2, axis=0)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    return rng.normal(size=(900, 2)) + np.repeat([[0, 0], [7, 0], [0, 7]], 300, axis=0)


KINDS = [
    RandomProjectionTree(n_projections=50), DensityTree(), HierarchicalKernelMDH(starts="pca2"),
    ConsensusClustering(n_trees=2, merge=True, estimator=[PCATree(), DensityTree()]), SupportVectorClustering(),
    HyperplaneEnsemble(),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("estimator", at_night(KINDS, 2))
def test_what_separates_clusters_is_evident(estimator, three):
    table = estimator.fit(three).evidence()
    assert list(table) == list(COLUMNS)
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["separates"] == table["separates"].tolist()
    assert table["separates"].sum() >= 2
    assert (table["p_family"][table["separates"]] < 0.01).all()


def test_a_deeper_valley_has_a_smaller_p_value_and_a_larger_effect():
    near, far = (RandomProjectionTree().fit(two_normals(2000, apart)).evidence() for apart in (3.5, 5.0))
    assert far["p_value"][0] < near["p_value"][0] <= 0.025
    assert far["effect_low"][0] > near["effect"][0] > near["effect_low"][0] > 0


def test_the_interval_holds_the_depth_that_all_rows_have():
    held = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(size=2000) + np.repeat([0.0, 4.0], 1000)
        table = PCATree(n_projections=1).as_divisive(stop_rule="none", max_levels=1).fit(rows[:, None]).evidence()
        held += table["effect_low"][0] <= smoothed_depth(2000, rows.std()) <= table["effect_high"][0]
    assert held >= 32


def smoothed_depth(n, sd):
    """Return the relative depth of two normals 4 apart whose density has the bandwidth of `n` rows."""
    x = np.linspace(-3, 7, 2001)
    spread = np.hypot(1, sd * (4 / 3 / n) ** 0.2)
    density = np.exp(-((x / spread) ** 2) / 2) + np.exp(-(((x - 4) / spread) ** 2) / 2)
    return density.max() / density[1000] - 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", at_night(range(3)))
def test_valleys_among_features_that_merging_undid_are_no_evidence_and_in_no_report(seed):
    model = HierarchicalKernelMDH(random_state=seed).fit(np.random.default_rng(seed).normal(size=(300, 2)))
    entries = entries_of(model.tree_, None, merges=model.merges_)
    assert [entry.p_value for entry in entries] == [None] * model.tree_.n_nodes
    assert np.isnan(set_apart(model)).all()
    table = model.evidence()
    assert model.tree_.p_value[0] < 1e-3
    assert np.isnan(table["p_value"][table["kind"] == "split"]).all()
    assert (table["p_family"][table["kind"] == "merge"] > 0.05).all()
    assert len(model.merges_)


def test_what_was_not_tested_has_no_p_value(three):
    table = PDDP(max_clusters=3).fit(three).evidence()
    assert np.isnan(table["p_value"]).all()
    assert np.isnan(table["p_family"]).all()
    assert (table["effect"][table["separates"]] >= 0).all()
    assert not len(SupportVectorClustering(width=1.0).fit(three).evidence()["kind"])


def test_groups_have_p_values_but_no_interval_of_rows():
    rows = two_normals(3000, 8.0)
    table = RandomProjectionTree(n_projections=50).fit(rows, groups=np.arange(3000) % 25).evidence()
    assert table["p_value"][0] < 0.025
    assert table["n_tested"][0] <= 32
    assert np.isnan(table["effect_low"][0])
    assert np.isnan(table["statistic"][0])


def test_a_split_made_for_a_number_of_clusters_keeps_the_p_value_that_failed():
    rows = two_normals(3000, 1.4)
    table = RandomProjectionTree(n_projections=50, n_clusters=2, min_relative_depth=0.0).fit(rows).evidence()
    assert table["separates"][0]
    assert not table["p_value"][0] <= 0.025


def test_a_split_keeps_its_p_value_through_updates_cuts_and_other_thresholds(three):
    model = RandomProjectionTree(n_projections=50).fit(three)
    p_value = model.tree_.p_value[0]
    assert model.cut(2).tree_.p_value[0] == p_value
    assert model.partial_fit(three).tree_.p_value[0] == p_value
    assert np.isnan(model.tree_.split(0, [1.0, 1.0], 0.5).p_value[0])


@pytest.mark.parametrize("p_values", [(0.2, 1e-9), (0.02, np.nan, 1e-6)])
def test_a_split_stands_on_all_above_it_also_beyond_one_that_was_not_tested(p_values):
    k = len(p_values)
    split, leaf = {"n_rows": 9, "plane": [1.0], "threshold": 0.5}, {"left": -1, "right": -1, "n_rows": 3}
    chain = [
        split | {"left": k + i, "right": 2 * k if i == k - 1 else i + 1, "p_value": p} for i, p in enumerate(p_values)
    ]
    table = evidence_of(tree_from_nodes([*chain, *[leaf] * (k + 1)], 1), None)
    np.testing.assert_array_equal(table["p_value"], p_values)
    tested = ~np.isnan(table["p_value"])
    assert (table["p_family"][tested] >= p_values[0]).all()
    assert (table["p_fdr"][tested] >= p_values[0]).all()


def test_adjusted_p_values_are_those_of_their_definitions():
    p_values = np.random.default_rng(0).uniform(size=30) ** 3
    holm, discoveries = adjusted(p_values)
    for p_value, by_holm, by_rate in zip(p_values, holm, discoveries):
        ranks = [(np.sum(p_values <= other), other) for other in p_values]
        assert by_holm == pytest.approx(min(1, max(other * (31 - rank) for rank, other in ranks if other <= p_value)))
        assert by_rate == pytest.approx(min(other * 30 / rank for rank, other in ranks if other >= p_value))


def test_a_threshold_is_as_significant_as_its_level_says():
    for level in (0.01, 0.05, 0.2):
        p_values = p_values_of_merges(np.array([0.0, 3.3, 1.0]), 3.3, level)
        assert adjusted(p_values)[0][1] == pytest.approx(level)


@pytest.mark.slow
def test_merged_leaves_say_which_pairs_were_united_and_which_stay():
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 2000)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([[1.0], [3.0]], 1000, axis=0)
    model = HierarchicalKernelMDH().fit(ring + rng.normal(0, 0.1, (2000, 2)))
    assert model.merges_.dtype == MERGES_DTYPE
    needed = 0.05
    table = model.evidence()
    merges = table["kind"] == "merge"
    assert (table["p_family"][merges & table["separates"]] <= needed).all()
    assert (table["p_family"][merges & ~table["separates"]] > needed).all()
    assert model.cut(1).evidence()["kind"].tolist().count("merge") == 0


@pytest.mark.parametrize("seed", range(4))
def test_any_tree_has_a_table_of_the_same_columns(seed):
    tree = random_tree(seed, 7, 3)
    table = evidence_of(tree, None)
    assert [len(values) for values in table.values()] == [len(table["kind"])] * len(COLUMNS)
    assert table["separates"].sum() == tree.n_leaves - 1
    assert len(table.to_records()) == len(table.to_pandas()) == len(table["kind"])
