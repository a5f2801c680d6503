"""Estimators that combine many trees, or many hyperplanes."""

import dask.array as da
import numpy as np
import pytest
from helpers import at_night, noting_reads
from sklearn.base import clone

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    DivisiveClustering,
    GowerFeatures,
    HierarchicalKernelMDH,
    HyperplaneEnsemble,
    PCATree,
    RandomProjectionTree,
    consensus,
)
from mdh_dask._journal import use_journal
from mdh_dask.estimators import consensus_members
from mdh_dask.io.codec import FolderJournal
from mdh_dask.metrics import adjusted_rand_index, normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

QUICK = RandomProjectionTree(n_projections=40, sample_size=500)
MODELS = {
    "votes": ConsensusClustering(estimator=QUICK, n_trees=4, combine="votes"),
    "linkage": ConsensusClustering(estimator=QUICK, n_trees=4),
    "mixture of hyperplanes": HyperplaneEnsemble(n_hyperplanes=8, sample_size=500),
}


@pytest.fixture(scope="module")
def mixture():
    return [part.compute() for part in gaussian_mixture(6000, 5, 4, sd=1.0, random_state=3)]


@pytest.fixture(scope="module")
def rows(mixture):
    return mixture[0]


@pytest.fixture(scope="module")
def overlapping():
    return [part.compute() for part in gaussian_mixture(3000, 4, 6, centre_range=(-5, 5), sd=1.3, random_state=0)]


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param])


class TestBoth:
    @pytest.mark.slow
    def test_separated_clusters_are_found_with_confidence(self, model, rows, mixture):
        model.fit(rows)
        assert model.n_clusters_ == 4
        assert adjusted_rand_index(mixture[1], model.labels_) > 0.99
        assert model.confidence(rows).mean() > 0.99
        np.testing.assert_array_equal(model.predict(rows), model.labels_)

    @pytest.mark.slow
    def test_shares_sum_to_one_and_the_label_has_the_largest(self, model, overlapping):
        X, _ = overlapping
        shares = model.fit(X).predict_proba(X)
        assert shares.shape == (len(X), model.n_clusters_)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
        assert set(model.labels_) == set(range(model.n_clusters_))
        assert (np.diff(np.bincount(model.labels_)) <= 0).all() or isinstance(model, ConsensusClustering)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_columns", [1, 3])
    def test_a_few_rows_and_constant_columns_are_one_cluster_without_a_warning(self, model, n_columns):
        for n in (2, 3, 12):
            rows = np.random.default_rng(n).normal(size=(n, n_columns))
            for some in (rows, rows * (np.arange(n_columns) > 0), np.ones_like(rows)):
                assert not clone(model).fit(some).labels_.any()


