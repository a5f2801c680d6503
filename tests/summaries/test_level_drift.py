"""Drift of the levels of columns: their frequencies, and levels that the model does not know."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import run

from mdh_dask import ConsensusClustering, DensityTree, PCATree, drift, load_model
from mdh_dask.columns import ColumnTypes
from mdh_dask.estimators.drift import restored_level_counts
from mdh_dask.summaries.changes import LevelDrift
from mdh_dask.summaries.moments import MomentPass
from mdh_dask.summaries.profiles import entries_of_rows, with_levels

EVIL = "<b>'violet' \U0001f98b</b>"


def table(seed, n, *, unknown=0, green=0.1):
    """Columns with two clusters, a colour that depends on the cluster, and a size that does not."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, n)
    colour = np.where(rng.random(n) < green, "green", np.array(["red", "blue"])[side]).astype(object)
    colour[:unknown] = EVIL
    size = np.array(["S", "M", "L"], dtype=object)[rng.integers(0, 3, n)]
    return pa.table({"x": rng.normal(size=n) + 9 * side, "colour": colour, "size": size})


@pytest.fixture(scope="module")
def model():
    return PCATree(feature_map="gower").fit(table(0, 2000))


def counts_of(columns, name, levels):
    found = columns[name].to_pylist()
    return [found.count(level) for level in levels] + [0, 0]


@pytest.mark.slow
def test_a_model_counts_the_levels_of_its_rows_whatever_their_partitions(model, tmp_path):
    frame = pytest.importorskip("dask.dataframe").from_pandas(table(0, 2000).to_pandas(), npartitions=3)
    lazy = PCATree(feature_map="gower").fit(frame)
    assert lazy.n_passes_ == 3  # the levels, the landmarks and the tree, as without counts
    model.save(tmp_path / "m.zarr")
    for one in (model, lazy, load_model(tmp_path / "m.zarr")):
        for counts, name, levels in zip(one.level_counts_, ("colour", "size"), one.columns.levels[1:]):
            assert counts.tolist() == counts_of(table(0, 2000), name, levels)


def test_an_update_adds_the_levels_of_a_batch_to_the_weighted_ones(model, tmp_path):
    model.save(tmp_path / "m.zarr")
    old, batch = load_model(tmp_path / "m.zarr"), table(1, 1000, unknown=30)
    model = load_model(tmp_path / "m.zarr").partial_fit(batch)
    new = np.array(counts_of(batch, "colour", model.columns.levels[1]))
    new[-2] = 30
    np.testing.assert_array_equal(model.level_counts_[0], np.rint(0.7 * old.level_counts_[0]) + new)
    assert not drift(model, batch).levels[0].surprising  # it may be one of the unknown rows of before


@pytest.mark.slow
def test_a_density_tree_compares_clusters_though_it_counts_no_levels():
    found = drift(DensityTree(feature_map="gower", random_state=0).fit(table(0, 300)), table(1, 300))
    assert (found.found, found.levels) == (False, ())


@pytest.mark.parametrize("form", ["arrow", "lazy frame of polars", "dask"])
def test_levels_that_the_model_does_not_know_are_named(model, form):
    rows = table(1, 1500, unknown=40)
    if form == "dask":
        rows = pytest.importorskip("dask.dataframe").from_pandas(rows.to_pandas(), npartitions=4)
    elif form != "arrow":
        rows = pytest.importorskip("polars").from_arrow(rows).lazy()
    found = drift(model, rows)
    assert found.alarms == (f"column colour: levels that the model does not know in 40 new rows, 2.67%: {EVIL}",)
    assert found.to_dict()["levels"][0]["unseen"] == {EVIL: 40}
    assert any(line.split()[-4:] == ["0.0", "%", "2.7", "%"] for line in found.to_text().splitlines() if EVIL in line)


@pytest.mark.parametrize("lazy", [False, True])
def test_rows_that_are_left_out_for_missing_values_count_for_no_level(lazy):
    model = PCATree(feature_map="gower", missing="drop").fit(table(0, 300))
    rows = table(1, 200, unknown=40).to_pandas()
    rows.loc[:9, "x"], rows.loc[30:34, "size"] = np.nan, None
    if lazy:
        rows = pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=4)
    colours = drift(model, rows).levels[0]
    assert (colours.n_unseen, colours.unseen) == (25, ((EVIL, 25),))


@pytest.mark.parametrize("feature_map", [None, "gower"])
def test_missing_levels_are_counted_as_such_though_means_replace_them(feature_map):
    rng = np.random.default_rng(0)

    def grades(n, n_missing):
        codes = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
        grade = pd.Categorical.from_codes(np.where(np.arange(n) < n_missing, -1, codes), list("abcd"), ordered=True)
        return pd.DataFrame({"x": rng.normal(size=n) + 9 * rng.integers(0, 2, n), "grade": grade})

    old, new = grades(600, 30), grades(500, 200)
    model = PCATree(missing="mean", feature_map=feature_map).fit(old)
    counts = [[*rows.grade.value_counts(sort=False), 0, rows.grade.isna().sum()] for rows in (old, new)]
    np.testing.assert_array_equal(model.level_counts_[0], counts[0])
    found = drift(model, new)
    np.testing.assert_array_equal(found.levels[0].new, counts[1])
    assert "column grade: 35% of its rows have other levels" in found.alarms
    np.testing.assert_array_equal(model.with_tree(model.tree_, new).level_counts_[0], counts[1])
    model.partial_fit(new)
    np.testing.assert_array_equal(model.level_counts_[0], np.rint(np.multiply(0.7, counts[0])) + counts[1])


