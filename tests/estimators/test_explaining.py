"""Clusters in words, and what notebooks show of models and trees."""

from html.parser import HTMLParser

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from sklearn.utils import estimator_html_repr
from trees import random_tree, trees

from mdh_dask import HierarchicalKernelMDH, PCATree, RandomProjectionTree
from mdh_dask.tree.export import side_in_words
from mdh_dask.tree.structure import tree_from_nodes


class Balanced(HTMLParser):
    """Reads HTML, and fails if an element ends that is not open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("rect", "input", "br", "link", "meta"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
@given(trees)
def test_the_map_has_a_tile_for_each_node_with_rows_and_is_wellformed(tree):
    tiles = [attrs for tag, attrs in Balanced(tree._repr_html_()).seen if tag == "rect"]
    shares = tree.n_rows / tree.n_rows[0]
    assert len(tiles) == np.count_nonzero((shares >= 0.002) & (tree.level < 12))


def test_names_of_columns_cannot_break_the_map():
    root = {"left": 1, "right": 2, "n_rows": 2, "plane": [1.0], "threshold": 0.0}
    tree = tree_from_nodes([root, *[{"left": -1, "right": -1, "n_rows": 1}] * 2], 1)
    named = type(tree)(**{**vars(tree), "feature_names": ('<script>"&',)})
    assert "<script>" not in named._repr_html_()
    assert [attrs for tag, attrs in Balanced(named._repr_html_()).seen if tag == "rect"]


def test_fitted_models_show_the_map_below_the_diagram_and_others_the_diagram_alone():
    model = PCATree()
    assert "<svg" not in estimator_html_repr(model)
    assert not hasattr(model, "tree_")
    assert model._repr_mimebundle_()["text/html"].count("rows, 2 columns") == 0
    model.fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert "1 cluster, 100 rows, 2 columns" in model._repr_mimebundle_()["text/html"]


def test_words_name_the_side_of_the_rows_that_lie_there():
    tree = random_tree(2, 2, 3)
    one = tree_from_nodes(
        [
            {"left": 1, "right": 2, "n_rows": 9, "plane": [0.0, -2.0, 0.0], "threshold": 3.0},
            *[{"left": -1, "right": -1, "n_rows": 4}] * 2,
        ],
        3,
    )
    assert side_in_words(one, 0, above=True) == "x1 up to -1.5"
    assert side_in_words(one, 0, above=False, names=["a", "b", "c"]) == "b above -1.5"
    assert one.labels(np.array([[0, -2.0, 0], [0, -1.0, 0]])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="expected 3 feature names"):
        side_in_words(tree, 0, above=True, names=["a"])


class TestWhy:
    @pytest.fixture
    def groups(self):
        rng = np.random.default_rng(0)
        return rng.normal(size=(900, 2)) + np.repeat([[0, 0], [9, 0], [9, 9]], 300, axis=0)

    def test_the_splits_that_bound_a_cluster_are_named(self, groups):
        model = PCATree(random_state=0).fit(groups)
        label = int(model.predict([[9.0, 9.0]])[0])
        model._name_columns(["length", "width"])
        lines = model.why().splitlines()
        assert lines[0] == "3 clusters of 900 rows"
        assert "high" in model.why(label)
        assert "length" in model.why(label)
        assert "width" in model.why(label)
        assert model.why(label).splitlines()[1] in lines
        with pytest.raises(ValueError, match="a cluster from 0 to 2, got 3"):
            model.why(3)

    def test_a_valley_that_failed_is_described_with_how_much_it_lacks(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(1600, 2)) + np.repeat([[0.0, 0.0], [2.3, 0.0]], 800, axis=0)
        why = RandomProjectionTree(n_projections=200, min_relative_depth=0.0).fit(rows).why()
        assert why.startswith("1 cluster of 1,600 rows: not split: the best valley, along ")
        assert "standard errors; " in why
        assert "and a split needs 0.0031" in why

    def test_one_cluster_of_many_rows_names_the_method_that_finds_hundreds(self):
        rng = np.random.default_rng(0)
        centres = 3 * rng.normal(size=(1000, 32))
        rows = centres[rng.integers(1000, size=30_000)] + rng.normal(size=(30_000, 32))
        model = RandomProjectionTree(random_state=0)
        assert model.fit(rows).n_clusters_ == 1  # lines show no valley, though the clusters are 24 deviations apart
        assert model.why().endswith(
            "hundreds of clusters would look like one along every line: DensityTree compares neighbourhoods"
        )
        assert "DensityTree" not in model.fit(rows[:1000]).why()

    def test_too_few_rows_and_no_valley_at_all_are_told_apart(self, groups):
        assert "fewer than twice min_cluster_size, 80" in PCATree(min_cluster_size=80).fit(groups[:150]).why()
        grid = np.linspace([0.0, 0.0], [1.0, 0.1], 200)
        assert "no valley with 15 rows on both sides was found" in PCATree().fit(grid).why()

    def test_features_of_a_map_are_not_taken_for_columns(self, groups):
        assert "feature 0" in HierarchicalKernelMDH(feature_map="quadratic", merge=False).fit(groups).why()


def test_a_report_of_rows_is_one_pass_and_is_refused_before_any_work(tmp_path):
    pytest.importorskip("jinja2")
    rows, read = np.random.default_rng(0).normal(size=(200, 2)), []
    rows[:100] += 9

    def block(part):
        read.append(len(part))
        return part

    model = PCATree().fit(rows)
    lazy = da.from_array(rows, chunks=(50, 2)).map_blocks(block, meta=np.empty((0, 2)))
    with dask.config.set(scheduler="synchronous"):
        path = model.report(tmp_path / "r.html", lazy, title="Two groups")
        assert 200 <= sum(read) <= 250, "the rows once, and the first of them for the profiles"
        assert "<h1>Two groups</h1>" in path.read_text(encoding="utf-8")
        read.clear()
        with pytest.raises(FileExistsError):
            model.report(path, lazy)
        assert read == []
