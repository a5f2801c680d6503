"""Names of clusters over nights: what stays keeps its id, what is new gets one that was never given."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import nights
from dask.array import from_array
from helpers import at_night, rows_around

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    KernelKMeans,
    PCATree,
    QuadraticFeatures,
    RandomProjectionTree,
    continued,
    load_model,
)
from mdh_dask.report.differences import river_of
from mdh_dask.summaries.history import KINDS, History


def fitted(rows):
    return RandomProjectionTree(n_projections=50).fit(rows)


def events(model):
    """What happened in the last night, but for what stays."""
    table = model.history_.to_records()
    return [
        (one["event"], one["id"], one["other"])
        for one in table
        if one["night"] == table[-1]["night"] and one["event"] != "stays"
    ]


def wide(seed):
    """Rows of twelve clusters, with too many columns to remember more than twenty rows."""
    centres = np.repeat(4 * np.eye(12), 125, axis=1)
    return np.repeat(centres, 50, axis=0) + np.random.default_rng(seed).normal(size=(600, 1500))


FIRST = rows_around((0, 900), (9, 600))


class TestContinued:
    @pytest.mark.parametrize(
        ("later", "found", "n_ids"),
        [
            (rows_around((0.5, 600), (9.5, 900), seed=1), [], 2),
            (rows_around((0, 900), (9, 600), (18, 500), seed=1), [("born", 2, None)], 3),
            (rows_around((0, 900), seed=1), [("died", 1, None)], 2),
            (rows_around((-3.5, 450), (3.5, 450), (12, 600), seed=1), [("split", 2, 0)], 3),
            (rows_around((4.5, 1500), seed=1), [("merged", 1, 0)], 2),
        ],
        ids=["drift", "birth", "death", "split", "merge"],
    )
    def test_what_happened_is_named_and_what_stays_keeps_its_id(self, later, found, n_ids):
        first = fitted(FIRST)
        second = continued(fitted(later), first, later)
        assert first.ids_.tolist() == [0, 1]
        assert events(second) == found
        assert second.history_.n_ids == n_ids
        assert len(second.ids_) == second.n_clusters_

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("first", "lazy"),
        at_night(
            [
                (DensityTree(), False),
                (KernelKMeans(n_clusters=2), True),
                (HierarchicalKernelMDH(starts="pca2"), True),
                (ConsensusClustering(n_trees=2, estimator=[PCATree(), DensityTree()]), False),
            ],
            2,
        ),
    )
    def test_models_without_a_tree_of_the_rows_remember_rows_too(self, first, lazy):
        rows = from_array(FIRST, 500) if lazy else FIRST
        alone = type(first)(**first.get_params()).fit(FIRST)
        assert 300 < len(first.fit(rows).history_.remembered) <= 1000
        np.testing.assert_array_equal(first.history_.remembered, alone.history_.remembered)
        later = rows_around((0, 600), (9, 600), (18, 500), seed=1)
        assert events(continued(fitted(later), first, later)) == [("born", 2, None)]

    def test_a_tree_of_features_names_a_birth_in_an_update(self):
        model = HierarchicalMDH(feature_map=QuadraticFeatures()).fit(FIRST)
        model.partial_fit(rows_around((0, 600), (9, 900), (18, 600), seed=1))
        assert events(model) == [("born", 2, None)]

    def test_no_id_is_given_twice_though_a_cluster_comes_back(self):
        model = fitted(FIRST)
        for seed, clusters in enumerate([[(0, 900)], [(0, 900), (9, 600)], [(0, 900)], [(0, 900), (9, 600)]]):
            rows = rows_around(*clusters, seed=seed + 1)
            model = continued(fitted(rows), model, rows)
        assert sorted(model.ids_) == [0, 3]
        named = [one["id"] for one in model.history_.to_records() if one["event"] in ("born", "split")]
        assert named == [0, 1, 2, 3]

    def test_ids_do_not_depend_on_chunks_or_on_the_order_of_rows(self):
        later = rows_around((0, 700), (9, 600), (18, 500), seed=1)
        first = fitted(FIRST)
        tables = []
        for rows in (later, from_array(later, 333), later[np.random.default_rng(3).permutation(len(later))]):
            model = continued(fitted(later), first, rows)
            tables.append((model.ids_.tolist(), model.history_.events.tolist(), model.history_.counts.tolist()))
        assert tables[0] == tables[1] == tables[2]

    @pytest.mark.slow
    def test_kinds_of_models_may_change_and_histories_are_saved(self, tmp_path):
        first = fitted(FIRST)
        later = rows_around((0, 900), (9, 600), (18, 500), seed=1)
        second = continued(DensityTree().fit(later[:, :3]), first, later)
        assert events(second) == [("born", 2, None)]
        second.save(tmp_path / "m.zarr")
        loaded = load_model(tmp_path / "m.zarr")
        assert loaded.history_.to_records()[-1]["event"] == "born"
        assert loaded.ids_.tolist() == second.ids_.tolist()
        third = continued(fitted(FIRST), loaded, FIRST)
        assert events(third) == [("died", 2, None)]

    def test_the_evidence_of_a_new_cluster_is_that_of_its_split(self):
        later = rows_around((0, 900), (9, 600), (18, 500), seed=1)
        model = continued(fitted(later), fitted(FIRST), later)
        born = next(one for one in model.history_.to_records() if one["event"] == "born" and one["night"])
        assert born["p_value"] < 1e-6
        assert 480 < born["rows"] < 520
        assert born["share_before"] < 0.01 < born["share"]

    @pytest.mark.slow
    def test_clusters_stay_though_none_of_the_few_rows_that_are_remembered_is_theirs(self):
        rows = wide(seed=0)
        first = fitted(rows)
        seen = first.state_.labels(first.history_.remembered)
        assert len(np.unique(seen)) < first.n_clusters_ == 12
        assert events(continued(fitted(wide(seed=1)), first, wide(seed=1))) == []
        assert events(first.with_tree(first.tree_)) == []
        assert events(first.regrow(int(first.tree_.leaves[0]), rows)) == []
        first.partial_fit(wide(seed=2))
        assert events(first) == []

    def test_other_columns_are_refused(self):
        with pytest.raises(ValueError, match="same columns; got 3 columns, and 2 columns in the previous"):
            continued(fitted(FIRST), fitted(FIRST[:, :2]), FIRST)


class TestUpdatesAndOtherTrees:
    def test_an_update_keeps_ids_and_names_what_is_born(self):
        model = fitted(FIRST)
        model.partial_fit(rows_around((0, 600), (9, 900), seed=1))
        assert sorted(model.ids_) == [0, 1]
        model.partial_fit(rows_around((0, 600), (9, 900), (18, 600), seed=2))
        assert events(model) == [("born", 2, None)]
        assert model.history_.night == 2
        assert model.n_passes_ == 1

    def test_an_update_names_a_death_the_same_night_though_the_model_keeps_the_place(self):
        model = fitted(rows_around((0, 600), (9, 900), (18, 600)))
        model.partial_fit(rows_around((0, 600), (9, 900), seed=1))
        assert model.n_clusters_ == 3
        assert events(model) == [("died", gone := int(model.ids_[model.predict([[18, 0, 0]])[0]]), None)]
        model.partial_fit(rows_around((0, 600), (9, 900), seed=2))
        assert events(model) == []
        model.partial_fit(rows_around((0, 600), (9, 900), (18, 600), seed=3))
        assert events(model) == [("born", 3, None)]
        assert gone not in model.ids_

    def test_rows_that_are_remembered_keep_their_fractions_beside_a_batch_of_integers(self):
        rows = (rows_around((0, 600), (9, 600)) - [4.5, 0, 0]) / 9  # both clusters would be at zero
        model = fitted(rows)
        model.partial_fit(np.array([[0, 0, 0], [1, 0, 0]], dtype=np.uint8))
        assert events(model) == []
        assert model.history_.remembered.dtype == np.float64

    def test_clusters_that_small_batches_lack_by_chance_stay(self):
        rows, rng = rows_around((0, 900), (9, 600), (18, 100)), np.random.default_rng(0)
        model, lacking = RandomProjectionTree(n_projections=50, decay=1).fit(rows), 0
        for _ in range(12):
            batch = rows[rng.choice(len(rows), 15, replace=False)]
            lacking += len(np.unique(model.partial_fit(batch).labels_)) < 3
            assert (sorted(model.ids_), events(model)) == ([0, 1, 2], [])
        assert lacking > 2

    @pytest.mark.slow
    def test_clusters_so_many_that_they_have_fewer_rows_than_usual_stay_in_an_update(self):
        rng = np.random.default_rng(0)
        centres = rng.normal(0, 8, (80, 8))

        def night():
            return centres[rng.integers(80, size=4000)] + rng.normal(size=(4000, 8))

        model = RandomProjectionTree(n_projections=100).fit(night())
        assert model.n_clusters_ >= 80
        model.partial_fit(night())
        assert len(events(model)) <= 2

    def test_fewer_clusters_are_merged_into_the_larger_and_a_branch_grown_again_keeps_the_others(self):
        rows = rows_around((0, 900), (9, 600), (18, 500))
        model = fitted(rows)
        coarse = model.cut(2)
        assert [event for event, *_ in events(coarse)] == ["merged"]
        assert set(coarse.ids_) < {0, 1, 2}
        leaf = int(np.flatnonzero(coarse.tree_.cluster == 0)[0])
        fine = coarse.regrow(leaf, rows)
        assert [event for event, *_ in events(fine)] == ["split"]
        assert fine.history_.n_ids == 4

    @pytest.mark.slow
    def test_a_density_tree_that_is_cut_has_fewer_ids(self):
        model = DensityTree().fit(rows_around((0, 200), (9, 160), (20, 120)))
        assert len(model.cut(2).ids_) == 2

    @pytest.mark.slow
    def test_a_model_of_features_is_continued_too(self):
        model = HierarchicalKernelMDH().fit(rows_around((0, 200), (9, 150)))
        later = rows_around((0, 150), (9, 200), seed=1)
        assert sorted(continued(HierarchicalKernelMDH().fit(later), model, later).ids_) == [0, 1]


class TestHistory:
    def test_each_event_is_a_record_and_a_row_of_a_frame(self):
        history = fitted(FIRST).history_
        assert [one["event"] for one in history.to_records()] == ["born", "born"]
        assert history.to_pandas()["rows"].sum() == len(FIRST)
        assert set(history.to_pandas()["event"]) <= set(KINDS)

    def test_without_rows_of_the_night_before_a_new_place_is_a_split(self):
        first = History.begun(np.array([60, 40]), np.full(2, np.nan), np.empty((0, 1)))
        later = first.followed(np.array([[50, 0, 20], [0, 30, 0]]), None, np.full(3, 0.01), np.empty((0, 1)))
        assert [one["event"] for one in later.to_records()[2:]] == ["stays", "stays", "split"]
        assert all(np.isnan(one["share_before"]) for one in later.to_records())

    def test_sizes_that_were_not_counted_are_unknown_until_the_next_night(self, tmp_path):
        rows = rows_around((0, 200), (9, 100))
        model = ConsensusClustering(estimator=[RandomProjectionTree(n_projections=50), PCATree()], n_trees=2).fit(rows)
        model._state, model._history = replace(model.state_, counts=None), None  # as of a sample of the rows
        assert {(one["rows"], one["rows_of_night"]) for one in model.history_.to_records()} == {(None, None)}
        assert all(np.isnan(one["share"]) for one in model.history_.to_records())
        model.save(tmp_path / "model.zarr")
        later = continued(fitted(rows), load_model(tmp_path / "model.zarr"), rows)
        assert {one["rows_of_night"] for one in later.history_.to_records() if one["night"]} == {len(rows)}
        assert river_of(later.history_, {})["events"] == []

    def test_a_history_of_other_clusters_is_refused(self):
        history = History.begun(np.array([60, 40]), np.full(2, np.nan), np.empty((0, 1)))
        with pytest.raises(ValueError, match="expected a history of 3 clusters; got one of 2"):
            history.check_clusters(3)
        with pytest.raises(ValueError, match="expected one id for each cluster; got some twice"):
            replace(history, ids=np.array([0, 0])).check()
        with pytest.raises(ValueError, match="expected kinds of events and 1 ids"):
            replace(history, n_ids=1).check()

    @pytest.mark.nightly
    def test_planted_events_of_thirty_nights_are_found(self):
        table = next(iter(nights.run(1, ["RandomProjectionTree"], n_jobs=1)))
        refits = dict(zip(table.columns, table.rows[0]))
        assert refits["F1"] >= nights.LEAST_F1
        assert refits["ids used again"] == 0
        assert refits["kB a year"] < 100


def test_clusters_of_more_rows_than_the_smallest_live_though_the_sample_has_fewer_of_them():
    rng = np.random.default_rng(0)

    def batch():
        return np.concatenate([rng.normal(centre, 1, (n, 2)) for centre, n in ((0, 16_000), (12, 2000), (24, 2000))])

    model = RandomProjectionTree(sample_size=1000, min_cluster_size=500).fit(batch())
    assert model.n_clusters_ == 3
    model.partial_fit(batch())
    assert model.n_clusters_ == 3
    assert not [one for one in model.history_.to_records() if one["event"] == "died"]
