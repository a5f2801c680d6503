"""Drawings: what stands on the axes is what the tree holds."""

import sys

import numpy as np
import pandas as pd
import pytest
from helpers import in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    PCATree,
    SupportVectorClustering,
    load_model,
)
from mdh_dask.plotting import (
    plot_agreement,
    plot_contours,
    plot_density,
    plot_drift,
    plot_landmarks,
    plot_merges,
    plot_scatter,
    plot_sweep,
    plot_tree,
)
from mdh_dask.plotting.models import NARROWEST_EDGE, WIDEST_EDGE
from mdh_dask.plotting.parts import LEFT, RIGHT, window
from mdh_dask.tree.structure import NodeDensity, tree_from_nodes

HILLS = np.histogram(np.r_[np.random.default_rng(0).normal(-2, 0.6, 300), np.random.default_rng(1).normal(2, 0.8, 700)],
                     bins=120, range=(-6, 6))[0]  # fmt: skip
MEASURED = {"origin": -6.0, "width": 0.1, "bandwidth": 0.3, "bins": HILLS, "plane": [1.0, 0.0, 0.0]}


def leaf(n_rows, **more):
    return {"left": -1, "right": -1, "n_rows": n_rows} | more


def small_tree():
    """Return a split of 1000 rows into a leaf with a rejected valley and one of which nothing is known."""
    root = {"left": 1, "right": 2, "n_rows": 1000, "threshold": -0.325, "relative_depth": 3.21} | MEASURED
    return tree_from_nodes([root, leaf(300, threshold=-1.0, relative_depth=0.05, **MEASURED), leaf(700)], n_features=3)


def random_tree(n_leaves, rng):
    """Split random leaves at random shares, without histograms."""
    nodes = [leaf(int(rng.integers(n_leaves, 50 * n_leaves)))]
    while len(nodes) < 2 * n_leaves - 1:
        node = nodes[max(range(len(nodes)), key=lambda i: (nodes[i]["left"] < 0) * nodes[i]["n_rows"] * rng.random())]
        n_left = int(rng.integers(1, node["n_rows"])) if node["n_rows"] > 1 else 0
        node |= {
            "left": len(nodes),
            "right": len(nodes) + 1,
            "threshold": 0.0,
            "relative_depth": 1.0,
            "plane": [1.0, 0.0],
        }
        nodes += [leaf(n_left), leaf(node["n_rows"] - n_left)]
    return tree_from_nodes(nodes, n_features=2)


def filled(ax):
    """Return the colour, the ends and the area of every filled region."""
    regions = {}
    for region in ax.collections:
        x, y = region.get_paths()[0].vertices.T
        area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2)
        regions[to_hex(region.get_facecolor()[0])] = (x.min(), x.max(), area)
    return regions


def test_the_line_of_a_split_stands_at_its_threshold():
    line = plot_density(small_tree(), 0).lines[1]
    np.testing.assert_array_equal(line.get_xdata(), [-0.325, -0.325])
    assert line.get_linestyle() == "-"


def test_the_drawn_density_is_that_of_the_tree_and_integrates_to_one():
    tree = small_tree()
    x, y = plot_density(tree, 0).lines[0].get_data()
    np.testing.assert_array_equal(y, tree.density(0).density)
    assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)


def test_the_two_sides_meet_at_the_threshold_and_hold_their_shares_of_the_rows():
    left, right = (filled(plot_density(small_tree(), 0))[colour] for colour in (LEFT, RIGHT))
    assert left[1] == right[0] == -0.325
    assert left[2] == pytest.approx(0.3, abs=0.01)
    assert right[2] == pytest.approx(0.7, abs=0.01)


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=60),
    threshold=st.one_of(st.just(np.nan), st.floats(-100, 100)),
)
def test_the_window_holds_the_threshold_and_all_but_a_thousandth_of_the_density(counts, threshold):
    position, height = np.arange(len(counts)) + 0.5, np.array(counts, dtype=float)
    low, high = window(NodeDensity(position, height, threshold))
    assert low < high
    assert np.isnan(threshold) or low < threshold < high
    assert height[(position < low) | (position > high)].sum() <= 0.001 * height.sum()


