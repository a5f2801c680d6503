"""Why there are so many clusters, in words, of every estimator: what failed and by how much, or what was asked for."""

import re

import numpy as np
import pandas as pd
import pytest
from helpers import in_turns, single_columns
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mdh_dask import (
    PDDP,
    ConsensusClustering,
    DensityTree,
    DivisiveClustering,
    HierarchicalMDH,
    HyperplaneEnsemble,
    KernelKMeans,
    PCATree,
    RandomProjectionTree,
    SpectralClustering,
    SupportVectorClustering,
    load_model,
)
from mdh_dask._words import full_count

NUMBER = r"[0-9][0-9.e-]*"

ENSEMBLE = HyperplaneEnsemble(n_hyperplanes=8)
FEATURES = ConsensusClustering(estimator=PCATree(feature_map="rbf"), n_trees=2)
BY_LEVEL = HyperplaneEnsemble(n_hyperplanes=8, stop_rule="level")
VOTES = ConsensusClustering(estimator=PCATree(), n_trees=3, combine="votes")
METHODS = {
    "svc": (SupportVectorClustering(n_landmarks=300), rf"best has -?{NUMBER} standard errors, .* needs {NUMBER}$"),
    "ensemble": (ENSEMBLE, rf"relative depth .*, and {NUMBER} of samples .* hyperplane needs {NUMBER}$"),
    "ensemble, level": (BY_LEVEL, "relative depth .* stop_rule='level' rejected it$"),
    "votes": (VOTES, "of 3 trees, 3 found 1 cluster; .* of tree "),
    "votes, features": (FEATURES, "nearest .* not split: the best"),
    "k-means": (KernelKMeans(feature_map=None), rf"is -?{NUMBER} for 1 cluster and -?{NUMBER} for 2, and one more"),
    "density": (DensityTree(), rf"for two clusters has -?{NUMBER} standard errors, and a cluster needs {NUMBER}"),
    "tree": (RandomProjectionTree(n_projections=50), "the best valley, along .*, and a split needs|no valley with"),
}  # fmt: skip


@pytest.fixture(scope="module")
def cloud():
    return np.random.default_rng(0).normal(size=(600, 6))


@pytest.fixture(scope="module")
def near(cloud):
    """Two clouds that are too near to be told apart."""
    return cloud[:, :2] + np.repeat([[2.3, 0.0], [0.0, 0.0]], 300, axis=0)


@pytest.mark.parametrize(
    "estimator",
    [RandomProjectionTree(n_projections=50, random_state=0), pytest.param(DensityTree(), marks=pytest.mark.slow)],
)
def test_clusters_that_the_user_united_are_not_said_to_have_failed_a_test(cloud, estimator):
    x = cloud[:, :2] + np.repeat([[0], [7], [20]], 200, axis=0)
    three = clone(estimator).fit(x)
    for model in (three.cut(2), clone(estimator).set_params(max_clusters=2).fit(x)):
        assert re.search(r"cut\(\)|max_clusters=2 allowed", model.why())
        of_united, _, _ = model.why().partition("\ncluster 1")
        assert "and a split needs" not in of_united
    assert not re.search("To try next|alone has a valley|do not confirm", three.cut(1).why())


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_one_cluster_says_what_failed_and_by_how_much_also_after_loading(cloud, near, tmp_path, name):
    estimator, message = METHODS[name]
    model = clone(estimator).fit(near if name == "svc" else cloud)
    assert model.why().startswith("1 cluster")
    assert re.search(message, model.why(), re.MULTILINE), model.why()
    model.save(tmp_path / "m.zarr")
    assert load_model(tmp_path / "m.zarr").why() == model.why()


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        HyperplaneEnsemble(n_hyperplanes=8, n_clusters=1),
        KernelKMeans(n_clusters=2, feature_map=None),
        SpectralClustering(n_clusters=2, n_landmarks=100),
        DensityTree(n_clusters=1),
        SupportVectorClustering(width=0.5, max_clusters=1),
        RandomProjectionTree(n_projections=20, max_clusters=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_number_that_was_given_is_said_to_be_given(cloud, estimator):
    model = clone(estimator).fit(cloud)
    asked = "max_clusters=1 allowed" if "max" in str(estimator) else f"n_clusters={model.n_clusters_} asked for"
    assert f"as many as {asked}" in model.why()


@pytest.mark.parametrize(
    "model", [DensityTree(), SupportVectorClustering(), ConsensusClustering(n_trees=3, estimator=PCATree())]
)
def test_clusters_without_a_tree_are_told_by_the_ranges_of_their_columns(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=200), "size": np.repeat([0.0, 9.0], 100) + rng.normal(size=200)})
    model = clone(model).fit(frame)
    said = model.why().split("\n")[1:]
    assert [line.split(" to ")[0][:16] for line in said] == ["cluster 0: size ", "cluster 1: size "]


def test_ranges_of_few_remembered_rows_say_so():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 300)) + np.repeat(rng.normal(size=(6, 300)) * 4, [380, 380, *[10] * 4], axis=0)
    model = KernelKMeans(n_clusters=6, feature_map=None).fit(rows)
    known = np.bincount(model.predict(model.history_.remembered), minlength=6).tolist()
    assert max(known) >= 10 > min(n for n in known if n)
    *said, last = model.why().splitlines()[1:]
    expected = [f" (from {full_count(n, 'row')})" if n < 10 else "" for n in known if n]
    assert [re.search(r"( \(from .*\))?$", line)[0] for line in said] == expected
    assert last == "Of more rows: print(cluster_profiles(model, X).to_text())"


