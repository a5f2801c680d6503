"""The report: one file that holds everything, whole or absent."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers import png
from hypothesis import given, settings
from hypothesis import strategies as st

from mdh_dask._words import depth_text
from mdh_dask.kernels import RBF, FromFunction, nystrom_map
from mdh_dask.report import write_report
from mdh_dask.report.differences import ENDED, river_of
from mdh_dask.report.entries import MAX_NESTING, entries_of
from mdh_dask.report.page import MAP_LEVELS, THINNEST
from mdh_dask.report.pictures import HEIGHT, WIDTH, picture_of, spectrum_of
from mdh_dask.summaries.drift import Drift
from mdh_dask.summaries.history import History
from mdh_dask.summaries.tables import split_cells
from mdh_dask.tree.html import tiles_of
from mdh_dask.tree.structure import tree_from_nodes

HILLS = np.array([0, 3, 9, 20, 9, 4, 1, 5, 12, 25, 30, 22, 9, 2, 0])
MEASURED = {"origin": 0.0, "width": 1.0, "bandwidth": 0.8, "bins": HILLS, "threshold": 6.5, "relative_depth": 2.5}
NOTHING = frozenset({"meta", "img", "input"})
"""Elements that have no end."""


class Page(HTMLParser):
    """Checks that every element ends where it should, and collects what the page holds."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.text, self.deepest = [], [], [], 0
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in NOTHING:
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag, **wanted):
        wanted = {name.rstrip("_"): value for name, value in wanted.items()}
        return [a for t, a in self.elements if t == tag and wanted.items() <= a.items()]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def leaf(n_rows):
    return {"left": -1, "right": -1, "n_rows": n_rows, "plane": [1.0, 0.0]}


def random_tree(n_leaves, seed, chain=False):
    """Split random leaves (or always the last one) at random; every split and some leaves have histograms."""
    rng = np.random.default_rng(seed)
    nodes = [leaf(50 * n_leaves)]
    while len(nodes) < 2 * n_leaves - 1:
        ends = [node for node in nodes if node["left"] < 0 and node["n_rows"] > 1]
        node = ends[-1] if chain else ends[rng.integers(len(ends))]
        n_left = 1 if chain else int(rng.integers(1, node["n_rows"]))
        node |= {"left": len(nodes), "right": len(nodes) + 1} | MEASURED
        nodes += [leaf(n_left), leaf(node["n_rows"] - n_left)]
        nodes[-1] |= MEASURED if rng.random() < 0.3 else {}
    return tree_from_nodes(nodes, n_features=2)


PIXEL = png(np.array([[[64, 128, 255]]], "u1"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


def written(path, tree, **more):
    more = {"title": "A title", "facts": {}} | more
    return Page(write_report(path, tree, **more).read_text(encoding="utf-8"))


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(n_leaves=st.integers(1, 40), seed=st.integers(0, 1000), chain=st.booleans())
def test_every_node_and_cluster_is_there_once_and_every_element_ends(tmp_path_factory, n_leaves, seed, chain):
    tree = random_tree(n_leaves, seed, chain)
    page = written(tmp_path_factory.mktemp("report") / "r.html", tree)
    nodes = [a["id"] for _, a in page.elements if a.get("id", "").startswith("node-")]
    assert nodes == [f"node-{i}" for i in range(tree.n_nodes)]
    assert len(page.all("th", scope="row")) == n_leaves
    assert len(page.all("svg")) == np.count_nonzero(np.diff(tree.first_bin))


def test_a_split_tells_its_rows_depth_and_sides_in_words(path):
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 1234} | MEASURED, leaf(1000), leaf(234)], 2)
    (picture,) = written(path, tree).all("svg")
    assert picture["role"] == "img"
    assert picture["aria-label"] == (
        "Density of 1,234 rows along one direction, split at a valley of relative depth 2.5 at 6.5: "
        "1,000 rows left and 234 rows right of it."
    )


def test_a_cluster_tells_the_valley_that_was_not_split(path):
    page = written(path, tree_from_nodes([leaf(50) | MEASURED | {"relative_depth": 0.1}], 2))
    assert "Cluster 0 50 rows 100 % valley of depth 0.10 not split" in page.words
    assert page.all("line", class_="dotted")