class TestConsensusClustering:
    @pytest.mark.slow
    def test_trees_take_one_pass_more_than_one_of_them(self, rows):
        alone = clone(QUICK).fit(rows).n_passes_
        lazy, read = noting_reads(da.from_array(rows, chunks=(1000, 5)))
        many = ConsensusClustering(estimator=QUICK, n_trees=30).fit(lazy)
        assert alone > 1
        assert many.n_passes_ == alone + 1 == sum(read) / len(rows)

    @pytest.mark.slow
    @pytest.mark.parametrize(("held", "merge"), at_night([(2000, True), (8000, False), (2000, False)], 2))
    def test_maps_and_density_trees_take_no_pass_of_their_own(self, mixture, held, merge, monkeypatch):
        monkeypatch.setattr(consensus_members, "SAMPLE_SIZE", held // 4)  # of 6000 rows
        rows = mixture[0]
        lazy, read = noting_reads(da.from_array(rows, chunks=(1000, 5)))
        tree = RandomProjectionTree(n_projections=40, sample_size=held // 4, min_cluster_size=900)
        estimators = [tree, HierarchicalKernelMDH(min_cluster_size=900), DensityTree(min_cluster_size=900)]
        model = ConsensusClustering(estimator=estimators, n_trees=3, merge=merge).fit(lazy)
        assert model.n_passes_ == clone(tree).fit(rows).n_passes_ == sum(read) / len(rows)
        assert [own.n_clusters for own in model.state_.trees] == [4, 4, 4]
        assert adjusted_rand_index(mixture[1], model.labels_.compute()) == 1
        assert (model.exemplars_ == rows[model.exemplar_indices_]).all()
        assert (model.state_.sizes is None) == (held < len(rows))

    def test_values_outside_the_sample_are_checked(self, rows, monkeypatch):
        monkeypatch.setattr(consensus_members, "SAMPLE_SIZE", 10)
        rows = np.where(np.arange(len(rows))[:, None] % 100 == 0, np.nan, rows)
        with pytest.raises(ValueError, match="expected finite values; got 300 NaN"):
            ConsensusClustering(estimator=DensityTree(), n_trees=2).fit(da.from_array(rows, chunks=(1000, 5)))

    @pytest.mark.slow
    @pytest.mark.parametrize("combine", ["votes", "linkage"])
    def test_of_equal_trees_is_the_tree(self, rows, combine):
        # Directions that do not depend on chance make every tree the same.
        tree = PCATree().fit(rows)
        many = ConsensusClustering(estimator=PCATree(), n_trees=3, combine=combine).fit(rows)
        assert adjusted_rand_index(tree.labels_, many.labels_) == 1
        assert (many.confidence(rows) == 1).all()
        assert (many.agreement_ == 1).all()
        assert many.trees_[many.representative_].n_leaves == many.n_clusters_

    @pytest.mark.slow
    def test_is_nearer_to_the_groups_than_the_median_tree(self, overlapping):
        X, y = overlapping
        model = ConsensusClustering(estimator=RandomProjectionTree(n_projections=20), n_trees=15).fit(X)
        single = [normalized_mutual_information(y, tree.labels(X)) for tree in model.trees_]
        assert len(set(single)) > 5
        assert normalized_mutual_information(y, model.labels_) > np.median(single)

    @pytest.mark.slow
    def test_estimators_take_turns(self, rows, mixture, tmp_path):
        turns = [
            RandomProjectionTree(n_projections=40),
            PCATree(),
            HierarchicalKernelMDH(starts="pca2", feature_map="quadratic"),
        ]
        with use_journal(FolderJournal(tmp_path, "job")):
            model = ConsensusClustering(estimator=turns, n_trees=4).fit(rows)
        assert [state.feature_map is not None for state in model.state_.trees] == [False, False, True, False]
        assert adjusted_rand_index(mixture[1], model.labels_) == 1
        assert not hasattr(turns[0], "tree_")

    @pytest.mark.slow
    @pytest.mark.parametrize("combine", ["votes", "linkage"])
    def test_clusters_may_be_few(self, overlapping, combine):
        X, _ = overlapping
        free = ConsensusClustering(estimator=QUICK, n_trees=5, combine=combine).fit(X)
        few = ConsensusClustering(estimator=QUICK, n_trees=5, n_clusters=2, combine=combine).fit(X)
        assert few.n_clusters_ == 2 < free.n_clusters_

    @pytest.mark.slow
    def test_a_number_of_clusters_is_that_of_the_trees_too(self, overlapping):
        X, _ = overlapping
        model = ConsensusClustering(n_clusters=5, n_trees=3).fit(X[:500])
        assert max(own.n_clusters for own in model.state_.trees) == 5
        assert model.n_clusters_ == 5
        assert "as many as n_clusters=5 asked for" in model.why()

    @pytest.mark.slow
    def test_linkage_is_that_of_the_labels_of_its_trees(self, overlapping):
        X, _ = overlapping
        model = ConsensusClustering(estimator=QUICK, n_trees=6, combine="linkage").fit(X)
        found = consensus(*(tree.labels(X) for tree in model.trees_), method="linkage")
        np.testing.assert_array_equal(model.labels_, found.labels)
        np.testing.assert_array_equal(model.predict_proba(X), found.shares)
        np.testing.assert_array_equal(model.confidence(X), found.confidence)

    @pytest.mark.slow
    @pytest.mark.parametrize("combine", at_night(["votes", "linkage"]))
    def test_long_clusters_are_not_divided_into_the_pieces_of_trees(self, combine):
        rng = np.random.default_rng(0)
        angle, y = rng.uniform(0, np.pi, 1500), np.arange(1500) % 2
        moons = np.column_stack([np.cos(angle) + y, np.sin(angle) * (1 - 2 * y) + y / 2]) + rng.normal(
            0, 0.08, (1500, 2)
        )
        options = {"n_trees": 6, "combine": combine}
        pieces = ConsensusClustering(estimator=QUICK, merge=False, **options).fit(moons)
        model = ConsensusClustering(estimator=QUICK, merge=True, **options).fit(moons)
        assert pieces.n_clusters_ > model.n_clusters_ == 2
        assert adjusted_rand_index(y, model.labels_) > max(adjusted_rand_index(y, pieces.labels_), 0.8)
        known = pieces.predict_proba(moons)
        of_piece = [np.bincount(model.labels_[pieces.labels_ == k]).argmax() for k in range(known.shape[1])]
        shares = np.column_stack([known[:, np.equal(of_piece, c)].sum(axis=1) for c in (0, 1)])
        if combine == "votes":  # those of a linkage are for the rows of a cluster, not of its pieces
            np.testing.assert_allclose(model.predict_proba(moons), shares, atol=1e-9)
        ring = np.column_stack([np.cos(2 * angle), np.sin(2 * angle)]) + rng.normal(0, 0.08, (1500, 2))
        alone = ConsensusClustering(estimator=QUICK, merge=True, **options).fit(ring)
        assert alone.n_clusters_ == 1
        assert "pieces were merged" in alone.why()

    @pytest.mark.slow
    @pytest.mark.parametrize("combine", at_night(["votes", "linkage"]))
    def test_agreement_counts_rows_of_equal_clusters_after_merging(self, overlapping, combine):
        X, _ = overlapping
        state = ConsensusClustering(estimator=QUICK, n_trees=3, combine=combine).fit(X).state_
        first, second, third = (own[tree.labels(X)] for tree, own in zip(state.trees, state.clusters))
        pairs = [(first == second).mean(), (first == third).mean(), (second == third).mean()]
        expected = [pairs[0] + pairs[1], pairs[0] + pairs[2], pairs[1] + pairs[2]]
        np.testing.assert_allclose(2 * state.agreement, expected)
        agreeing = sum((own == state.labels(X)).astype(int) for own in (first, second, third))
        np.testing.assert_array_equal(state.confidence, np.bincount(agreeing, minlength=4))

    @pytest.mark.parametrize(
        ("estimator", "error", "message"),
        [
            ([], TypeError, "expected estimators of trees for estimator, at least one"),
            ([QUICK, "rp"], TypeError, "at least one; got .*'str'"),
            (DivisiveClustering(n_projections=0), ValueError, "n_projections"),
            ("rp", ValueError, "'estimator' parameter of ConsensusClustering must be"),
            ([QUICK] * 9 + [DensityTree(n_landmarks=-1)], ValueError, "n_landmarks"),  # it would be saved
            (DensityTree(unclassified="leave"), ValueError, "got DensityTree with unclassified='leave': leave it"),
            (DensityTree(missing="drop"), ValueError, r"give ConsensusClustering\(missing=\.\.\.\)"),
            (DensityTree(column_types={"categorical": [0]}), ValueError, r"ConsensusClustering\(column_types=\.\.\.\)"),
            (
                DensityTree(feature_map=GowerFeatures(column_types={})),
                ValueError,
                "expected column_types of the estimator",
            ),
        ],
    )
    def test_other_estimators_are_refused(self, rows, estimator, error, message):
        with pytest.raises(error, match=message):
            ConsensusClustering(estimator=estimator).fit(rows)

    def test_missing_values_are_not_referred_to_a_map_that_only_the_trees_take(self, rows):
        gap = rows[:300].copy()
        gap[7, 0] = np.nan
        with pytest.raises(ValueError, match=r"got 1 NaN .* as missing='drop' and missing='mean' do\.$"):
            ConsensusClustering().fit(gap)
        gap[1:, 0] = np.nan
        with pytest.raises(ValueError, match=r"got 1 of 300: use missing='mean'$"):
            ConsensusClustering(missing="drop").fit(gap)


class TestHyperplaneEnsemble:
    @pytest.mark.slow
    def test_partitions_are_distinct_and_apart_from_each_other(self, rows):
        model = HyperplaneEnsemble(n_hyperplanes=20).fit(rows)
        sides = np.where(rows @ model.directions_.T > model.offsets_, 1, -1)
        alike = np.abs(sides.T @ sides) / len(rows)
        assert len(model.offsets_) > 2
        assert (alike[~np.eye(len(alike), dtype=bool)] < 0.99).all()
        assert model.side_probabilities_.shape == (4, len(model.offsets_))

    def test_a_known_number_of_clusters_is_not_sought(self, rows):
        model = HyperplaneEnsemble(n_hyperplanes=20, n_clusters=2).fit(rows)
        assert model.n_clusters_ == 2
        assert len(model.scores_) == 1

    @pytest.mark.slow
    def test_cells_of_crossing_hyperplanes_without_a_valley_between_them_are_one_cluster(self):
        # The hyperplane between the two upper clusters also divides the lower one.
        rng = np.random.default_rng(0)
        bars = [rng.uniform(low, high, (600, 2)) for low, high in (([0, 0], [4, 1]), ([0, 2], [1, 5]))]
        X = np.concatenate([*bars, rng.normal([3, 3.5], 0.35, (600, 2))])
        model = HyperplaneEnsemble().fit(X)
        assert len(model.state_.cluster) > model.n_clusters_ == 3
        np.testing.assert_array_equal(model.state_.n_rows, np.bincount(model.labels_))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_every_hyperplane_is_taken_without_a_test(self):
        X = np.random.default_rng(0).normal(size=(1000, 4))
        assert HyperplaneEnsemble().fit(X).n_clusters_ == 1
        assert HyperplaneEnsemble(stop_rule="none").fit(X).n_clusters_ > 1


def test_an_ensemble_without_a_hyperplane_counts_all_rows():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    model = HyperplaneEnsemble(n_hyperplanes=4, sample_size=500).fit(rows)
    assert model.state_.sizes.tolist() == [3000]
    assert "3,000 rows" in model.why()