def test_a_number_by_the_gap_statistic_says_that_it_is_no_test(cloud):
    said = "this rule misses some clusters that are clearly apart, and divides some clouds: give n_clusters"
    assert said in KernelKMeans(feature_map=None).fit(cloud).why()
    assert said not in KernelKMeans(n_clusters=1, feature_map=None).fit(cloud).why()


@pytest.mark.slow
def test_two_clusters_of_hyperplanes_say_what_makes_them(cloud):
    rows = np.vstack([cloud, cloud + 12])
    assert HyperplaneEnsemble(n_hyperplanes=8).fit(rows).why().startswith("2 clusters of 1,200 rows: the sides of")


def test_contours_of_two_clusters_give_the_evidence_for_a_third_one():
    rows = np.random.default_rng(1).normal(size=(500, 2))
    rows[:250, 0] += 5
    model = SupportVectorClustering(n_landmarks=200).fit(rows)
    assert model.sweep_["n_components"].max() > 2
    said = rf"^2 clusters of 500 rows: no further valley .*; the best has -?{NUMBER} standard errors"
    assert re.search(said, model.why())


def test_leaves_that_were_not_examined_are_not_said_to_have_no_valley(cloud):
    rows = np.vstack([cloud, cloud + 12])
    why = PDDP(max_clusters=2).fit(rows).why()
    assert why.startswith("2 clusters of 1,200 rows, as many as max_clusters=2 allowed\n")
    assert why.count("not split: its turn did not come, or no split with 35 rows on") == 2
    why = DivisiveClustering(n_projections=20, max_levels=1).fit(rows).why()
    assert why.count("not split: it lies under max_levels=1") == 2


def test_a_valley_that_merging_rejected_is_not_laid_to_the_stop_rule(near):
    limits = {"stop_rule": "none", "max_levels": 1, "min_relative_depth": 0.0}
    why = DivisiveClustering(n_projections=50, merge=True, **limits).fit(near).why()
    assert why.splitlines()[0].endswith("standard errors, and merging rejected it")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample_size", "estimator"),
    in_turns([None, 300, 10_000], [RandomProjectionTree(n_projections=100), PCATree(), HierarchicalMDH()]),
)
def test_a_valley_that_is_too_shallow_is_named_with_its_depth_and_the_least_one(estimator, sample_size):
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    rows[:600] += 6
    model = clone(estimator).set_params(sample_size=sample_size, min_relative_depth=1e4).fit(rows)
    found = re.search(r"relative depth ([0-9.,]+), and a split needs more than min_relative_depth=10000\n", model.why())
    assert model.n_clusters_ == 1
    assert found, model.why()
    assert 0.5 < float(found[1].replace(",", "")) < 1e4
    assert 2 < model.tree_.thresholds[0] / model.tree_.planes[0].sum() < 4
    assert model.tree_.histogram(0).sum() == 1200


def test_a_valley_that_is_too_shallow_is_not_split_for_a_number_of_clusters():
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    rows[:600, 0] += 6
    with pytest.warns(ConvergenceWarning, match="no valley of min_relative_depth=1000"):
        model = RandomProjectionTree(n_projections=100, min_relative_depth=1e3, n_clusters=2).fit(rows)
    assert model.n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "why"),
    [
        (DensityTree(n_clusters=500), "every cell of the sample is a cluster"),
        (DensityTree(n_clusters=6, n_landmarks=5), "clusters of fewer rows .*, or without a landmark, were united"),
        (
            ConsensusClustering(estimator=RandomProjectionTree(max_clusters=2), n_trees=4, n_clusters=3),
            "of 4 trees, 4 found 2 clusters",
        ),
    ],
)
def test_a_warning_says_why_there_are_fewer_clusters_than_were_asked_for(model, why):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    rows[:150, 0] += 9
    with pytest.warns(ConvergenceWarning, match=f"^found [0-9]+ of n_clusters={model.n_clusters}: {why}"):
        model.fit(rows)


@pytest.mark.slow
def test_a_command_that_finds_one_cluster_logs_why_and_the_report_says_it(cloud, tmp_path, caplog):
    from mdh_dask.workflows import fit

    np.save(tmp_path / "x.npy", cloud)
    with caplog.at_level("INFO", "mdh_dask"):
        summary = fit(str(tmp_path / "x.npy"), PCATree(), report=str(tmp_path / "r.html"))
    assert summary.startswith("1 cluster of 600 rows in ")
    PCATree().fit(cloud).report(tmp_path / "model.html", cloud)
    for text in (caplog.text, *((tmp_path / name).read_text() for name in ("r.html", "model.html"))):
        assert "1 cluster of 600 rows: not split: " in text
        assert "means of the clusters differ" not in text


@pytest.mark.parametrize(("seed", "method"), in_turns(range(3), [RandomProjectionTree, HierarchicalMDH]))
def test_no_single_column_has_a_much_deeper_valley_than_the_one_that_is_named(method, seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=3000) + 2.9 * (rng.random(3000) < 0.2), rng.lognormal(size=(3000, 8))])
    along_columns = DivisiveClustering(projection=single_columns, n_candidates=9).fit(rows)
    model = method(random_state=seed).fit(rows)
    assert model.n_clusters_ == along_columns.n_clusters_ == 1
    assert model.tree_.relative_depth[0] >= 0.9 * along_columns.tree_.relative_depth[0] > 0.05