def test_the_table_tells_label_rows_share_and_the_depth_of_the_split_above(path):
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 1000} | MEASURED, leaf(877), leaf(123)], 2)
    assert "0 877 87.7 % 2.5 1 123 12.3 % 2.5" in written(path, tree).words


def test_text_is_escaped(path):
    evil = "<script>alert('&')</script>"
    page = written(path, random_tree(3, 0), title=evil, facts={evil: evil}, images={f'"{evil}': PIXEL})
    assert page.all("script") == []
    shown_in = ("title", "h1", "dt", "dd", "figcaption")
    assert page.words.count(evil) == len(shown_in)
    assert "<h1>&lt;script&gt;" in path.read_text(encoding="utf-8")
    assert page.all("img")[0]["alt"] == f'"{evil}'


def test_nothing_is_loaded_from_anywhere(path):
    page = written(path, random_tree(20, 1), images={"a": PIXEL})
    html = path.read_text(encoding="utf-8")
    assert re.findall(r"https?:|//|@import|url\(", re.sub(r"base64,[^\"]*", "", html)) == []
    addresses = [a[name] for _, a in page.elements for name in ("src", "href", "srcset", "data") if name in a]
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object"})
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy[0]["content"].startswith("default-src 'none'")


def test_headings_are_ordered_and_the_language_is_named(path):
    page = written(path, random_tree(5, 0))
    headings = [tag for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}
    assert page.all("html", lang="en")


@pytest.mark.slow
def test_a_deep_tree_is_not_nested_deeper_than_browsers_allow(path):
    tree = random_tree(700, 0, chain=True)
    assert tree.level.max() == 699
    page = written(path, tree)
    assert page.deepest < 4 * MAX_NESTING
    assert len(page.all("details")) >= 699


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(n_leaves=st.integers(1, 40), seed=st.integers(0, 1000))
def test_tiles_of_the_map_fill_their_parents_and_clusters_reach_the_bottom(n_leaves, seed):
    tree = random_tree(n_leaves, seed)
    tiles, n_levels = tiles_of(tree, MAP_LEVELS, THINNEST)
    place = {tile.node: tile for tile in tiles}
    for node, tile in place.items():
        if tree.left[node] < 0:
            assert tile.level + tile.n_levels == n_levels
        children = [place[c] for c in (tree.left[node], tree.right[node]) if c in place]
        for child in children:
            assert tile.start - 1e-9 <= child.start
            assert child.start + child.share <= tile.start + tile.share + 1e-9
        if len(children) == 2:
            assert children[0].share + children[1].share == pytest.approx(tile.share)


def test_the_sides_of_a_picture_meet_at_the_valley():
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 10} | MEASURED, leaf(5), leaf(5)], 2)
    picture = picture_of(tree, 0, tree.density(0))
    corners = {side: np.array(re.findall(r"(\d+),(\d+)", area), dtype=int) for side, area in picture["areas"]}
    assert corners["left"][:, 0].max() == corners["right"][:, 0].min() == picture["cut"]
    assert corners["left"][0, 0] == 0
    assert corners["right"][-1, 0] == WIDTH
    assert all(corners[side][0, 1] == corners[side][-1, 1] == HEIGHT for side in corners)


def map_with(variances, n_components):
    """Return a map with these variances of its landmarks."""
    d = len(variances)
    landmarks = np.sqrt(d * np.array(variances)) * np.concatenate([np.eye(d), -np.eye(d)])[:, :d]
    linear = FromFunction(lambda rows, landmarks: rows @ landmarks.T)
    return nystrom_map(landmarks, linear, np.zeros(d), np.ones(d), n_components=n_components)


def test_a_feature_map_tells_kernel_landmarks_and_the_dimension(path):
    landmarks = np.random.default_rng(0).normal(size=(1200, 2))
    feature_map = nystrom_map(landmarks, RBF(width=2.0), np.zeros(2), np.ones(2), n_components=3)
    page = written(path, random_tree(5, 0), feature_map=feature_map)
    spectrum = spectrum_of(feature_map)
    assert f"Kernel RBF(width=2.0) Landmarks 1,200 Components kept 3 of {spectrum['n_all']}, with" in page.words
    assert page.all("a", href="#features")
    assert spectrum["summary"] in [svg["aria-label"] for svg in page.all("svg")]
    assert "the density of the features x of a node along" in page.words


