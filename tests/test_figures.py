"""Figures of the papers are drawn from what is measured, beside the numbers that are printed."""

import math

import numpy as np
import pytest
from benchmarks import figure_projections, figures, pursuit_speed
from benchmarks.figure_criteria import EXPERIMENTS
from benchmarks.figure_projections import BEST, DEEPEST, deepest_split
from benchmarks.figure_regret import COMPARISONS, regret_of
from benchmarks.published import JMLR_METHODS, JMLR_TABLE, KERNEL_METHODS, KERNEL_TABLE
from benchmarks.shared import Table

pytestmark = pytest.mark.slow

SIZES = {
    "rows": (100, 200),
    "columns": (20, 30),
    "clusters": (2, 3),
    "at": (20, 200, 2),
    "repeats": 1,
    "projected": (20,),
    "names": ("wine", "usps"),
    "seeds": (0,),
    "simulated": ((2, 20),),
    "counts": (10,),
}


@pytest.fixture
def folder(tmp_path):
    """A folder with one set of those that are printed, of two clusters far apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    np.savez(tmp_path / "banknote.npz", X=rng.normal(size=(300, 3)) + 9 * y[:, None], y=y)
    return str(tmp_path)


def test_every_figure_has_a_complete_table_and_a_plot(folder, tmp_path, monkeypatch):
    kinds = {name: pursuit_speed.BI_PARTITIONS[name] for name in ("RP-100", "PCA")}
    for module in (pursuit_speed, figures.figure_times):
        monkeypatch.setattr(module, "BI_PARTITIONS", kinds)
    tables = list(figures.run(**SIZES, folder=folder))
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    splits, trees, projections, on_features, objectives, jmlr, kernel, *criteria = tables
    assert [table.rows[0][2] for table in (on_features, objectives)] == ["wine", "wine"]
    assert {row[3] for row in objectives.rows} == {BEST, "sse", "ev2", "missing: not in $MDH_DASK_DATA"}
    assert [row[:4] for row in splits.rows] == [
        ("rows", 100, 20, 2), ("rows", 200, 20, 2), ("columns", 200, 20, 2), ("columns", 200, 30, 2)
    ]  # fmt: skip
    assert [row[:4] for row in trees.rows] == [
        ("clusters", 1000, 20, 2), ("clusters", 1500, 20, 3), ("columns", 1000, 20, 2), ("columns", 1000, 30, 2)
    ]  # fmt: skip
    assert [row[2:4] for row in projections.rows[:4]] == [
        (name, split) for name in ("30 simulated clusters", "wine") for split in (BEST, DEEPEST)
    ]
    assert projections.rows[4][2:4] == ("usps", "missing: not in $MDH_DASK_DATA")
    assert all(list(row[4:]) == sorted(row[4:]) for row in projections.rows if row[3] == BEST)
    for table, printed in ((jmlr, JMLR_TABLE), (kernel, KERNEL_TABLE)):
        assert len(table.rows) == 2 * len(printed)
        assert {row[-1] for row in table.rows} == {"-", "missing: not in $MDH_DASK_DATA"}
        assert (table.rows[0][0], table.rows[0][2]) == ("banknote", 1.0)
    for table, experiment in zip(criteria, EXPERIMENTS.values(), strict=True):
        assert {row[2] for row in table.rows} >= {*experiment.makers, *experiment.others}
        assert {row[0] for row in table.rows if row[4] == "-"} == {"usps"}
        assert all(0 <= row[5] <= 1 <= row[6] for row in table.rows if row[4] != "-")
    figures.plot(tables, tmp_path / "figures.png")
    numbers = ("6.1", "6.2", "6.3", "6.4", "6.10", "6.11", "6.16", "7.1", *EXPERIMENTS)
    ends = {*(f"thesis-{number}" for number in numbers), *COMPARISONS}
    assert {path.stem for path in tmp_path.glob("*.png")} == {f"figures-{end}" for end in ends}


def test_what_is_printed_has_a_number_for_every_method():
    for table, methods in ((JMLR_TABLE, JMLR_METHODS), (KERNEL_TABLE, KERNEL_METHODS)):
        assert {len(values) for pair in table.values() for values in pair} == {len(methods)}
        values = [value for pair in table.values() for values in pair for value in values]
        assert all(math.isnan(value) or 0 <= value <= 1 for value in values)


def test_regret_is_drawn_of_the_sets_with_ours_or_of_all_without():
    rows = [("a", "success ratio", 0.5, 0.25, "-"), ("b", "success ratio", "-", 0.75, "missing: no")]
    table = Table("Title", ("set", "measure", "ours: MDH", "other", "remark"), rows)
    methods, scores = regret_of(table, "success ratio")
    assert methods == ("ours: MDH", "other")
    np.testing.assert_array_equal(scores, [[0.5, 0.25]])
    np.testing.assert_array_equal(regret_of(Table("", table.columns, rows[1:]), "success ratio")[1], [[np.nan, 0.75]])


def test_a_split_is_the_deepest_valley_that_leaves_enough_rows_on_both_sides():
    rng = np.random.default_rng(0)
    projected = np.concatenate([rng.normal(0, 1, 400), rng.normal(8, 1, 200), [40.0, 41.0]])
    depth, parts = deepest_split(projected)
    assert depth > 1
    assert (parts == (projected > 4)).mean() > 0.99


def test_the_deepest_of_the_first_projections_is_followed(monkeypatch):
    splits = iter([(1.0, np.array([0, 0, 1, 1])), (3.0, np.array([0, 1, 0, 1])), (2.0, np.array([1, 1, 0, 0]))])
    monkeypatch.setattr(figure_projections, "deepest_split", lambda projected: next(splits))
    monkeypatch.setattr(figure_projections, "COUNTS", (1, 3))
    best, deepest = figure_projections._curves(np.eye(4), np.array([0, 0, 1, 1]), 0)
    np.testing.assert_array_equal(best, [1, 1, 1])
    assert deepest[0] == 1
    assert deepest[1] == deepest[2] < 1