@pytest.mark.parametrize(
    ("draw", "node"), in_turns([plot_density, lambda tree, node: plot_scatter(tree, np.zeros((1, 3)), node)], [-1, 3])
)
def test_a_node_that_is_not_there_is_refused(draw, node):
    with pytest.raises(ValueError, match=f"0 to 2; got {node}: the leaves are 1, 2"):
        draw(small_tree(), node)


def test_a_fitted_model_is_drawn_as_its_tree_and_rows_may_be_a_frame():
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0]], 150, axis=0)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    model = PCATree().fit(frame)
    assert plot_tree(model).get_title() == plot_tree(model.tree_).get_title()
    assert plot_density(model, 0).get_title() == plot_density(model.tree_, 0).get_title()
    drawn, same = (plot_scatter(*pair).collections[0] for pair in ((model, frame), (model.tree_, rows)))
    np.testing.assert_array_equal(drawn.get_offsets(), same.get_offsets())
    with pytest.raises(ValueError, match="same order"):
        plot_scatter(model, frame[["b", "a"]])


def test_the_rows_of_a_model_with_a_feature_map_are_drawn_by_their_features():
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0]], 150, axis=0)
    model = PCATree(feature_map="products").fit(rows)
    features = model.feature_map_.transform(rows)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    pairs = ((model, rows), (model, frame), (model.tree_, features))
    drawn, of_frame, same = (plot_scatter(*pair).collections[0].get_offsets() for pair in pairs)
    np.testing.assert_array_equal(drawn, same)
    np.testing.assert_array_equal(of_frame, same)


@pytest.mark.slow
def test_models_other_than_trees_are_drawn_by_their_own_functions():
    rows = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0, 0], [9, 0]], 300, axis=0)
    density = DensityTree().fit(rows)
    votes = ConsensusClustering(estimator=PCATree(), n_trees=3).fit(rows)
    for draw, model in ((plot_merges, density), (plot_landmarks, density), (plot_agreement, votes)):
        assert draw(model)._repr_png_().startswith(b"\x89PNG")
    tree = PCATree().fit(rows)
    for draw, model, message in (
        (plot_tree, density, "a fitted model of one tree; got DensityTree, which plot_landmarks or plot_merges draws"),
        (plot_merges, tree, "a fitted DensityTree; got PCATree, which plot_tree draws"),
        (plot_landmarks, votes, "a fitted DensityTree; got ConsensusClustering, which plot_agreement draws"),
        (
            plot_agreement,
            tree,
            "a fitted ConsensusClustering, or an array of at least two numbers of rows; got PCATree",
        ),
        (plot_agreement, np.array([3]), "an array of at least two numbers of rows; got ndarray"),
        (plot_sweep, np.ones(3), "a fitted SupportVectorClustering, or its sweep_; got ndarray"),
        (plot_contours, tree, "a fitted SupportVectorClustering; got PCATree"),
        (plot_sweep, density, "a fitted SupportVectorClustering, or its sweep_; got DensityTree"),
    ):
        with pytest.raises(TypeError, match=message):
            draw(model)
    for draw, model in ((plot_tree, PCATree()), (plot_merges, DensityTree()), (plot_sweep, SupportVectorClustering())):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            draw(model)


@pytest.mark.slow
def test_the_evidence_of_groups_far_apart_does_not_hide_the_threshold():
    model = DensityTree().fit(np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [99]], 300, axis=0))
    ax = plot_merges(model)
    (threshold,) = {float(y) for y in ax.lines[0].get_ydata()}
    assert max(bar.get_height() for bar in ax.patches) > 1e5
    assert threshold < ax.get_ylim()[1] < 10 * threshold