def test_the_spectrum_in_words_and_as_a_picture():
    spectrum = spectrum_of(map_with([4.0, 3.0, 2.0, 1.0], n_components=2))
    assert spectrum["summary"] == (
        "Variances of the first 4 of 4 components in descending order: the first 2 are kept and explain 70.0 % of the "
        "variance, 2 explain half of it."
    )
    assert (spectrum["n_kept"], spectrum["kept"], spectrum["cut"]) == (2, "70.0 %", WIDTH // 2)
    (left, kept), (whole, out) = spectrum["areas"]
    assert (left, whole) == ("left", "whole")
    assert kept == "M0,240 0,0 250,0 250,60 500,60 500,240Z"
    assert out == "M500,240 500,120 750,120 750,180 1000,180 1000,240Z"
    assert spectrum["curve"] == "M0,240 250,144 500,72 750,24 1000,0"


def test_images_are_embedded_beside_each_other_from_bytes_and_files(path, tmp_path):
    (tmp_path / "b.png").write_bytes(PIXEL)
    images = written(path, random_tree(3, 0), images={"bytes": PIXEL, "file": tmp_path / "b.png"}).all("img")
    assert [image["alt"] for image in images] == ["bytes", "file"]
    assert images[0]["src"] == images[1]["src"]
    assert images[0]["src"].startswith("data:image/png;base64,iVBOR")


def test_clusters_have_the_given_colours_and_splits_their_mean():
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 4} | MEASURED, leaf(1), leaf(3)], 2)
    colours = [entry.colour for entry in entries_of(tree, np.array([[200, 0, 0], [0, 0, 100]], dtype=np.uint8))]
    assert colours == ["#32004b", "#c80000", "#000064"]


def test_a_drift_report_has_one_depth_for_each_split_and_counts_the_new_rows(path):
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 122} | MEASURED, leaf(61), leaf(61)], 2)
    found = Drift(tree, replace(tree, n_rows=tree.n_rows // 2, bins=tree.bins // 2))
    page = written(path, tree, drift=found)
    depth = found.splits[0].valley.depth[0]
    assert f"relative depth {depth_text(depth)}" in page.words
    assert f"{depth:.3g}" in page.words
    assert "relative depth 2.5" not in page.words
    assert "new rows 61" in page.words
    assert "rows of the model 122" in page.words
    assert ("in brackets" in page.words) == any("(" in row[-1] + row[-2] for row in split_cells(found))
    assert "-0.00" not in page.words


def test_a_history_of_several_nights_is_a_river_with_its_events(tmp_path):
    tree = tree_from_nodes([{"left": 1, "right": 2, "n_rows": 1000} | MEASURED, leaf(700), leaf(300)], 2).numbered()
    first = History.begun(np.array([600, 400]), np.full(2, np.nan), np.empty((0, 2)))
    before = np.array([[60, 0], [0, 40]])
    moved = first.followed(np.array([[700, 0], [0, 300]]), before, np.full(2, np.nan), np.empty((0, 2)))
    later = moved.followed(np.array([[600], [0]]), np.array([[60], [40]]), np.full(1, np.nan), np.empty((0, 2)))
    assert "What happened" not in written(tmp_path / "one.html", tree, history=first).words
    page = written(tmp_path / "two.html", tree, history=moved)
    assert "Nights 0 to 1" in page.words
    river = river_of(later, {0: "#123456"})
    assert [band["name"] for band in river["bands"]] == [0, 1]
    assert [band["colour"] for band in river["bands"]] == ["#123456", ENDED]
    assert all("nan" not in band["path"] for band in river["bands"])


def test_splits_show_their_adjusted_p_values(tmp_path):
    nodes = [{"left": 1, "right": 2, "n_rows": 1000, "p_value": 0.004} | MEASURED, leaf(877), leaf(123)]
    page = written(tmp_path / "r.html", tree_from_nodes(nodes, 2))
    assert "p = 0.004" in page.words
    assert "adjusted for all tests of the tree" in page.words
