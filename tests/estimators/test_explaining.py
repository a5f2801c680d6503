"""Clusters in words, and what notebooks show of models and trees."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray
import zarr
from helpers import noting_reads
from hypothesis import given
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import estimator_html_repr
from trees import random_tree, trees

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    Links,
    PCATree,
    RandomProjectionTree,
    cluster_profiles,
    load_model,
)
from mdh_dask.columns import ColumnTypes
from mdh_dask.estimators.repeats import Repeats
from mdh_dask.summaries.words import clusters_in_words, named
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


def test_fitted_models_show_the_map_below_the_diagram_and_others_the_diagram_alone():
    model = PCATree()
    assert "<svg" not in estimator_html_repr(model)
    assert not hasattr(model, "tree_")
    assert model._repr_mimebundle_()["text/html"].count("rows, 2 columns") == 0
    model.fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert "1 cluster, 100 rows, 2 columns" in model._repr_mimebundle_()["text/html"]


def test_words_name_the_side_of_the_rows_that_lie_there():
    tree = random_tree(2, 2, 3)
    root, leaf = {"left": 1, "right": 2, "n_rows": 9, "plane": [0.0, -2.0, 0.0], "threshold": 3.0}, {"n_rows": 4}
    one = tree_from_nodes([root, *[leaf | {"left": -1, "right": -1}] * 2], 3)
    assert side_in_words(one, 0, above=True) == "x1 up to -1.5"
    assert side_in_words(one, 0, above=False, names=["a", "b", "c"]) == "b above -1.5"
    assert one.labels(np.array([[0, -2.0, 0], [0, -1.0, 0]])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="expected 3 feature names"):
        side_in_words(tree, 0, above=True, names=["a"])


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(900, 2)) + np.repeat([[0, 0], [9, 0], [9, 9]], 300, axis=0)


class TestWhy:
    def test_the_splits_that_bound_a_cluster_are_named(self, rows):
        model = PCATree(random_state=0).fit(rows)
        label = int(model.predict([[9.0, 9.0]])[0])
        model._name_columns(["length", "width"])
        lines = model.why().splitlines()
        assert lines[0].startswith("3 clusters of 900 rows; the least certain split has p < ")
        assert "length" in model.why(label)
        assert "width" in model.why(label)
        assert model.why(label).splitlines()[1] in lines
        with pytest.raises(ValueError, match="a cluster from 0 to 2, got 3"):
            model.why(3)
        for wrong, got in ((0.0, r"0\.0"), (rows, "a ndarray")):
            with pytest.raises(ValueError, match=f"a cluster from 0 to 2, got {got}$"):
                model.why(wrong)

    def test_where_no_bound_on_any_false_split_says_something_their_share_is_told(self, rows):
        model = PCATree(random_state=0).fit(rows)
        model.tree_ = replace(model.tree_, p_value=np.where(model.tree_.left >= 0, 0.6, np.nan))
        assert model.why().splitlines()[0].endswith("; at most 60.0 % of the splits are expected to be false")

    def test_a_p_value_too_small_for_tests_of_counts_is_said_to_be_under_one(self):
        rows = np.random.default_rng(0).normal(size=(900, 2)) + np.repeat([[0.0], [9.0], [18.0]], 300, axis=0)
        assert "its tests have p < 1e-09 together, but" in PCATree(max_clusters=2).fit(rows).why()

    def test_a_valley_that_failed_is_described_with_how_much_it_lacks(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(1600, 2)) + np.repeat([[0.0, 0.0], [2.3, 0.0]], 800, axis=0)
        why = RandomProjectionTree(n_projections=200, min_relative_depth=0.0).fit(rows).why()
        assert why.startswith("1 cluster of 1,600 rows: not split: the best valley, along ")
        assert "standard errors; " in why
        tested = "its tests have p = [0-9.]+ together, and a split needs 0.025 in one"
        assert re.search(f"{tested}|no valley that half of the rows chose could be tested", why)

    def test_one_cluster_is_an_answer_after_a_look_at_neighbourhoods_or_says_that_there_was_none(self):
        rows = np.random.default_rng(0).normal(size=(20_000, 3))
        few, many = RandomProjectionTree().fit(rows[:3900]).why(), RandomProjectionTree().fit(rows[:4000]).why()
        assert "neighbourhoods" not in few
        assert many.splitlines()[0].endswith("lines through the neighbourhoods of rows were looked at, too")
        rows[:, 2] = np.random.default_rng(1).integers(3, size=len(rows))
        levels = {"feature_map": "gower", "column_types": {"categorical": [2]}}
        assert "neighbourhoods of rows" not in RandomProjectionTree(**levels).fit(rows[:4000]).why()
        merged = RandomProjectionTree(merge=True).fit(rows).why().splitlines()[0]
        assert merged.endswith("would look like one along every line: DensityTree compares neighbourhoods")

    def test_too_few_rows_and_no_valley_at_all_are_told_apart(self, rows):
        assert "fewer than twice min_cluster_size, 80" in PCATree(min_cluster_size=80).fit(rows[:150]).why()
        assert "fewer than twice min_cluster_size, 201" in PCATree(min_cluster_size=201).fit(rows[:150]).why()
        grid = np.linspace([0.0, 0.0], [1.0, 0.1], 200)
        assert "no valley with 15 rows on both sides was found" in PCATree().fit(grid).why()

    def test_clusters_among_features_of_a_map_are_told_by_columns(self, rows):
        why = PCATree(feature_map="quadratic").fit(rows).why()
        assert re.search(r"cluster 0, 3\d\d rows: x\d -?[0-9.]+ to [0-9.]+", why), why
        assert "feature 0" not in why
        one = PCATree(feature_map="quadratic").fit(rows[:300]).why()
        assert "feature 0" not in one
        assert re.search("along a direction of the . features of the map|no valley", one), one


def flights(rng, n=1500):
    """A table: routes, delays of which some are missing for reasons, and carriers."""
    route = rng.integers(0, 3, n)
    minutes = np.array([50.0, 150.0, 320.0])[route] + rng.normal(0, 6, n)
    table = pd.DataFrame({"air_time": minutes, "distance": 7 * minutes + rng.normal(0, 40, n)})
    table["carrier"] = np.where(rng.random(n) < 0.9, np.array(["AA", "B{0}", "⟨1⟩"])[route], "ZZ")
    return table, route


class TestWords:
    """Ranges, levels and missing values say what a cluster is, and against which it stands."""

    @pytest.fixture
    def table(self):
        return flights(np.random.default_rng(0))[0]

    def test_clusters_are_told_by_ranges_that_hold_most_of_their_rows_and_never_read_the_same(self, table):
        numbers = table[["air_time", "distance"]]
        model = HierarchicalMDH().fit(numbers)
        lines = [line for line in model.why().splitlines() if line.startswith("cluster")]
        assert len({line.split(": ", 1)[1] for line in lines}) == model.n_clusters_ == 3
        for label, line in enumerate(lines):
            low, high = map(float, re.search(r"air_time ([0-9.]+) to ([0-9.]+)", line).groups())
            own = numbers["air_time"][model.labels_ == label]
            assert 0.75 < ((own >= low) & (own <= high)).mean() < 0.85
            assert not ((numbers["air_time"] >= low) & (numbers["air_time"] <= high))[model.labels_ != label].any()
            assert not re.search("high|low", line)

    def test_levels_and_missing_values_are_told_by_name(self, table):
        odd = np.arange(1500) % 2
        delay = np.where(odd, np.random.default_rng(1).normal(size=1500), np.nan)
        found = clusters_in_words(np.column_stack([table["air_time"], delay]), odd, [{1}, {0}])
        words = named(found, ["air_time", "delay"])
        assert words[0].startswith("delay missing")
        codes, rated = np.where(odd, 0.0, np.nan), ColumnTypes(("categorical",), (("R", "PG"),))
        codes[:8] = 1.0
        words = named(clusters_in_words(codes[:, None], odd, [{1}, {0}], rated), ["mpaa"])
        assert words == ("mpaa missing (99.5 %)", "mpaa: R (99.5 %)")
        model = HierarchicalMDH(feature_map="gower").fit(table)
        assert re.search(r"carrier: (AA|B\{0\}) \(\d", model.why())

    def test_two_values_of_a_column_are_told_apart_and_dates_are_dates(self):
        odd, siblings = np.arange(200) % 2, [{1}, {0}]
        assert named(clusters_in_words(1234567.0 + odd[:, None], odd, siblings), ["n"]) == ("n: 1234567", "n: 1234568")
        days = np.where(odd, 16000.0, 15706.0)[:, None]
        words = clusters_in_words(days, odd, siblings, ColumnTypes(("date",), (None,)))
        assert named(words, ["day"]) == ("day: 2013-01-01", "day: 2013-10-22")

    def test_what_all_rows_of_a_cluster_and_its_sibling_share_does_not_tell_them_apart(self):
        rng = np.random.default_rng(2)
        films = np.repeat([0, 1, 2], [700, 173, 165])
        year = rng.normal(np.where(films == 1, 1998, 1935), 5)
        year[films == 0] = rng.choice([1998, 1935], 700)
        lacking = np.where(films[:, None] > 0, np.nan, rng.normal(size=(1038, 3)))
        words = clusters_in_words(np.column_stack([lacking, year]), films, [{1, 2}, {2}, {1}])
        assert words[0].count("not missing") == 3
        assert [one.split(", ", 1)[1][:3] for one in words[1:]] == ["⟨3⟩"] * 2

    def test_names_that_are_set_later_and_loading_give_the_same_words(self, table, tmp_path):
        model = PCATree().fit(table[["air_time", "distance"]].to_numpy())
        assert " x0 " in model.why()
        model._name_columns(["minutes", "miles"])
        assert "minutes" in model.why()
        model.save(tmp_path / "m.zarr")
        assert load_model(tmp_path / "m.zarr").why() == model.why()
        assert re.search("high|low|up to", model.cut(2).why()), "splits bound clusters that were joined"

    @pytest.mark.slow
    def test_rows_that_were_left_out_are_explained(self, table):
        gaps = table[["air_time", "distance"]].mask(np.repeat(np.arange(1500)[:, None] % 100 == 0, 2, axis=1))
        model = PCATree(missing="drop").fit(gaps)
        assert "cluster -1, 15 rows of fit: they lack values, and were left out" in model.why()
        assert cluster_profiles(model, gaps).words[0] == "rows that lack values, left out of the fit"
        density = DensityTree(missing="drop", unclassified="leave").fit(gaps)
        assert "\ncluster -1, 15 rows of fit: they lack values, and were left out\ncluster -1: rows" in density.why()

    def test_exemplars_of_a_table_are_rows_of_it(self, table):
        model = HierarchicalMDH(feature_map="gower").fit(table)
        rows = table.iloc[model.exemplar_indices_].reset_index(drop=True)
        pd.testing.assert_frame_equal(model.exemplars_, rows, check_dtype=False)
        assert list(model.predict(model.exemplars_)) == list(range(model.n_clusters_))


def test_rows_that_a_tree_edited_by_hand_has_not_counted_are_not_said_to_be_none(rows):
    model = PCATree(random_state=0).fit(rows)
    halves = model.tree_.split(int(model.tree_.leaves[-1]), [1.0, 0.0], 1e6)
    assert halves.cluster.max() == 3
    uncounted, counted = model.with_tree(halves).why(), model.with_tree(halves, rows).why()
    for label in (2, 3):
        assert f"cluster {label}, rows not counted (with_tree(model.tree_, X) counts them): " in uncounted
    assert "\ncluster 3, 0 rows: " in counted
    for said in (uncounted, counted):
        assert said.splitlines()[2] == model.why().splitlines()[2]  # of a cluster that stays
        assert said.count("not split: no rows were counted there") == 1 + (said == uncounted)


@pytest.mark.parametrize("cluster", [-1, 3, "0", 1.0, True])
def test_why_refuses_a_label_that_no_cluster_has(rows, cluster):
    with pytest.raises(ValueError, match=f"expected a cluster from 0 to 2, got {cluster!r}"):
        RandomProjectionTree(n_projections=20).fit(rows).why(cluster)


class TestRepeats:
    """Whether the clusters depend on the seed is said, and for each cluster."""

    def test_clear_clusters_are_found_again_in_any_form_of_the_rows(self, rows, tmp_path):
        model = RandomProjectionTree(n_projections=50).fit(rows)
        assert "Whether fits with other seeds find the same clusters: print(model.repeats(X))" in model.why()
        found = model.repeats(rows, 3)
        assert found.found.tolist() == [3, 3, 3]
        assert found.agreement.shape == (6,)
        assert str(found) in model.why()
        assert "cluster 0, 300 rows, in 3 of 3 other fits: " in model.why()
        model.save(tmp_path / "m.zarr")
        assert load_model(tmp_path / "m.zarr").why() == model.why()
        lazy = model.repeats(da.from_array(rows, chunks=(200, 2)), 3)
        assert lazy.found.tolist() == [3, 3, 3]
        assert "other fits" not in model.cut(2).why()

    def test_clusters_that_depend_on_the_seed_are_said_to(self):
        rows = np.random.default_rng(0).normal(size=(400, 4))
        rows /= np.linalg.norm(rows, axis=1)[:, None]  # a sphere: no line is better than others
        limits = {"stop_rule": "none", "min_relative_depth": 0.0, "max_clusters": 4, "n_projections": 2}
        model = DivisiveClustering(**limits).fit(rows)
        assert ": the clusters depend on the seed; under half of them found cluster" in str(model.repeats(rows))
        assert model.repeats(rows).found.max() < 4
        for n in (0, 2.5, "3"):
            with pytest.raises(ValueError, match=f"positive number of fits for n; got {n!r}"):
                model.repeats(rows, n)

    def test_groups_are_those_of_the_fit(self, rows):
        donors = np.arange(900) % 30
        model = RandomProjectionTree(n_projections=50).fit(rows, groups=donors)
        with pytest.raises(ValueError, match="expected the 30 groups of fit; got none: give groups="):
            model.repeats(rows)
        assert model.repeats(rows, 1, groups=donors).found.tolist() == [1, 1, 1]
        halves = model.repeats(rows, 2, share=0.5, groups=donors)
        assert halves.found.tolist() == [2, 2, 2]
        frame = pd.DataFrame(rows, columns=["a", "b"]).assign(donor=donors)
        named = RandomProjectionTree(n_projections=50).fit(frame, groups="donor")
        for share in (1.0, 0.5):
            assert named.repeats(frame, 1, share=share, groups="donor").found.tolist() == [1, 1, 1]

    def test_the_rows_are_those_of_the_fit_unless_batches_followed(self, rows):
        model = RandomProjectionTree(n_projections=20).fit(rows)
        with pytest.raises(ValueError, match="expected the 900 rows of fit; got 899: fit a model to these first"):
            model.repeats(rows[:-1])
        assert model.partial_fit(rows[:600]).repeats(rows, 1).n_clusters.tolist() == [3]

    def test_one_cluster_is_said_in_the_singular(self):
        repeats = Repeats(np.ones(3), np.ones(2, dtype=int), np.full(1, 2), 1.0)
        assert str(repeats).startswith("2 fits with other seeds found 1 cluster, and labels agree")

    def test_parts_of_a_cluster_return_in_few_halves_and_a_clear_one_in_most(self, tmp_path):
        rows = np.random.default_rng(0).normal(size=(400, 10)) + np.repeat([[0], [9]], [266, 134], axis=0)
        cuts = {"stop_rule": "none", "min_relative_depth": 0.0, "max_clusters": 3, "min_cluster_size": 0.25}
        model = DivisiveClustering(**cuts, n_projections=20).fit(rows)
        found, clear = model.repeats(rows, 6, share=0.5), model.predict(rows[-1:])[0]
        assert {*found.unstable()} == {0, 1, 2} - {clear}
        last = f"under half of them found cluster.* {found.unstable()[-1]}$"
        said = f"6 fits to 50.0 % of the rows each found 2 to 3 clusters, .*; {last}"
        assert re.match(said, str(found))
        model.save(tmp_path / "m.zarr")
        assert str(found) in load_model(tmp_path / "m.zarr").why()
        model.report(tmp_path / "r.html", rows)
        assert "Parts of the rows" in (tmp_path / "r.html").read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_halves_are_the_same_in_any_form_of_the_rows(self, rows, tmp_path):
        frame = pd.DataFrame(rows, columns=["a", "b"])
        stored = zarr.create_array(tmp_path / "x.zarr", data=rows, chunks=(200, 2))
        lazy = dd.from_pandas(frame, npartitions=4)
        forms = {
            "array": rows, "list": rows.tolist(), "pandas": frame, "polars": pl.DataFrame(rows, schema=["a", "b"]),
            "dask": da.from_array(rows, chunks=(200, 2)), "zarr": stored, "lazy frame": lazy,
            "DataArray": xarray.DataArray(rows, dims=["row", "column"]), "sparse": csr_array(rows),
        }  # fmt: skip
        found = {}
        for name, form in forms.items():
            again = RandomProjectionTree(n_projections=20, scale=False).fit(form).repeats(form, 2, share=0.5)
            found[name] = again.agreement.tolist()
        assert found == dict.fromkeys(forms, found["array"])

    def test_a_share_of_the_rows_is_checked(self):
        rows = np.random.default_rng(0).normal(size=(60, 2))
        with pytest.raises(ValueError, match="a share of the rows above 0, and up to 1; got 0"):
            RandomProjectionTree(n_projections=20).fit(rows).repeats(rows, share=0)
        with pytest.raises(ValueError, match="a share of the rows above 0, and up to 1; got 'half'"):
            RandomProjectionTree(n_projections=20).fit(rows).repeats(rows, share="half")
        kernel = HierarchicalKernelMDH(feature_map="precomputed").fit(rows @ rows.T)
        several = ConsensusClustering(estimator=PCATree(feature_map="precomputed"), n_trees=2).fit(rows @ rows.T)
        for model in (kernel, several):
            with pytest.raises(ValueError, match="expected rows with a share of them; got a precomputed kernel"):
                model.repeats(rows @ rows.T, share=0.5)
            assert model.history_.remembered.size == 0
        with pytest.raises(ValueError, match="with a share of them; got links of row numbers: leave out share"):
            RandomProjectionTree(n_projections=20).fit(rows).repeats(rows, share=0.5, y=Links(must=[(0, 9)]))


class TestOneCluster:
    """One cluster is no dead end."""

    def test_the_next_steps_are_lines_of_code_that_run(self, caplog):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"id": np.arange(500), "price": rng.lognormal(7, 1, 500), "width": rng.normal(size=500)})
        with caplog.at_level("INFO", "mdh_dask"):
            model = PCATree().fit(X)
        assert "3 columns of numbers; id: perhaps an identifier; price: a long tail" in caplog.text
        first, *steps = model.why().split("in this order:\n")[1].splitlines()
        assert first.strip().startswith("X = X.drop(columns=['id'])")
        scope = {"X": X, "np": np, "HierarchicalMDH": HierarchicalMDH, "DensityTree": DensityTree, "PCATree": PCATree}
        for step in [first, *steps]:
            exec(step.strip(), scope)
        assert list(scope["X"].columns) == ["price", "width"]
        assert np.array_equal(scope["X"]["price"], np.log1p(X["price"]))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("model", "columns"),
        [
            (PCATree(missing="mean"), ["age", "width"]),
            (PCATree(feature_map="gower"), ["age", "width"]),
            (PCATree(missing="drop", feature_map="gower"), ["age", "width", "kind"]),
            (DensityTree(missing="drop"), ["age", "width"]),
            (ConsensusClustering(estimator=PCATree(feature_map="gower"), n_trees=2), ["age", "width", "kind"]),
        ],
    )
    def test_the_next_steps_take_the_rows_that_the_model_took(self, model, columns):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"age": rng.normal(40, 9, 100), "width": rng.normal(size=100)})
        X.loc[3, "age"] = np.nan
        X["kind"] = rng.choice(["s", "m"], 100)
        scope = {"X": X[columns], "HierarchicalMDH": HierarchicalMDH, "DensityTree": DensityTree, "PCATree": PCATree}
        steps = clone(model).fit(X[columns]).why().split("in this order:\n")[1].splitlines()
        fitted = [eval(step.strip(), scope) for step in steps if "the numbers alone" not in step]
        assert fitted
        for other in fitted:
            assert (other.missing, other.n_features_in_) == (model.missing, len(columns))

    @pytest.mark.slow
    def test_two_values_of_one_column_are_not_said_to_be_a_valley(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=(400, 3)), rng.integers(0, 2, 400)])
        assert "alone has a valley" not in DensityTree().fit(X).why()

    @pytest.mark.slow
    @pytest.mark.parametrize("apart", [0, 5])
    def test_a_valley_along_one_column_that_others_hide_from_neighbourhoods_is_named(self, apart):
        rng = np.random.default_rng(0)
        side = rng.random(1500) < 0.16
        X = rng.normal(size=(1500, 30))
        X[:, 4] += apart * side
        model = DensityTree().fit(X)
        assert model.n_clusters_ == 1
        named = re.search(r"The column x4 alone has a valley of relative depth [0-9.]+ at ([0-9.]+)", model.why())
        assert bool(named) == bool(apart)
        assert not named or 2 < float(named[1]) < 3.5


def test_a_report_of_rows_is_one_pass_and_is_refused_before_any_work(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[9], [0]], 100, axis=0)
    model = PCATree().fit(rows)
    lazy, read = noting_reads(da.from_array(rows, chunks=(50, 2)))
    with dask.config.set(scheduler="synchronous"):
        path = model.report(tmp_path / "r.html", lazy, title="Two groups")
        assert 200 <= sum(read) <= 250, "the rows once, and the first of them for the profiles"
        assert "<h1>Two groups</h1>" in path.read_text(encoding="utf-8")
        read.clear()
        with pytest.raises(FileExistsError):
            model.report(path, lazy)
        assert read == []