def test_rows_in_place_of_axes_and_a_model_in_place_of_its_drift_are_refused():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = PCATree().fit(rows)
    with pytest.raises(TypeError, match="Matplotlib axes for ax; got ndarray"):
        plot_tree(model, rows)
    with pytest.raises(TypeError, match=r"as drift\(model, X\) returns it; got PCATree"):
        plot_drift(model, 0)


def test_a_notebook_shows_new_axes_as_a_picture_and_given_ones_by_their_figure():
    assert plot_tree(small_tree())._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(plot_tree(small_tree(), Figure().add_subplot()), "_repr_png_")


@pytest.mark.slow
def test_pyplot_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    tree = small_tree()
    for ax in (plot_density(tree, 0), plot_tree(tree), plot_scatter(tree, np.eye(3))):
        ax.figure.draw_without_rendering()
        assert ax.has_data()


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(n_leaves=st.integers(1, 40), seed=st.integers(0, 100))
def test_every_edge_is_as_wide_as_the_share_of_rows_that_takes_it(n_leaves, seed):
    tree = random_tree(n_leaves, np.random.default_rng(seed))
    ax = plot_tree(tree)
    expected = np.maximum(WIDEST_EDGE * tree.n_rows[1:] / tree.n_rows[0], NARROWEST_EDGE)
    np.testing.assert_allclose(np.sort(ax.collections[0].get_linewidths()), np.sort(expected))


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(n_leaves=st.integers(2, 40), seed=st.integers(0, 100))
def test_no_two_nodes_of_a_level_are_closer_than_a_column(n_leaves, seed):
    tree = random_tree(n_leaves, np.random.default_rng(seed))
    paths = plot_tree(tree).collections[0].get_paths()
    ends = np.array([path.vertices[-1] for path in paths])
    for level in np.unique(ends[:, 1]):
        assert np.all(np.diff(np.sort(ends[ends[:, 1] == level, 0])) >= 1)


def test_hundreds_of_leaves_are_dots_on_a_page_of_bounded_size():
    tree = random_tree(300, np.random.default_rng(0))
    ax = plot_tree(tree, max_nodes=1000)
    assert not ax.texts
    assert sum(len(dots.get_offsets()) for dots in ax.collections[1:]) == tree.n_nodes
    assert max(ax.figure.get_size_inches()) <= 20
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(("max_nodes", "drawn"), [(1, 1), (2, 1), (21, 21), (60, 59)])
def test_more_nodes_than_wanted_are_left_out_and_told(max_nodes, drawn):
    tree = random_tree(100, np.random.default_rng(0))
    ax = plot_tree(tree, max_nodes=max_nodes)
    assert len(ax.collections[0].get_paths()) == drawn - 1
    assert f"the largest {drawn} of 199 nodes" in ax.get_title()


def test_rows_are_drawn_at_their_projection_and_coloured_by_their_side():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    ax = plot_scatter(small_tree(), rows)
    dots = ax.collections[0]
    np.testing.assert_allclose(dots.get_offsets()[:, 0], rows[:, 0])
    assert [to_hex(c) for c in dots.get_facecolors()] == np.where(rows[:, 0] <= -0.325, LEFT, RIGHT).tolist()
    assert ax.lines[0].get_xdata()[0] == -0.325


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), d=st.integers(2, 6))
def test_the_other_axis_is_the_first_principal_component_within_the_separator(seed, d):
    rng = np.random.default_rng(seed)
    plane = rng.normal(size=d) * 5
    rows = rng.normal(size=(30, d)) * rng.uniform(0.1, 5, d) + 7
    root = {"left": 1, "right": 2, "n_rows": 30, "plane": plane, "threshold": 0.0, "relative_depth": 1.0}
    drawn = plot_scatter(tree_from_nodes([root, leaf(15), leaf(15)], d), rows).collections[0].get_offsets()[:, 1]
    unit = plane / np.linalg.norm(plane)
    centred = (rows - rows.mean(axis=0)) @ (np.eye(d) - np.outer(unit, unit))
    u, s, _ = np.linalg.svd(centred)
    np.testing.assert_allclose(np.abs(drawn), np.abs(u[:, 0] * s[0]), atol=1e-6 * s[0])


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [3, 12])
def test_labels_are_colours_and_a_legend(n_labels):
    labels = np.arange(60) % n_labels
    ax = plot_scatter(small_tree(), np.random.default_rng(0).normal(size=(60, 3)), labels=labels)
    colours = ax.collections[0].get_facecolors()
    assert len({tuple(c) for c in colours}) == n_labels
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(i) for i in range(n_labels)]