def test_levels_that_are_named_like_others_are_told_apart():
    of_column = LevelDrift(
        "c", ("(unknown)", "(missing)", "a (unseen)"), np.array([1, 2, 3, 4, 5]), np.array([6, 7, 8, 19, 10]),
        (("a", 9), ("((unknown))", 1)),
    )  # fmt: skip
    assert of_column.frequencies() == [
        ("(unknown)", 1, 6), ("(missing)", 2, 7), ("a (unseen)", 3, 8), ("(a (unseen))", 0, 9),
        ("((unknown)) (unseen)", 0, 1), ("((unknown))", 4, 9), ("((missing))", 5, 10),
    ]  # fmt: skip


def test_profiles_tell_a_level_that_is_named_like_missing_values_from_them():
    rows, labels = np.array([[0.0], [0.0], [np.nan], [1.0]]), np.zeros(4, dtype=int)
    types = ColumnTypes(("categorical",), (("(missing)", "b"),))
    moments = MomentPass(1, rows[0] * 0).finalise(MomentPass(1, rows[0] * 0).chunk(0, labels, np.zeros((4, 1))))
    profiles = with_levels(("c",), moments, types, [np.array([[2, 1, 0, 1]])])
    assert profiles.names == ("c: (missing)", "c: b", "c: ((missing))")
    expected = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(entries_of_rows(rows, profiles, ("c",), types), expected)


def test_one_row_with_a_new_level_is_named_but_no_alarm(model):
    found = drift(model, table(1, 1500, unknown=1))
    assert (found.found, found.levels[0].unseen) == (False, ((EVIL, 1),))


def test_other_frequencies_are_drift_of_the_column(model):
    found = drift(model, table(2, 1500, green=0.5))
    assert "column colour: 39% of its rows have other levels" in found.alarms
    assert found.levels[0].distance.value > 0.3 > found.levels[1].distance.value


def test_rows_of_the_same_distribution_are_hardly_ever_drift():
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.full(30, 0.3))  # with levels of hardly any row
    alarms = 0
    for _ in range(300):
        old, new = (rng.multinomial(n, share) for n in (400, 300))
        known = old > 0
        unseen = tuple((str(i), int(new[i])) for i in np.flatnonzero(~known & (new > 0)))
        counts = [np.r_[c[known], c[~known].sum(), 0] for c in (old, new)]
        of_column = LevelDrift("c", tuple(map(str, np.flatnonzero(known))), *counts, unseen, chance=0.01)
        alarms += bool(of_column.alarms(threshold=0.01))
    assert alarms <= 3


def test_the_command_and_its_report_show_levels_and_escape_them(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("m.zarr")
    pq.write_table(table(1, 900, unknown=60), "new.parquet", row_group_size=300)
    args = ["drift", "new.parquet", "--model", "m.zarr", "--scheduler", "threads", "--json", "--report", "r.html"]
    result = run(*args, code=3)
    assert json.loads(result.stdout)["levels"][0]["unseen"] == {EVIL: 60}
    html = (tmp_path / "r.html").read_text()
    assert "Levels of columns" in html
    assert "violet" in html
    assert "<b>'violet'" not in html


@pytest.mark.parametrize("counts", [((1, 2),), ((1, 2, 3, 0, 0), (1, 2, -3, 0, 0)), "many"])
def test_saved_counts_that_are_not_those_of_the_levels_are_refused(model, counts):
    given = counts if isinstance(counts, str) else tuple(map(np.array, counts))
    with pytest.raises(ValueError, match="level"):
        restored_level_counts({"level_counts": given}, model.columns)


def test_a_model_without_counts_compares_the_tree_alone(model):
    assert replace(drift(model, table(1, 500)), of_levels=()).to_dict().keys().isdisjoint({"levels"})
    bare = PCATree().fit(np.random.default_rng(0).normal(size=(300, 2)))
    assert (bare.level_counts_, drift(bare, np.zeros((9, 2))).levels) == (None, ())


@pytest.mark.slow
def test_what_drift_cannot_compare_is_told(caplog):
    rows = table(0, 300)
    found = drift(DensityTree(feature_map="gower").fit(rows), rows)
    assert found.levels == ()
    assert "the levels of columns are not compared: this DensityTree holds no counts of them" in caplog.text
    several = ConsensusClustering(n_trees=2, estimator=PCATree()).fit(np.zeros((9, 2)))
    with pytest.raises(ValueError, match=r"got a ConsensusClustering, .* fit HierarchicalMDH or DensityTree"):
        drift(several, np.zeros((9, 2)))
