"""What the report tells of the features of clusters: profiles, a picture, words, and clusters that light up."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_report import Page, leaf, random_tree, written

from mdh_dask import GowerFeatures, HierarchicalKernelMDH, RandomProjectionTree, cluster_profiles
from mdh_dask.report.entries import apart, entries_of, sides_of
from mdh_dask.report.page import MAX_LIT
from mdh_dask.report.profiles import MAX_CLUSTERS, MAX_COLUMNS, explained_variance, overview_of, scatter_of
from mdh_dask.summaries.moments import MomentPass
from mdh_dask.summaries.profiles import Profiles
from mdh_dask.tree.structure import tree_from_nodes

TWO = tree_from_nodes(
    [{"left": 1, "right": 2, "n_rows": 4, "plane": [1.0, 0.0], "threshold": 5.0}, leaf(2), leaf(2)], 2
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


def profiles_of(rows, labels, n_clusters, names=None):
    of_clusters = MomentPass(n_clusters, rows[0].astype(float))
    moments = of_clusters.finalise(of_clusters.chunk(0, labels, rows))
    return Profiles(names or tuple(f"x{i}" for i in range(rows.shape[1])), moments)


def test_a_column_without_any_value_explains_nothing():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(200, np.nan), rng.normal(size=200) + np.repeat([0, 9], 100)])
    explained = explained_variance(cluster_profiles(RandomProjectionTree(feature_map="gower").fit(rows), rows))
    assert explained[0] == 0
    assert explained[1] > 0.9


@pytest.fixture
def two():
    rows = np.array([[1.0, 50.0], [3.0, 70.0], [9.0, 50.0], [11.0, 72.0]])
    return profiles_of(rows, np.array([0, 0, 1, 1]), 2, ("height", "width"))


def test_a_cluster_tells_means_deviations_and_what_is_special(path, two):
    page = written(path, TWO, profiles=two)
    assert "Cluster 0 2 rows low height Feature" in page.words
    assert "height 2.0 ± 1.0 10.0 ± 1.0 −8.0 width 60 ± 10 61 ± 11 −0.1" in page.words
    assert "Cluster 1 2 rows high height Feature" in page.words


def test_the_table_of_all_clusters_has_the_features_that_they_explain_best_first(path, two):
    page = written(path, TWO, profiles=two)
    assert "Cluster height width 0 −8.0 −0.1 1 +8.0 +0.1 Variance explained 94.1 % 0.23 %" in page.words
    assert [cell["class"] for cell in page.all("td") if "class" in cell] == ["low-4", "", "high-4", ""]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 130), st.integers(1, 20), st.integers(0, 99))
def test_what_is_left_out_is_counted_and_every_mean_lies_on_its_strip(n_clusters, n_features, seed):
    rng = np.random.default_rng(seed)
    profiles = profiles_of(rng.normal(size=(500, n_features)), rng.integers(0, n_clusters, 500), n_clusters)
    overview = overview_of(
        profiles, [e for e in entries_of(random_tree(n_clusters, seed), None) if e.label is not None]
    )
    assert len(overview["columns"]) + overview["n_columns_left_out"] == n_features
    assert len(overview["rows"]) + overview["n_clusters_left_out"] == n_clusters
    assert len(overview["columns"]) <= MAX_COLUMNS
    assert len(overview["rows"]) == len(overview["profiles"]) <= MAX_CLUSTERS
    for profile in overview["profiles"]:
        for feature in profile["features"]:
            strip = feature["strip"]
            left, width = strip["own"]
            assert -1e-9 <= left <= strip["mean"] + 1e-9 <= left + width + 2e-9 <= 100 + 3e-9


@pytest.mark.parametrize("feature_map", [None, GowerFeatures()])
def test_profiles_of_another_tree_are_refused(path, two, feature_map):
    made = feature_map and feature_map.fit(np.arange(12.0).reshape(6, 2) ** 2).map_
    with pytest.raises(ValueError, match="profiles of the 3 clusters of the tree; got those of 2: make them with"):
        written(path, random_tree(3, 0), profiles=two, feature_map=made)
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("cls", [RandomProjectionTree, HierarchicalKernelMDH])
def test_rows_that_were_left_out_are_in_no_profile_and_no_picture(path, cls):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3)) + np.repeat([[0, 0, 0], [9, 0, 0], [0, 9, 0]], 200, axis=0)
    rows[::20, 2] = np.nan
    model = cls(missing="drop").fit(rows)
    page = Page(model.report(path, rows).read_text(encoding="utf-8"))
    assert [cell["id"] for cell in page.all("details") if "id" in cell] == ["profile-0", "profile-1", "profile-2"]
    assert "570 rows in the colours of their clusters" in page.words


# Picture, words, and clusters that light up


def groups():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0, 0], [40, 0, 0], [40, 2, 0]], [50, 30, 20], axis=0)
    return centres + rng.normal(size=(100, 3)) * [4.0, 0.1, 9.0], np.repeat([0, 1, 2], [50, 30, 20])


def profiles_of_groups():
    return profiles_of(*groups(), 3, ("length", "width", "noise"))


def tree_of_groups():
    def node(plane, offset, n):
        return {"plane": plane, "threshold": offset, "n_rows": n, "deviation": [20.0, 1.0, 9.0]}

    leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (50, 30, 20)]
    inner = node([0.0, 1.0, 0.0], 1.0, 50) | {"left": 3, "right": 4}
    return tree_from_nodes(
        [node([1.0, 0.1, 0.1], 20.0, 100) | {"left": 1, "right": 2}, leaves[0], inner, *leaves[1:]], 3
    )


def test_the_picture_has_a_dot_for_each_row_and_keeps_clusters_apart():
    rows, labels = groups()
    entries = [entry for entry in entries_of(tree_of_groups(), None) if entry.label is not None]
    picture = scatter_of(rows, labels, profiles_of_groups(), entries)
    spots = [np.array(re.findall(r"M(\d+) (\d+)h0", path), dtype=float) for _, path in picture["dots"]]
    assert [len(spot) for spot in spots] == [50, 30, 20]
    assert (np.concatenate(spots) >= 0).all()
    assert (np.concatenate(spots) <= [1000, 560]).all()
    assert "noise" not in picture["across"] + picture["up"]
    centres = np.array([spot.mean(axis=0) for spot in spots])
    nearest = [np.linalg.norm(spot[:, None] - centres, axis=2).argmin(axis=1) for spot in spots]
    assert np.mean(np.concatenate(nearest) == labels) > 0.95


def test_splits_are_in_the_words_and_units_of_the_columns():
    tree, profiles = tree_of_groups(), profiles_of_groups()
    words = [entry.words for entry in entries_of(tree, None, sides_of(tree, profiles, mapped=False))]
    below, above = words[0]
    assert below.startswith("x0 up to ")
    assert float(above.split()[-1].rstrip(",")) == pytest.approx(20.0, abs=0.5)
    assert words[2] == ("x1 up to 1", "x1 above 1")
    assert words[1] == ()


def test_splits_of_mapped_rows_are_in_the_columns_in_which_their_sides_differ():
    tree, profiles = tree_of_groups(), profiles_of_groups()
    words = [entry.words for entry in entries_of(tree, None, sides_of(tree, profiles, mapped=True))]
    assert [side.split(", ")[0] for side in words[0]] == ["low length", "high length"]
    assert [side.split(", ")[0] for side in words[2]] == ["low width", "high width"]
    assert words[1] == ()


def test_splits_of_features_have_no_words_without_profiles_as_the_names_of_features_look_like_those_of_columns():
    tree = tree_of_groups()
    assert sides_of(tree, None, mapped=False)(0)[1].startswith("high x0")
    assert sides_of(tree, None, mapped=True)(0) == ("", "")


@pytest.mark.parametrize(("some", "others"), [([0], [1, 2]), ([0, 1], [2]), ([2], [0])])
def test_clusters_differ_by_their_rows_put_together(some, others):
    rows, labels = groups()
    first, second = (rows[np.isin(labels, own)] for own in (some, others))
    variance = (len(first) * first.var(axis=0) + len(second) * second.var(axis=0)) / (len(first) + len(second))
    expected = (first.mean(axis=0) - second.mean(axis=0)) / np.sqrt(variance)
    np.testing.assert_allclose(apart(profiles_of_groups(), some, others), expected, rtol=1e-9)
    assert np.isnan(apart(profiles_of_groups(), some, [])).all()


def test_each_cluster_can_be_lit_up_and_what_lights_up_is_its_own(path):
    rows, labels = groups()
    page = written(path, tree_of_groups(), profiles=profiles_of_groups(), sample=(rows, labels))
    picks = {a["id"] for a in page.all("input", type="radio", name="pick")}
    assert picks == {"pick-all", "pick-0", "pick-1", "pick-2"}
    assert {a["for"] for a in page.all("label")} == picks
    marked = [set(a["class"].split()) for _, a in page.elements if "k" in a.get("class", "").split()]
    assert all(any(f"k{label}" in classes for classes in marked) for label in range(3))
    html = path.read_text(encoding="utf-8")
    assert all(f"body:has(#pick-{label}:checked) .k:not(.k{label})" in html for label in range(3))
    assert "k0" not in next(a for _, a in page.elements if a.get("id") == "node-2")["class"].split()
    many = written(path, random_tree(MAX_LIT + 1, 0), overwrite=True)
    assert many.all("fieldset") == many.all("label") == []