def test_what_cannot_be_drawn_is_refused():
    tree, rows = small_tree(), np.full((4, 3), 5.0)
    with pytest.raises(ValueError, match="node 2 has no direction"):
        plot_scatter(tree, rows, node=2)
    with pytest.raises(ValueError, match="none of the 4 rows reaches node 1"):
        plot_scatter(tree, rows, node=1)
    with pytest.raises(ValueError, match=r"shape \(n_rows, 3\).* got \(4, 2\)"):
        plot_scatter(tree, rows[:, :2])
    with pytest.raises(ValueError, match=r"labels have shape \(4,\).* got \(3,\)"):
        plot_scatter(tree, rows, labels=[0, 1, 2])
    with pytest.raises(TypeError, match=r"got builtins\.list"):
        plot_scatter(tree, rows.tolist())
    with pytest.raises(ValueError, match="expected finite values; got NaN or infinity"):
        plot_scatter(tree, np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match=r"max_nodes as a whole number from 1; got 2\.5"):
        plot_tree(tree, max_nodes=2.5)


@pytest.fixture(scope="module")
def pair():
    """Two groups in two columns of different units; the last row is far from both."""
    rows = np.random.default_rng(0).normal(size=(301, 2)) + np.repeat([[-4.0, 0.0], [4.0, 0.0]], [150, 151], axis=0)
    rows[-1] = 1e4
    return rows * [1.0, 100.0] + 7


def test_a_contour_is_drawn_where_the_sum_of_kernels_has_its_level_and_clusters_have_colours(pair):
    model = SupportVectorClustering(width=1.0, share_outside=0.2, unclassified="leave").fit(pair[:300])
    ax = plot_contours(model.state_, names=np.array(["a", "b"], dtype=object))
    *areas, line = [part for part in ax.collections if hasattr(part, "levels")]
    assert [part.get_facecolor()[0, :3].tolist() for part in areas] == [list(to_rgb(f"C{k}")) for k in range(2)]
    on_line = np.vstack([path.vertices for path in line.get_paths()])
    np.testing.assert_allclose(model.boundary_distance(on_line), 0, atol=0.05)
    rings, crosses = (line.get_xydata() for line in ax.lines)
    assert len(rings) + len(crosses) == len(model.support_vectors_)
    assert (model.predict(crosses) == -1).all()
    assert (model.predict(rings) >= 0).all()
    n = f"{len(rings)} support vectors"
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (f"2 clusters, q = 1, {n}", "a", "b")


def test_a_constant_column_and_equal_rows_are_drawn(pair):
    for rows in (pair * [1.0, 0.0], np.ones((20, 2))):
        ax = plot_contours(SupportVectorClustering(width=1.0, share_outside=0.1).fit(rows).state_)
        FigureCanvasAgg(ax.figure).draw()
        assert all(low < high for low, high in (ax.get_xlim(), ax.get_ylim()))


def test_contours_have_the_names_of_the_columns_that_were_fitted(pair):
    model = SupportVectorClustering(width=1.0, share_outside=0.1).fit(pair[:60])
    assert plot_contours(model).get_xlabel() == "column 0"
    model = SupportVectorClustering(width=1.0, share_outside=0.1).fit(
        pd.DataFrame(pair[:60], columns=["age", "height"])
    )
    assert (plot_contours(model).get_xlabel(), plot_contours(model).get_ylabel()) == ("age", "height")
    assert plot_contours(model, names=["a", "b"]).get_ylabel() == "b"


