"""Claims about kernel trees where only hyperplanes among the rows show clusters."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mdh_dask import ConsensusClustering, HierarchicalKernelMDH, HierarchicalMDH, load_model


def long_clusters(seed=0, n=400, n_columns=12, apart=5.0):
    """Return two normal clusters that are apart in one column and long along two directions of the others."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_columns)) + rng.normal(size=(n, 2)) @ rng.normal(size=(2, n_columns))
    rows[:, 0] = rng.normal(size=n) + apart * (np.arange(n) % 2)
    return rows, np.arange(n) % 2


@pytest.fixture(scope="module")
def model():
    return HierarchicalKernelMDH().fit(long_clusters()[0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_clusters_that_features_do_not_show_are_found_among_the_rows(seed):
    rows, truth = long_clusters(seed)
    model = HierarchicalKernelMDH().fit(rows)
    assert model.feature_map_ is None
    assert adjusted_rand_score(truth, model.labels_) > 0.9


@pytest.mark.slow
def test_the_tree_is_then_that_of_hyperplanes_among_the_rows(model):
    rows, _ = long_clusters()
    of_rows = HierarchicalMDH(merge=True).fit(rows)
    assert model.tree_ == of_rows.tree_
    assert model.n_clusters_ == 2
    assert (model.predict(rows) == of_rows.labels_).all()


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"min_relative_depth": 0.2}, {"quantile": 0.9}])
def test_parameters_that_are_no_defaults_reach_the_rows(given):
    rows, _ = long_clusters()
    model = HierarchicalKernelMDH(**given).fit(rows)
    assert model.feature_map_ is None
    assert model.tree_ == HierarchicalMDH(merge=True, **given).fit(rows).tree_


@pytest.mark.slow
@pytest.mark.parametrize("max_levels", [None, 0])
def test_a_single_cluster_stays_one_of_features(max_levels, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(200, 2)) if max_levels is None else long_clusters()[0]
    for cls in (HierarchicalKernelMDH, HierarchicalMDH):
        monkeypatch.setattr(cls, "max_levels", max_levels)
    model = HierarchicalKernelMDH().fit(rows)
    assert model.n_clusters_ == 1
    assert model.feature_map_ is not None
    assert model.tree_.n_features == model.feature_map_.n_components_
    assert (model.predict(rows) == 0).all()


@pytest.mark.parametrize("parameters", [{"merge": False}, {"max_clusters": 1}, {"n_clusters": 1}])
def test_rows_themselves_are_not_searched_without_merging_or_for_one_cluster(parameters, monkeypatch):
    monkeypatch.setattr(HierarchicalKernelMDH, "max_levels", 0 if "merge" in parameters else None)
    model = HierarchicalKernelMDH(**parameters).fit(long_clusters()[0])
    assert model.feature_map_ is not None
    assert model.n_passes_ == 2


@pytest.mark.slow
def test_reasons_are_those_of_the_rows_themselves(model):
    rows, _ = long_clusters()
    assert model.why() == HierarchicalMDH(merge=True).fit(rows).why()
    with pytest.warns(ConvergenceWarning, match=r"min_relative_depth=0\.1 with 150 rows"):
        HierarchicalKernelMDH(n_clusters=3, min_cluster_size=150).fit(rows)


def test_labels_of_some_rows_keep_the_features():
    rows = long_clusters()[0]
    labels = np.where(np.arange(len(rows)) < 2, 0, -1)
    assert HierarchicalKernelMDH().fit(rows, labels).feature_map_ is not None


@pytest.mark.slow
def test_a_saved_model_labels_rows_and_learns_from_more(model, tmp_path):
    rows, _ = long_clusters()
    model.save(tmp_path / "model.zarr")
    again = load_model(tmp_path / "model.zarr")
    assert again.feature_map_ is None
    assert (again.predict(rows) == model.predict(rows)).all()
    updated = again.partial_fit(long_clusters(seed=0)[0])
    assert updated.n_clusters_ == 2
    assert updated.tree_.n_features == 12


@pytest.mark.slow
def test_trees_of_an_ensemble_say_why_they_have_no_more_clusters(model, tmp_path):
    rows, _ = long_clusters()
    ensemble = ConsensusClustering(estimator=HierarchicalKernelMDH(), n_trees=2).fit(rows)
    assert ensemble.n_clusters_ == 2
    assert "trees" in ensemble.why()
    ensemble.save(tmp_path / "ensemble.zarr")
    assert (load_model(tmp_path / "ensemble.zarr").predict(rows) == ensemble.labels_).all()