def test_other_than_two_names_of_two_columns_are_refused(pair):
    contours = SupportVectorClustering(width=1.0, share_outside=0.1).fit(pair[:60])
    for draw, model in ((plot_contours, contours), (plot_landmarks, DensityTree().fit(pair[:60]))):
        for names in (["a"], ["a", "b", "c"], "ab"):
            with pytest.raises(ValueError, match=r"expected names=... of two columns; got .*: give two, or none"):
                draw(model, names=names)


@pytest.mark.slow
def test_a_sweep_is_drawn_as_its_table_says_and_a_notebook_shows_its_first_axes(pair):
    model = SupportVectorClustering().fit(pair[:300])
    table = model.sweep_
    shares = np.unique(table["outliers"])
    chosen = table[table["chosen"]][0]
    for ax, column in zip(plot_sweep(table), ("n_support", "n_clusters", "persistence")):
        drawn = {line.get_label(): line.get_xydata() for line in ax.lines if "%" in str(line.get_label())}
        assert list(drawn) == [f"{share:.0%}" for share in shares]
        for share, points in zip(shares, drawn.values()):
            steps = table[table["outliers"] == share]
            np.testing.assert_array_equal(points, np.column_stack([steps["width"], steps[column]]))
        star = next(line for line in ax.lines if line.get_marker() == "*")
        assert star.get_xydata().tolist() == [[chosen["width"], chosen[column]]]
    assert plot_sweep(table)[0]._repr_png_().startswith(b"\x89PNG")
    rings = [line.get_xydata() for line in plot_sweep(table)[1].lines if line.get_marker() == "o"]
    assert sorted(np.vstack(rings)[:, 1]) == sorted(table["n_confirmed"][table["n_confirmed"] > 0])


def test_contours_of_other_than_two_columns_and_a_sweep_without_steps_are_refused(pair):
    model = SupportVectorClustering(width=1.0).fit(pair[:300, :1])
    with pytest.raises(ValueError, match=r"expected contours of two columns; got 1\. Fit"):
        plot_contours(model.state_)
    with pytest.raises(ValueError, match="at least one step of a sweep; got none: fit with width='sweep'"):
        plot_sweep(model.sweep_)
    with pytest.raises(ValueError, match="drawn on three axes; got 2: give three, or none"):
        plot_sweep(SupportVectorClustering().fit(pair[:100]).sweep_, axes=Figure().subplots(1, 2))


@pytest.mark.slow
def test_the_report_of_contours_has_their_pictures(pair):
    pictures = SupportVectorClustering().fit(pair[:300]).report_pictures()
    assert [caption.split()[1] for caption in pictures] == ["contour", "sweep"]
    assert all(image.startswith(b"\x89PNG") for image in pictures.values())
    assert SupportVectorClustering(width=1.0).fit(pair[:300, :1]).report_pictures() == {}


@pytest.mark.parametrize("settings_of", [{"missing": "drop"}, {"missing": "mean", "feature_map": "rbf"}], ids=str)
def test_rows_with_missing_values_are_drawn_as_the_model_takes_them(settings_of):
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0]], 150, axis=0)
    rows[::7, 1] = np.nan
    model = PCATree(**settings_of).fit(rows)
    drawn = plot_scatter(model, rows, labels=np.asarray(model.labels_)).collections
    n = sum(len(own.get_offsets()) for own in drawn)
    assert n == (~np.isnan(rows).any(axis=1)).sum() if settings_of["missing"] == "drop" else n == 300


def test_a_loaded_model_of_levels_draws_a_frame(tmp_path):
    side = np.arange(300) % 2
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=300) + 9 * side, "t": np.where(side, "a", "b")})
    model = PCATree(feature_map="gower").fit(frame)
    model.save(tmp_path / "m.zarr")
    models = model, load_model(tmp_path / "m.zarr")
    first, second = (plot_scatter(own, frame).collections[0].get_offsets() for own in models)
    np.testing.assert_array_equal(first, second)
